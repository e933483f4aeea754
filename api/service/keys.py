"""API keys: a file that names who may ask, with a salted hash of each key, never the key itself.

A key is 32 random bytes, so that its hash cannot be guessed back, however fast it is to work out. A line of the file holds the
key's id (the public beginning of the key), a salt, the BLAKE2b hash of salt and key, and a name for people::

    3f9c2a7d51e0 6b0e... 9d41... alice

The file is read again when it changes, so that a key can be added or taken away while the service runs.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...graph.errors import InputError
from .problems import Problem

_LINE = re.compile(r"([0-9a-f]{12}) ([0-9a-f]{32}) ([0-9a-f]{64})(?: (\S.*))?")
_KEY = re.compile(rb"tacit_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_LOOK_AGAIN = 1.0


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


_NOBODY = Entry("0" * 12, b"\0" * 16, b"\0" * 32, "")


class Keys:
    """The keys of a file.

    Raises:
        InputError: it cannot be read, or a line of it is none.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries = {entry.id: entry for entry in read_keys(path)}
        self._version = _version(path)
        self._looked = time.monotonic()
        if not self._entries:
            raise InputError(f"{path} holds no key, so nobody could ask anything; make one with: tacit keys add {path} NAME")

    def admit(self, headers: Mapping[bytes, bytes]) -> str:
        """Return the id of the key in a request's headers.

        Raises:
            Problem: there is none, or it is not one of the file.
        """
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        given = token.strip() if kind.lower() == b"bearer" else headers.get(b"x-api-key", b"").strip()
        challenge = {"WWW-Authenticate": 'Bearer realm="tacit"'}
        if not given:
            raise Problem(
                401,
                "no-key",
                "this service asks for a key; send it as Authorization: Bearer KEY or X-API-Key: KEY",
                headers=challenge,
            )
        form = _KEY.fullmatch(given)
        name = form[1].decode() if form else ""
        entry = self._known().get(name, _NOBODY)
        right = hmac.compare_digest(_digest(entry.salt, given), entry.digest)
        if not right or entry is _NOBODY:
            raise Problem(401, "wrong-key", "the key is not one that this service knows; ask whoever runs it", headers=challenge)
        return entry.id

    def _known(self) -> dict[str, Entry]:
        now = time.monotonic()
        if now - self._looked > _LOOK_AGAIN:
            self._looked = now
            version = _version(self._path)
            if version != self._version:
                try:
                    self._entries = {entry.id: entry for entry in read_keys(self._path)}
                    self._version = version
                except InputError:  # half written: what was known holds until the file can be read
                    self._version = ()
        return self._entries


def read_keys(path: Path) -> list[Entry]:
    """Return the entries of a file of keys; empty lines and lines that begin with ``#`` are left aside.

    Raises:
        InputError: it cannot be read, or a line is none.
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
            raise InputError(f"{path}:{number} is no line of keys; write lines with tacit keys add alone")
        entries.append(Entry(match[1], bytes.fromhex(match[2]), bytes.fromhex(match[3]), match[4] or ""))
    return entries


def new_key(name: str) -> tuple[str, Entry]:
    """Return a fresh key and its entry; the key can be had only now.

    Raises:
        InputError: the name is no text on one line.
    """
    if not name.strip() or not name.isprintable():
        raise InputError(f"{name!r} names nobody; give a name of printable letters")
    identity = secrets.token_hex(6)
    key = f"tacit_{identity}_{secrets.token_urlsafe(32)}"
    salt = secrets.token_bytes(16)
    return key, Entry(identity, salt, _digest(salt, key.encode()), name.strip())


def write_keys(path: Path, entries: list[Entry]) -> None:
    """Write a file of keys, whole or not at all, readable by its owner alone."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write("# Keys of a tacit service: id, salt, BLAKE2b of salt and key, name. Lines come from: tacit keys add\n")
            file.writelines(entry.line() for entry in entries)
        fresh.replace(path)
    except FileNotFoundError as error:
        raise InputError(f"there is no folder {path.parent} to write {path.name} in; make it first") from error
    finally:
        fresh.unlink(missing_ok=True)


def _digest(salt: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(key, salt=salt, digest_size=32).digest()


def _version(path: Path) -> tuple[int, ...]:
    try:
        stat = path.stat()
    except OSError:
        return ()
    return (stat.st_ino, stat.st_mtime_ns, stat.st_size)
