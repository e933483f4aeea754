"""Distance labels: small tables per node that give the distance of two nodes without a search in the graph.

Two kinds, after Akiba, Iwata and Yoshida, "Fast exact shortest-path distance queries on large networks by pruned landmark
labeling" (SIGMOD 2013). *Hub* labels hold, per node and group of hubs, the distance to the group's root in a byte and to 64 of
the root's neighbours in two bits each (such a distance differs from the root's by -1, 0 or +1). *Pruned* labels hold the
distance to further nodes, by descending degree, only where no label so far gives it. Together they give the distance of every
pair with a shortest path through one of the first ``covered`` nodes; nodes are numbered by descending degree, hubs first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiling import compiled
from ..protocol import MAX_HOPS
from .primitives import position_of

FAR = np.uint8(100)  # no path; the sum of two still fits a byte

Ints = NDArray[np.int32]
Words = NDArray[np.uint64]


class Labels(NamedTuple):
    """Distance labels of every node."""

    root: NDArray[np.uint8]  # shape (nodes, groups), uint8, distance to each group's root, `FAR` when there is no path
    # Shape (nodes, groups, 2), uint64; bit i of the first word: the group's i-th member is one hop nearer than the root; of
    # the second: it is at the same distance.
    near: Words
    # Shape (nodes + 1, 3), where each node's pruned labels of distance 1, of 2, and of 3 or more begin; they do not include
    # the node itself.
    start: Ints
    pruned: NDArray[np.uint32]  # uint32, `hub << 3 | distance`, ascending within each of these three
    covered: int  # paths through nodes below this number are covered by labels


def choose_hubs(head: Ints, tail: Ints, degree: NDArray[np.int64], groups: int) -> list[Ints]:
    """Return up to ``groups`` arrays of hubs: the free node of highest degree, then its free neighbours by degree, at most 64."""
    free = np.ones(len(degree), dtype=bool)
    chosen: list[Ints] = []
    for _ in range(groups):
        candidates = np.where(free, degree, 0)
        if not candidates.any():
            break
        root = int(candidates.argmax())
        free[root] = False
        neighbours = np.unique(np.concatenate([tail[head == root], head[tail == root]]))
        neighbours = neighbours[free[neighbours]]
        members = neighbours[np.lexsort((neighbours, -degree[neighbours]))][:64]
        free[members] = False
        chosen.append(np.concatenate([[root], members]).astype(np.int32))
    return chosen


@compiled
def _label_group(indptr, neighbour, first, members, column, root, near, queue):  # type: ignore[no-untyped-def]
    """Fill one group's column with a bit-parallel breadth-first search from its root ``first``, which its members follow."""
    for node in range(len(indptr) - 1):
        root[node, column] = FAR
    root[first, column] = 0
    queue[0] = first
    for i in range(members):
        root[first + 1 + i, column] = 1
        near[first + 1 + i, column, 0] = np.uint64(1) << np.uint64(i)
        queue[1 + i] = first + 1 + i
    start, end, size, depth = 0, 1, 1 + members, 0
    while start < end:
        for position in range(start, end):
            node = queue[position]
            bits = near[node, column, 0]
            for arc in range(indptr[node], indptr[node + 1]):
                other = neighbour[arc]
                if root[other, column] == FAR:
                    root[other, column] = depth + 1
                    queue[size] = other
                    size += 1
                elif root[other, column] == depth:
                    near[other, column, 1] |= bits
        for position in range(start, end):
            node = queue[position]
            nearer, same = near[node, column, 0], near[node, column, 1]
            for arc in range(indptr[node], indptr[node + 1]):
                other = neighbour[arc]
                if root[other, column] == depth + 1:
                    near[other, column, 0] |= nearer
                    near[other, column, 1] |= same
        start, end, depth = end, size, depth + 1
    for position in range(size):
        node = queue[position]
        near[node, column, 1] &= ~near[node, column, 0]


@compiled
def through_hubs(root, near, source, target):  # type: ignore[no-untyped-def]
    """Return the length of the shortest path from ``source`` to ``target`` through a hub; 100 or more when there is none."""
    best = np.int64(127)
    for group in range(root.shape[1]):
        distance = np.int64(root[source, group]) + np.int64(root[target, group])
        if distance - 2 < best:
            nearer, other_nearer = near[source, group, 0], near[target, group, 0]
            if nearer & other_nearer:
                distance -= 2
            elif (nearer & near[target, group, 1]) | (near[source, group, 1] & other_nearer):
                distance -= 1
            best = min(best, distance)
    return best


