"""Hop distances: labels first, and a search in what the labels leave out, bounded by what they say. Exact.

For a pair, the labels give the shortest length through any covered node (the hubs among them). A shorter path can only run
through the uncovered rest, where every node has few arcs: a search from both ends, always widening the smaller frontier, looks
for one and stops as soon as no shorter path can exist. Nodes are numbered so that covered nodes come first and arcs are sorted,
so a node's arcs into the rest are the end of its list.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..protocol import MAX_HOPS
from .scratch import fresh_stamps

Ints = NDArray[np.int32]


@njit(nogil=True, cache=True)
def _search(indptr, neighbour, covered, one, two, most, scratch):  # type: ignore[no-untyped-def]
    """Return the length of the shortest path of at most ``most`` hops outside the covered nodes, else 127."""
    mark, here, there = scratch.mark, scratch.here, scratch.there
    mine = fresh_stamps(mark, scratch.stamp, np.int64(0), np.int64(2))
    yours = mine + np.int32(1)
    mark[one], mark[two] = mine, yours
    here[0], there[0] = one, two
    start, end, other_start, other_end = 0, 1, 0, 1
    for depth in range(1, most + 1):
        if end - start > other_end - other_start:
            here, there = there, here
            start, end, other_start, other_end = other_start, other_end, start, end
            mine, yours = yours, mine
        if depth == most:  # only a meeting counts now, nothing has to be remembered
            for position in range(start, end):
                node = here[position]
                for arc in range(indptr[node + 1] - 1, indptr[node] - 1, -1):
                    other = neighbour[arc]
                    if other < covered:
                        break
                    if mark[other] == yours:
                        return depth
            return 127
        size = end
        for position in range(start, end):
            node = here[position]
            for arc in range(indptr[node + 1] - 1, indptr[node] - 1, -1):
                other = neighbour[arc]
                if other < covered:
                    break
                if mark[other] == yours:
                    return depth
                if mark[other] != mine:
                    mark[other] = mine
                    here[size] = other
                    size += 1
        if size == end:
            return 127
        start, end = end, size
    return 127


@njit(nogil=True, cache=True)
def _hub_bounds(root, near, one, two):  # type: ignore[no-untyped-def]
    """Return what the hub labels say of two different nodes: the distance is at least the first and at most the second.

    The most is the length of the shortest path through a hub, 100 or more when there is none; the least holds because hubs'
    distances to the two ends differ by no more than the ends' own distance.
    """
    least, most = np.int64(1), np.int64(127)
    for group in range(root.shape[1]):
        ahead, behind = np.int64(root[one, group]), np.int64(root[two, group])
        through, gap = ahead + behind, abs(ahead - behind)
        if through - 2 < most or gap + 2 > least:
            far, close = (one, two) if ahead >= behind else (two, one)
            far_nearer, far_same = near[far, group, 0], near[far, group, 1]
            close_nearer, close_same = near[close, group, 0], near[close, group, 1]
            if far_nearer & close_nearer:
                through -= 2
            elif (far_nearer & close_same) | (far_same & close_nearer):
                through -= 1
            if close_nearer & ~(far_nearer | far_same):
                gap += 2
            elif (close_nearer & ~far_nearer) | (close_same & ~(far_nearer | far_same)):
                gap += 1
            most, least = min(most, through), max(least, gap)
            if least >= most:
                break
    return least, most


@njit(nogil=True, cache=True)
def _holds(pruned, low, high, label):  # type: ignore[no-untyped-def]
    """Whether ``label`` stands in ``pruned[low:high]``, which ascends."""
    last = high
    while low < high:
        middle = (low + high) >> 1
        if pruned[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low < last and pruned[low] == label


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
def _through_labels(start, pruned, one, two, least, best):  # type: ignore[no-untyped-def]
    """Return the shortest length through a node that both have a pruned label for, or ``best`` if that is less.

    Lengths are tried from 1 on, so that most pairs need only the few labels of distance 1; those below ``least`` cannot occur.
    """
    hub, node = min(one, two), max(one, two)
    label = np.uint32(hub) << np.uint32(3)
    one1, one2, one3, one_end = start[one, 0], start[one, 1], start[one, 2], start[one + 1, 0]
    two1, two2, two3, two_end = start[two, 0], start[two, 1], start[two, 2], start[two + 1, 0]
    if least <= 1 and _holds(pruned, start[node, 0], start[node, 1], label | np.uint32(1)):
        return np.int64(1)
    if least <= 2 and best > 2:
        if _holds(pruned, start[node, 1], start[node, 2], label | np.uint32(2)):
            return np.int64(2)
        if _common(pruned, one1, one2, two1, two2, best) == 2:
            return np.int64(2)
    if best > 3:
        for distance in range(3, min(best, MAX_HOPS + 1)):
            if _holds(pruned, start[node, 2], start[node + 1, 0], label | np.uint32(distance)):
                best = np.int64(distance)
                break
        best = _common(pruned, one1, one2, two2, two3, best)
        best = _common(pruned, one2, one3, two1, two2, best)
    if best > 4:
        best = _common(pruned, one2, one3, two2, two3, best)
        best = _common(pruned, one1, one2, two3, two_end, best)
        best = _common(pruned, one3, one_end, two1, two2, best)
    if best > 5:
        best = _common(pruned, one2, one3, two3, two_end, best)
        best = _common(pruned, one3, one_end, two2, two3, best)
        best = _common(pruned, one3, one_end, two3, two_end, best)
    return best


@njit(nogil=True, cache=True)
def _by_labels(root, near, start, pruned, one, two, most):  # type: ignore[no-untyped-def]
    """Return bounds of the distance of two nodes, exact when they are equal; 127 both when it is above ``most`` or unknown."""
    if one < 0 or two < 0:
        return np.int64(127), np.int64(127)
    if one == two:
        return np.int64(0), np.int64(0)
    least, best = _hub_bounds(root, near, one, two)
    if least > most:
        return np.int64(127), np.int64(127)
    if least < best:
        best = _through_labels(start, pruned, one, two, least, best)
    return least, best


@njit(nogil=True, cache=True)
def pair_distances(indptr, neighbour, labels, ones, twos, most, scratch, out):  # type: ignore[no-untyped-def]
    """Fill ``out[i]`` with the distance from ``ones[i]`` to ``twos[i]``; -1 for none within ``most`` and for unknown nodes."""
    root, near, start, pruned, covered = labels  # unpacked once: handing tuples of arrays on costs more than a distance
    whole = covered >= len(indptr) - 1
    for i in range(len(ones)):
        one, two = ones[i], twos[i]
        least, best = _by_labels(root, near, start, pruned, one, two, most)
        if least < best and not whole and one >= covered and two >= covered:
            bound = min(best - 1, most)
            if least <= bound:
                best = min(best, _search(indptr, neighbour, covered, one, two, bound, scratch))
        out[i] = best if best <= most else -1


@njit(nogil=True, cache=True)
def matrix_distances(indptr, neighbour, labels, ones, twos, most, scratch, out):  # type: ignore[no-untyped-def]
    """Fill ``out[i, j]`` with the distance from ``ones[i]`` to ``twos[j]``, as :func:`pair_distances` does."""
    for i in range(len(ones)):
        pair_distances(indptr, neighbour, labels, np.full(len(twos), ones[i], ones.dtype), twos, most, scratch, out[i])
