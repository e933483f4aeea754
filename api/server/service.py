"""What the routes share: the reasoner, the graph, the queue before scoring, the desks for questions, health, measurements."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from ...graph.errors import InputError, TacitError
from ...graph.item import LONGEST_TEXT
from ...graph.open import store_of
from ...graph.protocol import KnowledgeGraph, LimitsQueries
from ...reasoning import Reasoner
from .batching import Batcher
from .guard import Sites
from .keys import Keys
from .messages import Problem
from .observing import Instruments

if TYPE_CHECKING:
    from ...reasoning.base import Metric

# What a service allows: sizes, times and numbers, each with a default that suits one machine.


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of a service.

    Attributes:
        body_bytes: most bytes of a request's body; bodies_bytes: of all bodies that are held at once.
        items: most items of one request; item_characters: most characters of one item, all its texts together. The longest single
            text is the library's, ``LONGEST_TEXT``.
        waiting_items: items that may wait to be scored; beyond them requests get 429.
        batch_items, batch_characters: most that is scored in one go; they change the speed and nothing else.
        request_seconds: most that a request may take; body_seconds: most that its body may take to come in.
        header_seconds: most that a connection may take to send a request's head; idle_seconds: most that it may be idle between
            two requests; header_bytes: most bytes of a head, and of trailers.
        lookup_limit: most rows of a question about the graph; waiting_lookups: such questions that may wait.
        cypher_rows, cypher_seconds: most that a query may ask for; cypher_threads: queries that run at once, with those
            that a Neo4j server has not ended in time; waiting_queries: that may wait.
        ready_seconds: how long an answer of the graph counts as proof that it is there; ping_seconds: how long it may take.
        connections: open connections beyond which a new one is closed; client_connections: the same for one client's address.
        shutdown_seconds: time for what runs to end once the service is told to stop.
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
    lookup_limit: int = 1_000
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
                raise InputError(f"{field.name} = {value} is not possible; the limit must be > 0")

    @classmethod
    def of(cls, pairs: Sequence[str], *, log_text: bool = False) -> Self:
        """Return the settings that ``NAME=NUMBER`` texts ask for.

        Raises:
            InputError: a text has another form, or names no limit.
        """
        kinds = {name: type(value) for name, value in asdict(cls()).items() if name != "log_text"}
        given: dict[str, Any] = {}
        for pair in pairs:
            name, _, number = pair.partition("=")
            if name not in kinds:
                raise InputError(f"--limit {pair} is not a limit; choose from {', '.join(kinds)}")
            try:
                given[name] = kinds[name](number)
            except ValueError:
                raise InputError(f"--limit {pair} is not NAME=NUMBER, e.g. {name}={getattr(cls(), name)}") from None
        return cls(**given, log_text=log_text)

    def limits(self) -> dict[str, Any]:
        """The limits that a client has to know, as ``/v1/info`` gives them."""
        shown = (
            "body_bytes", "items", "item_characters", "waiting_items", "request_seconds", "lookup_limit", "cypher_rows",
            "cypher_seconds",
        )  # fmt: skip
        return {name: value for name, value in asdict(self).items() if name in shown}


# Health of the graph: its store is queried at most once a second, by one thread, however many requests wait for the result.
#
# A graph in a folder may be loaded again or deleted while it is served. Scores then still come from the graph that was opened;
# its digest is in their signatures. But the service is no longer ready, and Cypher, which opens the folder again, is refused.


class Health:
    """The last answer of the graph's store, and how old it is.

    Args:
        graph: the graph, or an index of it, whose store is queried then; None when there is none, which is always healthy.
        fresh: seconds for which an answer counts; patience: seconds after which a graph that does not answer counts as gone.
    """

    def __init__(self, graph: KnowledgeGraph | None, *, fresh: float, patience: float) -> None:
        self._graph = graph
        self._fresh, self._patience = fresh, patience
        self._lock = threading.Lock()
        self._asking: Future[str] | None = None
        self._known_at = float("-inf")
        self._trouble = "the graph was not asked yet"
        self._files = self._version()

    @property
    def up(self) -> bool:
        """Whether the graph answered when it was last asked."""
        return not self._trouble or self._graph is None

    async def check(self) -> None:
        """Return when the graph is there.

        Raises:
            Problem: it does not answer.
        """
        if self._graph is None:
            return
        if time.monotonic() - self._known_at > self._fresh:
            await self._ask()
        if self._trouble:
            raise Problem(503, "graph-unavailable", self._trouble)

    async def check_current(self) -> None:
        """Return when the graph is there, and is the one that was opened.

        Raises:
            Problem: it does not answer, or was loaded again or deleted.
        """
        await self.check()
        changed = self.changed()
        if changed is not None:
            raise Problem(503, "graph-changed", changed)

    def changed(self) -> str | None:
        """Return a sentence that says how the served folder has changed since it was opened, None where it has not."""
        now = self._version()
        if now == self._files:
            return None
        what = "was loaded again" if now else "was deleted"
        return f"the graph at {self._url()} {what} since this service opened it; restart the service"

    def doubt(self) -> None:
        """Query the graph again before the next answer: somebody found it gone."""
        self._known_at = float("-inf")

    async def _ask(self) -> None:
        with self._lock:
            fresh = self._asking is None
            if self._asking is None:
                self._asking = Future()
                threading.Thread(target=self._ping, args=(self._asking,), name="ping", daemon=True).start()
            asking = self._asking
        if not fresh and self._trouble and self._known_at > float("-inf"):
            return  # it was gone, and whether it is back is not known yet
        answered, _ = await asyncio.wait({asyncio.wrap_future(asking)}, timeout=self._patience)
        if not answered and "://" not in self._url():
            self._known_at = time.monotonic()  # an engine in this process is busy with another question
        elif not answered:
            self._know(f"{self._url()} did not answer within {self._patience:g} seconds; ask again in a moment")

    def _ping(self, answer: Future[str]) -> None:
        """Run the smallest query there is."""
        assert self._graph is not None
        trouble = ""
        try:
            store = store_of(self._graph)
            if "://" in self._url():
                store.run("RETURN 1 AS one", limit=1, timeout=self._patience)  # one try; the others are tried again for long
            else:
                store.manifest()
        except TacitError as error:
            trouble = str(error)
        except Exception as error:
            trouble = f"the graph cannot be asked ({type(error).__name__}: {error})"
        self._know(trouble)
        with self._lock:
            self._asking = None
        answer.set_result(trouble)

    def _know(self, trouble: str) -> None:
        self._trouble = trouble
        self._known_at = time.monotonic()

    def _version(self) -> tuple[int, ...] | None:
        """What changes when the database of a graph in a folder is replaced or written to; None where it is not there."""
        url = self._url()
        if self._graph is None or "://" in url:
            return ()
        from ...graph.embedded.load import DATABASE

        try:
            stat = (Path(url) / DATABASE).stat()
        except OSError:
            return None
        return (stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size)

    def _url(self) -> str:
        return self._graph.url if self._graph is not None else ""


# A desk for questions asked of the graph: so many threads answer, so many questions may wait, the rest is turned away.

Answer = TypeVar("Answer")


class Desk:
    """Threads of their own for one kind of question, so that a slow one never stands in the way of another kind.

    Args:
        name: of the threads; threads: how many; waiting: questions that may wait beside those that are answered.
    """

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        self.name = name
        self._most = threads + waiting
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.open = 0

    async def ask(self, question: Callable[[], Answer]) -> Answer:
        """Return what ``question`` returns, called in one of the threads.

        A caller that gives up leaves the thread to end its work; the place is free only then.

        Raises:
            Problem: too many wait.
        """
        if self.open >= self._most:
            raise Problem(429, "busy", f"{self.open} questions of this kind are open already; ask again in a moment")
        self.open += 1
        future = self._pool.submit(question)
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
        """Begin no further question; those that run come to their end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)


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
