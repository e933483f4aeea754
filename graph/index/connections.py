"""Connections between two sets of nodes: direct arcs, and pairs of arcs that meet in a middle node.

A *joint* is a position in the sorted arc lists where one or more parallel arcs begin. Paths are expanded from joints; counting
writes none down. For two hops, the neighbours of the smaller set are marked; then each node of the larger set is handled either
by going through its arcs or, for a hub, by looking up the marked nodes among its arcs, whichever is less work.
"""

from __future__ import annotations

import numpy as np

from ..compiling import compiled
from .primitives import fresh_stamps, position_of


@compiled
def first_arc(indptr, neighbour, node, target):  # type: ignore[no-untyped-def]
    """Return the position of the first arc from ``node`` to ``target``, -1 when there is none."""
    return position_of(neighbour, indptr[node], indptr[node + 1], target)


@compiled
def parallel(indptr, neighbour, node, arc):  # type: ignore[no-untyped-def]
    """Return how many parallel arcs there are, of which ``arc`` in the list of ``node`` is the first."""
    end = arc + 1
    while end < indptr[node + 1] and neighbour[end] == neighbour[arc]:
        end += 1
    return end - arc


@compiled
def one_hop_joints(indptr, neighbour, sources, targets):  # type: ignore[no-untyped-def]
    """Return the joints of one hop, shape (joints, 3): indices in ``sources`` and ``targets``, the source's first arc."""
    out = np.empty((len(sources) * len(targets), 3), np.int32)
    size = 0
    for i in range(len(sources)):
        for j in range(len(targets)):
            arc = first_arc(indptr, neighbour, sources[i], targets[j])
            if arc >= 0:
                out[size, 0], out[size, 1], out[size, 2] = i, j, arc
                size += 1
    return out[:size]


@compiled
def arcs_of(indptr, nodes):  # type: ignore[no-untyped-def]
    """Return how many arcs ``nodes`` have."""
    arcs = np.int64(0)
    for node in nodes:
        arcs += indptr[node + 1] - indptr[node]
    return arcs


@compiled
def _mark_middles(indptr, neighbour, sources, scratch):  # type: ignore[no-untyped-def]
    """Mark the neighbours of ``sources``, and return one entry for each step from one of ``sources`` to a neighbour.

    Returns:
        By entry: the index in ``sources``, the first arc, and the earlier entry of the same neighbour, -1 when there is none
        (``scratch.value`` has the latest entry of each neighbour); then the number of neighbours, which are in ``scratch.here``,
        and their stamp in ``scratch.mark``.
    """
    mark, latest, middles = scratch.mark, scratch.value, scratch.here
    middle_mark = fresh_stamps(mark, scratch.stamp, np.int64(0), np.int64(1))
    arcs = arcs_of(indptr, sources)
    owner, first_arcs, earlier_entry = np.empty(arcs, np.int32), np.empty(arcs, np.int32), np.empty(arcs, np.int32)
    entries, middle_count = 0, 0
    for i in range(len(sources)):
        previous_middle = -1
        for arc in range(indptr[sources[i]], indptr[sources[i] + 1]):
            middle = neighbour[arc]
            if middle == previous_middle:
                continue
            previous_middle = middle
            if mark[middle] != middle_mark:
                mark[middle] = middle_mark
                latest[middle] = -1
                middles[middle_count] = middle
                middle_count += 1
            owner[entries], first_arcs[entries], earlier_entry[entries] = i, arc, latest[middle]
            latest[middle] = entries
            entries += 1
    return owner[:entries], first_arcs[:entries], earlier_entry[:entries], middle_count, middle_mark


