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

from .labels import through_hubs
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
def _least(root, near, one, two):  # type: ignore[no-untyped-def]
    """Return what the hub labels say the distance is at least: hubs' distances to the two ends differ by no more."""
    least = np.int64(1)
    for group in range(root.shape[1]):
        gap = np.int64(root[one, group]) - np.int64(root[two, group])
        far, close = (one, two) if gap >= 0 else (two, one)
        gap = abs(gap)
        if gap + 2 > least:
            nearer, same = near[far, group, 0], near[far, group, 1]
            close_nearer, close_same = near[close, group, 0], near[close, group, 1]
            if close_nearer & ~(nearer | same):
                gap += 2
            elif (close_nearer & ~nearer) | (close_same & ~(nearer | same)):
                gap += 1
            least = max(least, gap)
    return least


@njit(nogil=True, cache=True)
def _through_labels(start, pruned, one, two, best):  # type: ignore[no-untyped-def]
    """Return the shortest length through a node that both have a pruned label for, or ``best`` if that is less."""
    i, last_i, j, last_j = start[one], start[one + 1], start[two], start[two + 1]
    while i < last_i and j < last_j:
        a, b = pruned[i], pruned[j]
        hub, other = a >> 3, b >> 3
        if hub == other:
            best = min(best, np.int64(a & 7) + np.int64(b & 7))
        i += hub <= other
        j += other <= hub
    return best


@njit(nogil=True, cache=True)
def _finish(indptr, neighbour, labels, one, two, best, most, scratch):  # type: ignore[no-untyped-def]
    """Return the exact distance, -1 above ``most``, when labels say ``best`` for two different nodes."""
    covered = labels.covered
    if covered < len(indptr) - 1 and one >= covered and two >= covered:
        bound = min(best - 1, most)
        if bound >= 1 and _least(labels.root, labels.near, one, two) <= bound:
            best = min(best, _search(indptr, neighbour, covered, one, two, bound, scratch))
    return best if best <= most else -1


@njit(nogil=True, cache=True)
def pair_distances(indptr, neighbour, labels, ones, twos, most, scratch, out):  # type: ignore[no-untyped-def]
    """Fill ``out[i]`` with the distance from ``ones[i]`` to ``twos[i]``; -1 for none within ``most`` and for unknown nodes."""
    for i in range(len(ones)):
        one, two = ones[i], twos[i]
        if one < 0 or two < 0:
            out[i] = -1
        elif one == two:
            out[i] = 0
        else:
            best = through_hubs(labels.root, labels.near, one, two)
            if best > 1:
                best = _through_labels(labels.start, labels.pruned, one, two, best)
            out[i] = _finish(indptr, neighbour, labels, one, two, best, most, scratch)


@njit(nogil=True, cache=True)
def matrix_distances(indptr, neighbour, labels, ones, twos, most, scratch, out):  # type: ignore[no-untyped-def]
    """Fill ``out[i, j]`` with the distance from ``ones[i]`` to ``twos[j]``, as :func:`pair_distances` does."""
    reach, start, pruned = scratch.reach, labels.start, labels.pruned
    for i in range(len(ones)):
        one = ones[i]
        if one < 0:
            for j in range(len(twos)):
                out[i, j] = -1
            continue
        for place in range(start[one], start[one + 1]):
            reach[pruned[place] >> 3] = pruned[place] & 7
        for j in range(len(twos)):
            two = twos[j]
            if two < 0:
                out[i, j] = -1
            elif one == two:
                out[i, j] = 0
            else:
                best = through_hubs(labels.root, labels.near, one, two)
                if best > 1:
                    for place in range(start[two], start[two + 1]):
                        best = min(best, np.int64(reach[pruned[place] >> 3]) + np.int64(pruned[place] & 7))
                out[i, j] = _finish(indptr, neighbour, labels, one, two, best, most, scratch)
        for place in range(start[one], start[one + 1]):
            reach[pruned[place] >> 3] = 127
