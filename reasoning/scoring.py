"""Scoring a stream of items with several metrics, in input order and bounded memory.

Items are taken in batches. One that cannot be scored gives a row that says why, and the others go on; a graph that went away
ends the run, since scores without it would be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import isnan
from typing import Any

from ..graph.errors import InputError
from .score import Item, Metric, Score, check_item

StreamItem = tuple[Any, Any, Any] | tuple[Any, Any, Any, Any]


@dataclass(frozen=True, slots=True)
class ItemScores:
    """The scores of one item, by metric; or ``error``, one sentence on why it has none."""

    id: Any
    scores: dict[str, Score] = field(default_factory=dict)
    error: str | None = None

    def to_dict(self, explain: bool = False) -> dict[str, Any]:
        """Plain values for JSON: ``id``, ``scores`` and ``signature`` by metric, ``evidence`` with ``explain``; or ``error``."""
        if self.error is not None:
            return {"id": self.id, "error": self.error}
        row: dict[str, Any] = {
            "id": self.id,
            "scores": {name: None if isnan(score.value) else score.value for name, score in self.scores.items()},
            "signature": {name: str(score.signature) for name, score in self.scores.items()},
        }
        if explain:
            row["evidence"] = {name: score.evidence.to_dict() for name, score in self.scores.items()}
        return row


def score_items(
    items: Iterable[StreamItem], metrics: Sequence[Metric], *, batch_size: int = 256, explain: bool = False
) -> Iterator[ItemScores]:
    """Yield the scores of each ``(id, history, response)`` or ``(id, history, response, references)``, in order.

    One batch is held in memory.

    Args:
        metrics: with different names, at least one.
        batch_size: items scored together, >= 1; it changes the speed and nothing else.
        explain: give the evidence that costs extra, such as paths.

    Raises:
        InputError: no metric, two of one name, or ``batch_size`` below 1.
        GraphUnavailable: the graph went away; nothing is yielded for the batch at hand.
    """
    names = [metric.name for metric in metrics]
    if not names or len(set(names)) < len(names):
        raise InputError(f"the metrics {names} cannot score together; name at least one, and each once")
    if batch_size < 1:
        raise InputError(f"a batch of {batch_size} items makes no sense; give 1 or more")
    return _stream(iter(items), metrics, batch_size, explain)


def _stream(items: Iterator[StreamItem], metrics: Sequence[Metric], batch_size: int, explain: bool) -> Iterator[ItemScores]:
    while batch := list(islice(items, batch_size)):
        yield from _score(batch, metrics, explain)


def _score(batch: Sequence[StreamItem], metrics: Sequence[Metric], explain: bool) -> list[ItemScores]:
    """Score one batch; items that cannot be scored become rows with an error."""
    good: list[Item] = []
    errors: dict[int, str] = {}
    for place, (_, *parts) in enumerate(batch):
        try:
            good.append(check_item(*parts))
        except InputError as error:
            errors[place] = str(error)
    columns = [iter(metric.score_batch(good, explain=explain)) for metric in metrics]
    rows = []
    for place, (identity, *_) in enumerate(batch):
        if place in errors:
            rows.append(ItemScores(identity, error=errors[place]))
        else:
            scores = {metric.name: next(column) for metric, column in zip(metrics, columns, strict=True)}
            rows.append(ItemScores(identity, scores))
    return rows
