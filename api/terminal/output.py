"""Where results go: stdout, or a file that appears whole or not at all."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ...graph.errors import InputError

Write = Callable[[str], object]

#: What the operating system says when there is no room for a file.
FULL = frozenset(code for name in ("ENOSPC", "EDQUOT", "EFBIG") if (code := getattr(errno, name, None)) is not None)


@contextmanager
def lines_to(path: Path | None, *, apart_from: str = "-") -> Iterator[Write]:
    """Give a function that writes text to ``path``, or to stdout when there is none; gzip when the name ends in ``.gz``.

    The text goes to a file beside ``path`` that takes its place only when everything was written, so a crash leaves what was
    there before. A path that is no regular file (a pipe, ``/dev/null``) is written to directly.

    Args:
        apart_from: the input, which must not be the same file.

    Raises:
        InputError: ``path`` is a folder or in none, or is the input itself.
    """
    if path is None:
        with telling_of_full_disks("standard output"):
            yield sys.stdout.write
            sys.stdout.flush()
        return
    target = check_output(path, apart_from)
    if target.exists() and not target.is_file():
        with telling_of_full_disks(path), target.open("w", encoding="utf-8") as stream:
            yield stream.write
        return
    with whole(target) as file:
        if target.suffix == ".gz":
            import gzip

            with gzip.GzipFile(target.name.removesuffix(".gz"), "wb", compresslevel=6, fileobj=file, mtime=0) as packed:
                yield lambda text: packed.write(text.encode())
        else:
            yield lambda text: file.write(text.encode())


def write_whole(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``, so that a crash leaves what was there before.

    Raises:
        InputError: ``path`` is a folder or in none.
    """
    target = check_output(path)
    if target.exists() and not target.is_file():
        with telling_of_full_disks(path):
            target.write_bytes(data)
        return
    with whole(target) as file:
        file.write(data)


@contextmanager
def whole(target: Path, *, draft: Path | None = None) -> Iterator[BinaryIO]:
    """Give a file that takes the place of ``target`` when the block has ended well; until then it is ``draft``, or beside it.

    Raises:
        DiskFull: there is no room for it.
    """
    fresh = target.with_name(f".{target.name}.{os.getpid()}.part") if draft is None else draft
    try:
        with telling_of_full_disks(target), fresh.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)


class DiskFull(InputError):
    """There is no room for an output."""


@contextmanager
def telling_of_full_disks(target: object) -> Iterator[None]:
    """Turn the operating system's error into a sentence that names ``target``.

    Raises:
        DiskFull: there is no room.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or error.errno not in FULL:
            raise
        raise DiskFull(f"{target} cannot be written: {os.strerror(error.errno)}; free some space, or write elsewhere") from None


def check_output(path: Path, apart_from: str = "-") -> Path:
    """Return the file that ``path`` means, links followed.

    Raises:
        InputError: it cannot be written as a file, or is ``apart_from``.
    """
    try:
        target = path.resolve()
        if target.is_dir():
            raise InputError(f"{path} is a folder; give a file to write")
        if not target.parent.is_dir():
            raise InputError(f"there is no folder {path.parent} to write {path.name} in; make it first")
        if apart_from != "-" and target.exists() and Path(apart_from).exists() and target.samefile(apart_from):
            raise InputError(f"{path} is the input; write to another file")
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} cannot be a file's path: {error}") from error
    return target
