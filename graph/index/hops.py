"""Hop distances: labels first, and a search in what the labels leave out, bounded by what they say. Exact.

For a pair, the labels give the shortest length through any covered node (the hubs among them). A shorter path can only run
through the uncovered rest, where every node has few arcs: a search from both ends, always widening the smaller frontier, looks
for one and stops as soon as no shorter path can exist. Nodes are numbered so that covered nodes come first and arcs are sorted,
so a node's arcs into the rest are the end of its list.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .bounds import hub_bounds, through_labels
from .prefetch import prefetch
from .scratch import fresh_stamps

_BLOCK = 128  # pairs whose labels a core's nearest caches hold at once
_AHEAD = 5  # pairs between asking for hub labels and reading them: as many as a core can wait for at a time
_LINE = 64  # bytes of a cache line


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
def _want_bounds(roots, nears, groups, one, two):  # type: ignore[no-untyped-def]
    """Ask for the hub labels of two nodes."""
    for node in (np.int64(one), np.int64(two)):
        prefetch(roots, node * groups)
        for place in range(2 * groups * node, 2 * groups * (node + 1), _LINE // 8):
            prefetch(nears, place)


@njit(nogil=True, cache=True)
def pair_distances(indptr, neighbour, labels, ones, twos, most, scratch, out):  # type: ignore[no-untyped-def]
    """Fill ``out[i]`` with the distance from ``ones[i]`` to ``twos[i]``; -1 for none within ``most`` and for unknown nodes.

    Block by block, so that while one step goes through the pairs, the memory that the next one reads is on its way.
    """
    root, near, start, pruned, covered = labels  # unpacked once: handing tuples of arrays on costs more than a distance
    whole = covered >= len(indptr) - 1
    roots, nears, starts = root.reshape(-1), near.reshape(-1), start.reshape(-1)
    groups = root.shape[1]
    least, best = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    for first in range(0, len(ones), _BLOCK):
        size = min(_BLOCK, len(ones) - first)
        for i in range(min(_AHEAD, size)):
            _want_bounds(roots, nears, groups, ones[first + i], twos[first + i])
        for i in range(size):
            if i + _AHEAD < size:
                _want_bounds(roots, nears, groups, ones[first + i + _AHEAD], twos[first + i + _AHEAD])
            one, two = ones[first + i], twos[first + i]
            if one < 0 or two < 0:
                least[i] = best[i] = 127
            elif one == two:
                least[i] = best[i] = 0
            else:
                least[i], best[i] = hub_bounds(root, near, one, two)
                if least[i] > most:
                    least[i] = best[i] = 127
                elif least[i] < best[i]:
                    prefetch(starts, 3 * np.int64(one))
                    prefetch(starts, 3 * np.int64(two))
        for i in range(size):
            if least[i] < best[i]:
                for node in (ones[first + i], twos[first + i]):
                    prefetch(pruned, start[node, 0])
                    prefetch(pruned, start[node, 0] + _LINE // 4)
        for i in range(size):
            one, two, shortest = ones[first + i], twos[first + i], best[i]
            if least[i] < shortest:
                shortest = through_labels(start, pruned, one, two, least[i], shortest)
                bound = min(shortest - 1, most)
                if least[i] <= bound and not whole and one >= covered and two >= covered:
                    shortest = min(shortest, _search(indptr, neighbour, covered, one, two, bound, scratch))
            out[first + i] = shortest if shortest <= most else -1


@njit(nogil=True, cache=True)
def matrix_distances(indptr, neighbour, labels, ones, twos, most, scratch, out):  # type: ignore[no-untyped-def]
    """Fill ``out[i, j]`` with the distance from ``ones[i]`` to ``twos[j]``, as :func:`pair_distances` does."""
    rows = max(1, _BLOCK // max(1, len(twos)))
    for first in range(0, len(ones), rows):
        part = ones[first : first + rows]
        left, right = np.repeat(part, len(twos)), np.empty(len(part) * len(twos), twos.dtype)
        for row in range(len(part)):
            right[row * len(twos) : (row + 1) * len(twos)] = twos
        pair_distances(indptr, neighbour, labels, left, right, most, scratch, out[first : first + rows].reshape(-1))
