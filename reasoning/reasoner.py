"""The one call: metrics over one graph that share what they find in a text, for one response or a stream of millions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from ..graph.errors import InputError, MissingExtra
from ..graph.opening import GraphLike, open_graph
from ..graph.protocol import KnowledgeGraph
from .explanation import Explanation
from .registry import load_metric, metric_options
from .score import Metric, Score
from .scoring import ItemScores, StreamItem, score_items


class Reasoner:
    """Metrics that are opened once and score together.

    They share what is costly: the pipeline's reading of a text, the graph and its index, and the embeddings of one encoder, so a
    text that several of them need is analysed once and encoded once. A score is the same as the metric alone would give.

    A context manager: leaving it closes a graph that was opened here from its path or URL.

    Attributes:
        graph: the graph that they reason over, None when none of them needs one. A graph that was handed over open stays the
            caller's to close.
        metrics: the open metrics, in the order in which they were named.
    """

    def __init__(
        self,
        graph: GraphLike | None = None,
        metrics: Sequence[str | Metric] = ("grounding",),
        *,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        pipeline: Any = None,
    ) -> None:
        """Open the metrics.

        Args:
            graph: where they look: an open graph, or the path or URL of one, which is opened here
                (:func:`tacit.graph.open_graph`) and closed by :meth:`close`.
            metrics: names out of :data:`tacit.reasoning.METRICS`, or metrics that are open already; each name once.
            options: options by metric, e.g. ``{"grounding": {"max_hops": 3}}``; see :func:`tacit.reasoning.metric_options`.
            pipeline: the spaCy pipeline's name or folder for all metrics that read texts with one; tacit's own by default.

        Raises:
            InputError: no metric, an unknown one, one named twice, one that needs a graph without one, or an unknown option.
            ModelError: a pipeline or model cannot be opened.
            MissingExtra: packages that the metrics need are not installed; one error names the extras of all of them.
            GraphError: there is no graph at the path or URL, or it cannot be opened.
        """
        if isinstance(metrics, str):
            raise InputError(f"the metrics are one text; give a list of names, e.g. [{metrics!r}]")
        names = [metric if isinstance(metric, str) else metric.name for metric in metrics]
        if not names or len(set(names)) < len(names):
            raise InputError(f"the metrics {names} cannot score together; name at least one, and each once")
        given = {name: dict(chosen) for name, chosen in (options or {}).items()}
        stray = [name for name in given if name not in metrics]
        if stray:
            raise InputError(
                f"there are options for {stray[0]!r}, which is not among the metrics to open; name it or leave them out"
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
                    opened.append(self._open(metric, given.get(metric, {}), pipeline) if isinstance(metric, str) else metric)
                except MissingExtra as error:
                    lacking.append(error)
            if lacking:
                raise MissingExtra.together(lacking)
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
        """Return the scores of one response, by metric; ``explain`` adds evidence that costs extra.

        Raises:
            InputError: the history or the references are no sequence of texts, or the response is no text.
            GraphUnavailable: the graph went away.
        """
        return {metric.name: metric.score(history, response, references, explain=explain) for metric in self.metrics}

    def stream(
        self, items: Iterable[StreamItem], *, batch_size: int | None = None, explain: bool = False
    ) -> Iterator[ItemScores]:
        """Yield the scores of each ``(id, history, response)`` or ``(id, history, response, references)``, in order.

        One batch is held in memory, however long the stream. An item that cannot be scored gives a row with ``error``. See
        :func:`tacit.reasoning.score_items`.

        Raises:
            InputError: ``batch_size`` is below 1.
            GraphUnavailable: the graph went away; nothing is yielded for the batch at hand.
        """
        return score_items(items, self.metrics, batch_size=batch_size, explain=explain)

    def explain(self, history: Sequence[str], response: str, references: Sequence[str] = ()) -> dict[str, Explanation]:
        """Return for each metric what its score of one response rests on, as text, plain values and a picture.

        Raises:
            InputError: the history or the references are no sequence of texts, or the response is no text.
            GraphUnavailable: the graph went away.
        """
        scores = self.score(history, response, references, explain=True)
        return {name: Explanation(tuple(history), response, score) for name, score in scores.items()}
