"""Memory that searches reuse: marks that are stamped instead of cleared, queues, and a pool that lends each thread its own.

A search on a large graph touches a few hundred nodes; clearing an array of a million before it would cost more than the search.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]

_LAST_STAMP = 2_000_000_000


class Scratch(NamedTuple):
    """Memory for one search at a time, each array of shape (nodes,) unless said otherwise.

    Attributes:
        mark, other_mark: stamps of where a search has been. stamp: shape (2,), the last stamp used in each of them.
        here, there: queues of nodes. value: whatever a search keeps a node, valid where it is marked.
    """

    mark: Ints
    other_mark: Ints
    stamp: Ints
    here: Ints
    there: Ints
    value: Ints


def new_scratch(nodes: int) -> Scratch:
    """Return fresh memory for a graph of ``nodes``; the system hands out its pages as they are touched."""
    mark, other_mark, here, there, value = (np.zeros(nodes, dtype=np.int32) for _ in range(5))
    return Scratch(mark, other_mark, np.zeros(2, dtype=np.int32), here, there, value)


class ScratchPool:
    """Lends scratch memory; as many pieces exist as were ever in use at once."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._free: list[Scratch] = []
        self._lock = threading.Lock()

    @contextmanager
    def lend(self) -> Iterator[Scratch]:
        """Lend one piece for the length of a ``with`` block."""
        with self._lock:
            scratch = self._free.pop() if self._free else None
        scratch = scratch or new_scratch(self._nodes)
        yield scratch  # after an error it is dropped, since its arrays may be in any state
        with self._lock:
            self._free.append(scratch)


@njit(nogil=True, cache=True)
def fresh_stamps(mark, stamp, which, width):  # type: ignore[no-untyped-def]
    """Return the first of ``width`` stamps that occur nowhere in ``mark``."""
    if stamp[which] > _LAST_STAMP:
        mark[:] = 0
        stamp[which] = 0
    first = stamp[which] + np.int32(1)
    stamp[which] += np.int32(width)
    return first
