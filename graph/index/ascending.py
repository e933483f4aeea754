"""Looking a value up in a stretch of an ascending array, compiled: arcs of a node, labels of a node."""

from __future__ import annotations

from numba import njit


@njit(nogil=True, cache=True)
def place_of(ascending, low, high, value):  # type: ignore[no-untyped-def]
    """Return the first place of ``value`` in ``ascending[low:high]``, -1 when it is not there."""
    last = high
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < last and ascending[low] == value else -1
