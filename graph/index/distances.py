"""Exact hop distances and shortest paths on node numbers, compiled.

Distance of a pair: the labels give the shortest length through any covered node (hubs included). A shorter path can only run
through the uncovered nodes, which have few arcs: a bidirectional search, which always extends the smaller frontier, looks for one
and stops as soon as no shorter path is possible. Covered nodes have the lowest numbers and arcs are sorted, so a node's arcs to
uncovered nodes are the end of its list.

Nodes at a given distance, and shortest paths, come with a strength: the least weight along a shortest path to the node, at best.
Strengths are weight codes, which sort as weights do.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from .connections import arcs_of
from .labels import hub_bounds, through_labels
from .primitives import fresh_stamps, prefetch, push_bounded, sort_key

_BLOCK = 128  # pairs whose labels fit a core's first caches
_AHEAD = 5  # pairs between prefetching hub labels and reading them: as many outstanding misses as a core supports
_LINE = 64  # bytes of a cache line


@compiled
def _search(indptr, neighbour, covered, source, target, max_hops, scratch):  # type: ignore[no-untyped-def]
    """Return the length of the shortest path of at most ``max_hops`` hops outside the covered nodes, else 127."""
    mark, queue, other_queue = scratch.mark, scratch.here, scratch.there
    own_mark = fresh_stamps(mark, scratch.stamp, np.int64(0), np.int64(2))
    other_mark = own_mark + np.int32(1)
    mark[source], mark[target] = own_mark, other_mark
    queue[0], other_queue[0] = source, target
    start, end, other_start, other_end = 0, 1, 0, 1
    for depth in range(1, max_hops + 1):
        if end - start > other_end - other_start:
            queue, other_queue = other_queue, queue
            start, end, other_start, other_end = other_start, other_end, start, end
            own_mark, other_mark = other_mark, own_mark
        size, is_last = end, depth == max_hops  # on the last level, only look for a node of the other side
        for position in range(start, end):
            node = queue[position]
            for arc in range(indptr[node + 1] - 1, indptr[node] - 1, -1):
                other = neighbour[arc]
                if other < covered:
                    break
                if mark[other] == other_mark:
                    return depth
                if not is_last and mark[other] != own_mark:
                    mark[other] = own_mark
                    queue[size] = other
                    size += 1
        if size == end:
            return 127
        start, end = end, size
    return 127


@compiled
def _prefetch_bounds(roots, nears, groups, source, target):  # type: ignore[no-untyped-def]
    """Prefetch the hub labels of two nodes."""
    for node in (np.int64(source), np.int64(target)):
        prefetch(roots, node * groups)
        for word in range(2 * groups * node, 2 * groups * (node + 1), _LINE // 8):
            prefetch(nears, word)


@compiled
def pair_distances(indptr, neighbour, labels, sources, targets, max_hops, scratch, out):  # type: ignore[no-untyped-def]
    """Fill ``out[i]`` with the distance from ``sources[i]`` to ``targets[i]``; -1 for more than ``max_hops`` or a node of -1.

    Works block by block, so that each step over a block's pairs prefetches the memory that the next step reads.
    """
    root, near, start, pruned, covered = labels  # unpacked once: passing tuples of arrays on costs more than a distance
    all_covered = covered >= len(indptr) - 1
    roots, nears, starts = root.reshape(-1), near.reshape(-1), start.reshape(-1)
    groups = root.shape[1]
    lower, best = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    for first in range(0, len(sources), _BLOCK):
        size = min(_BLOCK, len(sources) - first)
        for i in range(min(_AHEAD, size)):
            _prefetch_bounds(roots, nears, groups, sources[first + i], targets[first + i])
        for i in range(size):
            if i + _AHEAD < size:
                _prefetch_bounds(roots, nears, groups, sources[first + i + _AHEAD], targets[first + i + _AHEAD])
            source, target = sources[first + i], targets[first + i]
            if source < 0 or target < 0:
                lower[i] = best[i] = 127
            elif source == target:
                lower[i] = best[i] = 0
            else:
                lower[i], best[i] = hub_bounds(root, near, source, target)
                if lower[i] > max_hops:
                    lower[i] = best[i] = 127
                elif lower[i] < best[i]:
                    prefetch(starts, 3 * np.int64(source))
                    prefetch(starts, 3 * np.int64(target))
        for i in range(size):
            if lower[i] < best[i]:
                for node in (sources[first + i], targets[first + i]):
                    prefetch(pruned, start[node, 0])
                    prefetch(pruned, start[node, 0] + _LINE // 4)
        for i in range(size):
            source, target, shortest = sources[first + i], targets[first + i], best[i]
            if lower[i] < shortest:
                shortest = through_labels(start, pruned, source, target, lower[i], shortest)
                bound = min(shortest - 1, max_hops)
                if lower[i] <= bound and not all_covered and source >= covered and target >= covered:
                    shortest = min(shortest, _search(indptr, neighbour, covered, source, target, bound, scratch))
            out[first + i] = shortest if shortest <= max_hops else -1


@compiled
def matrix_distances(indptr, neighbour, labels, sources, targets, max_hops, scratch, out):  # type: ignore[no-untyped-def]
    """Fill ``out[i, j]`` with the distance from ``sources[i]`` to ``targets[j]``, as :func:`pair_distances` does."""
    rows = max(1, _BLOCK // max(1, len(targets)))
    for first in range(0, len(sources), rows):
        block = sources[first : first + rows]
        starts, ends = np.repeat(block, len(targets)), np.empty(len(block) * len(targets), targets.dtype)
        for row in range(len(block)):
            ends[row * len(targets) : (row + 1) * len(targets)] = targets
        pair_distances(indptr, neighbour, labels, starts, ends, max_hops, scratch, out[first : first + rows].reshape(-1))


# Nodes at a given distance.


@compiled
def best_at_hop(  # type: ignore[no-untyped-def]
    indptr, neighbour, weight, relation, rank, allowed, all_relations, strongest, source, hop, limit, scratch
):
    """Return the sort keys (strength, rank) of the best ``limit`` nodes at exactly ``hop`` hops, unsorted.

    With a limit, the nodes of the last level but one are expanded strongest first, until no remaining node can lead to a better
    one; so a hub at the end of a weak assertion is never expanded.

    Args:
        allowed: by relation code, whether its arcs may be used; not read when ``all_relations`` is true.
        all_relations: whether all relations may be used.
        strongest: one more than the largest weight code.
        limit: < 0 for all nodes.
    """
    mark, queue, value = scratch.mark, scratch.here, scratch.value
    base = fresh_stamps(mark, scratch.stamp, np.int64(0), np.int64(8))
    counts = np.zeros(strongest + 1, np.int64)
    queue[0] = source
    mark[source] = base
    value[source] = strongest
    start, end = np.int64(0), np.int64(1)
    for depth in range(1, hop + 1):
        is_last = depth == hop and limit >= 0
        order = _strongest_first(queue, start, end, value, strongest) if is_last else queue[start:end]
        depth_mark = base + np.int32(depth)
        size = end
        for code in range(strongest + 1):
            counts[code] = 0
        for position in range(len(order)):
            node = order[position]
            best = value[node]
            if is_last and position > 0 and best < value[order[position - 1]] and counts[best + 1 :].sum() >= limit:
                break
            for arc in range(indptr[node], indptr[node + 1]):
                other = neighbour[arc]
                if base <= mark[other] < depth_mark or not (all_relations or allowed[relation[arc] >> 1]):
                    continue
                strength = min(best, np.int32(weight[arc]))
                if mark[other] != depth_mark:
                    mark[other] = depth_mark
                    value[other] = strength
                    counts[strength] += 1
                    queue[size] = other
                    size += 1
                elif strength > value[other]:
                    counts[value[other]] -= 1
                    counts[strength] += 1
                    value[other] = strength
        start, end = end, size
    last_level = queue[start:end]
    heap = np.empty(min(limit, len(last_level)) if limit >= 0 else len(last_level), np.int64)
    size = np.int64(0)
    for node in last_level:
        size = push_bounded(heap, size, sort_key(value[node], rank[node], strongest))
    return heap[:size]


@compiled
def best_of_each(  # type: ignore[no-untyped-def]
    indptr, neighbour, weight, relation, rank, strongest, sources, hop, scratch, keys
):
    """Write the result of :func:`best_at_hop` for each source to the beginning of its row of ``keys``.

    ``keys`` has the shape (sources, limit); rows of sources below 0 stay unchanged.
    """
    allowed = np.zeros(0, np.bool_)
    for number in range(len(sources)):
        if sources[number] >= 0:
            best = best_at_hop(
                indptr, neighbour, weight, relation, rank, allowed, True, strongest, sources[number], hop, keys.shape[1],
                scratch,
            )  # fmt: skip
            keys[number, : len(best)] = best


@compiled
def _strongest_first(queue, start, end, value, strongest):  # type: ignore[no-untyped-def]
    """Return ``queue[start:end]`` by value descending, with a counting sort."""
    starts = np.zeros(strongest + 2, np.int64)
    for position in range(start, end):
        starts[strongest - value[queue[position]] + 1] += 1
    for code in range(1, strongest + 2):
        starts[code] += starts[code - 1]
    out = np.empty(end - start, np.int32)
    for position in range(start, end):
        node = queue[position]
        code = strongest - value[node]
        out[starts[code]] = node
        starts[code] += 1
    return out


@compiled
def mark_shortest_paths(indptr, neighbour, weight, strongest, source, target, hops, scratch):  # type: ignore[no-untyped-def]
    """Mark every node on a shortest path of ``hops`` hops with its distance to ``target``; return the mark of the target.

    A node marked with the target's mark plus ``d`` is ``d`` hops from the target, and its value is the strength of the strongest
    shortest path there. All shortest paths from ``source`` run through marked nodes; other nodes near the target are marked too.
    """
    mark, from_source, value = scratch.mark, scratch.other_mark, scratch.value
    near_target, near_source = scratch.there, scratch.here
    base = fresh_stamps(mark, scratch.stamp, np.int64(0), np.int64(8))
    origin = fresh_stamps(from_source, scratch.stamp, np.int64(1), np.int64(8))
    mark[target], value[target], near_target[0] = base, strongest, target
    from_source[source], near_source[0] = origin, source
    start, end, source_start, source_end = np.int64(0), np.int64(1), np.int64(0), np.int64(1)
    target_depth, source_depth = 0, 0
    while target_depth + source_depth < hops:
        if arcs_of(indptr, near_target[start:end]) <= arcs_of(indptr, near_source[source_start:source_end]):
            target_depth += 1
            depth_mark = base + np.int32(target_depth)
            size = end
            for position in range(start, end):
                node = near_target[position]
                for arc in range(indptr[node], indptr[node + 1]):
                    other = neighbour[arc]
                    if not base <= mark[other] < depth_mark:
                        size = _mark(other, min(value[node], np.int32(weight[arc])), depth_mark, mark, value, near_target, size)
            start, end = end, size
        else:
            source_depth += 1
            size = source_end
            for position in range(source_start, source_end):
                node = near_source[position]
                for arc in range(indptr[node], indptr[node + 1]):
                    other = neighbour[arc]
                    if from_source[other] < origin:
                        from_source[other] = origin + np.int32(source_depth)
                        near_source[size] = other
                        size += 1
            source_start, source_end = source_end, size
    start, size = np.int64(0), np.int64(0)  # the target's queue is free now: reuse it for the nodes where both searches meet
    for position in range(source_start, source_end):
        node = near_source[position]
        if mark[node] == base + np.int32(target_depth):
            near_target[size] = node
            size += 1
    for depth in range(source_depth - 1, -1, -1):
        end = size
        depth_mark = base + np.int32(hops - depth)
        for position in range(start, end):
            node = near_target[position]
            for arc in range(indptr[node], indptr[node + 1]):
                other = neighbour[arc]
                if from_source[other] == origin + np.int32(depth):
                    size = _mark(other, min(value[node], np.int32(weight[arc])), depth_mark, mark, value, near_target, size)
        start = end
    return base


@compiled
def _mark(node, strength, depth_mark, mark, value, queue, size):  # type: ignore[no-untyped-def]
    """Mark ``node`` and append it to ``queue``, or update its strength if it has this mark; return the queue's size."""
    if mark[node] != depth_mark:
        mark[node] = depth_mark
        value[node] = strength
        queue[size] = node
        return size + 1
    if strength > value[node]:
        value[node] = strength
    return size


@compiled
def next_nodes(indptr, neighbour, weight, rank, strongest, node, closer_mark, bound, limit, scratch):  # type: ignore[no-untyped-def]
    """Return the sort keys of the best ``limit`` successors of ``node`` among the nodes marked ``closer_mark``.

    The strength of a successor is that of the best whole path through it, at most ``bound``.
    """
    mark, value = scratch.mark, scratch.value
    heap = np.empty(min(limit, indptr[node + 1] - indptr[node]), np.int64)
    size = np.int64(0)
    previous = -1
    for arc in range(indptr[node], indptr[node + 1]):  # of parallel arcs only the first, the strongest, counts
        other = neighbour[arc]
        if other != previous and mark[other] == closer_mark:
            strength = min(bound, value[other], np.int32(weight[arc]))
            size = push_bounded(heap, size, sort_key(strength, rank[other], strongest))
        previous = other
    return heap[:size]
