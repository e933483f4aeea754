"""The compiled kernels bound to one index's arrays; the only part of reading that needs numba, imported with the first query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..protocol import NodeIds
from . import distances, triples
from .labels import Labels
from .layout import Arrays
from .primitives import ScratchPool, run_parallel

Chain = tuple[list[int], list[tuple[int, int]]]
"""Nodes along a path, and for each step the node in whose list the arc is, and the arc's position."""


class Kernels:
    """The index's searches on node numbers; thread-safe, since each call uses scratch memory of its own.

    Args:
        arrays: as written by :mod:`tacit.graph.index.build`.
        covered: see :class:`tacit.graph.index.labels.Labels`.
    """

    def __init__(self, arrays: Arrays, covered: int) -> None:
        self._arrays = arrays
        self._graph = arrays["indptr"], arrays["neighbour"]
        self._labels = Labels(arrays["root"], arrays["near"], arrays["label_start"], arrays["label"], covered)
        self._strongest = len(arrays["weights"])
        self._pool = ScratchPool(len(arrays["indptr"]) - 1)

    def matrix(self, ones: NodeIds, twos: NodeIds, most: int) -> NDArray[np.int8]:
        """Return the distances of all pairs, shape (ones, twos); -1 for more than ``most`` hops."""
        out = np.empty((len(ones), len(twos)), dtype=np.int8)
        with self._pool.lend() as scratch:
            distances.matrix_distances(*self._graph, self._labels, ones, twos, most, scratch, out)
        return out

    def pairs(self, ones: NodeIds, twos: NodeIds, most: int) -> NDArray[np.int8]:
        """Return the distances of ``ones[i]`` and ``twos[i]``, shape (ones,); many pairs are split among the machine's cores."""
        out = np.empty(len(ones), dtype=np.int8)

        def fill(part: slice) -> None:
            with self._pool.lend() as scratch:
                distances.pair_distances(*self._graph, self._labels, ones[part], twos[part], most, scratch, out[part])

        run_parallel(len(ones), fill)
        return out

    def best_at_hop(
        self, node: int, hop: int, limit: int | None, allowed: NDArray[np.bool_], everything: bool
    ) -> tuple[NDArray[np.int64], list[int]]:
        """Return weight codes and ranks of the best nodes at exactly ``hop``, best first; ``everything`` allows all relations."""
        arrays = self._arrays
        with self._pool.lend() as scratch:
            keys = distances.best_at_hop(
                *self._graph, arrays["weight"], arrays["relation"], arrays["rank"], allowed, everything,
                self._strongest, node, hop, -1 if limit is None else limit, scratch,
            )  # fmt: skip
        keys.sort()
        return self._strongest - (keys >> 32), (keys & 0xFFFFFFFF).tolist()

    def ranks_at_hop(self, nodes: NodeIds, hop: int, limit: int) -> NDArray[np.int64]:
        """Return ranks of the best nodes at exactly ``hop`` from each node, best first, shape (nodes, limit), padded with -1."""
        arrays, none = self._arrays, np.iinfo(np.int64).max
        keys = np.full((len(nodes), limit), none)
        with self._pool.lend() as scratch:
            distances.best_of_each(
                *self._graph, arrays["weight"], arrays["relation"], arrays["rank"], self._strongest, nodes, hop, scratch, keys
            )
        keys.sort(axis=1)
        return np.where(keys == none, -1, keys & 0xFFFFFFFF)

    def count(self, sources: NodeIds, targets: NodeIds, starts: NDArray[np.int64], hops_: int) -> NDArray[np.int64]:
        """Return connected pairs and distinct triples for each pair of sets, shape (sets, 2); see :func:`.triples.count_many`."""
        out = np.zeros((len(starts) - 1, 2), dtype=np.int64)
        with self._pool.lend() as scratch:
            triples.count_many(*self._graph, self._arrays["relation"], sources, targets, starts, hops_, scratch, out)
        return out

    def chains(self, ones: NodeIds, twos: NodeIds, hops_: int) -> Iterator[Chain]:
        """Yield every path between two sets of distinct nodes, in the order of ``Path.order``."""
        arcs_of = triples.arcs_of
        turned = hops_ == 2 and arcs_of(self._graph[0], ones) > arcs_of(self._graph[0], twos)
        ones, twos = (twos, ones) if turned else (ones, twos)  # the set with fewer arcs first
        if hops_ == 1:
            joints = triples.one_hop_joints(*self._graph, ones, twos)
        else:
            with self._pool.lend() as scratch:
                joints = triples.two_hop_joints(*self._graph, ones, twos, scratch)
        rows = triples.expand_joints(*self._graph, ones, twos, joints)
        weight, rank = self._arrays["weight"], self._arrays["rank"]
        first, last, arcs = ones[rows[:, 0]], twos[rows[:, 1]], rows[:, 2]
        if hops_ == 1:
            order = np.lexsort((arcs, rank[last], rank[first], -weight[arcs].astype(np.int64)))
            steps = zip(first[order].tolist(), last[order].tolist(), arcs[order].tolist(), strict=True)
            return (([one, two], [(one, arc)]) for one, two, arc in steps)
        further = rows[:, 3]
        if turned:
            first, last, arcs, further = last, first, further, arcs
        middle = self._arrays["neighbour"][arcs]
        strength = np.minimum(weight[arcs], weight[further]).astype(np.int64)
        order = np.lexsort((further, arcs, rank[last], rank[middle], rank[first], -strength))
        columns = (column[order].tolist() for column in (first, middle, last, arcs, further))
        return (([one, mid, two], [(one, near), (two, far)]) for one, mid, two, near, far in zip(*columns, strict=True))

    @contextmanager
    def successors(
        self, source: int, target: int, hops_: int, limit: int
    ) -> Iterator[Callable[[int, int, float], list[tuple[float, int]]]]:
        """Yield the successor function of shortest paths of ``hops_`` hops, for :func:`~tacit.graph.answers.best_chains`."""
        arrays, weight, rank, strongest = self._arrays, self._arrays["weight"], self._arrays["rank"], self._strongest
        nodes = arrays["node_of_key"], arrays["key_of_rank"]
        with self._pool.lend() as scratch:
            base = distances.mark_shortest_paths(*self._graph, weight, strongest, source, target, hops_, scratch)

            def after(place: int, remaining: int, bound: float) -> list[tuple[float, int]]:
                node = int(nodes[0][nodes[1][place]])
                keys = distances.next_nodes(
                    *self._graph, weight, rank, strongest, node, base + remaining - 1, int(bound), limit, scratch
                )  # fmt: skip
                return [(strongest - (key >> 32), key & 0xFFFFFFFF) for key in keys.tolist()]

            yield after

    def strongest_arcs(self, nodes: Sequence[int]) -> list[tuple[int, int]]:
        """Return (owner, position) of the first arc between each two successive ``nodes``."""
        steps = pairwise(nodes)
        return [(node, int(triples.first_arc(*self._graph, node, after))) for node, after in steps]
