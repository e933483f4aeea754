"""The nearest of many vectors above a threshold, exactly: a small product bounds every cosine, and only what it lets through
is worked out.

Unit vectors are turned so that their first numbers hold most of their length. For two of them, the cosine is at most the
product of the first parts plus the product of the lengths of the rests (Cauchy-Schwarz), which is one matrix product of few
columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

_COLUMNS = 96
_SAMPLE = 20_000
_QUERIES = 32
_SLACK = 1e-5  # the bound is worked out in single precision


class Near(NamedTuple):
    """A vector that is near: its number, and its cosine with the query."""

    number: int
    cosine: float


class NearestVectors:
    """Unit vectors that can be searched."""

    def __init__(self, vectors: NDArray[np.floating]) -> None:
        """Take in ``vectors``, shape (n, d), each of unit length."""
        self.vectors: Vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        count, width = self.vectors.shape
        step = max(1, count // _SAMPLE)
        sample = self.vectors[::step].astype(np.float64)
        _, axes = np.linalg.eigh(sample.T @ sample)
        columns = min(_COLUMNS, width)
        self._axes: Vectors = np.ascontiguousarray(axes[:, ::-1][:, :columns], dtype=np.float32)
        self._bounds = self._bound(self.vectors)

    def __len__(self) -> int:
        return len(self.vectors)

    def search(self, queries: Vectors, limit: int, threshold: float) -> list[list[Near]]:
        """Return for each query (rows of unit length) the nearest ``limit`` vectors whose cosine is at least ``threshold``.

        Nearest first, of equal ones the lower number; exact to single precision.
        """
        found: list[list[Near]] = []
        if not len(self):
            return [[] for _ in queries]
        for start in range(0, len(queries), _QUERIES):
            block = np.ascontiguousarray(queries[start : start + _QUERIES], dtype=np.float32)
            bounds = self._bound(block) @ self._bounds.T
            for query, bound in zip(block, bounds, strict=True):
                found.append(self._among(np.flatnonzero(bound >= threshold - _SLACK), query, limit, threshold))
        return found

    def _among(self, numbers: NDArray[np.int64], query: Vectors, limit: int, threshold: float) -> list[Near]:
        """The nearest of those that the bound let through."""
        cosines = self.vectors[numbers] @ query
        inside = cosines >= threshold
        numbers, cosines = numbers[inside], cosines[inside]
        best = np.lexsort((numbers, -cosines))[:limit]
        return [Near(int(numbers[place]), float(cosines[place])) for place in best]

    def _bound(self, vectors: Vectors) -> Vectors:
        """First parts of vectors, with the length of the rest as their last column."""
        first = vectors @ self._axes
        rest = np.sqrt(np.maximum((vectors * vectors).sum(1) - (first * first).sum(1), 0.0))
        return np.ascontiguousarray(np.concatenate([first, rest[:, None]], axis=1), dtype=np.float32)
