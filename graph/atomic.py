"""Files and folders that are replaced atomically, and locks between processes.

A file is written under another name, flushed to disk and renamed over the old one, which is atomic. A non-empty folder cannot be
replaced by one rename, so the new one is written to ``.NAME.part``, the old one renamed to ``.NAME.old``, and the new one
renamed into place. A process that dies between the two renames leaves ``.NAME.old`` whole and nothing at ``NAME``; every reader
and writer calls :func:`recover` first, which renames it back. Writers hold the lock of ``.NAME.lock``. This keeps the layout
that other libraries read, which a pointer to versioned subfolders would not, and needs no exchange of two folders, which only
some file systems can do.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

DISK_FULL = frozenset(code for name in ("ENOSPC", "EDQUOT", "EFBIG") if (code := getattr(errno, name, None)) is not None)
"""Error numbers of the operating system for a full disk or an exceeded quota."""
_ATTEMPTS = 100
_GZIP_BUFFER = 1 << 17


class DiskFull(InputError):
    """A file cannot be written because the disk is full."""


@contextmanager
def disk_full_errors(target: object) -> Iterator[None]:
    """Convert the operating system's error for a full disk to :class:`DiskFull`, which names ``target``."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.errno not in DISK_FULL:
            raise
        raise DiskFull(f"{target} cannot be written: {os.strerror(error.errno)}; free some space, or write elsewhere") from None


# files


@contextmanager
def new_file(path: Path, *, draft: Path | None = None) -> Iterator[Path]:
    """Yield the path of a file to write; when the block succeeds, it replaces ``path`` atomically, otherwise it is deleted.

    A device or a FIFO is not replaced: then ``path`` itself is yielded.

    Args:
        path: the file to replace; a link stays one.
        draft: where the new file is written; by default a hidden file in the same folder.

    Raises:
        DiskFull: the disk is full.
    """
    if is_special(path):
        with disk_full_errors(path):
            yield path
        return
    target = path.resolve()
    temporary = draft or target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with disk_full_errors(path):
            yield temporary
            flush(temporary)
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush(target.parent)


@contextmanager
def new_stream(path: Path) -> Iterator[BinaryIO]:
    """Yield a binary stream into a :func:`new_file` at ``path``, compressed with gzip when the name ends in ``.gz``."""
    with new_file(path) as temporary, temporary.open("wb") as file:
        if path.suffix.lower() != ".gz":
            yield file
            return
        import gzip

        with (
            gzip.GzipFile(path.stem, "wb", compresslevel=6, fileobj=file, mtime=0) as packed,
            io.BufferedWriter(packed, _GZIP_BUFFER) as stream,
        ):
            yield stream


def is_special(path: Path) -> bool:
    """Return whether ``path`` is a device, a FIFO or a socket, possibly through links such as ``/dev/stdout``."""
    return path.exists() and not path.is_file() and not path.is_dir()


def write_file(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` as :func:`new_file` does."""
    with new_file(path) as temporary:
        temporary.write_bytes(data)


def flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    if os.name == "nt" and path.is_dir():  # Windows cannot open folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# folders


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces ``folder`` when the block succeeds and is deleted otherwise.

    At any time, whatever fails and whenever the process is killed, a reader that calls :func:`recover` finds either the old or
    the new folder complete. Files left by a killed process are deleted by the next one.

    Raises:
        InputError: another process is writing to ``folder``, or the disk is full.
    """
    target = folder.resolve()
    part = target.with_name(f".{target.name}.part")
    with _writer_lock(target):
        try:
            with disk_full_errors(folder):
                shutil.rmtree(part, ignore_errors=True)
                part.mkdir()
                yield part
                for path in [*part.rglob("*"), part]:
                    flush(path)
                _replace(part, target)
        finally:
            recover(target)
            shutil.rmtree(part, ignore_errors=True)


def recover(folder: Path) -> None:
    """Finish or undo the replacement of ``folder`` by a process that died; do nothing in any other case.

    The old folder is renamed back when the new one was not in place yet, and deleted when it was.
    """
    with suppress(OSError, ValueError):  # another process was faster, the file system is read-only, or the path is invalid
        folder = folder.expanduser().resolve()
        old = _old_path(folder)
        if not old.is_dir():
            return
        if not folder.exists():
            old.rename(folder)
            return
        with suppress(InputError), _writer_lock(folder):  # a writer that is at work deletes it
            if folder.exists():
                _delete(old)


def check_folder(folder: Path, file: str, what: str) -> None:
    """Check that a folder can be written without destroying something else.

    Args:
        folder: the folder.
        file: a file that every folder of this kind has.
        what: the kind with its article, e.g. ``a probe``.

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
    old, doomed = _old_path(target), target.with_name(f".{target.name}.gone")
    for _ in range(_ATTEMPTS):
        recover(target)
        shutil.rmtree(doomed, ignore_errors=True)
        for source, destination in ((old, doomed), (target, old)):
            with suppress(FileNotFoundError):
                source.rename(destination)
        try:
            part.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            break
    else:
        raise InputError(f"{target} could not be replaced, since other programs keep writing to it; close them and try again")
    flush(target.parent)
    _delete(old)


def _delete(old: Path) -> None:
    """Delete a replaced folder under another name, since a folder named ``.NAME.old`` must be complete."""
    doomed = old.with_suffix(".gone")
    shutil.rmtree(doomed, ignore_errors=True)
    with suppress(FileNotFoundError):
        old.rename(doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def _old_path(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


@contextmanager
def _writer_lock(target: Path) -> Iterator[None]:
    """Hold the lock that keeps other processes from writing to a folder."""
    path = target.with_name(f".{target.name}.lock")
    try:
        descriptor = lock(path, mode=0o666)
    except BlockingIOError:
        raise InputError(f"another process is writing to {target}; wait for it, or give another folder") from None
    try:
        yield
    finally:
        try:
            path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


# locks


def lock(
    path: Path,
    *,
    flags: int = os.O_RDWR | os.O_CREAT,
    mode: int = 0o644,
    shared: bool = False,
    wait: bool = False,
    required: bool = False,
) -> int:
    """Return a descriptor of the file or folder at ``path`` that holds its lock until it is closed or the process ends.

    The file is opened again when another process replaced or deleted it before it was locked.

    Args:
        path: the file or folder.
        flags, mode: as of ``os.open``.
        shared: several processes may hold the lock together.
        wait: wait while another process holds the lock.
        required: fail where the system or the file system has no locks, instead of continuing without one.

    Raises:
        BlockingIOError: another process holds the lock.
        OSError: the file cannot be opened.
    """
    if fcntl is None:
        if required:
            raise OSError(errno.ENOLCK, "this system has no file locks")
        return os.open(os.devnull, os.O_RDONLY)
    operation = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB)
    while True:
        descriptor = os.open(path, flags, mode)
        try:
            try:
                fcntl.flock(descriptor, operation)
            except BlockingIOError:
                raise
            except OSError:
                if required:
                    raise
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