@compiled
def _prune(indptr, neighbour, root, near, hubs, budget, last):  # type: ignore[no-untyped-def]
    """Write pruned labels for the nodes from ``hubs`` to ``last``, at most ``budget``; return them per node in one pool."""
    nodes = len(indptr) - 1
    begin = np.zeros(nodes, np.int64)
    size = np.zeros(nodes, np.int32)
    capacity = np.zeros(nodes, np.int32)
    pool = np.empty(3 * budget + 8 * nodes + 64, np.uint32)
    used = 0
    written = 0
    reach = np.full(nodes, 127, np.uint8)  # by labelled hub: distance from the node being labelled
    seen = np.zeros(nodes, np.int32)
    queue = np.empty(nodes, np.int32)
    covered = hubs
    for node in range(hubs, last):
        if written > budget:
            break
        for i in range(begin[node], begin[node] + size[node]):
            reach[pool[i] >> 3] = pool[i] & 7
        reach[node] = 0
        queue[0] = node
        seen[node] = node + 1
        start, end, count, depth = 0, 1, 1, 0
        while start < end and depth <= MAX_HOPS:
            for position in range(start, end):
                current = queue[position]
                if depth > 0:
                    if through_hubs(root, near, node, current) <= depth:
                        continue
                    is_covered = False
                    for i in range(begin[current], begin[current] + size[current]):
                        if reach[pool[i] >> 3] + (pool[i] & 7) <= depth:
                            is_covered = True
                            break
                    if is_covered:
                        continue
                if size[current] == capacity[current]:
                    new_capacity = max(np.int32(4), 2 * capacity[current])
                    if used + new_capacity > len(pool):
                        return begin, size, pool, covered
                    for i in range(size[current]):
                        pool[used + i] = pool[begin[current] + i]
                    begin[current] = used
                    capacity[current] = new_capacity
                    used += new_capacity
                pool[begin[current] + size[current]] = np.uint32(node) << np.uint32(3) | np.uint32(depth)
                size[current] += 1
                written += 1
                if depth < MAX_HOPS:
                    for arc in range(indptr[current + 1] - 1, indptr[current] - 1, -1):
                        other = neighbour[arc]
                        if other <= node:
                            break
                        if seen[other] != node + 1:
                            seen[other] = node + 1
                            queue[count] = other
                            count += 1
            start, end, depth = end, count, depth + 1
        for i in range(begin[node], begin[node] + size[node]):
            reach[pool[i] >> 3] = 127
        covered = node + 1
    return begin, size, pool, covered


@compiled
def _compact(begin, size, pool):  # type: ignore[no-untyped-def]
    """Return where each node's labels of distance 1, 2, and 3 or more begin, and these labels in sequence.

    A node's labels are in the pool by ascending hub, as they were written, so they are only distributed and need no sorting.
    """
    nodes = len(size)
    start = np.zeros((nodes + 1, 3), np.int32)
    for node in range(nodes):
        for i in range(begin[node], begin[node] + size[node]):
            distance = pool[i] & 7
            if distance > 0:
                start[node, min(distance, 3) - 1] += 1
    total = 0
    for node in range(nodes + 1):
        for part in range(3):
            count = start[node, part]
            start[node, part] = total
            total += count
    labels = np.empty(total, np.uint32)
    for node in range(nodes):
        next_position = start[node].copy()
        for i in range(begin[node], begin[node] + size[node]):
            distance = pool[i] & 7
            if distance > 0:
                part = min(distance, 3) - 1
                labels[next_position[part]] = pool[i]
                next_position[part] += 1
    return start, labels


def build_labels(indptr: Ints, neighbour: Ints, groups: list[int], budget: int) -> Labels:
    """Return the labels of a graph whose first nodes are ``len(groups)`` groups of hubs, with ``groups[i]`` nodes each.

    Pruned labels are written node by node until all nodes are covered or there are ``budget`` labels.
    """
    nodes = len(indptr) - 1
    root = np.empty((nodes, len(groups)), dtype=np.uint8)
    near = np.zeros((nodes, len(groups), 2), dtype=np.uint64)
    queue = np.empty(nodes, dtype=np.int32)
    first = 0
    for column, members in enumerate(groups):
        _label_group(indptr, neighbour, first, members - 1, column, root, near, queue)
        first += members
    if not budget:
        return Labels(root, near, np.zeros((nodes + 1, 3), dtype=np.int32), np.zeros(0, dtype=np.uint32), first)
    begin, size, pool, covered = _prune(indptr, neighbour, root, near, first, budget, nodes)
    start, pruned = _compact(begin, size, pool)
    return Labels(root, near, start, pruned, covered)


