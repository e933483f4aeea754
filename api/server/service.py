"""State that the routes share: settings, graph, metrics, the scoring queue, thread pools, health checks, measurements."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from ...graph.errors import GraphUnavailable, InputError, QueryTimeout, TacitError, did_you_mean
from ...graph.item import LONGEST_TEXT
from ...graph.open import store_of
from ...graph.protocol import KnowledgeGraph, LimitsQueries, Pingable
from ...reasoning import Reasoner
from ..details import MAX_ROWS
from .keys import Keys
from .middleware import HostPolicy
from .problems import Problem, problem_of
from .scoring_queue import Batcher
from .telemetry import Instruments

if TYPE_CHECKING:
    from ...reasoning.base import Metric


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of a service; the defaults suit one machine.

    Attributes:
        body_bytes: largest body of a request; bodies_bytes: of all bodies in memory together.
        items: most items of one request; item_characters: most characters of one item, all its texts together (a single text
            has at most ``LONGEST_TEXT``).
        waiting_items: size of the scoring queue; when it is full, requests get 429.
        batch_items, batch_characters: largest batch; they affect the speed only.
        request_seconds: timeout of a request; body_seconds: of receiving its body.
        header_seconds: timeout of receiving a request's head; idle_seconds: of a connection between two requests; header_bytes:
            largest head, and largest trailers.
        lookup_limit: most rows of a graph lookup; waiting_lookups: size of the queue of lookups.
        cypher_rows, cypher_seconds: highest limit and timeout that a Cypher request may set; cypher_threads: queries that run at
            once, including those that a Neo4j server has not ended in time; waiting_queries: size of their queue.
        ready_seconds: how long the result of a health check is cached; ping_seconds: timeout of the check.
        connections: most open connections, further ones are closed; client_connections: the same for one client.
        shutdown_seconds: time that running requests have to finish at shutdown.
        log_text: log the texts of requests too.
    """

    body_bytes: int = 8 << 20
    bodies_bytes: int = 128 << 20
    items: int = 1_000
    item_characters: int = 2 * LONGEST_TEXT
    waiting_items: int = 4_096
    batch_items: int = 64
    batch_characters: int = 20_000
    request_seconds: float = 60.0
    body_seconds: float = 10.0
    header_seconds: float = 5.0
    idle_seconds: float = 30.0
    header_bytes: int = 32 << 10
    lookup_limit: int = MAX_ROWS
    waiting_lookups: int = 256
    cypher_rows: int = 10_000
    cypher_seconds: float = 30.0
    cypher_threads: int = 2
    waiting_queries: int = 32
    ready_seconds: float = 1.0
    ping_seconds: float = 2.0
    connections: int = 4_096
    client_connections: int = 512
    shutdown_seconds: float = 30.0
    log_text: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, bool) and not value > 0:
                raise InputError(f"the limit {field.name} must be > 0, not {value}")

    @classmethod
    def of(cls, pairs: Sequence[str], *, log_text: bool = False) -> Self:
        """Return settings from ``NAME=NUMBER`` texts."""
        kinds = {name: type(value) for name, value in asdict(cls()).items() if name != "log_text"}
        values: dict[str, Any] = {}
        for pair in pairs:
            name, _, number = pair.partition("=")
            if name not in kinds:
                advice = did_you_mean(name, kinds, f"choose from {', '.join(kinds)}")
                raise InputError(f"unknown limit {name!r} in --limit {pair}; {advice}")
            try:
                values[name] = kinds[name](number)
            except ValueError:
                raise InputError(f"--limit {pair} is not NAME=NUMBER, e.g. {name}={getattr(cls(), name)}") from None
        return cls(**values, log_text=log_text)

    def limits(self) -> dict[str, Any]:
        """The limits that clients have to keep, as in ``/v1/info``."""
        names = (
            "body_bytes", "items", "item_characters", "waiting_items", "request_seconds", "lookup_limit", "cypher_rows",
            "cypher_seconds",
        )  # fmt: skip
        return {name: value for name, value in asdict(self).items() if name in names}


_UNCHECKED = "the graph has not been checked yet"


