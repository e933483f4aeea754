"""Choosing one of several responses to a history by metrics, with the assertions of the graph that the choice follows from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf, isnan

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ...graph.errors import InputError
from ...graph.item import Item
from ...graph.model import Assertion
from ..base import Score
from ..explanation.explained import asserted_edges
from ..scorer import Reasoner

_HISTORIES = 64  # whose responses are scored together


@dataclass(frozen=True, slots=True)
class Candidate:
    """A response with its scores.

    Attributes:
        number: index among the responses, from 0; text: the response.
        rank: mean over the metrics of its rank among the responses, 1 is best; equal scores share the mean of their ranks, and
            a response that a metric cannot judge comes after all that it can.
        scores: by metric.
    """

    number: int
    text: str
    rank: float
    scores: dict[str, Score]

    @property
    def values(self) -> dict[str, float | None]:
        """The scores' numbers by metric; None where the metric cannot judge."""
        return {name: None if isnan(score.value) else score.value for name, score in self.scores.items()}


@dataclass(frozen=True, slots=True)
class Reranked:
    """The responses to one history, best first; those of equal rank in the given order.

    Attributes:
        edges: assertions of the graph in the evidence for the best response, each once, in order of their pieces.
    """

    candidates: tuple[Candidate, ...]
    edges: tuple[Assertion, ...]

    @property
    def best(self) -> Candidate:
        """The chosen response."""
        return self.candidates[0]


def rerank(
    reasoner: Reasoner, rows: Iterable[tuple[Sequence[str], Sequence[str]]], *, batch_size: int | None = None
) -> Iterator[Reranked]:
    """Yield the responses of each ``(history, responses)``, ranked by the open metrics, in input order.

    Args:
        reasoner: the metrics; each counts the same.
        rows: a history with its responses, at least one.
        batch_size: see :meth:`tacit.reasoning.Reasoner.stream`.

    Raises:
        InputError: a history has no response, or a metric fails on one.
        GraphUnavailable: the graph became unavailable.
    """
    remaining = iter(rows)
    while block := list(islice(remaining, _HISTORIES)):
        if not all(responses for _, responses in block):
            raise InputError("there is no response to rank; give one or more")
        items = [Item(history, text) for history, responses in block for text in dict.fromkeys(responses)]
        scored = reasoner.stream(items, batch_size=batch_size)
        for history, responses in block:
            scores_of: dict[str, dict[str, Score]] = {}
            for text in dict.fromkeys(responses):
                row = next(scored)
                if row.error is not None:
                    raise InputError(f"the responses cannot be ranked: {row.error}")
                scores_of[text] = row.scores
            yield _reranked(reasoner, history, responses, scores_of)


def _reranked(
    reasoner: Reasoner, history: Sequence[str], responses: Sequence[str], scores_of: Mapping[str, dict[str, Score]]
) -> Reranked:
    columns = [[scores_of[text][metric.name].value for text in responses] for metric in reasoner.metrics]
    ranks = np.mean([ranked(column) for column in columns], axis=0).tolist()
    candidates = [
        Candidate(number, text, rank, scores_of[text]) for number, (text, rank) in enumerate(zip(responses, ranks, strict=True))
    ]
    candidates.sort(key=lambda candidate: (candidate.rank, candidate.number))
    explained = reasoner.score(history, candidates[0].text, explain=True)
    candidates[0] = Candidate(candidates[0].number, candidates[0].text, candidates[0].rank, explained)
    return Reranked(tuple(candidates), edges_of(explained.values()))


def ranked(values: Sequence[float]) -> NDArray[np.float64]:
    """Return the rank of each value, 1 for the highest; equal ones share their mean rank, and NaN comes last."""
    ranks: NDArray[np.float64] = rankdata([inf if isnan(value) else -value for value in values])
    return ranks


def edges_of(scores: Iterable[Score]) -> tuple[Assertion, ...]:
    """Return the assertions of the graph in the evidence of scores, each once, in order."""
    edges = (edge for score in scores for _, edge in asserted_edges(score.evidence.pieces))
    return tuple(dict.fromkeys(edges))
