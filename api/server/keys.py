"""API keys: a file of salted hashes, commands to edit it, and the check of a request's key in constant time.

The file is read again when it changes, so that keys can be added and removed while the service runs. While the file is missing
or damaged, every request is refused: a removed key must not become valid again because the file was lost.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...graph.atomic import lock, new_file
from ...graph.errors import InputError
from .problems import Problem
from .telemetry import log

# The file of keys. A line holds the key's ID (the public beginning of the key), a salt, the BLAKE2b hash of salt and key, and a
# name: "3f9c2a7d51e0 6b0e... 9d41... alice". A fast hash suffices, since a key is 32 random bytes and cannot be guessed.

_LINE = re.compile(r"([0-9a-f]{12}) ([0-9a-f]{32}) ([0-9a-f]{64})(?: (\S.*))?")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the file: ``id`` is the public beginning of the key, ``name`` is its owner's."""

    id: str
    salt: bytes
    digest: bytes
    name: str

    def line(self) -> str:
        """The entry as a line of the file."""
        return f"{self.id} {self.salt.hex()} {self.digest.hex()} {self.name}".rstrip() + "\n"


def read_keys(path: Path) -> list[Entry]:
    """Return the entries of a file of keys; empty lines and lines that begin with ``#`` are ignored."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else (error.strerror or str(error)).lower()
        raise InputError(f"the keys at {path} cannot be read: {why}; make the file with: tacit keys add {path} NAME") from error
    entries = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise InputError(f"{path}:{number} is not an entry of a key file; write the file with tacit keys add")
        entries.append(Entry(match[1], bytes.fromhex(match[2]), bytes.fromhex(match[3]), match[4] or ""))
    return entries


def new_key(name: str) -> tuple[str, Entry]:
    """Return a new key and its entry; the key cannot be recovered from the entry."""
    if not name.strip() or not name.isprintable():
        raise InputError(f"{name!r} cannot be the name of a key; give one line of printable characters")
    identity = secrets.token_hex(6)
    key = f"tacit_{identity}_{secrets.token_urlsafe(32)}"
    salt = secrets.token_bytes(16)
    return key, Entry(identity, salt, key_digest(salt, key.encode()), name.strip())


@contextmanager
def editing_keys(path: Path, *, create: bool = False) -> Iterator[list[Entry]]:
    """Yield the entries of a file of keys as a list to edit, and write the list back unless the block raises.

    The file is locked against other processes; ``create``: it is created if missing, readable by its owner only.
    """
    is_new = create and not path.exists()
    try:
        descriptor = lock(path, flags=os.O_RDWR | (os.O_CREAT if create else 0), mode=0o600, wait=True, required=True)
    except OSError as error:
        hint = "make its folder first" if create else f"make it with: tacit keys add {path} NAME"
        raise InputError(f"the keys at {path} cannot be opened ({error.strerror or error}); {hint}") from error
    try:
        entries = read_keys(path)
        yield entries
        write_keys(path, entries)
    except BaseException:
        if is_new and path.stat().st_size == 0:
            path.unlink()
        raise
    finally:
        os.close(descriptor)


def write_keys(path: Path, entries: list[Entry]) -> None:
    """Replace a file of keys atomically; a new file is readable by its owner only, an old one keeps its permissions.

    Does not lock; to change an existing file use :func:`editing_keys`.
    """
    try:
        rights = stat.S_IMODE(path.stat().st_mode) if path.is_file() else 0o600
        with new_file(path) as fresh:
            fresh.touch(0o600)
            with fresh.open("w", encoding="utf-8") as file:
                file.write("# Keys of a tacit service: id, salt, BLAKE2b of salt and key, name. Written by: tacit keys add\n")
                file.writelines(entry.line() for entry in entries)
            fresh.chmod(rights)
    except OSError as error:
        raise InputError(f"the keys at {path} cannot be written ({error.strerror or error}); check the folder") from error


def key_digest(salt: bytes, key: bytes) -> bytes:
    """Return the hash of a key that the file stores."""
    return hashlib.blake2b(key, salt=salt, digest_size=32).digest()


_KEY = re.compile(rb"tacit_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_CHECK_SECONDS = 1.0
_NO_ENTRY = Entry("0" * 12, b"\0" * 16, b"\0" * 32, "")  # hashed for unknown IDs too, so that the time is the same


class Keys:
    """The keys of a file, read again when the file changes.

    Raises:
        InputError: the file cannot be read, a line of it is not an entry, or it has no entry.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._version = _version(path)
        self._entries: dict[str, Entry] | None = {entry.id: entry for entry in read_keys(path)}
        self._checked_at = time.monotonic()
        if not self._entries:
            raise InputError(f"{path} has no keys, so nobody could use the service; add one with: tacit keys add {path} NAME")

    def admit(self, headers: Mapping[bytes, bytes]) -> str:
        """Return the ID of the key in a request's headers; 401 without a valid one, 503 while the file cannot be read."""
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        key = token.strip() if kind.lower() == b"bearer" else headers.get(b"x-api-key", b"").strip()
        challenge = {"WWW-Authenticate": 'Bearer realm="tacit"'}
        if not key:
            raise Problem(
                401,
                "no-key",
                "this service needs an API key; send it as Authorization: Bearer KEY or X-API-Key: KEY",
                headers=challenge,
            )
        match = _KEY.fullmatch(key)
        name = match[1].decode() if match else ""
        entry = self._current().get(name, _NO_ENTRY)
        is_right = hmac.compare_digest(key_digest(entry.salt, key), entry.digest)
        if not is_right or entry is _NO_ENTRY:
            raise Problem(401, "wrong-key", "unknown API key; request one from the operator of this service", headers=challenge)
        return entry.id

    def check(self) -> None:
        """Check that the file of keys can be read; 503 if not."""
        self._current()

    def _current(self) -> dict[str, Entry]:
        """The entries, read again if the file has changed."""
        now = time.monotonic()
        if now - self._checked_at > _CHECK_SECONDS:
            self._checked_at = now
            version = _version(self._path)
            if version != self._version or version == ():
                self._version = version
                self._read()
        if self._entries is None:
            raise Problem(
                503, "keys-unavailable", "the service cannot read its file of API keys, so every request is refused; see its log"
            )
        return self._entries

    def _read(self) -> None:
        was_readable = self._entries is not None
        try:
            self._entries = {entry.id: entry for entry in read_keys(self._path)}
        except InputError as error:
            self._entries = None
            if was_readable:
                log("error", "keys", detail=str(error))
        else:
            if not was_readable:
                log("info", "keys", detail=f"{self._path} can be read again")


def _version(path: Path) -> tuple[int, ...]:
    try:
        stat = path.stat()
    except OSError:
        return ()
    return (stat.st_ino, stat.st_mtime_ns, stat.st_size)
