"""Folders that trained models are kept in: each appears whole or not at all, and takes no other's place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..graph.errors import InputError


def check_folder(folder: Path, file: str, what: str) -> None:
    """Raise :class:`InputError` when ``folder`` cannot be made, or holds anything but ``what``, which is known by its ``file``.

    Args:
        what: with its article, e.g. ``a probe``.
    """
    if folder.exists() and not (folder.is_dir() and (not any(folder.iterdir()) or (folder / file).is_file())):
        raise InputError(f"{folder} holds something other than {what}; give a new folder for --output")
    if not folder.resolve().parent.is_dir():
        raise InputError(f"there is no folder {folder.parent} to write {folder.name} in; make it first")


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces ``folder`` when the block succeeds.

    When the block fails, or is interrupted at any point, ``folder`` holds what it held before.
    """
    fresh, old = (folder.with_name(f".{folder.name}.{os.getpid()}.{state}") for state in ("part", "old"))
    try:
        fresh.mkdir()
        yield fresh
        if folder.exists():
            folder.rename(old)
        fresh.rename(folder)
    finally:
        if old.exists() and not folder.exists():
            old.rename(folder)
        for left in (fresh, old):
            shutil.rmtree(left, ignore_errors=True)
