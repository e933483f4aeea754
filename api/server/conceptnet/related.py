"""Relatedness of concepts: the cosine of their Numberbatch vectors, from the vectors in the folder of the index.

As in the public API, a term without a vector has the weighted mean of the vectors of its ten heaviest neighbours, and a list of
terms has the weighted mean of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import InputError
from ....graph.index.open import vectors_folder
from ....graph.model import Pattern
from ....graph.protocol import ConceptIndex
from ....loaders import Vectors, open_vectors

_BLOCK = 1 << 14
"""Vectors that are converted to float32 at a time."""
_MAX_CACHED_BYTES = 512 << 20
"""Largest size in bytes of all vectors as float32 to cache; larger ones are converted for every request, which is slower."""
_NEIGHBOURS = 10
_NEIGHBOUR_WEIGHT, _HEAVIEST = 0.01, 10.0

Floats = NDArray[np.float32]
Terms = Sequence[tuple[str, float]]
"""URIs of terms with their weights."""


def open_related(index: ConceptIndex) -> Relatedness | None:
    """Open the vectors of an index; None when it has none."""
    folder = vectors_folder(index)
    return Relatedness(index, open_vectors(folder)) if folder.is_dir() else None


class Relatedness:
    """Cosines of the concepts of an index, which has a vector for each concept by number; thread-safe."""

    def __init__(self, index: ConceptIndex, vectors: Vectors) -> None:
        concepts = index.counts().concepts
        if len(vectors.matrix) != concepts:
            raise InputError(
                f"there are {len(vectors.matrix):,} vectors in {vectors_folder(index)} for {concepts:,} concepts; "
                "build them again with tacit index GRAPH --vectors FILE"
            )
        self._index = index
        self._vectors = vectors

    def similarity(self, first_term: str, second_term: str) -> float | None:
        """Return the cosine of two terms, -1 to 1; None when one of them has no vector and no neighbour with one."""
        first, second = self._vector([(first_term, 1.0)]), self._vector([(second_term, 1.0)])
        return None if first is None or second is None else float(first @ second)

    def nearest(self, terms: Terms, limit: int, below: str | None = None) -> list[tuple[str, float]]:
        """Return the ``limit`` concepts with the highest cosines, highest first, then by URI; the terms are among them.

        ``below``: only this concept or those below, e.g. ``/c/en``.
        """
        mean = self._vector(terms)
        if mean is None or limit == 0:
            return []
        cosines = self._cosines(mean)
        rows = np.flatnonzero(self._vectors.present) if below is None else self._index.ids_below(below)
        rows = rows[self._vectors.present[rows]]
        if len(rows) > limit:
            lowest = np.partition(cosines[rows], len(rows) - limit)[len(rows) - limit]
            rows = rows[cosines[rows] >= lowest]
        similar = [(self._index.uri(int(row)), float(cosines[row])) for row in rows]
        return sorted(similar, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def _vector(self, terms: Terms) -> Floats | None:
        """Return the weighted mean of the terms' vectors, of length 1; None when none has one."""
        weighted = [*terms]
        for (term, weight), has_vector in zip(terms, self._have_vectors([term for term, _ in terms]), strict=True):
            if not has_vector:
                weighted += self._neighbours(term, weight)
        rows = self._index.ids([_concept(term) for term, _ in weighted])
        usable = [index for index, row in enumerate(rows.tolist()) if row >= 0 and self._vectors.present[row]]
        if not usable:
            return None
        weights = np.array([weighted[index][1] for index in usable], np.float32)
        total = weights @ self._vectors.take(rows[usable].astype(np.int64))
        length = float(np.linalg.norm(total))
        return np.asarray(total / length, np.float32) if length > 0 else None

    def _have_vectors(self, terms: Sequence[str]) -> list[bool]:
        rows = self._index.ids([_concept(term) for term in terms]).tolist()
        return [row >= 0 and bool(self._vectors.present[row]) for row in rows]

    def _neighbours(self, term: str, weight: float) -> list[tuple[str, float]]:
        """Return the ends of the term's heaviest edges with their weights."""
        if term.count("/") < 3:  # a language
            return []
        edges = self._index.select(Pattern(node=term), 0, _NEIGHBOURS)
        concept = _concept(term)
        return [
            (edge.tail if edge.head == concept else edge.head, weight * min(_HEAVIEST, edge.weight) * _NEIGHBOUR_WEIGHT)
            for edge in edges
        ]

    def _cosines(self, vector: Floats) -> Floats:
        """Return the cosine of ``vector``, which has length 1, with every concept's, shape (concepts,)."""
        products = np.concatenate([block @ vector for block in self._blocks()])
        return np.asarray(products / self._lengths, np.float32)

    def _blocks(self) -> Iterator[Floats]:
        """Yield all vectors as float32, in blocks of shape (concepts, dimensions)."""
        matrix = self._vectors.matrix
        if matrix.size * 4 <= _MAX_CACHED_BYTES:
            yield self._float_matrix
            return
        for begin in range(0, len(matrix), _BLOCK):
            yield matrix[begin : begin + _BLOCK].astype(np.float32)

    @cached_property
    def _float_matrix(self) -> Floats:
        return self._vectors.matrix.astype(np.float32)

    @cached_property
    def _lengths(self) -> Floats:
        """The length of every vector, shape (concepts,); 1 where there is none."""
        lengths = np.concatenate([np.linalg.norm(block, axis=1) for block in self._blocks()])
        return np.asarray(np.where(lengths > 0, lengths, 1), np.float32)


def _concept(term: str) -> str:
    """Return a term without its sense, since Numberbatch has one vector for all senses."""
    return "/".join(term.split("/", 4)[:4]) if term.startswith("/c/") else term
