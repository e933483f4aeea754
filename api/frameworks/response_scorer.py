"""What the adapters of evaluation frameworks share: one response scored by metrics, as values with explanations in words."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

from ...graph.errors import InputError
from ..config import GRAPH

if TYPE_CHECKING:
    from ...graph.open import GraphLike
    from ...reasoning import Reasoner
    from ...reasoning.base import Score

NOT_JUDGED = "not_judged"
"""The label of a response that a metric cannot judge."""


@dataclass(frozen=True, slots=True)
class MetricResult:
    """The score of one response under one metric.

    Attributes:
        metric: the metric's name.
        value: the metric's own value, not rescaled (``tacit metrics`` lists the ranges); None when it cannot judge the response.
        percentile: percentage of the reference distribution that the value reaches, 0 to 100; None without a reference.
        passed: whether the value reaches the threshold; None without a threshold, for metrics beside the first, and without a
            value.
        explanation: the value and its evidence, one line for each piece.
        note: why there is no value; empty otherwise.
        signature: the same signature gives the same score.
    """

    metric: str
    value: float | None
    percentile: float | None
    passed: bool | None
    explanation: str
    note: str
    signature: str

    @property
    def label(self) -> str:
        """``pass`` or ``fail`` under a threshold, ``not_judged`` without a value, empty otherwise."""
        if self.value is None:
            return NOT_JUDGED
        return "" if self.passed is None else "pass" if self.passed else "fail"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values for JSON, without the explanation; ``note`` only when there is one."""
        row: dict[str, Any] = {"metric": self.metric, "value": self.value, "percentile": self.percentile}
        return row | {"signature": self.signature} | ({"note": self.note} if self.note else {})


class ResponseScorer:
    """Scores responses with metrics that are opened at the first use; thread-safe, one response at a time.

    The first metric is the headline: its value is the one that frameworks with a single value per response show, and the one
    that ``threshold`` applies to.

    Attributes:
        graph: the graph, or its path or URL; None without one.
        threshold: the headline's least value that passes (for metrics of which lower values are better: the greatest).
    """

    def __init__(
        self,
        metrics: str | Sequence[str] | None = None,
        *,
        graph: GraphLike | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        threshold: float | None = None,
    ) -> None:
        """Check the arguments; metrics and graph are opened by the first response.

        Args:
            metrics: names of metrics, the headline first; by default those that ``tacit score`` chooses.
            graph: an open graph, or the path or URL of one; by default that of the environment variable ``TACIT_GRAPH``, if set.
            options: options by metric, e.g. ``{"grounding": {"max_hops": 3}}``.
            threshold: the headline's value from which on a response passes.

        Raises:
            InputError: no metric, an unknown one, no graph for one that needs it, or a threshold that is not a finite number or
                that the headline cannot have because neither end of its range is better.
        """
        from ...reasoning.registry import metric_kind

        self.graph: GraphLike | None = graph if graph is not None else os.environ.get(GRAPH) or None
        self.threshold = _checked(threshold)
        self._names = _named(metrics)
        self._options = options
        self._lock = threading.Lock()
        self._reasoner: Reasoner | None = None
        for name in self._names or ():
            if metric_kind(name).graph and self.graph is None:
                raise InputError(f"the metric {name} needs a graph; give its path as graph, or set TACIT_GRAPH")
        if self.threshold is not None and self._names and not metric_kind(self._names[0]).better:
            raise InputError(
                f"neither end of the range of {self._names[0]} is better, so it cannot have a threshold; leave the threshold out"
            )

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics, the headline first.

        Raises:
            InputError: none was named, and none with known agreement is ready here.
        """
        if self._names is None:
            from ...reasoning import default_metrics

            self._names = default_metrics(self.graph).names
        return self._names

    @property
    def headline(self) -> str:
        """The metric whose value is the score."""
        return self.metrics[0]

    def __call__(self, history: Sequence[str], response: str, references: Sequence[str] = ()) -> tuple[MetricResult, ...]:
        """Return the results of one response, the headline's first.

        Args:
            history: the turns before the response, oldest first.
            response: the text to score.
            references: human responses to the same history, for metrics that compare with them.

        Raises:
            InputError: the texts cannot be scored, or an option is unknown.
            GraphError, ModelError: the graph or a model cannot be opened.
            MissingExtra: packages that the metrics need are not installed.
        """
        with self._lock:
            if self._reasoner is None:
                self._reasoner = self._open()
            scores = self._reasoner.score(history, response, references, explain=True)
        return tuple(self._result(name, score) for name, score in scores.items())

    def passes(self, value: float) -> bool | None:
        """Return whether a value of the headline reaches the threshold; None without a threshold."""
        from ...reasoning.registry import metric_kind

        if self.threshold is None:
            return None
        return value <= self.threshold if metric_kind(self.headline).better == "lower" else value >= self.threshold

    def close(self) -> None:
        """Close the graph if it was opened here; the next response opens it again."""
        with self._lock:
            if self._reasoner is not None:
                self._reasoner.close()
            self._reasoner = None

    def _open(self) -> Reasoner:
        from ...reasoning import Reasoner
        from ...reasoning.registry import metric_kind
        from ..opening import with_vectors

        names = self.metrics
        options = {name: with_vectors(dict(values)) for name, values in (self._options or {}).items()}
        graph = self.graph if any(metric_kind(name).graph for name in names) else None
        return Reasoner(graph, names, options=options)

    def _result(self, name: str, score: Score) -> MetricResult:
        from ...reasoning.explanation import explain_pieces, explain_value

        value = None if isnan(score.value) else float(score.value)
        passed = None if value is None or name != self.headline else self.passes(value)
        lines = [explain_value(score), *(f"  {line}" for line in explain_pieces(score.evidence.pieces))]
        note = score.evidence.note if value is None else ""
        return MetricResult(name, value, score.percentile, passed, "\n".join(lines), note, str(score.signature))


def in_words(results: Sequence[MetricResult]) -> str:
    """Return the explanations of all metrics, one below the other."""
    return "\n".join(result.explanation for result in results)


def metadata_of(results: Sequence[MetricResult]) -> dict[str, Any]:
    """Return what belongs to a score besides value and explanation, as plain values for JSON.

    ``metric``, ``percentile`` and ``signature`` are the headline's, with its ``label`` under a threshold or without a value, and
    then a ``note``; ``others`` has the results of the other metrics, when there are any.
    """
    headline, *others = results
    metadata = headline.to_dict()
    del metadata["value"]
    if headline.label:
        metadata["label"] = headline.label
    return metadata | ({"others": [result.to_dict() for result in others]} if others else {})


def _named(metrics: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names of metrics; None for the default ones."""
    if metrics is None:
        return None
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"the metrics are {metrics!r}; give the name of one, or a list of names")
    return names


def _checked(threshold: Any) -> float | None:
    if threshold is None:
        return None
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not isfinite(threshold):
        raise InputError(f"the threshold is {threshold!r}; give a finite number")
    return float(threshold)