class Health:
    """Cached health check of the graph's store: one query at most every ``fresh`` seconds, however many requests need it.

    The files of an embedded graph may be loaded again or deleted while it is served. Scores still come from the graph that was
    opened, whose digest is in their signatures; but the service is no longer ready, and Cypher, which reopens the files, is
    refused.

    Args:
        graph: the graph or its index; None: always healthy.
        fresh: seconds for which a result is cached; timeout: seconds after which a check fails.
    """

    def __init__(self, graph: KnowledgeGraph | None, *, fresh: float, timeout: float) -> None:
        self._graph = graph
        self._fresh, self._timeout = fresh, timeout
        self._lock = threading.Lock()
        self._pending: Future[str] | None = None
        self._checked_at = float("-inf")
        self._fault = _UNCHECKED
        self._files = self._version()

    @property
    def up(self) -> bool:
        """Whether the last check succeeded."""
        return not self._fault or self._graph is None

    async def check(self) -> None:
        """Check that the graph answers; 503 if not."""
        if self._graph is None:
            return
        if time.monotonic() - self._checked_at > self._fresh:
            await self._refresh()
        if self._fault:
            raise Problem(503, "graph-unavailable", self._fault)

    async def check_current(self) -> None:
        """Check that the graph answers, and that its files are those that were opened; 503 if not."""
        await self.check()
        changed = self.changed()
        if changed is not None:
            raise Problem(503, "graph-changed", changed)

    def changed(self) -> str | None:
        """Return a sentence on how the graph's files have changed since they were opened, None if they have not."""
        version = self._version()
        if version == self._files:
            return None
        event = "was loaded again" if version else "was deleted"
        return f"the graph at {self._url()} {event} since this service opened it; restart the service"

    def expire(self) -> None:
        """Discard the cached result, after a query found the graph unavailable."""
        self._checked_at = float("-inf")

    async def _refresh(self) -> None:
        with self._lock:
            starts_check = self._pending is None
            if self._pending is None:
                self._pending = Future()
                threading.Thread(target=self._ping, args=(self._pending,), name="ping", daemon=True).start()
            pending = self._pending
        if not starts_check and self._fault and self._checked_at > float("-inf"):
            return  # the last check failed, and the running one has no result yet
        opening = self._fault == _UNCHECKED and "://" not in self._url()  # of a large graph it takes seconds, once
        answered, _ = await asyncio.wait({asyncio.wrap_future(pending)}, timeout=None if opening else self._timeout)
        if not answered and "://" not in self._url():
            self._checked_at = time.monotonic()  # an embedded engine is busy with another query
        elif not answered:
            self._record(f"{self._url()} did not answer within {self._timeout:g} seconds; try again in a moment")

    def _ping(self, answer: Future[str]) -> None:
        """Run a trivial query."""
        assert self._graph is not None
        fault = ""
        try:
            store = store_of(self._graph)
            if isinstance(store, Pingable):
                store.ping(self._timeout)
            elif "://" in self._url():
                store.run("RETURN 1 AS one", limit=1, timeout=self._timeout)  # without the retries of the other methods
            else:
                store.tails("/e/ping", limit=1)  # a query that opens the engine, unlike manifest()
        except TacitError as error:
            fault = str(error)
        except Exception as error:
            fault = f"the graph cannot be queried ({type(error).__name__}: {error})"
        self._record(fault)
        with self._lock:
            self._pending = None
        answer.set_result(fault)

    def _record(self, fault: str) -> None:
        self._fault = fault
        self._checked_at = time.monotonic()

    def _version(self) -> tuple[int, ...] | None:
        """Device, inode, time and size of an embedded graph's database; None if it is missing, () for other graphs."""
        url = self._url()
        if self._graph is None or "://" in url:
            return ()
        from ...graph.embedded.integrity import DATABASE

        try:
            stat = (Path(url) / DATABASE).stat()
        except OSError:
            return None
        return (stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size)

    def _url(self) -> str:
        return self._graph.url if self._graph is not None else ""


Result = TypeVar("Result")


