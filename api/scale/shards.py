"""A shard: some records of a dialogue file, the unit in which large files are scored, kept, and resumed.

Where shards begin depends on the file and the wanted number of lines alone, so every run of a file has the same ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...graph.errors import DamagedInput, InputError
from . import LINES

if TYPE_CHECKING:
    from ...loaders.lines import Line

MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Shard:
    """Records that follow one another, one JSON object a line; ``number`` counts the shards of a file from 0."""

    number: int
    lines: tuple[Line, ...]

    @property
    def digest(self) -> str:
        """The sha256 of the records, in hex."""
        found = hashlib.sha256()
        for line in self.lines:
            found.update(b"%d\0%s\0%s\n" % (line.number, (line.flaw or "").encode(), line.data))
        return found.hexdigest()


def read_shards(file: str, size: int = LINES, without: Container[int] = ()) -> Iterator[Shard | int]:
    """Yield the shards of a file (see :func:`tacit.loaders.read_items`), one held at a time; of those in ``without``, the number.

    A shard ends after ``size`` records, or sooner, with the record that takes it to 1 MiB.

    Raises:
        InputError: the file cannot be opened, or is no dialogue file.
        DamagedInput: the file ends early; the records before that have been yielded.
    """
    from ...loaders.dialogues import item_records
    from ...loaders.records import Damage
    from ...loaders.source import ByteSource

    source = ByteSource(file)
    try:
        number = count = weight = 0
        held: list[Line] = []
        damage: Line | None = None
        for line in item_records(source):
            if isinstance(line.flaw, Damage):
                damage = line
                break
            count += 1
            weight += len(line.data)
            if number not in without:
                held.append(line)
            if count == size or weight >= MOST_BYTES:
                yield Shard(number, tuple(held)) if held else number
                number, count, weight, held = number + 1, 0, 0, []
        if count:
            yield Shard(number, tuple(held)) if held else number
        if damage is not None:
            raise DamagedInput(f"{file} ends early, at record {damage.number:,} ({damage.flaw})")
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
