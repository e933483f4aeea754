"""What lies around a concept: its own vector and, for every hop k, the mean of the vectors of N_k neighbours (eq. 3 reads them).

Neighbours at exactly k hops are chosen by the weight of the strongest chain. A concept's row is the same in every run, so rows
are computed once and cached.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError
from ...graph.opening import index_of
from ...graph.protocol import ConceptIndex, KnowledgeGraph
from ..cache import LruCache
from .vectors import ConceptVectors, NodeVectors

Floats = NDArray[np.float32]


class Neighbourhood:
    """Rows for concepts; safe to share between threads."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        vectors: ConceptVectors,
        *,
        limits: Sequence[int] = (10, 10),
        cache_size: int = 20_000,
    ) -> None:
        """Look around in ``graph``; ``limits`` are N_1, N_2, … (none: a concept stands for itself alone).

        Raises:
            InputError: a limit is below 1.
        """
        if any(limit < 1 for limit in limits):
            raise InputError(f"the numbers of neighbours must be >= 1 for every hop, not {tuple(limits)}")
        self.graph = graph
        self.vectors = vectors
        self.limits = tuple(limits)
        self._rows: LruCache[str, Floats] = LruCache(cache_size)
        self._lock = threading.Lock()

    def rows(self, concepts: Sequence[str]) -> Floats:
        """Return own vector and neighbours' means, shape (concepts, 1 + hops, dimension); zeros where there is no neighbour."""
        found = np.zeros((len(concepts), 1 + len(self.limits), self.vectors.dimension), np.float32)
        with self._lock:
            fresh = [concept for concept in dict.fromkeys(concepts) if self._rows.get(concept) is None]
            known = self._work_out(fresh)
            for place, concept in enumerate(concepts):
                row = known.get(concept)
                if row is None:
                    row = self._rows.get(concept)
                assert row is not None
                found[place] = row
            for concept, row in known.items():
                self._rows.put(concept, row)
        return found

    def neighbours(self, concept: str, hop: int) -> list[str]:
        """Return the neighbours at exactly ``hop`` (1, 2, …) whose vectors are averaged, best first."""
        return [one.uri for one in self.graph.neighbours(concept, hop, self.limits[hop - 1])]

    def _work_out(self, concepts: Sequence[str]) -> dict[str, Floats]:
        """Rows of concepts that are not known yet, their vectors asked for together."""
        index = index_of(self.graph) if concepts else None
        if index is not None and isinstance(self.vectors, NodeVectors):
            nodes = index.ids(concepts)
            if (nodes >= 0).all():
                return dict(zip(concepts, self._of_nodes(index, nodes, self.vectors), strict=True))
        around = {concept: [self.neighbours(concept, hop + 1) for hop in range(len(self.limits))] for concept in concepts}
        wanted = list(
            dict.fromkeys(uri for concept, hops in around.items() for uri in (concept, *(one for hop in hops for one in hop)))
        )
        vectors = self.vectors.of(wanted) if wanted else np.zeros((0, self.vectors.dimension), np.float32)
        place = {uri: number for number, uri in enumerate(wanted)}
        rows = {}
        for concept, hops in around.items():
            row = np.zeros((1 + len(self.limits), self.vectors.dimension), np.float32)
            row[0] = vectors[place[concept]]
            for hop, uris in enumerate(hops):
                if uris:
                    row[1 + hop] = vectors[[place[uri] for uri in uris]].mean(axis=0)
            rows[concept] = row
        return rows

    def _of_nodes(self, index: ConceptIndex, nodes: NDArray[np.int32], vectors: NodeVectors) -> Floats:
        """Rows of an index's nodes, without a URI made for any neighbour."""
        around = [index.neighbours_of_ids(nodes, hop, limit) for hop, limit in enumerate(self.limits, 1)]
        wanted = np.unique(np.concatenate([nodes, *(near[near >= 0] for near in around)]))
        known = vectors.of_nodes(wanted)
        rows = np.zeros((len(nodes), 1 + len(around), vectors.dimension), np.float32)
        rows[:, 0] = known[np.searchsorted(wanted, nodes)]
        for hop, near in enumerate(around, 1):
            there = near >= 0
            summed = np.zeros_like(rows[:, 0])
            for column in range(near.shape[1]):
                some = there[:, column]
                summed[some] += known[np.searchsorted(wanted, near[some, column])]
            rows[:, hop] = summed / np.maximum(there.sum(axis=1, dtype=np.float32), 1)[:, None]
        return rows


def unit(vectors: Floats) -> Floats:
    """Return vectors at length one, zeros left alone."""
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return scaled