class BoundedPool:
    """Thread pool with a limited queue: ``waiting`` tasks may wait in addition to those that run.

    Each kind of task has its own, so that slow tasks of one kind do not delay another.
    """

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        self.name = name
        self._max_open = threads + waiting
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.open = 0  # tasks that run or wait

    async def run(self, task: Callable[[], Result]) -> Result:
        """Return ``task()``, run in one of the threads; 429 when the queue is full.

        If the caller is cancelled, the task still runs to its end and occupies its place until then.
        """
        if self.open >= self._max_open:
            raise Problem(429, "busy", f"{self.open} requests of this kind are running or waiting; try again in a moment")
        self.open += 1
        future = self._pool.submit(task)
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: self._free(loop))
        return await asyncio.wrap_future(future)

    def _free(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.call_soon_threadsafe(self._count)
        except RuntimeError:  # the loop was closed
            self._count()

    def _count(self) -> None:
        self.open -= 1

    def close(self) -> None:
        """Cancel waiting tasks; running ones finish in the background."""
        self._pool.shutdown(wait=False, cancel_futures=True)


_LOOKUP_THREADS = 2

Endpoint = Callable[[Request], Awaitable[Response]]


class Service:
    """State of one service, shared by its routes.

    Args:
        reasoner: the metrics; graph: for graph queries, None if there is none.
        keys: accepted API keys, None: no key is needed. host_names: see :class:`~.middleware.HostPolicy`. logging: log every
            request, not only those with status 500 and above.

    Attributes:
        direct: endpoints that the middleware calls without FastAPI's routing, by method and path.
        error_forms: writers of errors, by the first segment of the path; other errors are problem documents.
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
        self.host_policy = HostPolicy(host_names)
        if isinstance(graph, LimitsQueries):
            graph.limit_queries(settings.cypher_threads)
        self.instruments = Instruments()
        self.direct: dict[tuple[str, str], Endpoint] = {}
        self.error_forms: dict[str, Callable[[Problem], Response]] = {}
        self.health = Health(graph, fresh=settings.ready_seconds, timeout=settings.ping_seconds)
        self.batcher = Batcher(
            self.metrics,
            batch_items=settings.batch_items,
            batch_characters=settings.batch_characters,
            waiting_items=settings.waiting_items,
            observe=self.instruments.batch,
        )
        self.lookups = BoundedPool("lookup", threads=_LOOKUP_THREADS, waiting=settings.waiting_lookups)
        self.queries = BoundedPool("cypher", threads=settings.cypher_threads, waiting=settings.waiting_queries)
        self.parsing = BoundedPool("parsing", threads=1, waiting=settings.waiting_lookups)
        self.drawings = BoundedPool("drawing", threads=1, waiting=settings.waiting_lookups)
        for name, help_text, value in (
            ("tacit_queue_items", "Items waiting to be scored.", lambda: self.batcher.waiting),
            ("tacit_lookups_open", "Graph lookups, running or waiting.", lambda: self.lookups.open),
            ("tacit_cypher_open", "Cypher queries, running or waiting.", lambda: self.queries.open),
            ("tacit_graph_up", "1 if the last health check of the graph succeeded, else 0.", lambda: float(self.health.up)),
        ):
            self.instruments.watch(name, help_text, value)

    def names(self, wanted: Sequence[str] | None) -> tuple[str, ...]:
        """Return the metrics of a request, all if ``wanted`` is None; 422 if one is unknown or named twice."""
        if wanted is None:
            return tuple(self.metrics)
        for name in wanted:
            if name not in self.metrics:
                advice = did_you_mean(name, self.metrics, f"choose from {', '.join(self.metrics)}")
                raise Problem(422, "unknown-metric", f"this service has no metric {name!r}; {advice}")
        if not wanted or len(set(wanted)) < len(wanted):
            raise Problem(422, "invalid-body", "metrics is empty or names a metric twice; name each metric once")
        return tuple(wanted)

    def require_graph(self) -> KnowledgeGraph:
        """Return the graph; 404 without one."""
        if self.graph is None:
            raise Problem(404, "no-graph", "this service has no graph, so graph queries are not available")
        return self.graph

    @contextmanager
    def problems(self, *, cypher: bool = False) -> Iterator[None]:
        """Convert the library's errors to problem documents; ``cypher``: an error of the engine is a fault of the query."""
        try:
            yield
        except TacitError as error:
            if isinstance(error, GraphUnavailable):
                self.health.expire()
            if cypher and isinstance(error, QueryTimeout):
                self.instruments.cypher_timeout()
            raise problem_of(error, cypher=cypher) from error

    def close(self) -> None:
        """Score what is in the queue, and end the threads."""
        self.batcher.close()
        for pool in (self.lookups, self.queries, self.drawings, self.parsing):
            pool.close()
