"""Counting the triples between sets of concepts, and naming what was counted: as fast as the backend at hand can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .model import Path
from .protocol import Count, CountsInBulk, KnowledgeGraph, Sets


def count_triples_many(graph: KnowledgeGraph, sets: Sequence[Sets], hops: Literal[1, 2] = 1) -> NDArray[np.int64]:
    """Return ``(pairs, triples)`` for each ``(sources, targets)``, shape ``(len(sets), 2)``.

    Each row is what :meth:`tacit.graph.protocol.KnowledgeGraph.count_triples` gives.

    Raises:
        InputError: ``hops`` is neither 1 nor 2.
    """
    if isinstance(graph, CountsInBulk):
        return graph.count_triples_many(sets, hops)
    rows = [graph.count_triples(sources, targets, hops) for sources, targets in sets]
    return np.array(rows, dtype=np.int64).reshape(len(sets), 2)


def counted_chains(
    graph: KnowledgeGraph,
    sources: Sequence[str],
    targets: Sequence[str],
    hops: Literal[1, 2] = 1,
    count: Count = "pairs",
    limit: int | None = None,
) -> list[Path]:
    """Return what :meth:`~tacit.graph.protocol.KnowledgeGraph.count_triples` counts between two sets, one chain each.

    Args:
        count: ``pairs``: the best chain of each connected pair; ``triples``: the best of the chains that differ in provenance,
            or in the end they are walked from, alone.
        limit: how many chains at most; None gives all.

    Returns:
        The chains in ``Path.order``.

    Raises:
        InputError: ``hops`` is neither 1 nor 2.
    """
    if isinstance(graph, CountsInBulk):
        return list(islice(graph.counted_chains(sources, targets, hops, count), limit))
    return list(islice(_distinct(graph.triples_between(sources, targets, hops), count), limit))


def _distinct(chains: Sequence[Path], count: Count) -> Iterator[Path]:
    seen: set[object] = set()
    for path in chains:
        triples = frozenset(assertion[:3] for assertion in path.assertions)
        key = (path.nodes[0], path.nodes[-1]) if count == "pairs" else triples
        if key not in seen:
            seen.add(key)
            yield path
