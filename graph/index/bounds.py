"""What distance labels say of two nodes: bounds of their distance, and the shortest length through a labelled node."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..protocol import MAX_HOPS
from .ascending import place_of


@njit(nogil=True, cache=True)
def hub_bounds(root, near, one, two):  # type: ignore[no-untyped-def]
    """Return what the hub labels say of two different nodes: the distance is at least the first and at most the second.

    The most is the length of the shortest path through a hub, 100 or more when there is none; the least holds because hubs'
    distances to the two ends differ by no more than the ends' own distance. Without branches, which no processor could foresee.
    """
    least, most = np.int64(1), np.int64(127)
    for group in range(root.shape[1]):
        ahead, behind = np.int64(root[one, group]), np.int64(root[two, group])
        nearer, same = near[one, group, 0], near[one, group, 1]
        other_nearer, other_same = near[two, group, 0], near[two, group, 1]
        by_two = np.int64((nearer & other_nearer) != 0)
        by_one = by_two | np.int64(((nearer & other_same) | (same & other_nearer)) != 0)
        most = min(most, ahead + behind - by_two - by_one)

        far_nearer, far_same = (nearer, same) if ahead >= behind else (other_nearer, other_same)
        close_nearer, close_same = (other_nearer, other_same) if ahead >= behind else (nearer, same)
        by_two = np.int64((close_nearer & ~(far_nearer | far_same)) != 0)
        by_one = by_two | np.int64(((close_nearer & ~far_nearer) | (close_same & ~(far_nearer | far_same))) != 0)
        least = max(least, abs(ahead - behind) + by_two + by_one)
    return least, most


@njit(nogil=True, cache=True)
def _meet(pruned, i, last_i, j, last_j):  # type: ignore[no-untyped-def]
    """Whether ``pruned[i:last_i]`` and ``pruned[j:last_j]`` have a hub in common."""
    while i < last_i and j < last_j:
        hub, other = pruned[i] >> 3, pruned[j] >> 3
        if hub == other:
            return True
        i += hub < other
        j += other < hub
    return False


@njit(nogil=True, cache=True)
def _common(pruned, i, last_i, j, last_j, best):  # type: ignore[no-untyped-def]
    """Return the shortest length through a hub of both ``pruned[i:last_i]`` and ``pruned[j:last_j]``, or ``best`` if less."""
    while i < last_i and j < last_j:
        a, b = pruned[i], pruned[j]
        hub, other = a >> 3, b >> 3
        if hub == other:
            best = min(best, np.int64(a & 7) + np.int64(b & 7))
        i += hub <= other
        j += other <= hub
    return best


@njit(nogil=True, cache=True)
def through_labels(start, pruned, one, two, least, best):  # type: ignore[no-untyped-def]
    """Return the shortest length through a node that both have a pruned label for, or ``best`` if that is less.

    Lengths are tried from 1 on, so that most pairs need only the few labels of distance 1; those below ``least`` cannot occur.
    """
    hub, node = min(one, two), max(one, two)
    label = np.uint32(hub) << np.uint32(3)
    one1, one2, one3, one_end = start[one, 0], start[one, 1], start[one, 2], start[one + 1, 0]
    two1, two2, two3, two_end = start[two, 0], start[two, 1], start[two, 2], start[two + 1, 0]
    if least <= 1 and place_of(pruned, start[node, 0], start[node, 1], label | np.uint32(1)) >= 0:
        return np.int64(1)
    if least <= 2 and best > 2:
        if place_of(pruned, start[node, 1], start[node, 2], label | np.uint32(2)) >= 0:
            return np.int64(2)
        if _meet(pruned, one1, one2, two1, two2):
            return np.int64(2)
    if best > 3:
        for distance in range(3, min(best, MAX_HOPS + 1)):
            if place_of(pruned, start[node, 2], start[node + 1, 0], label | np.uint32(distance)) >= 0:
                best = np.int64(distance)
                break
    if best > 3 and (_meet(pruned, one1, one2, two2, two3) or _meet(pruned, one2, one3, two1, two2)):
        return np.int64(3)
    if best > 4:
        best = _common(pruned, one2, one3, two2, two3, best)
        best = _common(pruned, one1, one2, two3, two_end, best)
        best = _common(pruned, one3, one_end, two1, two2, best)
    if best > 5:
        best = _common(pruned, one2, one3, two3, two_end, best)
        best = _common(pruned, one3, one_end, two2, two3, best)
        best = _common(pruned, one3, one_end, two3, two_end, best)
    return best
