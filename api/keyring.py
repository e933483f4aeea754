"""A file of API keys: who may use a service, with a salted hash of each key, never the key itself.

A key is 32 random bytes, so it cannot be found by trying, although the hash is fast. A line of the file holds the
key's id (the public beginning of the key), a salt, the BLAKE2b hash of salt and key, and a name for people::

    3f9c2a7d51e0 6b0e... 9d41... alice
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..graph.errors import InputError

_LINE = re.compile(r"([0-9a-f]{12}) ([0-9a-f]{32}) ([0-9a-f]{64})(?: (\S.*))?")


@dataclass(frozen=True, slots=True)
class Entry:
    """One key, as the file knows it: ``id`` begins the key, ``name`` is for people."""

    id: str
    salt: bytes
    digest: bytes
    name: str

    def line(self) -> str:
        """The line of the file."""
        return f"{self.id} {self.salt.hex()} {self.digest.hex()} {self.name}".rstrip() + "\n"


def read_keys(path: Path) -> list[Entry]:
    """Return the entries of a file of keys; empty lines and lines that begin with ``#`` are left aside.

    Raises:
        InputError: it cannot be read, or a line is not an entry.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the keys at {path} cannot be read ({error}); make the file with: tacit keys add {path} NAME"
        ) from error
    entries = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise InputError(f"{path}:{number} is not an entry of a key file; let tacit keys add write the file")
        entries.append(Entry(match[1], bytes.fromhex(match[2]), bytes.fromhex(match[3]), match[4] or ""))
    return entries


def new_key(name: str) -> tuple[str, Entry]:
    """Return a fresh key and its entry; the key can be had only now.

    Raises:
        InputError: the name is empty, or not one line of printable characters.
    """
    if not name.strip() or not name.isprintable():
        raise InputError(f"{name!r} cannot be the name of a key; give one line of printable characters")
    identity = secrets.token_hex(6)
    key = f"tacit_{identity}_{secrets.token_urlsafe(32)}"
    salt = secrets.token_bytes(16)
    return key, Entry(identity, salt, key_digest(salt, key.encode()), name.strip())


@contextmanager
def editing_keys(path: Path, *, create: bool = False) -> Iterator[list[Entry]]:
    """Give the entries of a file of keys to change, and write them back at the end; one process at a time may do so.

    The file is locked, read, and replaced by a new one that holds the changed list. Nothing is written when the block raises.

    Args:
        path: the file; create: make it where there is none, readable by its owner alone.

    Raises:
        InputError: the file cannot be read or written, or a line of it is not an entry.
    """
    made = create and not path.exists()
    try:
        descriptor = _locked(path, create)
    except OSError as error:
        hint = "make its folder first" if create else f"make it with: tacit keys add {path} NAME"
        raise InputError(f"the keys at {path} cannot be opened ({error.strerror or error}); {hint}") from error
    try:
        entries = read_keys(path)
        yield entries
        write_keys(path, entries)
    except BaseException:
        if made and path.stat().st_size == 0:
            path.unlink()
        raise
    finally:
        os.close(descriptor)


def write_keys(path: Path, entries: list[Entry]) -> None:
    """Replace a file of keys in one step: a new one is readable by its owner alone, another keeps its permissions.

    To change a file that others may change too, use :func:`editing_keys`.

    Raises:
        InputError: it cannot be written.
    """
    try:
        rights = stat.S_IMODE(path.stat().st_mode) if path.is_file() else 0o600
        descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write("# Keys of a tacit service: id, salt, BLAKE2b of salt and key, name. Written by: tacit keys add\n")
                file.writelines(entry.line() for entry in entries)
                file.flush()
                os.fsync(file.fileno())
            Path(fresh).chmod(rights)
            Path(fresh).replace(path)
        finally:
            Path(fresh).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"the keys at {path} cannot be written ({error.strerror or error}); check the folder") from error


def _locked(path: Path, create: bool) -> int:
    """Return a descriptor of the file at ``path`` that holds the lock on it.

    Each writer puts a new file at ``path``. Who waited for the lock of the old file has to take the lock of the new one.
    """
    import fcntl

    while True:
        descriptor = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def key_digest(salt: bytes, key: bytes) -> bytes:
    """Return what the file keeps of a key."""
    return hashlib.blake2b(key, salt=salt, digest_size=32).digest()
