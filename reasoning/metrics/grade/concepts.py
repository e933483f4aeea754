"""Vectors of concepts and of their neighbourhoods: from a table such as Numberbatch, or from the sentence encoder.

The encoder's embeddings are cached in half precision beside the index, in the order of its nodes, one file for each graph and
encoder; only concepts that were needed are filled in. Processes may share the file: a row is marked as present after it was
written, and all of them write equal rows.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import InputError
from ....graph.names import text_of, uris_digest
from ....graph.open import index_of
from ....graph.protocol import ConceptIndex, KnowledgeGraph
from ...lru_cache import LruCache
from ...models.encoder import TextEncoder

Floats = NDArray[np.float32]


class ConceptVectors(Protocol):
    """A source of concept vectors."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def signature(self) -> str:
        """Short text that changes whenever the vectors may change."""

    def of(self, concepts: Sequence[str]) -> Floats:
        """Return the vectors of concepts, shape (concepts, dimension); zeros for concepts without one."""


@runtime_checkable
class NodeVectors(ConceptVectors, Protocol):
    """Concept vectors that can be looked up by the index's node ids too, which is faster than by URIs."""

    def of_nodes(self, nodes: NDArray[np.int32]) -> Floats:
        """Return the vectors of an index's nodes, ids >= 0, shape (nodes, dimension); equal to :meth:`of` for their URIs."""


class VectorTable(Protocol):
    """Vectors in the order of an index's nodes, as :func:`tacit.loaders.open_vectors` opens them."""

    @property
    def matrix(self) -> NDArray[np.float16]:
        """Shape (nodes, dimension)."""

    @property
    def sha256(self) -> str:
        """SHA-256 of the file that they were read from."""

    @property
    def uris_digest(self) -> str:
        """Digest of the URIs of the graph that they were built for."""

    @property
    def uris(self) -> Sequence[str]:
        """Those URIs, in the order of the rows."""


class TableVectors:
    """Vectors of a table that was built for the graph's index.

    Rows are found by the index's numbers, or, over a store, by the names of the rows, which are then kept in memory.
    """

    def __init__(self, table: VectorTable, graph: KnowledgeGraph) -> None:
        """Wrap ``table``, in which row i belongs to node i of the graph's index."""
        self._table = table
        self._index = index_of(graph)
        self._rows: dict[str, int] = {}
        if self._index is not None:
            uris = self._index.uris()
            same = len(uris) == len(table.matrix) and uris_digest(uris) == table.uris_digest
        else:
            self._rows = {uri: row for row, uri in enumerate(table.uris)}
            same = len(self._rows) == graph.counts().concepts and None not in graph.resolve(list(self._rows))
        if not same:
            raise InputError("the concept vectors were built for another graph; build them again for this one")

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._table.matrix.shape[1])

    @property
    def signature(self) -> str:
        return f"table:{self._table.sha256[:12]}"

    def of(self, concepts: Sequence[str]) -> Floats:
        """See :class:`ConceptVectors`."""
        if self._index is not None:
            rows = np.asarray(self._index.ids(concepts), np.int64)
        else:
            rows = np.array([self._rows.get(concept, -1) for concept in concepts], np.int64)
        result = np.zeros((len(rows), self.dimension), np.float32)
        result[rows >= 0] = self.of_nodes(rows[rows >= 0])
        return result

    def of_nodes(self, nodes: NDArray[Any]) -> Floats:
        """See :class:`NodeVectors`."""
        result: Floats = self._table.matrix[nodes].astype(np.float32)
        return result


