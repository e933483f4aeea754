"""The engines that answer distances in a benchmark, each in the way that suits it best, and questions drawn alike for all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from tacit.cypher import query
from tacit.graph import KnowledgeGraph
from tacit.graph.index import IndexGraph

MAX_HOPS = 6

Pair = tuple[str, str]
Sets = tuple[Sequence[str], Sequence[str]]


class Work:
    """Questions about one graph, drawn by degree with a fixed seed.

    Attributes:
        pairs: pairs of concepts; numbers: the same as the index's numbers, shape (pairs, 2).
        sets: the pairs ten by ten, as two sets of ten.
    """

    def __init__(self, index: IndexGraph, count: int) -> None:
        random = np.random.default_rng(5)
        names = index.uris()
        owners, others = links(index)
        self.numbers = np.concatenate([owners, others])[random.integers(0, 2 * len(owners), (count, 2))]
        self.pairs: list[Pair] = [(names[source], names[target]) for source, target in self.numbers.tolist()]
        self.sets: list[Sets] = [
            ([source for source, _ in part], [target for _, target in part]) for part in batches(self.pairs, 10)
        ]


def links(index: IndexGraph) -> tuple[np.ndarray, np.ndarray]:
    """The two ends of every assertion, as the index's numbers."""
    arrays = index._arrays
    owners = np.repeat(np.arange(len(arrays["rank"]), dtype=np.int32), np.diff(arrays["indptr"]))
    counted_once = owners < arrays["neighbour"]
    return owners[counted_once], arrays["neighbour"][counted_once]


def batches(items: Any, size: int) -> list[Any]:
    """Return batches of ``size`` of a sequence or an array, without the incomplete last one."""
    return [items[start : start + size] for start in range(0, len(items) - size + 1, size)]


def one_by_one(graph: KnowledgeGraph, pairs: Iterable[Pair]) -> list[int]:
    """Return the distances of pairs, by one query each."""
    return [int(graph.hop_distances([source], [target], MAX_HOPS)[0, 0]) for source, target in pairs]


def unwound(server: Any, pairs: Sequence[Pair]) -> list[int]:
    """Return the distances of pairs by one ``UNWIND`` query, the one that tacit uses."""
    statement = query("hop_distances", "neo4j").within(MAX_HOPS)
    rows = server._rows(statement, {"pairs": [list(pair) for pair in pairs if pair[0] != pair[1]]})
    distances = {(source, target): hops for source, target, hops in rows}
    return [0 if source == target else distances.get((source, target), -1) for source, target in pairs]


class Igraph:
    """igraph's breadth-first search in C, the graph held in memory."""

    def __init__(self, index: IndexGraph) -> None:
        import igraph

        owners, others = links(index)
        self._graph = igraph.Graph(n=len(index.uris()), edges=np.column_stack([owners, others]))
        self._ids = index.ids

    def matrix(self, sets: Sets) -> Any:
        """Distances between two sets of concepts."""
        sources, targets = (self._ids(list(dict.fromkeys(uris))).tolist() for uris in sets)
        return self._graph.distances(sources, targets)

    def pairs(self, pairs: Iterable[Pair]) -> list[int]:
        """Distances of pairs, -1 past six hops."""
        distances = (
            self._graph.distances(self._ids([source]).tolist(), self._ids([target]).tolist())[0][0] for source, target in pairs
        )
        return [int(hops) if hops <= MAX_HOPS else -1 for hops in distances]


class Networkit:
    """networkit's pruned landmark labelling (Akiba et al., SIGMOD 2013) in C++, asked from Python pair by pair.

    Raises:
        ImportError: networkit is not installed.
    """

    def __init__(self, index: IndexGraph) -> None:
        import networkit

        owners, others = links(index)
        distinct = np.unique(np.column_stack([owners, others]), axis=0)
        graph = networkit.Graph(len(index.uris()))
        graph.addEdges((distinct[:, 0].astype(np.uint64), distinct[:, 1].astype(np.uint64)))
        self._labels = networkit.distance.PrunedLandmarkLabeling(graph)
        self._labels.run()

    def pairs(self, numbers: Any) -> list[int]:
        """Distances of pairs of the index's numbers, shape (pairs, 2), -1 past six hops."""
        distances = (self._labels.query(source, target) for source, target in numbers.tolist())
        return [int(hops) if hops <= MAX_HOPS else -1 for hops in distances]
