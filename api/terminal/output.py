"""Output to stdout or to files that are replaced atomically."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...graph import atomic
from ...graph.atomic import disk_full_errors, is_special, new_stream
from ...graph.errors import InputError

Write = Callable[[str], object]


@contextmanager
def lines_to(path: Path | None, *, apart_from: str = "-") -> Iterator[Write]:
    """Yield a function that writes text to ``path``, compressed if the name ends in ``.gz``; None: to stdout.

    A regular file, which must not be the input ``apart_from``, is replaced atomically when the block succeeds; other files (a
    pipe, ``/dev/null``) are written to directly.
    """
    if path is None:
        with disk_full_errors("standard output"):
            yield sys.stdout.write
            sys.stdout.flush()
        return
    target = check_output(path, apart_from)
    with new_stream(target) as stream:
        yield lambda text: stream.write(text.encode())


def write_file(path: Path, data: bytes) -> None:
    """Replace the file at ``path`` atomically; a path that is not a regular file is written to directly."""
    atomic.write_file(check_output(path), data)


def check_output(path: Path, apart_from: str = "-") -> Path:
    """Return ``path`` with links resolved; it must be in a folder that exists, no folder itself, and not the input.

    A device or a pipe is returned as it is, since ``/dev/stdout`` may lead to a pipe, which has no other path.
    """
    if str(path) == "-":
        raise InputError("- is not the name of a file to write; give one, or /dev/stdout for standard output")
    try:
        target = path if is_special(path) else path.resolve()
        if target.is_dir():
            raise InputError(f"{path} is a folder; give a file to write")
        if not target.parent.is_dir():
            raise InputError(f"there is no folder {path.parent} to write {path.name} in; make it first")
        if apart_from != "-" and target.exists() and Path(apart_from).exists() and target.samefile(apart_from):
            raise InputError(f"{path} is the input; write to another file")
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} is not a valid path: {error}") from error
    return target
