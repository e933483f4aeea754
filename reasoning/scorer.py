"""Scoring with several metrics: a stream of items in bounded memory, and :class:`Reasoner`, which opens metrics and scores with
them.

Items are scored in batches, and rows come in input order. An item that cannot be scored, or on which a metric fails, gives a
row with an error, and scoring continues. An unavailable graph or a model that cannot be used ends the run, since every later
score would fail or be wrong.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any, Self

from ..graph.errors import GraphError, InputError, MissingExtra, ModelError
from ..graph.item import Item, ItemError
from ..graph.open import GraphLike, open_graph
from ..graph.protocol import KnowledgeGraph
from ..graph.schema import Json, shape
from .base import Evidence, Metric, Score, Signature
from .explanation import Explanation
from .registry import load_metric, metric_options

BATCH_SIZE = 256  # for metrics that define none
_MOST_ERRORS = 1_000  # errors in one batch, which keeps memory bounded
StreamItem = Item | ItemError | tuple[Any, Any, Any] | tuple[Any, Any, Any, Any]
"""An item, an error in its place, or ``(id, history, response[, references])``."""


@dataclass(frozen=True, slots=True)
class ItemScores:
    """The scores of one item by metric, or ``error``: one sentence on why it has none.

    Attributes:
        line: line number of the input for a record that is not an item; None for an item.
        item: the scored item, where available.
        damage: the input is truncated or corrupt from here on.
    """

    id: Any
    scores: dict[str, Score] = field(default_factory=dict)
    error: str | None = None
    line: int | None = field(default=None, kw_only=True)
    item: Item | None = field(default=None, kw_only=True, compare=False, repr=False)
    damage: bool = field(default=False, kw_only=True, compare=False)

    @property
    def fault(self) -> str | None:
        """The error with the item's id or line; None when there is no error."""
        if self.error is None:
            return None
        return f"item {self.id}: {self.error}" if self.line is None else f"line {self.line}: {self.error}"

    @classmethod
    def without_item(cls, error: ItemError) -> Self:
        """Return the row for a record that is not an item."""
        return cls(error.id, error=error.reason, line=error.line, damage=error.damage)

    def to_dict(self, explain: bool = False) -> dict[str, Any]:
        """Return the row as plain values for JSON, in the shape of :class:`ScoreRow`; ``explain`` adds ``evidence``."""
        if self.error is not None:
            return ScoreRow(self.id, line=self.line, error=self.error).to_dict()
        scores = self.scores.items()
        row = ScoreRow(
            self.id,
            scores={name: None if isnan(score.value) else score.value for name, score in scores},
            percentiles={name: score.percentile for name, score in scores},
            signature={name: str(score.signature) for name, score in scores},
            notes={name: score.evidence.note for name, score in scores if isnan(score.value)} or None,
            evidence={name: score.evidence for name, score in scores} if explain else None,
        )
        return row.to_dict()

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Read back what :meth:`to_dict` gave; without ``evidence`` in the row, the evidence holds only the note of a null
        score.

        Raises:
            KeyError, TypeError, ValueError: ``row`` is something else.
        """
        parsed = ScoreRow.from_dict(row)
        if parsed.error is not None:
            return cls(parsed.id, error=parsed.error, line=parsed.line)
        if parsed.scores is None or parsed.signature is None:
            raise ValueError(f"the row of item {parsed.id} has neither scores nor an error")
        scores = {}
        for name, value in parsed.scores.items():
            evidence = Evidence(note=(parsed.notes or {}).get(name, "")) if parsed.evidence is None else parsed.evidence[name]
            signature = Signature.from_text(parsed.signature[name])
            scores[name] = Score(nan if value is None else value, evidence, signature, (parsed.percentiles or {}).get(name))
        return cls(parsed.id, scores)


@shape(optional=("line", "scores", "percentiles", "signature", "notes", "evidence", "error"))
@dataclass(frozen=True, slots=True)
class ScoreRow(Json):
    """The scores of one item in JSON, by metric, or why it has none.

    Attributes:
        id: the item's ID, or its position from 1; line: line number of a record that is not an item.
        scores: null if the metric cannot judge the item; notes: the reason for each null.
        percentiles: percentage of the reference distribution at or below the score; null without one.
        signature: the same signature gives the same score.
        evidence: with ``explain``: pieces with their shares, and a note.
        error: why this item could not be scored.
    """

    id: Any
    line: int | None = None
    scores: dict[str, float | None] | None = None
    percentiles: dict[str, float | None] | None = None
    signature: dict[str, str] | None = None
    notes: dict[str, str] | None = None
    evidence: dict[str, Evidence] | None = None
    error: str | None = None


def score_items(
    items: Iterable[StreamItem], metrics: Sequence[Metric], *, batch_size: int | None = None, explain: bool = False
) -> Iterator[ItemScores]:
    """Yield a row for each item, or ``(id, history, response[, references])``, in input order; one batch is held in memory.

    Args:
        items: an :class:`ItemError` among them gives a row with its ``error``.
        metrics: at least one, with distinct names.
        batch_size: items scored together, >= 1; affects speed only. By default the smallest ``batch_size`` of the metrics, 256
            for those that define none.
        explain: add evidence that costs extra time, such as paths.

    Raises:
        InputError: no metric, two with one name, or ``batch_size`` below 1.
        GraphUnavailable: the graph became unavailable; no row of the current batch is yielded.
    """
    names = [metric.name for metric in metrics]
    if not names or len(set(names)) < len(names):
        raise InputError(f"the metrics are {names}; name at least one, and each only once")
    if batch_size is None:
        batch_size = min(getattr(metric, "batch_size", BATCH_SIZE) for metric in metrics)
    if batch_size < 1:
        raise InputError(f"the batch size must be >= 1, not {batch_size}")
    return _stream(items, metrics, batch_size, explain)


def _stream(items: Iterable[StreamItem], metrics: Sequence[Metric], batch_size: int, explain: bool) -> Iterator[ItemScores]:
    batch: list[Item | ItemScores] = []  # items, and finished rows for records that cannot be scored
    full = 0
    for item in items:
        batch.append(checked(item))
        full += isinstance(batch[-1], Item)
        if full == batch_size or len(batch) - full == _MOST_ERRORS:
            yield from _score(batch, metrics, explain)
            batch, full = [], 0
    if batch:
        yield from _score(batch, metrics, explain)


def checked(item: StreamItem) -> Item | ItemScores:
    """Return the item, or the row with the reason why there is none."""
    if isinstance(item, Item):
        return item
    if isinstance(item, ItemError):
        return ItemScores.without_item(item)
    identity, history, response = item[:3]
    references = item[3] if len(item) > 3 else ()
    try:
        return Item(history, response, references, identity)
    except InputError as error:
        return ItemScores(identity, error=str(error))


def _score(batch: Sequence[Item | ItemScores], metrics: Sequence[Metric], explain: bool) -> Iterator[ItemScores]:
    items = {index: item for index, item in enumerate(batch) if isinstance(item, Item)}
    errors: dict[int, str] = {}
    columns: dict[str, dict[int, Score]] = {}
    for metric in sorted(metrics, key=lambda metric: not getattr(metric, "scored_first", False)):
        columns[metric.name], failed = _column(metric, {at: item for at, item in items.items() if at not in errors}, explain)
        errors.update(failed)
    for index, item in enumerate(batch):
        if isinstance(item, ItemScores):
            yield item
        elif index in errors:
            yield ItemScores(item.id, error=errors[index], item=item)
        else:
            yield ItemScores(item.id, {metric.name: columns[metric.name][index] for metric in metrics}, item=item)


def _column(metric: Metric, items: Mapping[int, Item], explain: bool) -> tuple[dict[int, Score], dict[int, str]]:
    """Return one metric's scores and errors by position; when a batch fails, its items are scored one by one."""
    try:
        return dict(zip(items, metric.score_batch(list(items.values()), explain=explain), strict=True)), {}
    except (GraphError, ModelError, MissingExtra):
        raise
    except Exception as error:
        if len(items) == 1:
            reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            plugin = getattr(metric, "plugin", "")
            name = f"{metric.name} of {plugin}" if plugin else metric.name
            return {}, dict.fromkeys(items, f"the metric {name} fails on it ({reason}); score it without that metric")
    scores: dict[int, Score] = {}
    errors: dict[int, str] = {}
    for index, item in items.items():
        values, failed = _column(metric, {index: item}, explain)
        scores.update(values)
        errors.update(failed)
    return scores, errors


