"""Reading and writing trained models: one safetensors file with a JSON description, or a folder of files; replaced atomically.

A file is written beside its place, flushed to disk and renamed over the old one, which is atomic. A non-empty folder cannot be
replaced by one rename, so the new one is written to ``.NAME.part``, the old one renamed to ``.NAME.old``, and the new one
renamed into place. A process that dies between the two renames leaves ``.NAME.old`` whole and nothing at ``NAME``; every reader
and writer calls :func:`recover` first, which renames it back. Writers hold the lock of ``.NAME.lock``. This keeps the layout
that other libraries read, which a pointer to versioned subfolders would not, and needs no exchange of two folders, which only
some file systems can do.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.errors import InputError, ModelError, reason_of

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

DIGITS = 12
"""Hex digits of a model's digest."""

_KEY = "tacit"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ATTEMPTS = 100


def pack(arrays: Mapping[str, Any], description: Mapping[str, Any]) -> bytes:
    """Return a safetensors file of numpy arrays, with ``description`` as JSON in its metadata; equal input gives equal bytes.

    Raises:
        ValueError: a number in the description is not finite.
    """
    from safetensors.numpy import save

    # A single metadata key: safetensors writes several in an order that changes from run to run.
    text = json.dumps(description, sort_keys=True, allow_nan=False)
    return bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, {_KEY: text}))


def unpack(data: bytes, format: str, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return description and arrays of a file that :func:`pack` wrote; floating-point arrays are checked to be finite.

    Args:
        format, version: the values that the description must have under these keys.

    Raises:
        ValueError: another kind of file, another version, or a damaged file; the message says which.
    """
    try:
        size = int.from_bytes(data[:8], "little")
        head = json.loads(data[8 : 8 + size])["__metadata__"][_KEY] if 0 < size <= len(data) - 8 else None
        found = json.loads(head) if isinstance(head, str) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("format") != format:
        raise ValueError(f"its header does not name the format {format!r}")
    if found.get("version") != version:
        raise ValueError(f"its format is version {found.get('version')}, and this tacit reads version {version}")
    arrays = arrays_in(data)
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"its array {name} contains numbers that are not finite")
    return found, arrays


def arrays_in(data: bytes) -> dict[str, Any]:
    """Return the arrays of a safetensors file by their names.

    Raises:
        ValueError: they cannot be read.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return dict(load(data))
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"its arrays cannot be read: {reason_of(error)}") from error


def digest_of(*parts: bytes) -> str:
    """Return the first 12 hex digits of the SHA-256 of ``parts`` together."""
    return hashlib.sha256(b"".join(parts)).hexdigest()[:DIGITS]


def read_model(place: Path, file: str, what: str, command: str, largest: int) -> tuple[bytes, str]:
    """Return the bytes of a one-file model, and its path for messages.

    Args:
        place: the file, or a folder in which it is called ``file``.
        what: the kind of model, e.g. ``probe``; command: the command that makes one; largest: the size limit in bytes.

    Raises:
        ModelError: it does not exist, is too large, or cannot be read.
    """
    try:
        recover(place)
        path = place / file if place.is_dir() else place
        if path.stat().st_size > largest:
            raise ModelError(f"{path} is larger than any {what}; give one that {command} wrote")
        return path.read_bytes(), str(path)
    except FileNotFoundError as error:
        raise ModelError(f"there is no {what} at {place}; make one with: {command}") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"the {what} {str(place)!r} cannot be read: {error}") from error