class EncodedVectors:
    """The sentence encoder's embeddings of concepts' texts, of unit length, in half precision."""

    def __init__(self, encoder: TextEncoder, graph: KnowledgeGraph, folder: Path | None = None) -> None:
        """Embed with ``encoder``; embeddings of an index's nodes are cached in ``folder`` (default: the index's own)."""
        self._encoder = encoder
        self._index = index_of(graph)
        self._disk: _DiskCache | None = None
        self._memory: dict[str, NDArray[np.float16]] = {}
        if self._index is not None:
            root = Path(folder or self._index.directory)
            signature = encoder.signature.replace(";", "-").replace("=", "-")
            name = f"concepts-{graph.manifest().digest}-{signature}"  # several graphs may share a folder
            self._disk = _DiskCache.open(root / name, len(self._index.uris()), encoder.dimension)

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._encoder.dimension

    @property
    def signature(self) -> str:
        return f"encoder:{self._encoder.signature}"

    def of(self, concepts: Sequence[str]) -> Floats:
        """See :class:`ConceptVectors`; concepts that are not in the graph are embedded too, and cached in memory only."""
        distinct = list(dict.fromkeys(concepts))
        rows = np.full(len(distinct), -1, np.int64)
        if self._index is not None:
            rows = np.asarray(self._index.ids(distinct), np.int64)
        vectors = np.zeros((len(distinct), self.dimension), np.float16)
        cached = np.zeros(len(distinct), bool) if self._disk is None else self._disk.read(rows, vectors)
        for index in np.flatnonzero(~cached):
            vector = self._memory.get(distinct[index])
            if vector is not None:
                vectors[index], cached[index] = vector, True
        missing = np.flatnonzero(~cached)
        if len(missing):
            texts = [text_of(distinct[index]) for index in missing]
            fresh = self._encoder.sentences(self._encoder.pooled(texts, keep=False)).astype(np.float16)
            vectors[missing] = fresh
            if self._disk is not None:
                self._disk.write(rows[missing], fresh)
            for index, vector in zip(missing, fresh, strict=True):
                if self._disk is None or rows[index] < 0:
                    self._memory[distinct[index]] = vector
        index_of_concept = {concept: index for index, concept in enumerate(distinct)}
        return vectors[[index_of_concept[concept] for concept in concepts]].astype(np.float32)

    def of_nodes(self, nodes: NDArray[Any]) -> Floats:
        """See :class:`NodeVectors`."""
        vectors = np.zeros((len(nodes), self.dimension), np.float16)
        missing = np.ones(len(nodes), bool) if self._disk is None else ~self._disk.read(nodes, vectors)
        if missing.any():
            assert self._index is not None, "nodes are numbers of an index"
            vectors[missing] = self.of([self._index.uri(node) for node in nodes[missing].tolist()])
        return vectors.astype(np.float32)


class _DiskCache:
    """Memory-mapped rows, with a byte for each row that marks it as present."""

    def __init__(self, matrix: Any, present: Any) -> None:
        self._matrix = matrix
        self._present = present

    @classmethod
    def open(cls, stem: Path, rows: int, dimension: int) -> _DiskCache | None:
        """Map the files of ``stem``, which are created when they do not exist; None when they cannot be written."""
        if not rows:
            return None
        matrix, present = stem.with_name(f"{stem.name}.f16"), stem.with_name(f"{stem.name}.there")
        try:
            for path, size in ((matrix, rows * dimension * 2), (present, rows)):
                with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as file:
                    if path.stat().st_size != size:
                        file.truncate(size)
            return cls(
                np.memmap(matrix, np.float16, "r+", shape=(rows, dimension)), np.memmap(present, np.uint8, "r+", shape=(rows,))
            )
        except OSError:
            return None

    def read(self, rows: NDArray[np.int64], into: NDArray[np.float16]) -> NDArray[np.bool_]:
        """Copy the rows that are present to ``into``; return which they are."""
        present = np.zeros(len(rows), bool)
        present[rows >= 0] = self._present[rows[rows >= 0]] == 1
        into[present] = self._matrix[rows[present]]
        return present

    def write(self, rows: NDArray[np.int64], vectors: NDArray[np.float16]) -> None:
        """Store rows; negative ids belong to no node and are skipped."""
        inside = rows >= 0
        self._matrix[rows[inside]] = vectors[inside]
        self._present[rows[inside]] = 1


