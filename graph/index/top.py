"""The best few of many, kept while they stream by: a heap of bounded size, for the kernels."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def offer(heap, size, key):  # type: ignore[no-untyped-def]
    """Keep ``key`` in ``heap`` (a max-heap of the ``len(heap)`` least keys seen, ``size`` filled); return the new size."""
    if size < len(heap):
        place = size
        while place > 0 and heap[(place - 1) >> 1] < key:
            heap[place] = heap[(place - 1) >> 1]
            place = (place - 1) >> 1
        heap[place] = key
        return size + 1
    if size == 0 or key >= heap[0]:
        return size
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = key
    return size


@njit(nogil=True, cache=True)
def sort_key(strength, rank, strongest):  # type: ignore[no-untyped-def]
    """Return one number that sorts by strength descending, then rank."""
    return np.int64(strongest - strength) << np.int64(32) | np.int64(rank)
