"""Counting the triples between many pairs of sets at once: in one call where a backend can, else one pair after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .protocol import KnowledgeGraph

Sets = tuple[Sequence[str], Sequence[str]]


@runtime_checkable
class CountsMany(Protocol):
    """A backend that counts for many pairs of sets in one call, as the index does."""

    def count_triples_many(self, sets: Sequence[Sets], hops: Literal[1, 2] = 1) -> NDArray[np.int64]:
        """As :func:`count_triples_many`."""


def count_triples_many(graph: KnowledgeGraph, sets: Sequence[Sets], hops: Literal[1, 2] = 1) -> NDArray[np.int64]:
    """Return ``(pairs, triples)`` for each ``(sources, targets)``, shape ``(len(sets), 2)``.

    Each row is what :meth:`tacit.graph.protocol.KnowledgeGraph.count_triples` gives.

    Raises:
        InputError: ``hops`` is neither 1 nor 2.
    """
    if isinstance(graph, CountsMany):
        return graph.count_triples_many(sets, hops)
    rows = [graph.count_triples(sources, targets, hops) for sources, targets in sets]
    return np.array(rows, dtype=np.int64).reshape(len(sets), 2)