# Neighbourhoods: a concept's own vector and, for every hop k, the mean of the vectors of N_k neighbours, the input of eq. 3.
#
# Neighbours at exactly k hops are ranked by the weight of the strongest chain. A concept's row is the same in every run and is
# cached.


class Neighbourhood:
    """Neighbourhood vectors of concepts, cached. Thread-safe."""

    def __init__(
        self, graph: KnowledgeGraph, vectors: ConceptVectors, *, limits: Sequence[int] = (10, 10), cache_size: int = 20_000
    ) -> None:
        """Find neighbours in ``graph``; ``limits`` are N_1, N_2, … (empty: only the concept's own vector)."""
        if any(limit < 1 for limit in limits):
            raise InputError(f"the numbers of neighbours must be >= 1 for every hop, not {tuple(limits)}")
        self.graph = graph
        self.vectors = vectors
        self.limits = tuple(limits)
        self._rows: LruCache[str, Floats] = LruCache(cache_size)
        self._lock = threading.Lock()

    def rows(self, concepts: Sequence[str]) -> Floats:
        """Return own vectors and neighbours' means, shape (concepts, 1 + hops, dimension); zeros where there is no neighbour."""
        with self._lock:
            known = self._rows.get_all(concepts, self._compute)
        result = np.zeros((len(concepts), 1 + len(self.limits), self.vectors.dimension), np.float32)
        for index, concept in enumerate(concepts):
            result[index] = known[concept]
        return result

    def neighbours(self, concept: str, hop: int) -> list[str]:
        """Return the neighbours at exactly ``hop`` (1, 2, …) whose vectors are averaged, best first."""
        return [neighbour.uri for neighbour in self.graph.neighbours(concept, hop, self.limits[hop - 1])]

    def _compute(self, concepts: Sequence[str]) -> Iterable[Floats]:
        """Return the rows of at least one concept; the vectors of all are looked up together."""
        index = index_of(self.graph)
        if index is not None and isinstance(self.vectors, NodeVectors):
            nodes = index.ids(concepts)
            if (nodes >= 0).all():
                return self._of_nodes(index, nodes, self.vectors)
        groups = [[[concept], *(self.neighbours(concept, hop) for hop in range(1, 1 + len(self.limits)))] for concept in concepts]
        uris_of_all = list(dict.fromkeys(uri for hops in groups for uris in hops for uri in uris))
        vectors = dict(zip(uris_of_all, self.vectors.of(uris_of_all), strict=True))
        zeros = np.zeros(self.vectors.dimension, np.float32)
        return (
            np.stack([np.mean([vectors[uri] for uri in uris], axis=0) if uris else zeros for uris in hops]) for hops in groups
        )

    def _of_nodes(self, index: ConceptIndex, nodes: NDArray[np.int32], vectors: NodeVectors) -> Floats:
        """Return the rows of an index's nodes, without creating URIs of neighbours."""
        neighbours = [index.neighbours_of_ids(nodes, hop, limit) for hop, limit in enumerate(self.limits, 1)]
        distinct = np.unique(np.concatenate([nodes, *(near[near >= 0] for near in neighbours)]))
        known = vectors.of_nodes(distinct)
        rows = np.zeros((len(nodes), 1 + len(neighbours), vectors.dimension), np.float32)
        rows[:, 0] = known[np.searchsorted(distinct, nodes)]
        for hop, near in enumerate(neighbours, 1):
            is_neighbour = near >= 0
            summed = np.zeros_like(rows[:, 0])
            for column in range(near.shape[1]):
                present = is_neighbour[:, column]
                summed[present] += known[np.searchsorted(distinct, near[present, column])]
            rows[:, hop] = summed / np.maximum(is_neighbour.sum(axis=1, dtype=np.float32), 1)[:, None]
        return rows
