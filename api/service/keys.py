"""API keys: the key in a request's headers against the hashes in a file, compared in constant time.

The file is read again when it changes, so that a key can be added or taken away while the service runs. While the file is missing
or damaged, the service admits nobody: a key that was taken away must not come back because the file was lost.
"""

from __future__ import annotations

import hmac
import re
import time
from collections.abc import Mapping
from pathlib import Path

from ...graph.errors import InputError
from ..keyring import Entry, key_digest, read_keys
from .observing import log
from .problems import Problem

_KEY = re.compile(rb"tacit_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_LOOK_AGAIN = 1.0
_NOBODY = Entry("0" * 12, b"\0" * 16, b"\0" * 32, "")


class Keys:
    """The keys of a file.

    Raises:
        InputError: the file cannot be read, a line of it is not an entry, or it has no entry.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._version = _version(path)
        self._entries: dict[str, Entry] | None = {entry.id: entry for entry in read_keys(path)}
        self._looked = time.monotonic()
        if not self._entries:
            raise InputError(f"{path} holds no key, so nobody could use the service; make one with: tacit keys add {path} NAME")

    def admit(self, headers: Mapping[bytes, bytes]) -> str:
        """Return the id of the key in a request's headers.

        Raises:
            Problem: 401, there is no key or it is not one of the file; 503, the file cannot be read.
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
        right = hmac.compare_digest(key_digest(entry.salt, given), entry.digest)
        if not right or entry is _NOBODY:
            raise Problem(401, "wrong-key", "the key is not one that this service knows; ask whoever runs it", headers=challenge)
        return entry.id

    def check(self) -> None:
        """Return when the file of keys can be read.

        Raises:
            Problem: it is missing or damaged.
        """
        self._known()

    def _known(self) -> dict[str, Entry]:
        now = time.monotonic()
        if now - self._looked > _LOOK_AGAIN:
            self._looked = now
            version = _version(self._path)
            if version != self._version or version == ():
                self._version = version
                self._read()
        if self._entries is None:
            raise Problem(
                503,
                "keys-unavailable",
                "the service cannot read its file of keys, so it admits nobody; see its log",
            )
        return self._entries

    def _read(self) -> None:
        known = self._entries is not None
        try:
            self._entries = {entry.id: entry for entry in read_keys(self._path)}
        except InputError as error:
            self._entries = None
            if known:
                log("error", "keys", detail=str(error))
        else:
            if not known:
                log("info", "keys", detail=f"{self._path} can be read again")


def _version(path: Path) -> tuple[int, ...]:
    try:
        stat = path.stat()
    except OSError:
        return ()
    return (stat.st_ino, stat.st_mtime_ns, stat.st_size)
