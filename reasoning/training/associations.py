"""Counting which terms of a turn are followed by which of the next, and what of that is kept as a graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..coherence.graph import LEAST_COUNT, Counts, unseen
from ..coherence.terms import terms_of

Ids = NDArray[np.int64]
Floats = NDArray[np.float32]
Pair = tuple[str, str]

TERMS = 30_000
EDGES = 1_200_000
LEAST_WEIGHT = 0.5

_NO_WEIGHT = 1e-4  # 0 would read as no edge
_ROWS = 2_000


@dataclass(frozen=True)
class Associations:
    """The terms, the most frequent first, and edges between them by place: sources, targets, weights in nats.

    Attributes:
        counts: as :func:`tacit.reasoning.coherence.graph.write_graph` takes them; None where edges alone count.
    """

    terms: tuple[str, ...]
    edges: tuple[Ids, Ids, Floats]
    counts: Counts | None = None


def count_associations(
    pairs: Sequence[Pair],
    *,
    terms: int = TERMS,
    edges: int = EDGES,
    average: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Associations:
    """Count over ``(turn, the turn after it)`` which terms follow which.

    The weight of an edge is log(n(a, b) N / (n(a) n(b))), with N pairs, n(a) of them with a in the first turn, n(b) with b in the
    second, and n(a, b) with both (Church & Hanks, 1990). Kept are edges counted at least 3 times with a weight of at least 0.5,
    and of these the ``edges`` with the highest n(a, b) * weight, which tell most apart.

    Args:
        terms: how many of the most frequent terms are counted; a term stands in at least 3 turns.
        average: for a mean over all pairs of terms: marks are terms, weights are log((n(a, b) + 1) / (n(a) n(b) / N + 1)), below
            zero too, and edges stay for n(a, b) times what their weight is off that of a pair without an edge.
        progress: told how many terms have been counted, and how many there are.
    """

    def terms_in(text: str) -> list[str]:
        return [term.text for term in terms_of(text, marks=average)]

    chosen = _most_frequent(pairs, terms, terms_in)
    place = {term: number for number, term in enumerate(chosen)}
    first, second = (_matrix([pair[side] for pair in pairs], place, terms_in) for side in (0, 1))
    before, after = (np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel() for matrix in (first, second))
    columns = first.tocsc()
    found: list[tuple[Ids, Ids, Floats, Floats]] = []
    for start in range(0, len(chosen), _ROWS):
        counts = (columns[:, start : start + _ROWS].T @ second).tocoo()
        often = counts.data >= LEAST_COUNT
        sources, targets = counts.row[often].astype(np.int64) + start, counts.col[often].astype(np.int64)
        number = counts.data[often].astype(np.float64)
        chance = before[sources] * after[targets] / len(pairs)
        if average:
            weights = np.log((number + 1) / (chance + 1))
            weights[np.abs(weights) < _NO_WEIGHT] = _NO_WEIGHT
            telling = number * np.abs(weights - unseen(chance))
        else:
            weights = np.log(number / chance)
            telling = np.where(weights >= LEAST_WEIGHT, number * weights, 0)
        heavy = telling > 0
        kept = weights[heavy].astype(np.float32)
        found.append((sources[heavy], targets[heavy], kept, telling[heavy].astype(np.float32)))
        if progress is not None:
            progress(min(start + _ROWS, len(chosen)), len(chosen))
    sources, targets = (np.concatenate([np.empty(0, np.int64), *(part[side] for part in found)]) for side in (0, 1))
    kept, told = (np.concatenate([np.empty(0, np.float32), *(part[side] for part in found)]) for side in (2, 3))
    best = np.sort(np.lexsort((targets, sources, -told))[:edges])
    sides = np.column_stack([np.append(before, len(pairs)), np.append(after, len(pairs))]).astype(np.uint32)
    return Associations(tuple(chosen), (sources[best], targets[best], kept[best]), sides if average else None)


def _most_frequent(pairs: Sequence[Pair], number: int, terms_in: Callable[[str], list[str]]) -> list[str]:
    """The terms that stand in most distinct turns, those of one frequency by name."""
    counts: Counter[str] = Counter()
    for text in dict.fromkeys(text for pair in pairs for text in pair):
        counts.update(terms_in(text))
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:number]
    return [term for term, count in ranked if count >= LEAST_COUNT]


def _matrix(texts: Sequence[str], place: dict[str, int], terms_in: Callable[[str], list[str]]) -> Any:
    """Which terms stand in each text: 1 where one does, shape (texts, terms), sparse."""
    from scipy import sparse

    known: dict[str, list[int]] = {}
    columns: list[int] = []
    ends = [0]
    for text in texts:
        if text not in known:
            known[text] = [place[term] for term in terms_in(text) if term in place]
        columns += known[text]
        ends.append(len(columns))
    ones = np.ones(len(columns), dtype=np.float32)
    return sparse.csr_matrix((ones, columns, ends), shape=(len(texts), len(place)))