# Opening metrics that share a graph, a pipeline and an encoder.


class Reasoner:
    """Metrics that are opened once and score together.

    They share what is costly: the pipeline's analysis of a text, the graph and its index, and the embeddings of an encoder. A
    text that several metrics need is analysed and encoded once. A score is the same as the metric alone would give.

    A context manager: leaving it closes a graph that was opened here from its path or URL.

    Attributes:
        graph: the graph, None when no metric needs one. A graph that was passed open is the caller's to close.
        metrics: the open metrics, in the given order.
    """

    def __init__(
        self,
        graph: GraphLike | None = None,
        metrics: Sequence[str | Metric] | None = None,
        *,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        pipeline: Any = None,
    ) -> None:
        """Open the metrics.

        Args:
            graph: an open graph, or the path or URL of one, which is opened here (:func:`tacit.graph.open_graph`) and closed by
                :meth:`close`.
            metrics: names out of :data:`tacit.reasoning.METRICS`, or open metrics; each name once. By default those of
                :func:`tacit.reasoning.default_metrics`, which depend on the graph and on what is installed.
            options: options by metric, e.g. ``{"grounding": {"max_hops": 3}}``; see :func:`tacit.reasoning.metric_options`.
            pipeline: the spaCy pipeline's name or folder for all metrics that analyse texts; by default the one shipped with
                tacit.

        Raises:
            InputError: no metric, an unknown or repeated one, no graph for one that needs it, or an unknown option.
            ModelError: a pipeline or model cannot be opened.
            MissingExtra: packages that the metrics need are not installed; one error names the extras of all of them.
            GraphError: there is no graph at the path or URL, or it cannot be opened.
        """
        if isinstance(metrics, str):
            raise InputError(f"the metrics are a single text; give a list of names, e.g. [{metrics!r}]")
        if metrics is None:
            from .describing import default_metrics

            metrics = default_metrics(graph).names
        names = [metric if isinstance(metric, str) else metric.name for metric in metrics]
        if not names or len(set(names)) < len(names):
            raise InputError(f"the metrics are {names}; name at least one, and each only once")
        chosen_options = {name: dict(chosen) for name, chosen in (options or {}).items()}
        stray = [name for name in chosen_options if name not in metrics]
        if stray:
            raise InputError(
                f"there are options for {stray[0]!r}, which is not one of the metrics; add the metric or remove its options"
            )
        self._opened: KnowledgeGraph | None = None
        if isinstance(graph, (str, os.PathLike)):
            graph = self._opened = open_graph(graph)
        self.graph: KnowledgeGraph | None = graph
        opened: list[Metric] = []
        lacking: list[MissingExtra] = []
        try:
            for metric in metrics:
                try:
                    opened.append(
                        self._open(metric, chosen_options.get(metric, {}), pipeline) if isinstance(metric, str) else metric
                    )
                except MissingExtra as error:
                    lacking.append(error)
            if lacking:
                raise MissingExtra.combined(lacking)
        except BaseException:
            self.close()
            raise
        self.metrics: tuple[Metric, ...] = tuple(opened)

    def _open(self, name: str, options: dict[str, Any], pipeline: Any) -> Metric:
        if pipeline is not None and "pipeline" in metric_options(name):
            options.setdefault("pipeline", pipeline)
        return load_metric(name, self.graph, **options)

    def close(self) -> None:
        """Close the graph if it was opened here; closing twice is harmless."""
        if self._opened is not None:
            self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def signatures(self) -> dict[str, str]:
        """The signature of every score, by metric."""
        return {metric.name: str(metric.signature) for metric in self.metrics}

    def score(
        self, history: Sequence[str], response: str, references: Sequence[str] = (), *, explain: bool = False
    ) -> dict[str, Score]:
        """Return the scores of one response by metric; ``explain`` adds evidence that costs extra time.

        Raises:
            InputError: the history or the references are not a sequence of texts, or the response is not a text.
            GraphUnavailable: the graph became unavailable.
        """
        return {metric.name: metric.score(history, response, references, explain=explain) for metric in self.metrics}

    def stream(
        self, items: Iterable[StreamItem], *, batch_size: int | None = None, explain: bool = False
    ) -> Iterator[ItemScores]:
        """Yield the scores of each ``(id, history, response)`` or ``(id, history, response, references)``, in input order.

        One batch is held in memory, however long the stream. An item that cannot be scored gives a row with ``error``. See
        :func:`tacit.reasoning.score_items`.

        Raises:
            InputError: ``batch_size`` is below 1.
            GraphUnavailable: the graph became unavailable; no row of the current batch is yielded.
        """
        return score_items(items, self.metrics, batch_size=batch_size, explain=explain)

    def explain(self, history: Sequence[str], response: str, references: Sequence[str] = ()) -> dict[str, Explanation]:
        """Return each metric's explanation of its score of one response, as text, plain values and a picture.

        Raises:
            InputError: the history or the references are not a sequence of texts, or the response is not a text.
            GraphUnavailable: the graph became unavailable.
        """
        scores = self.score(history, response, references, explain=True)
        return {name: Explanation(tuple(history), response, score) for name, score in scores.items()}