@compiled
def _arcs_to_middles(indptr, neighbour, target, count, middle_mark, scratch, out):  # type: ignore[no-untyped-def]
    """Write the first arc from ``target`` to each of the ``count`` middle nodes that it has one to, and return their number."""
    mark, middles = scratch.mark, scratch.here
    start, end = indptr[target], indptr[target + 1]
    size, previous_middle = 0, -1
    if count * 8 < end - start:
        for middle in middles[:count]:
            arc = first_arc(indptr, neighbour, target, middle)
            if arc >= 0:
                out[size] = arc
                size += 1
        return size
    for arc in range(start, end):
        middle = neighbour[arc]
        if middle != previous_middle and mark[middle] == middle_mark:
            out[size] = arc
            size += 1
        previous_middle = middle
    return size


@compiled
def two_hop_joints(indptr, neighbour, sources, targets, scratch):  # type: ignore[no-untyped-def]
    """Return the joints of two hops, shape (joints, 4): indices in ``sources`` and ``targets``, first arcs in their lists.

    ``sources`` should be the set with fewer arcs. Equal ends are left out; both arcs of a joint lead to the same middle node.
    """
    latest = scratch.value
    owner, first_arcs, earlier_entry, middle_count, middle_mark = _mark_middles(indptr, neighbour, sources, scratch)
    arcs = np.empty(middle_count, np.int32)
    out = np.empty((64, 4), np.int32)
    size = 0
    for j in range(len(targets)):
        target = targets[j]
        for arc in arcs[: _arcs_to_middles(indptr, neighbour, target, middle_count, middle_mark, scratch, arcs)]:
            entry = latest[neighbour[arc]]
            while entry >= 0:
                if sources[owner[entry]] != target:
                    if size == len(out):
                        larger = np.empty((2 * size, 4), np.int32)
                        for row in range(size):
                            for column in range(4):
                                larger[row, column] = out[row, column]
                        out = larger
                    out[size, 0], out[size, 1], out[size, 2], out[size, 3] = owner[entry], j, first_arcs[entry], arc
                    size += 1
                entry = earlier_entry[entry]
    return out[:size]


@compiled
def expand_joints(indptr, neighbour, sources, targets, joints):  # type: ignore[no-untyped-def]
    """Return every path of the joints, shape (paths, joints.shape[1]): as the joints, but for each of the parallel arcs."""
    total = 0
    for number in range(len(joints)):
        paths = parallel(indptr, neighbour, sources[joints[number, 0]], joints[number, 2])
        if joints.shape[1] == 4:
            paths *= parallel(indptr, neighbour, targets[joints[number, 1]], joints[number, 3])
        total += paths
    out = np.empty((total, joints.shape[1]), np.int32)
    size = 0
    for number in range(len(joints)):
        joint = joints[number]
        source_arcs = parallel(indptr, neighbour, sources[joint[0]], joint[2])
        target_arcs = parallel(indptr, neighbour, targets[joint[1]], joint[3]) if joints.shape[1] == 4 else 1
        for i in range(source_arcs):
            for j in range(target_arcs):
                for column in range(len(joint)):
                    out[size, column] = joint[column]
                out[size, 2] += i
                if joints.shape[1] == 4:
                    out[size, 3] += j
                size += 1
    return out


# Counting, for many pairs of sets in one call. A connection counts once per triple, however many assertions there are for it, and
# once when it is found from both of its ends because both are in both sets.


@compiled
def _distinct_relations(indptr, neighbour, relation, node, arc):  # type: ignore[no-untyped-def]
    """Return how many distinct relations, with direction, the parallel arcs from ``arc`` on have."""
    count = 0
    for later in range(arc, arc + parallel(indptr, neighbour, node, arc)):
        is_new = True
        for earlier in range(arc, later):
            if relation[earlier] == relation[later]:
                is_new = False
                break
        count += is_new
    return count


