"""A bounded memory of what was worked out last, for histories that repeat the same turns."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_alive: weakref.WeakSet[LruCache[Any, Any]] = weakref.WeakSet()


class LruCache(Generic[K, V]):
    """Keeps the ``size`` entries that were used last; safe to share between threads. A size of 0 keeps nothing."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()
        _alive.add(self)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """Return the value kept for ``key`` and mark it as used, or None."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def put(self, key: K, value: V) -> None:
        """Keep ``value``, letting go of the entry that was used longest ago when there are too many."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            while len(self._entries) > self.size:
                self._entries.popitem(last=False)

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._entries.clear()


def forget() -> None:
    """Clear every memory of this process.

    What a model says of a text moves in the last digits with the texts that run beside it, and those are the ones that are not
    remembered. After this call, the same items in the same batches give the same digits again, whatever was scored before.
    """
    for cache in list(_alive):
        cache.clear()
