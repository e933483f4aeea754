"""A file of API keys: who may ask a service, with a salted hash of each key, never the key itself.

A key is 32 random bytes, so that its hash cannot be guessed back, however fast it is to work out. A line of the file holds the
key's id (the public beginning of the key), a salt, the BLAKE2b hash of salt and key, and a name for people::

    3f9c2a7d51e0 6b0e... 9d41... alice
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
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
    return key, Entry(identity, salt, key_digest(salt, key.encode()), name.strip())


def write_keys(path: Path, entries: list[Entry]) -> None:
    """Write a file of keys, whole or not at all: a new one readable by its owner alone, another with the rights that it had."""
    rights = stat.S_IMODE(path.stat().st_mode) if path.is_file() else 0o600
    fresh = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            fresh.chmod(rights)
            file.write("# Keys of a tacit service: id, salt, BLAKE2b of salt and key, name. Lines come from: tacit keys add\n")
            file.writelines(entry.line() for entry in entries)
        fresh.replace(path)
    except FileNotFoundError as error:
        raise InputError(f"there is no folder {path.parent} to write {path.name} in; make it first") from error
    finally:
        fresh.unlink(missing_ok=True)


def key_digest(salt: bytes, key: bytes) -> bytes:
    """Return what the file keeps of a key."""
    return hashlib.blake2b(key, salt=salt, digest_size=32).digest()