def write_file(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` as :func:`new_file` does."""
    with new_file(path) as fresh:
        fresh.write_bytes(data)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield the path of a file to write; when the block succeeds, it replaces ``path`` atomically, otherwise it is deleted.

    Raises:
        InputError: the disk is full.
    """
    target = path.resolve()
    fresh = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with _full_disk_as_error(path):
            yield fresh
            _flush(fresh)
            fresh.replace(target)
            _flush(target.parent)
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces ``folder`` when the block succeeds and is deleted otherwise.

    At any time, whatever fails and whenever the process is killed, a reader that calls :func:`recover` finds either the old or
    the new model complete. Files left by a killed process are deleted by the next one.

    Raises:
        InputError: another process is writing to ``folder``, or the disk is full.
    """
    target = folder.resolve()
    part, lock = target.with_name(f".{target.name}.part"), _locked(target)
    try:
        with _full_disk_as_error(folder):
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            yield part
            for path in [*part.rglob("*"), part]:
                _flush(path)
            _replace(part, target)
    finally:
        try:
            recover(target)
            shutil.rmtree(part, ignore_errors=True)
        finally:
            _unlock(target, lock)


def recover(folder: Path) -> None:
    """Repair what a process that died while replacing ``folder`` left; do nothing in any other case.

    The old model is renamed back when the new one was not in place yet, and deleted when it was.
    """
    with suppress(OSError, ValueError):  # another process was faster, the file system is read-only, or the path is invalid
        folder = folder.expanduser().resolve()
        aside = _aside(folder)
        if not aside.is_dir():
            return
        if not folder.exists():
            aside.rename(folder)
            return
        with suppress(InputError):  # a writer that is at work deletes it
            lock = _locked(folder)
            try:
                if folder.exists() and lock is not None:
                    _delete(aside)
            finally:
                _unlock(folder, lock)


def check_folder(folder: Path, file: str, what: str) -> None:
    """Check that a model can be written to ``folder`` without destroying something else.

    Args:
        file: a file that every folder of this kind of model has; what: the kind with its article, e.g. ``a probe``.

    Raises:
        InputError: the folder holds something else, or its parent does not exist.
    """
    recover(folder)
    if folder.exists() and not (folder.is_dir() and (not any(folder.iterdir()) or (folder / file).is_file())):
        raise InputError(f"{folder} holds something other than {what}; give a new folder for --output")
    if not folder.resolve().parent.is_dir():
        raise InputError(f"there is no folder {folder.parent} to write {folder.name} in; make it first")


def _replace(part: Path, target: Path) -> None:
    """Replace ``target`` by ``part``.

    ``.NAME.old`` is always complete: it is renamed before it is deleted. A reader may rename it back between the two renames;
    then the loop starts again.
    """
    aside, gone = _aside(target), target.with_name(f".{target.name}.gone")
    for _ in range(_ATTEMPTS):
        recover(target)
        shutil.rmtree(gone, ignore_errors=True)
        for source, place in ((aside, gone), (target, aside)):
            with suppress(FileNotFoundError):
                source.rename(place)
        try:
            part.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            break
    else:
        raise InputError(f"{target} could not be replaced, since other programs keep writing to it; close them and try again")
    _flush(target.parent)
    _delete(aside)


def _delete(aside: Path) -> None:
    """Delete a replaced model under another name, since a folder named ``.NAME.old`` must be complete."""
    gone = aside.with_suffix(".gone")
    shutil.rmtree(gone, ignore_errors=True)
    with suppress(FileNotFoundError):
        aside.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _locked(target: Path) -> int | None:
    """Return a descriptor that holds the lock of a model's writers until :func:`_unlock`; None where there are no file locks.

    Raises:
        InputError: another process holds the lock.
    """
    if fcntl is None:
        return None
    while True:
        lock = os.open(_lock_of(target), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise InputError(f"another process is writing to {target}; wait for it, or give another folder") from None
        except OSError:  # a file system without locks
            pass
        if _same(lock, _lock_of(target)):
            return lock
        os.close(lock)  # the process that held it has deleted the file since


def _unlock(target: Path, lock: int | None) -> None:
    if lock is not None:
        try:
            _lock_of(target).unlink(missing_ok=True)
        finally:
            os.close(lock)


def _lock_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.lock")


def _same(descriptor: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


def _flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    if path.is_dir() and fcntl is None:
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _full_disk_as_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise InputError(f"{path} cannot be written: {os.strerror(error.errno)}; free some space, or write elsewhere") from None
