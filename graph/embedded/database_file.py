"""Replacing the database file of a graph atomically: lock, temporary files, checksums, and errors of writing."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..atomic import flush, lock
from ..errors import GraphBusy, GraphError
from ..loading import properties
from ..model import Manifest
from . import integrity
from .integrity import DATABASE

LOCK = "graph.lock"
DRAFT = f"{DATABASE}{integrity.DRAFT}"
_DISK_FULL = "No space left on device"
_NO_SPACE = 1 << 20
"""Bytes; a failure with less free space than this is reported as a full disk."""


def replace_database(folder: Path, manifest: Manifest) -> None:
    """Replace the database by the draft, which has this manifest."""
    draft = folder / DRAFT
    if Path(f"{draft}.wal").exists():
        raise GraphError(f"the engine did not finish writing {folder}; the graph is unchanged, load again")
    flush(draft)
    integrity.write_sums(draft, folder / DATABASE, properties(manifest))
    draft.replace(folder / DATABASE)
    integrity.drop_old_sums(folder / DATABASE)
    flush(folder)


def _sweep(folder: Path) -> None:
    """Remove the temporary files of a load."""
    for path in folder.glob(f"{DRAFT}*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def write_checksums(folder: Path) -> None:
    """Write the checksums of a database that has none and was verified otherwise."""
    with exclusive(folder):
        integrity.write_sums(folder / DATABASE, folder / DATABASE)


@contextmanager
def exclusive(folder: Path, name: str = "") -> Iterator[None]:
    """Hold the folder's lock, with the name of the load in the lock file.

    Temporary files are removed at the start, if a load was killed before, and at the end.
    """
    try:
        descriptor = lock(folder / LOCK, mode=0o666, required=True)
    except BlockingIOError:
        raise GraphBusy(f"another process is loading into {folder}; try again when it is done") from None
    except OSError as error:
        raise GraphError(f"{folder} cannot be written to ({error.strerror}); check its permissions") from error
    try:
        _sweep(folder)
        _write_name(descriptor, name)
        yield
    finally:
        _sweep(folder)
        _write_name(descriptor, "")
        os.close(descriptor)


def _write_name(descriptor: int, name: str) -> None:
    with suppress(OSError):  # the disk may be full
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, name.encode(errors="replace"), 0)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Report failures to write a graph in ``folder`` as errors that name it, including a full disk met by the engine."""
    try:
        yield
    except (OSError, GraphError) as error:
        free = shutil.disk_usage(folder).free
        if isinstance(error, GraphError) and _DISK_FULL not in str(error) and free > _NO_SPACE:  # the engine may give no reason
            raise
        if isinstance(error, GraphError) or error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise GraphError(
                f"the disk of {folder} is full ({free / 1e6:,.0f} MB are free); free some space there and run the load again: "
                "it needs as much as the graph takes now plus twice what is added; the graph is unchanged"
            ) from error
        raise GraphError(
            f"{folder} cannot be written to ({error.strerror or error}); the graph is unchanged, check disk and permissions"
        ) from error


def killed_load(folder: Path) -> str | None:
    """Return the name of a load into ``folder`` that was killed: there are temporary files, and no process holds the lock."""
    if next(folder.glob(f"{DRAFT}*"), None) is None:
        return None
    name = ""
    try:
        with os.fdopen(lock(folder / LOCK, flags=os.O_RDONLY, shared=True), "rb") as file:
            name = file.read().decode(errors="replace")
    except BlockingIOError:
        return None
    except OSError:
        pass
    return name or "a load"
