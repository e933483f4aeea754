"""The index's searches in NumPy: the same answers as the compiled ones, without the half second that these take to load.

One call handles all nodes of a level, or all targets of a source, with a few operations on whole arrays. A search takes 10 to 100
times as long as the compiled one, so these are for the first queries of a process (:mod:`tacit.graph.index.searches`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..protocol import NodeIds
from .searches import Searches, Successors

_NOWHERE = 127  # no path; above all distances

Positions = NDArray[np.int64]


class _Targets(NamedTuple):
    """Targets of a distance query with their labels."""

    nodes: NDArray[np.int64]  # the targets
    # hubs, distances: the pruned labels of all targets in sequence, each target's own (itself, at distance 0) first
    hubs: NDArray[np.int64]
    distances: NDArray[np.uint8]
    starts: Positions  # where each target's labels begin


class NumpySearches(Searches):
    """The searches in NumPy; thread-safe, since each call allocates its memory."""

    # distances

    def matrix(self, sources: NodeIds, targets: NodeIds, max_hops: int) -> NDArray[np.int8]:
        if len(sources) > len(targets):
            return np.ascontiguousarray(self.matrix(targets, sources, max_hops).T)
        out = np.full((len(sources), len(targets)), -1, dtype=np.int8)
        known_targets = np.flatnonzero(targets >= 0)
        labelled = self._targets(targets[known_targets])
        for row, source in enumerate(sources.tolist()):
            if source >= 0 and len(known_targets):
                out[row, known_targets] = self._distances(source, labelled, max_hops)
        return out

    def pairs(self, sources: NodeIds, targets: NodeIds, max_hops: int) -> NDArray[np.int8]:
        out = np.full(len(sources), -1, dtype=np.int8)
        known_pairs = np.flatnonzero((sources >= 0) & (targets >= 0))
        known_pairs = known_pairs[np.argsort(sources[known_pairs], kind="stable")]
        distinct, starts = np.unique(sources[known_pairs], return_index=True)
        for source, group in zip(distinct.tolist(), np.split(known_pairs, starts[1:]), strict=False):
            out[group] = self._distances(source, self._targets(targets[group]), max_hops)
        return out

    def _targets(self, nodes: NodeIds) -> _Targets:
        start, label = self._arrays["label_start"], self._arrays["label"]
        positions, owner = ranges(start[nodes, 0], start[nodes + 1, 0])
        labels = label[positions]
        starts = np.zeros(len(nodes), dtype=np.int64)
        np.cumsum(np.bincount(owner, minlength=len(nodes))[:-1] + 1, out=starts[1:])
        size = len(labels) + len(nodes)
        is_self = np.zeros(size, dtype=bool)
        is_self[starts] = True
        hubs, distances = np.empty(size, dtype=np.int64), np.zeros(size, dtype=np.uint8)
        hubs[is_self], hubs[~is_self] = nodes, labels >> 3
        distances[~is_self] = labels & 7
        return _Targets(nodes.astype(np.int64), hubs, distances, starts)

    def _distances(self, source: int, targets: _Targets, max_hops: int) -> NDArray[np.int8]:
        """Return the distances from ``source`` to ``targets``, at least one of them; -1 for more than ``max_hops``."""
        nodes = targets.nodes
        best = self._through_hubs(source, nodes)
        start, label = self._arrays["label_start"], self._arrays["label"]
        labels = label[start[source, 0] : start[source + 1, 0]]
        reach = np.full(len(self._indptr) - 1, _NOWHERE, dtype=np.uint8)
        reach[labels >> 3] = labels & 7
        reach[source] = 0
        best = np.minimum(best, np.minimum.reduceat(reach[targets.hubs] + targets.distances, targets.starts))
        best[nodes == source] = 0
        if source >= self._covered:
            self._around_covered(source, nodes, best, max_hops)
        return np.where(best <= max_hops, best, -1).astype(np.int8)

    def _through_hubs(self, source: int, nodes: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the length of the shortest path through a hub; 100 or more when there is none."""
        root, near = self._arrays["root"], self._arrays["near"]
        if not root.shape[1]:
            return np.full(len(nodes), _NOWHERE, dtype=np.uint8)
        nearer, same = near[source, :, 0], near[source, :, 1]
        other_nearer, other_same = near[nodes, :, 0], near[nodes, :, 1]
        by_two = (nearer & other_nearer) != 0
        by_one = by_two | (((nearer & other_same) | (same & other_nearer)) != 0)
        lengths: NDArray[np.uint8] = root[source] + root[nodes] - by_two.astype(np.uint8) - by_one.astype(np.uint8)
        shortest: NDArray[np.uint8] = lengths.min(axis=1)
        return shortest

    def _around_covered(self, source: int, nodes: NDArray[np.int64], best: NDArray[np.uint8], max_hops: int) -> None:
        """Shorten the distances in ``best`` by paths that avoid all covered nodes, found by a breadth-first search."""
        seen = np.zeros(len(self._indptr) - 1, dtype=bool)
        seen[source] = True
        level = np.array([source], dtype=np.int64)
        candidates = np.flatnonzero((nodes >= self._covered) & (best > 1))
        for depth in range(1, max_hops + 1):
            candidates = candidates[best[candidates] > depth]
            if not len(candidates) or not len(level):
                return
            arcs, _ = self._arcs(level)
            neighbours = self._neighbour[arcs]
            neighbours = neighbours[neighbours >= self._covered]
            level = np.unique(neighbours[~seen[neighbours]]).astype(np.int64)
            seen[level] = True
            shorter = candidates[np.isin(nodes[candidates], level)]
            best[shorter] = depth

    # neighbours

    def best_at_hop(
        self, node: int, hop: int, limit: int | None, allowed: NDArray[np.bool_], all_relations: bool
    ) -> tuple[NDArray[np.int64], list[int]]:
        keys = self._keys_at_hop(node, hop, None if all_relations else allowed)
        keys = keys[:limit]
        return self._strongest - (keys >> 32), (keys & 0xFFFFFFFF).tolist()

    def ranks_at_hop(self, nodes: NodeIds, hop: int, limit: int) -> NDArray[np.int64]:
        ranks = np.full((len(nodes), limit), -1, dtype=np.int64)
        for row, node in enumerate(nodes.tolist()):
            if node >= 0:
                keys = self._keys_at_hop(node, hop, None)[:limit]
                ranks[row, : len(keys)] = keys & 0xFFFFFFFF
        return ranks

    def _keys_at_hop(self, node: int, hop: int, allowed: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Return the sort keys (strength, rank) of all nodes at exactly ``hop`` hops, ascending."""
        mark, value = self._marks(node, self._strongest)
        level = np.array([node], dtype=np.int64)
        for depth in range(1, hop + 1):
            level = self._next_level(level, depth, mark, value, allowed)
        return np.sort(self._sort_keys(value[level], level))

    def _marks(self, node: int, strength: int) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """Return the marks (distance from ``node``, -1 for unseen) and values (strength) of a new search."""
        mark = np.full(len(self._indptr) - 1, -1, dtype=np.int8)
        value = np.zeros(len(mark), dtype=np.int64)
        mark[node], value[node] = 0, strength
        return mark, value

    def _next_level(
        self,
        level: NDArray[np.int64],
        depth: int,
        mark: NDArray[np.int8],
        value: NDArray[np.int64],
        allowed: NDArray[np.bool_] | None = None,
        within: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int64]:
        """Mark the unseen neighbours of ``level`` with ``depth``, set their best strengths, and return them.

        Args:
            allowed: by relation code, whether its arcs may be used; None for all.
            within: by node, whether it may be marked; None for all.
        """
        arcs, owner = self._arcs(level)
        neighbours = self._neighbour[arcs]
        usable = mark[neighbours] < 0
        if allowed is not None:
            usable &= allowed[self._arrays["relation"][arcs] >> 1]
        if within is not None:
            usable &= within[neighbours]
        neighbours = neighbours[usable]
        np.maximum.at(value, neighbours, np.minimum(value[level][owner[usable]], self._arrays["weight"][arcs[usable]]))
        reached = np.unique(neighbours).astype(np.int64)
        mark[reached] = depth
        return reached

    def _sort_keys(self, strength: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return integers that sort by strength descending, then by rank."""
        return (self._strongest - strength) << 32 | self._arrays["rank"][nodes].astype(np.int64)

    # connections

    def count(self, sources: NodeIds, targets: NodeIds, starts: NDArray[np.int64], hops: int) -> NDArray[np.int64]:
        out = np.zeros((len(starts) - 1, 2), dtype=np.int64)
        for number, (first, last) in enumerate(pairwise(starts.tolist())):
            parts = sources[first[0] : last[0]], targets[first[1] : last[1]]
            source_set, target_set = (np.unique(part[part >= 0]) for part in parts)
            out[number] = self._count(source_set, target_set, hops) if len(source_set) and len(target_set) else 0
        return out

    def _count(self, sources: NodeIds, targets: NodeIds, hops: int) -> tuple[int, int]:
        """Return connected pairs and distinct triples between two sets of distinct nodes."""
        source, middle, triples = self._steps(sources)
        if hops == 1:
            selected = np.isin(middle, targets)
            source, target, triples = source[selected], middle[selected], triples[selected]
        else:
            target, other_middle, other_triples = self._steps(targets)
            i, j = meetings(middle, other_middle)
            source, target, triples = source[i], target[j], triples[i] * other_triples[j]
            selected = source != target
            source, target, triples = source[selected], target[selected], triples[selected]
        both = np.intersect1d(sources, targets)
        reversed_ = (source > target) & np.isin(source, both) & np.isin(target, both)  # counted from its other end
        pairs = len(np.unique(source.astype(np.int64) * len(self._indptr) + target))
        return pairs, int(triples[~reversed_].sum())

    def _steps(self, nodes: NodeIds) -> tuple[NodeIds, NodeIds, NDArray[np.int64]]:
        """Return the distinct steps from ``nodes``: from, to, and how many distinct relations, with direction, join the two."""
        arcs, owner = self._arcs(nodes.astype(np.int64))
        all_nodes, codes = len(self._indptr) - 1, int(self._arrays["relation"].max(initial=0)) + 1
        steps = owner * all_nodes + self._neighbour[arcs]
        distinct = np.unique(steps * codes + self._arrays["relation"][arcs]) // codes
        steps, relations = np.unique(distinct, return_counts=True)
        return nodes[steps // all_nodes], (steps % all_nodes).astype(np.int32), relations

    def _joined(self, sources: NodeIds, targets: NodeIds, hops: int) -> NDArray[np.int32]:
        arcs, owner = self._arcs(sources.astype(np.int64))
        middle = self._neighbour[arcs]
        if hops == 1:
            i, j = meetings(middle, targets)
            return np.stack([owner[i], j, arcs[i]], axis=1).astype(np.int32)
        other_arcs, other_owner = self._arcs(targets.astype(np.int64))
        i, j = meetings(middle, self._neighbour[other_arcs])
        distinct_ends = sources[owner[i]] != targets[other_owner[j]]
        i, j = i[distinct_ends], j[distinct_ends]
        return np.stack([owner[i], other_owner[j], arcs[i], other_arcs[j]], axis=1).astype(np.int32)

    # paths

    @contextmanager
    def successors(self, source: int, target: int, hops: int, limit: int) -> Iterator[Successors]:
        mark, value = self._on_shortest_paths(source, target, hops)
        nodes = self._arrays["node_of_key"], self._arrays["key_of_rank"]
        indptr, neighbour, weight = self._indptr, self._neighbour, self._arrays["weight"]

        def successors_of(rank: int, remaining: int, bound: float) -> list[tuple[float, int]]:
            node = int(nodes[0][nodes[1][rank]])
            first, last = int(indptr[node]), int(indptr[node + 1])
            neighbours = neighbour[first:last]
            closer = mark[neighbours] == remaining - 1
            closer[1:] &= neighbours[1:] != neighbours[:-1]  # of parallel arcs the first is the strongest
            neighbours = neighbours[closer].astype(np.int64)
            strength = np.minimum(np.minimum(value[neighbours], weight[first:last][closer]), int(bound))
            keys = np.sort(self._sort_keys(strength, neighbours))[:limit]
            return [(self._strongest - (key >> 32), key & 0xFFFFFFFF) for key in keys.tolist()]

        yield successors_of

    def _on_shortest_paths(self, source: int, target: int, hops: int) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """Return, by node, the hops to ``target`` and the strength of the strongest shortest path there.

        Valid for all nodes on shortest paths of ``hops`` hops from ``source``; the hops of other nodes are right or -1. Two
        searches meet, each time from the side with fewer arcs, and the one from the target goes on where the other has been.
        """
        mark, value = self._marks(target, self._strongest)
        source_mark, unused_value = self._marks(source, self._strongest)
        near_target, near_source = np.array([target], dtype=np.int64), np.array([source], dtype=np.int64)
        target_depth, source_depth = 0, 0
        while target_depth + source_depth < hops:
            if self._number_of_arcs(near_target) <= self._number_of_arcs(near_source):
                target_depth += 1
                near_target = self._next_level(near_target, target_depth, mark, value)
            else:
                source_depth += 1
                near_source = self._next_level(near_source, source_depth, source_mark, unused_value)
        level = near_source[mark[near_source] == target_depth]
        for depth in range(source_depth - 1, -1, -1):
            level = self._next_level(level, hops - depth, mark, value, within=source_mark == depth)
        return mark, value

    # arcs

    def _arcs(self, nodes: NDArray[np.int64]) -> tuple[Positions, Positions]:
        """Return the positions of all arcs of ``nodes``, and for each the index in ``nodes`` of its owner."""
        return ranges(self._indptr[nodes], self._indptr[nodes + 1])


def ranges(starts: NDArray[Any], ends: NDArray[Any]) -> tuple[Positions, Positions]:
    """Return the numbers of all ranges ``starts[i]..ends[i] - 1`` in sequence, and for each the ``i`` of its range."""
    sizes = ends.astype(np.int64) - starts
    owner = np.arange(len(sizes)).repeat(sizes)
    first = np.cumsum(sizes) - sizes
    return np.arange(len(owner)) - (first - starts)[owner], owner


def meetings(left: NDArray[Any], right: NDArray[Any]) -> tuple[Positions, Positions]:
    """Return the indices ``(i, j)`` of all pairs with ``left[i] == right[j]``."""
    order = np.argsort(left, kind="stable")
    ordered = left[order]
    positions, other = ranges(np.searchsorted(ordered, right, "left"), np.searchsorted(ordered, right, "right"))
    return order[positions], other
