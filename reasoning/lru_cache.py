"""Thread-safe LRU cache, for the results of texts that repeat, such as turns in many histories."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_alive: weakref.WeakSet[LruCache[Any, Any]] = weakref.WeakSet()


class LruCache(Generic[K, V]):
    """Thread-safe cache of the ``size`` most recently used entries. Size 0 disables the cache."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()
        _alive.add(self)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """Return the value of ``key`` and mark it as most recently used, or None."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def put(self, key: K, value: V) -> None:
        """Store ``value``, evicting the least recently used entries above ``size``."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            while len(self._entries) > self.size:
                self._entries.popitem(last=False)

    def get_all(self, keys: Iterable[K], compute: Callable[[list[K]], Iterable[V]]) -> dict[K, V]:
        """Return the value of each distinct key; ``compute`` is called once with those that are missing, if any, in order."""
        distinct = dict.fromkeys(keys)
        result = {key: value for key in distinct if (value := self.get(key)) is not None}
        missing = [key for key in distinct if key not in result]
        if missing:
            for key, value in zip(missing, compute(missing), strict=True):
                result[key] = value
                self.put(key, value)
        return result

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._entries.clear()


def clear_caches() -> None:
    """Clear every cache of this process.

    A model's result for a text changes in the last digits with the texts that share its batch, and cached texts are not in the
    batch. After this call the same items in the same batches give bitwise equal scores, whatever was scored before.
    """
    for cache in list(_alive):
        cache.clear()
