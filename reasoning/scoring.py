"""Scoring a stream of items with several metrics, in input order and bounded memory.

Items are taken in batches. One that cannot be scored, or on which a metric fails, gives a row that says why, and the others go
on; a graph that went away or a model that cannot be used ends the run, since no score after it would be right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import isnan
from typing import Any, Self

from ..graph.errors import GraphError, InputError, MissingExtra, ModelError
from .score import Item, Metric, Score, check_item

BATCH_SIZE = 256  # of a metric that names none itself
StreamItem = tuple[Any, Any, Any] | tuple[Any, Any, Any, Any]


@dataclass(frozen=True, slots=True)
class ItemScores:
    """The scores of one item, by metric; or ``error``, one sentence on why it has none."""

    id: Any
    scores: dict[str, Score] = field(default_factory=dict)
    error: str | None = None

    def to_dict(self, explain: bool = False) -> dict[str, Any]:
        """Plain values for JSON: ``id``, and by metric ``scores``, ``percentiles`` and ``signature``; or ``error``.

        With ``explain`` also ``evidence``. A score is null where the metric cannot judge; ``notes`` then says why, by metric.
        """
        if self.error is not None:
            return {"id": self.id, "error": self.error}
        row: dict[str, Any] = {
            "id": self.id,
            "scores": {name: None if isnan(score.value) else score.value for name, score in self.scores.items()},
            "percentiles": {name: score.percentile for name, score in self.scores.items()},
            "signature": {name: str(score.signature) for name, score in self.scores.items()},
        }
        notes = {name: score.evidence.note for name, score in self.scores.items() if isnan(score.value)}
        if notes:
            row["notes"] = notes
        if explain:
            row["evidence"] = {name: score.evidence.to_dict() for name, score in self.scores.items()}
        return row

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Take back what :meth:`to_dict` gave; scores of a row without evidence have none but the note of a null."""
        if "error" in row:
            return cls(row["id"], error=row["error"])
        scores = {}
        for name, value in row["scores"].items():
            note = row.get("notes", {}).get(name, "")
            told = {"evidence": row["evidence"][name] if "evidence" in row else {"pieces": [], "note": note}}
            told["percentile"] = row.get("percentiles", {}).get(name)
            scores[name] = Score.from_dict({"value": value, "signature": row["signature"][name], **told})
        return cls(row["id"], scores)


def score_items(
    items: Iterable[StreamItem], metrics: Sequence[Metric], *, batch_size: int | None = None, explain: bool = False
) -> Iterator[ItemScores]:
    """Yield the scores of each ``(id, history, response)`` or ``(id, history, response, references)``, in order.

    One batch is held in memory.

    Args:
        metrics: with different names, at least one.
        batch_size: items scored together, >= 1; it changes the speed and nothing else. By default the fewest that one of the
            metrics asks for in ``together``, 256 where it asks for none.
        explain: give the evidence that costs extra, such as paths.

    Raises:
        InputError: no metric, two of one name, or ``batch_size`` below 1.
        GraphUnavailable: the graph went away; nothing is yielded for the batch at hand.
    """
    names = [metric.name for metric in metrics]
    if not names or len(set(names)) < len(names):
        raise InputError(f"the metrics {names} cannot score together; name at least one, and each once")
    if batch_size is None:
        batch_size = min(getattr(metric, "together", BATCH_SIZE) for metric in metrics)
    if batch_size < 1:
        raise InputError(f"a batch of {batch_size} items makes no sense; give 1 or more")
    return _stream(iter(items), metrics, batch_size, explain)


def _stream(items: Iterator[StreamItem], metrics: Sequence[Metric], batch_size: int, explain: bool) -> Iterator[ItemScores]:
    while batch := list(islice(items, batch_size)):
        yield from _score(batch, metrics, explain)


def _score(batch: Sequence[StreamItem], metrics: Sequence[Metric], explain: bool) -> list[ItemScores]:
    """Score one batch; items that cannot be scored become rows with an error."""
    good: dict[int, Item] = {}
    errors: dict[int, str] = {}
    for place, (_, *parts) in enumerate(batch):
        try:
            good[place] = check_item(*parts)
        except InputError as error:
            errors[place] = str(error)
    columns: dict[str, dict[int, Score]] = {}
    for metric in metrics:
        columns[metric.name], failed = _column(metric, {at: item for at, item in good.items() if at not in errors}, explain)
        errors.update(failed)
    return [
        ItemScores(identity, error=errors[place])
        if place in errors
        else ItemScores(identity, {name: column[place] for name, column in columns.items()})
        for place, (identity, *_) in enumerate(batch)
    ]


def _column(metric: Metric, items: Mapping[int, Item], explain: bool) -> tuple[dict[int, Score], dict[int, str]]:
    """One metric's scores by place, and why it has none for some: where a batch fails, its items are tried one by one."""
    try:
        return dict(zip(items, metric.score_batch(list(items.values()), explain=explain), strict=True)), {}
    except (GraphError, ModelError, MissingExtra):
        raise
    except Exception as error:
        if len(items) == 1:
            reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            return {}, dict.fromkeys(items, f"the metric {metric.name} fails on it ({reason}); score it without that metric")
    scores: dict[int, Score] = {}
    errors: dict[int, str] = {}
    for place, item in items.items():
        found, failed = _column(metric, {place: item}, explain)
        scores.update(found)
        errors.update(failed)
    return scores, errors
