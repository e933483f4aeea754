"""A set of 64-bit hashes in one flat array: "seen before" at 16 to 32 bytes a row, a fraction of a set of Python integers."""

from __future__ import annotations

import hashlib
from array import array

_START = 1 << 12


def hash64(text: str) -> int:
    """Return 64 bits that stand for ``text``, the same in every process; never 0."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") or 1


class HashSet:
    """Open addressing with linear probing, at most half full; 0 marks an empty place."""

    def __init__(self) -> None:
        self._table = array("Q", bytes(8 * _START))
        self._mask = _START - 1
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, value: int) -> bool:
        """Add ``value`` (1 to 2**64 - 1, well mixed) and return whether it is new."""
        table, mask = self._table, self._mask
        place = value & mask
        while (found := table[place]) != 0:
            if found == value:
                return False
            place = (place + 1) & mask
        table[place] = value
        self._size += 1
        if 2 * self._size > mask:
            self._grow()
        return True

    def _grow(self) -> None:
        old = self._table
        self._mask = mask = 2 * len(old) - 1
        self._table = table = array("Q", bytes(16 * len(old)))
        for value in old:
            if value:
                place = value & mask
                while table[place]:
                    place = (place + 1) & mask
                table[place] = value
