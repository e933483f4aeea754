"""Vectors in a byte for every few numbers: product quantisation (Jégou et al., TPAMI 2011), and dot products with what it
keeps.

A vector is cut into parts, and each part becomes the number of the nearest of 256 centroids of that part. A dot product with
any vector is then a sum of table look-ups, without building the kept vectors again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Codes = NDArray[np.uint8]

CENTROIDS = 256

_ROUNDS = 12
_SAMPLE = 20_000
_BLOCK = 8192


@dataclass(frozen=True)
class Quantised:
    """Vectors that were quantised.

    Attributes:
        books: centroids of each part, shape (parts, 256, width); codes: which of them, shape (n, parts).
        lengths: of the kept vectors, shape (n,); dot products are divided by them, so what is kept counts as of unit length.
    """

    books: Vectors
    codes: Codes
    lengths: Vectors

    def vectors(self, rows: NDArray[np.int64]) -> Vectors:
        """Return the kept vectors of ``rows``, shape (rows, parts * width), of unit length."""
        found = self.books[np.arange(len(self.books)), self.codes[rows]].reshape(len(rows), -1)
        unit: Vectors = found / self.lengths[rows, None]
        return unit

    def part(self, rows: NDArray[np.int64]) -> Quantised:
        """Return the kept vectors of ``rows`` alone."""
        return Quantised(self.books, self.codes[rows], self.lengths[rows])

    def products(self, vector: Vectors, rows: NDArray[np.int64] | None = None) -> Vectors:
        """Return the dot products of ``vector``, shape (parts * width,), with the kept vectors of ``rows``, or with all."""
        parts, _, width = self.books.shape
        table = np.einsum("pkw,pw->pk", self.books, vector.reshape(parts, width))
        rows = np.arange(len(self.codes)) if rows is None else rows
        found: Vectors = _looked_up(table.astype(np.float32), self.codes, self.lengths, rows)
        return found


@njit(nogil=True, cache=True)
def _looked_up(table, codes, lengths, rows):  # type: ignore[no-untyped-def]
    """The sums of each row's entries in a table, shape (parts, 256), over its length."""
    found = np.empty(len(rows), np.float32)
    parts = codes.shape[1]
    even = parts - parts % 4
    for place in range(len(rows)):
        row = rows[place]
        # Four sums at a time, since a processor waits for the one before it.
        one, two, three, four = np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
        for part in range(0, even, 4):
            one += table[part, codes[row, part]]
            two += table[part + 1, codes[row, part + 1]]
            three += table[part + 2, codes[row, part + 2]]
            four += table[part + 3, codes[row, part + 3]]
        for part in range(even, parts):
            one += table[part, codes[row, part]]
        found[place] = ((one + two) + (three + four)) / lengths[row]
    return found


def kept(books: Vectors, codes: Codes) -> Quantised:
    """Return quantised vectors from their centroids and codes."""
    lengths = np.empty(len(codes), dtype=np.float32)
    parts = np.arange(len(books))
    for start in range(0, len(codes), _BLOCK):
        found = books[parts, codes[start : start + _BLOCK]]
        lengths[start : start + _BLOCK] = np.sqrt((found.astype(np.float64) ** 2).sum((1, 2)))
    return Quantised(books, codes, np.maximum(lengths, 1e-6))


def quantise(vectors: Vectors, parts: int, seed: int) -> Quantised:
    """Return ``vectors``, shape (n, d), as ``parts`` bytes each; ``d`` is a multiple of ``parts``.

    The centroids are found by Lloyd's rounds over a sample, from distinct vectors drawn with ``seed``.
    """
    random = np.random.default_rng(seed)
    cut = vectors.reshape(len(vectors), parts, -1)
    sample = cut[np.sort(random.permutation(len(cut))[:_SAMPLE])]
    books = np.zeros((parts, CENTROIDS, cut.shape[2]), dtype=np.float32)
    codes = np.zeros((len(cut), parts), dtype=np.uint8)
    for part in range(parts):
        distinct = np.unique(sample[:, part], axis=0)
        centroids = distinct[np.sort(random.permutation(len(distinct))[:CENTROIDS])].astype(np.float32)
        for _ in range(_ROUNDS):
            nearest = _nearest(sample[:, part], centroids)
            counts = np.bincount(nearest, minlength=len(centroids))
            sums = np.stack([np.bincount(nearest, weights, len(centroids)) for weights in sample[:, part].T], axis=1)
            moved = sums / np.maximum(counts, 1)[:, None]
            centroids = np.where(counts[:, None] > 0, moved, centroids).astype(np.float32)
        # As the file keeps them, so that a model gives the same numbers before and after it was written.
        centroids = centroids.astype(np.float16).astype(np.float32)
        books[part, : len(centroids)] = centroids
        codes[:, part] = _nearest(cut[:, part], centroids)
    return kept(books, codes)


def _nearest(points: Vectors, centroids: Vectors) -> NDArray[np.int64]:
    """The number of the nearest centroid of each point."""
    offsets = (centroids * centroids).sum(1) / 2
    found = np.empty(len(points), dtype=np.int64)
    for start in range(0, len(points), _BLOCK):
        found[start : start + _BLOCK] = (points[start : start + _BLOCK] @ centroids.T - offsets).argmax(1)
    return found