# Distances from labels.


@compiled
def hub_bounds(root, near, source, target):  # type: ignore[no-untyped-def]
    """Return a lower and an upper bound of the distance of two different nodes from their hub labels.

    The upper bound is the length of the shortest path through a hub, 100 or more when there is none; the lower bound follows from
    the triangle inequality. The loop has no branches, since they would often be mispredicted.
    """
    lower, upper = np.int64(1), np.int64(127)
    for group in range(root.shape[1]):
        ahead, behind = np.int64(root[source, group]), np.int64(root[target, group])
        nearer, same = near[source, group, 0], near[source, group, 1]
        other_nearer, other_same = near[target, group, 0], near[target, group, 1]
        by_two = np.int64((nearer & other_nearer) != 0)
        by_one = by_two | np.int64(((nearer & other_same) | (same & other_nearer)) != 0)
        upper = min(upper, ahead + behind - by_two - by_one)

        far_nearer, far_same = (nearer, same) if ahead >= behind else (other_nearer, other_same)
        close_nearer, close_same = (other_nearer, other_same) if ahead >= behind else (nearer, same)
        by_two = np.int64((close_nearer & ~(far_nearer | far_same)) != 0)
        by_one = by_two | np.int64(((close_nearer & ~far_nearer) | (close_same & ~(far_nearer | far_same))) != 0)
        lower = max(lower, abs(ahead - behind) + by_two + by_one)
    return lower, upper


@compiled
def _share_hub(pruned, i, last_i, j, last_j):  # type: ignore[no-untyped-def]
    """Return whether ``pruned[i:last_i]`` and ``pruned[j:last_j]`` have a hub in common."""
    while i < last_i and j < last_j:
        hub, other = pruned[i] >> 3, pruned[j] >> 3
        if hub == other:
            return True
        i += hub < other
        j += other < hub
    return False


@compiled
def _shortest_common(pruned, i, last_i, j, last_j, best):  # type: ignore[no-untyped-def]
    """Return the shortest length through a hub of both ``pruned[i:last_i]`` and ``pruned[j:last_j]``, at most ``best``."""
    while i < last_i and j < last_j:
        a, b = pruned[i], pruned[j]
        hub, other = a >> 3, b >> 3
        if hub == other:
            best = min(best, np.int64(a & 7) + np.int64(b & 7))
        i += hub <= other
        j += other <= hub
    return best


@compiled
def through_labels(start, pruned, source, target, lower, best):  # type: ignore[no-untyped-def]
    """Return the shortest length through a node for which both have a pruned label, at most ``best``.

    Lengths are tried from 1 on, so that most pairs need only the few labels of distance 1; lengths below ``lower`` cannot occur.
    """
    hub, node = min(source, target), max(source, target)
    label = np.uint32(hub) << np.uint32(3)
    source1, source2, source3, source_end = start[source, 0], start[source, 1], start[source, 2], start[source + 1, 0]
    target1, target2, target3, target_end = start[target, 0], start[target, 1], start[target, 2], start[target + 1, 0]
    if lower <= 1 and position_of(pruned, start[node, 0], start[node, 1], label | np.uint32(1)) >= 0:
        return np.int64(1)
    if lower <= 2 and best > 2:
        if position_of(pruned, start[node, 1], start[node, 2], label | np.uint32(2)) >= 0:
            return np.int64(2)
        if _share_hub(pruned, source1, source2, target1, target2):
            return np.int64(2)
    if best > 3:
        for distance in range(3, min(best, MAX_HOPS + 1)):
            if position_of(pruned, start[node, 2], start[node + 1, 0], label | np.uint32(distance)) >= 0:
                best = np.int64(distance)
                break
    if best > 3 and (
        _share_hub(pruned, source1, source2, target2, target3) or _share_hub(pruned, source2, source3, target1, target2)
    ):
        return np.int64(3)
    if best > 4:
        best = _shortest_common(pruned, source2, source3, target2, target3, best)
        best = _shortest_common(pruned, source1, source2, target3, target_end, best)
        best = _shortest_common(pruned, source3, source_end, target1, target2, best)
    if best > 5:
        best = _shortest_common(pruned, source2, source3, target3, target_end, best)
        best = _shortest_common(pruned, source3, source_end, target2, target3, best)
        best = _shortest_common(pruned, source3, source_end, target3, target_end, best)
    return best