@compiled
def _distinct_nodes(sources, targets, mark, stamp):  # type: ignore[no-untyped-def]
    """Return the nodes of both sets, each once and without -1 (unknown); those in both sets are marked ``stamp + 2``."""
    distinct_sources, distinct_targets = np.empty(len(sources), np.int32), np.empty(len(targets), np.int32)
    size = 0
    for node in sources:
        if node >= 0 and mark[node] != stamp:
            mark[node] = stamp
            distinct_sources[size] = node
            size += 1
    distinct_sources, size = distinct_sources[:size], 0
    for node in targets:
        if node >= 0 and mark[node] != stamp + 1 and mark[node] != stamp + 2:
            mark[node] = stamp + 2 if mark[node] == stamp else stamp + 1
            distinct_targets[size] = node
            size += 1
    return distinct_sources, distinct_targets[:size]


@compiled
def _counted_reversed(source, target, mark, both_mark):  # type: ignore[no-untyped-def]
    """Return whether the pair is also counted in the other direction, because both nodes are in both sets."""
    return source > target and mark[source] == both_mark and mark[target] == both_mark


@compiled
def _count_one_hop(indptr, neighbour, relation, sources, targets, mark, both_mark):  # type: ignore[no-untyped-def]
    """Return ``(pairs, triples)`` at one hop."""
    pairs, triples = np.int64(0), np.int64(0)
    for source in sources:
        for target in targets:
            arc = first_arc(indptr, neighbour, source, target)
            if arc >= 0:
                pairs += 1
                if not _counted_reversed(source, target, mark, both_mark):
                    triples += _distinct_relations(indptr, neighbour, relation, source, arc)
    return pairs, triples


@compiled
def _count_two_hops(indptr, neighbour, relation, sources, targets, both_mark, scratch):  # type: ignore[no-untyped-def]
    """Return ``(pairs, triples)`` at two hops; ``sources`` should be the set with fewer arcs."""
    latest = scratch.value
    owner, first_arcs, earlier_entry, middle_count, middle_mark = _mark_middles(indptr, neighbour, sources, scratch)
    arcs = np.empty(middle_count, np.int32)
    last_target = np.full(len(sources), -1, np.int32)  # by index in sources: the last index in targets that was counted for it
    pairs, triples = np.int64(0), np.int64(0)
    for j in range(len(targets)):
        target = targets[j]
        for arc in arcs[: _arcs_to_middles(indptr, neighbour, target, middle_count, middle_mark, scratch, arcs)]:
            target_relations = _distinct_relations(indptr, neighbour, relation, target, arc)
            entry = latest[neighbour[arc]]
            while entry >= 0:
                source = sources[owner[entry]]
                if source != target:
                    if last_target[owner[entry]] != j:
                        last_target[owner[entry]] = j
                        pairs += 1
                    if not _counted_reversed(source, target, scratch.other_mark, both_mark):
                        triples += _distinct_relations(indptr, neighbour, relation, source, first_arcs[entry]) * target_relations
                entry = earlier_entry[entry]
    return pairs, triples


@compiled
def count_many(indptr, neighbour, relation, sources, targets, starts, hops, scratch, out):  # type: ignore[no-untyped-def]
    """Fill ``out[s]`` with ``(pairs, triples)`` between ``sources[starts[s, 0]:starts[s + 1, 0]]`` and ``targets`` likewise.

    Nodes are in any order; -1 means unknown, and a node that occurs twice in a set counts once. ``starts`` has the shape
    (sets + 1, 2).
    """
    mark = scratch.other_mark
    for number in range(len(out)):
        stamp = fresh_stamps(mark, scratch.stamp, np.int64(1), np.int64(3))
        first_set, second_set = _distinct_nodes(
            sources[starts[number, 0] : starts[number + 1, 0]], targets[starts[number, 1] : starts[number + 1, 1]], mark, stamp
        )
        both_mark = stamp + np.int32(2)
        if hops == 1:
            out[number, 0], out[number, 1] = _count_one_hop(indptr, neighbour, relation, first_set, second_set, mark, both_mark)
            continue
        if arcs_of(indptr, first_set) > arcs_of(indptr, second_set):
            first_set, second_set = second_set, first_set
        out[number, 0], out[number, 1] = _count_two_hops(indptr, neighbour, relation, first_set, second_set, both_mark, scratch)
