"""What the routes share: the reasoner, the graph, the queue before scoring, the desks for questions, health, measurements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from ...graph.protocol import KnowledgeGraph, LimitsQueries
from ...reasoning import Reasoner
from .batching import Batcher
from .guard import Sites
from .health import Health
from .keys import Keys
from .observing import Instruments
from .problems import Problem
from .settings import Settings
from .workers import Desk

if TYPE_CHECKING:
    from ...reasoning.score import Metric

_LOOKUP_THREADS = 2

Endpoint = Callable[[Request], Awaitable[Response]]


class Service:
    """One service.

    Args:
        reasoner: with the metrics that it offers; graph: what questions about the graph are asked, None when there is none.
        keys: who may use it; None: anybody. host_names: see :class:`~.guard.Sites`. logging: log each request, not only those
            that end with 500 and above.

    Attributes:
        direct: endpoints that the guard calls itself, by method and path, beside their routes.
    """

    def __init__(
        self,
        reasoner: Reasoner,
        graph: KnowledgeGraph | None,
        settings: Settings,
        keys: Keys | None = None,
        *,
        host_names: Sequence[str] = (),
        logging: bool = False,
    ) -> None:
        self.reasoner, self.graph, self.settings, self.keys, self.logging = reasoner, graph, settings, keys, logging
        self.metrics: dict[str, Metric] = {metric.name: metric for metric in reasoner.metrics}
        self.sites = Sites(host_names)
        if isinstance(graph, LimitsQueries):
            graph.limit_queries(settings.cypher_threads)
        self.instruments = Instruments()
        self.direct: dict[tuple[str, str], Endpoint] = {}
        self.health = Health(graph, fresh=settings.ready_seconds, patience=settings.ping_seconds)
        self.batcher = Batcher(
            self.metrics,
            batch_items=settings.batch_items,
            batch_characters=settings.batch_characters,
            waiting_items=settings.waiting_items,
            observe=self.instruments.batch,
        )
        self.lookups = Desk("lookup", threads=_LOOKUP_THREADS, waiting=settings.waiting_lookups)
        self.queries = Desk("cypher", threads=settings.cypher_threads, waiting=settings.waiting_queries)
        self.parsing = Desk("parsing", threads=1, waiting=settings.waiting_lookups)
        self.drawings = Desk("drawing", threads=1, waiting=settings.waiting_lookups)
        for name, help_text, value in (
            ("tacit_queue_items", "Items that wait to be scored.", lambda: self.batcher.waiting),
            ("tacit_lookups_open", "Questions about the graph, running or waiting.", lambda: self.lookups.open),
            ("tacit_cypher_open", "Queries, running or waiting.", lambda: self.queries.open),
            ("tacit_graph_up", "1 when the graph answered the last time it was asked, else 0.", lambda: float(self.health.up)),
        ):
            self.instruments.watch(name, help_text, value)

    def names(self, wanted: Sequence[str] | None) -> tuple[str, ...]:
        """Return the metrics that a request asks for, all when it names none.

        Raises:
            Problem: one is not served here, or named twice.
        """
        if wanted is None:
            return tuple(self.metrics)
        for name in wanted:
            if name not in self.metrics:
                raise Problem(
                    422, "unknown-metric", f"the metric {name!r} is not served here; choose from {', '.join(self.metrics)}"
                )
        if not wanted or len(set(wanted)) < len(wanted):
            raise Problem(422, "invalid-body", "the metrics are none, or one of them is named twice; name each once")
        return tuple(wanted)

    def asked_graph(self) -> KnowledgeGraph:
        """Return the graph.

        Raises:
            Problem: there is none.
        """
        if self.graph is None:
            raise Problem(404, "no-graph", "this service scores without a graph, so there is nothing to explore")
        return self.graph

    def close(self) -> None:
        """Finish what waits to be scored, and end the threads."""
        self.batcher.close()
        for desk in (self.lookups, self.queries, self.drawings, self.parsing):
            desk.close()
