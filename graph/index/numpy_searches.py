"""The index's searches in NumPy: the same answers as the compiled ones, without the half second that these take to load.

One call handles all nodes of a level, or all targets of a source, with a few operations on whole arrays. A search takes 10 to 100
times as long as the compiled one, so these are for the first queries of a process (:mod:`tacit.graph.index.searches`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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

    def matrix(self, ones: NodeIds, twos: NodeIds, most: int) -> NDArray[np.int8]:
        if len(ones) > len(twos):
            return np.ascontiguousarray(self.matrix(twos, ones, most).T)
        out = np.full((len(ones), len(twos)), -1, dtype=np.int8)
        known = np.flatnonzero(twos >= 0)
        targets = self._targets(twos[known])
        for row, one in enumerate(ones.tolist()):
            if one >= 0 and len(known):
                out[row, known] = self._distances(one, targets, most)
        return out

    def pairs(self, ones: NodeIds, twos: NodeIds, most: int) -> NDArray[np.int8]:
        out = np.full(len(ones), -1, dtype=np.int8)
        known = np.flatnonzero((ones >= 0) & (twos >= 0))
        known = known[np.argsort(ones[known], kind="stable")]
        sources, starts = np.unique(ones[known], return_index=True)
        for one, group in zip(sources.tolist(), np.split(known, starts[1:]), strict=False):
            out[group] = self._distances(one, self._targets(twos[group]), most)
        return out

    def _targets(self, nodes: NodeIds) -> _Targets:
        start, label = self._arrays["label_start"], self._arrays["label"]
        places, owner = ranges(start[nodes, 0], start[nodes + 1, 0])
        labels = label[places]
        starts = np.zeros(len(nodes), dtype=np.int64)
        np.cumsum(np.bincount(owner, minlength=len(nodes))[:-1] + 1, out=starts[1:])
        size = len(labels) + len(nodes)
        own = np.zeros(size, dtype=bool)
        own[starts] = True
        hubs, distances = np.empty(size, dtype=np.int64), np.zeros(size, dtype=np.uint8)
        hubs[own], hubs[~own] = nodes, labels >> 3
        distances[~own] = labels & 7
        return _Targets(nodes.astype(np.int64), hubs, distances, starts)

    def _distances(self, one: int, targets: _Targets, most: int) -> NDArray[np.int8]:
        """Return the distances from ``one`` to ``targets``, at least one of them; -1 for more than ``most``."""
        nodes = targets.nodes
        best = self._through_hubs(one, nodes)
        start, label = self._arrays["label_start"], self._arrays["label"]
        mine = label[start[one, 0] : start[one + 1, 0]]
        reach = np.full(len(self._indptr) - 1, _NOWHERE, dtype=np.uint8)
        reach[mine >> 3] = mine & 7
        reach[one] = 0
        best = np.minimum(best, np.minimum.reduceat(reach[targets.hubs] + targets.distances, targets.starts))
        best[nodes == one] = 0
        if one >= self._covered:
            self._around_covered(one, nodes, best, most)
        return np.where(best <= most, best, -1).astype(np.int8)

    def _through_hubs(self, one: int, nodes: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the length of the shortest path through a hub; 100 or more when there is none."""
        root, near = self._arrays["root"], self._arrays["near"]
        if not root.shape[1]:
            return np.full(len(nodes), _NOWHERE, dtype=np.uint8)
        nearer, same = near[one, :, 0], near[one, :, 1]
        other_nearer, other_same = near[nodes, :, 0], near[nodes, :, 1]
        by_two = (nearer & other_nearer) != 0
        by_one = by_two | (((nearer & other_same) | (same & other_nearer)) != 0)
        lengths: NDArray[np.uint8] = root[one] + root[nodes] - by_two.astype(np.uint8) - by_one.astype(np.uint8)
        shortest: NDArray[np.uint8] = lengths.min(axis=1)
        return shortest

    def _around_covered(self, one: int, nodes: NDArray[np.int64], best: NDArray[np.uint8], most: int) -> None:
        """Shorten the distances in ``best`` by paths that avoid all covered nodes, found by a breadth-first search."""
        seen = np.zeros(len(self._indptr) - 1, dtype=bool)
        seen[one] = True
        level = np.array([one], dtype=np.int64)
        open_ = np.flatnonzero((nodes >= self._covered) & (best > 1))
        for depth in range(1, most + 1):
            open_ = open_[best[open_] > depth]
            if not len(open_) or not len(level):
                return
            arcs, _ = self._arcs(level)
            others = self._neighbour[arcs]
            others = others[others >= self._covered]
            level = np.unique(others[~seen[others]]).astype(np.int64)
            seen[level] = True
            found = open_[np.isin(nodes[open_], level)]
            best[found] = depth

    # surroundings

    def best_at_hop(
        self, node: int, hop: int, limit: int | None, allowed: NDArray[np.bool_], everything: bool
    ) -> tuple[NDArray[np.int64], list[int]]:
        keys = self._keys_at_hop(node, hop, None if everything else allowed)
        keys = keys[:limit]
        return self._strongest - (keys >> 32), (keys & 0xFFFFFFFF).tolist()

    def ranks_at_hop(self, nodes: NodeIds, hop: int, limit: int) -> NDArray[np.int64]:
        ranks = np.full((len(nodes), limit), -1, dtype=np.int64)
        for place, node in enumerate(nodes.tolist()):
            if node >= 0:
                keys = self._keys_at_hop(node, hop, None)[:limit]
                ranks[place, : len(keys)] = keys & 0xFFFFFFFF
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
        others = self._neighbour[arcs]
        kept = mark[others] < 0
        if allowed is not None:
            kept &= allowed[self._arrays["relation"][arcs] >> 1]
        if within is not None:
            kept &= within[others]
        others = others[kept]
        np.maximum.at(value, others, np.minimum(value[level][owner[kept]], self._arrays["weight"][arcs[kept]]))
        found = np.unique(others).astype(np.int64)
        mark[found] = depth
        return found

    def _sort_keys(self, strength: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return integers that sort by strength descending, then by rank."""
        return (self._strongest - strength) << 32 | self._arrays["rank"][nodes].astype(np.int64)

    # connections

    def count(self, sources: NodeIds, targets: NodeIds, starts: NDArray[np.int64], hops_: int) -> NDArray[np.int64]:
        out = np.zeros((len(starts) - 1, 2), dtype=np.int64)
        for number, ((one, two), (one_end, two_end)) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
            ones, twos = (np.unique(part[part >= 0]) for part in (sources[one:one_end], targets[two:two_end]))
            out[number] = self._count(ones, twos, hops_) if len(ones) and len(twos) else 0
        return out

    def _count(self, ones: NodeIds, twos: NodeIds, hops_: int) -> tuple[int, int]:
        """Return connected pairs and distinct triples between two sets of distinct nodes."""
        one, middle, triples = self._steps(ones)
        if hops_ == 1:
            kept = np.isin(middle, twos)
            one, two, triples = one[kept], middle[kept], triples[kept]
        else:
            two, other_middle, further = self._steps(twos)
            near, far = meetings(middle, other_middle)
            one, two, triples = one[near], two[far], triples[near] * further[far]
            kept = one != two
            one, two, triples = one[kept], two[kept], triples[kept]
        both = np.intersect1d(ones, twos)
        reversed_ = (one > two) & np.isin(one, both) & np.isin(two, both)  # counted from its other end
        pairs = len(np.unique(one.astype(np.int64) * len(self._indptr) + two))
        return pairs, int(triples[~reversed_].sum())

    def _steps(self, nodes: NodeIds) -> tuple[NodeIds, NodeIds, NDArray[np.int64]]:
        """Return the distinct steps from ``nodes``: from, to, and how many distinct relations, with direction, join the two."""
        arcs, owner = self._arcs(nodes.astype(np.int64))
        all_nodes, codes = len(self._indptr) - 1, int(self._arrays["relation"].max(initial=0)) + 1
        steps = owner * all_nodes + self._neighbour[arcs]
        distinct = np.unique(steps * codes + self._arrays["relation"][arcs]) // codes
        steps, relations = np.unique(distinct, return_counts=True)
        return nodes[steps // all_nodes], (steps % all_nodes).astype(np.int32), relations

    def _joined(self, ones: NodeIds, twos: NodeIds, hops_: int) -> NDArray[np.int32]:
        arcs, owner = self._arcs(ones.astype(np.int64))
        middle = self._neighbour[arcs]
        if hops_ == 1:
            arc, other = meetings(middle, twos)
            return np.stack([owner[arc], other, arcs[arc]], axis=1).astype(np.int32)
        other_arcs, other_owner = self._arcs(twos.astype(np.int64))
        near, far = meetings(middle, self._neighbour[other_arcs])
        apart = ones[owner[near]] != twos[other_owner[far]]
        near, far = near[apart], far[apart]
        return np.stack([owner[near], other_owner[far], arcs[near], other_arcs[far]], axis=1).astype(np.int32)

    # paths

    @contextmanager
    def successors(self, source: int, target: int, hops_: int, limit: int) -> Iterator[Successors]:
        mark, value = self._on_shortest_paths(source, target, hops_)
        nodes = self._arrays["node_of_key"], self._arrays["key_of_rank"]
        indptr, neighbour, weight = self._indptr, self._neighbour, self._arrays["weight"]

        def after(place: int, remaining: int, bound: float) -> list[tuple[float, int]]:
            node = int(nodes[0][nodes[1][place]])
            first, last = int(indptr[node]), int(indptr[node + 1])
            others = neighbour[first:last]
            kept = mark[others] == remaining - 1
            kept[1:] &= others[1:] != others[:-1]  # of parallel arcs the first is the strongest
            others = others[kept].astype(np.int64)
            strength = np.minimum(np.minimum(value[others], weight[first:last][kept]), int(bound))
            keys = np.sort(self._sort_keys(strength, others))[:limit]
            return [(self._strongest - (key >> 32), key & 0xFFFFFFFF) for key in keys.tolist()]

        yield after

    def _on_shortest_paths(self, source: int, target: int, hops_: int) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
        """Return, by node, the hops to ``target`` and the strength of the strongest shortest path there.

        Valid for all nodes on shortest paths of ``hops_`` hops from ``source``; the hops of other nodes are right or -1. Two
        searches meet, each time from the side with fewer arcs, and the one from the target goes on where the other has been.
        """
        mark, value = self._marks(target, self._strongest)
        reached, unused = self._marks(source, self._strongest)
        near_target, near_source = np.array([target], dtype=np.int64), np.array([source], dtype=np.int64)
        back, forth = 0, 0
        while back + forth < hops_:
            if self._number_of_arcs(near_target) <= self._number_of_arcs(near_source):
                back += 1
                near_target = self._next_level(near_target, back, mark, value)
            else:
                forth += 1
                near_source = self._next_level(near_source, forth, reached, unused)
        level = near_source[mark[near_source] == back]
        for depth in range(forth - 1, -1, -1):
            level = self._next_level(level, hops_ - depth, mark, value, within=reached == depth)
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
    places, other = ranges(np.searchsorted(ordered, right, "left"), np.searchsorted(ordered, right, "right"))
    return order[places], other
