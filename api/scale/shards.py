"""A shard: some lines of a dialogue file, the unit in which large files are scored, kept, and resumed.

Where shards begin depends on the file and the wanted number of lines alone, so every run of a file has the same ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...graph.errors import InputError
from . import LINES

if TYPE_CHECKING:
    from ...loaders.lines import Line

MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Shard:
    """Lines that follow one another; ``number`` counts the shards of a file from 0."""

    number: int
    lines: tuple[Line, ...]


def read_shards(file: str, size: int = LINES, without: Container[int] = ()) -> Iterator[Shard | int]:
    """Yield the shards of a file (gzip or plain; ``-``: standard input), one held at a time; of those in ``without``, the number.

    A shard ends after ``size`` lines, or sooner, with the line that takes it to 1 MiB.

    Raises:
        InputError: the file cannot be opened.
    """
    from ...loaders.lines import lines
    from ...loaders.source import ByteSource

    source = ByteSource(file)
    try:
        number = count = weight = 0
        held: list[Line] = []
        for line in lines(source):
            count += 1
            weight += len(line.data)
            if number not in without:
                held.append(line)
            if count == size or weight >= MOST_BYTES:
                yield Shard(number, tuple(held)) if held else number
                number, count, weight, held = number + 1, 0, 0, []
        if count:
            yield Shard(number, tuple(held)) if held else number
    finally:
        source.close()


def digest(file: str) -> str:
    """Return the sha256 of a file as it lies on disk, in hex.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with Path(file).open("rb") as data:
            return hashlib.file_digest(data, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from None
