"""Health of the graph: its store is queried at most once a second, by one thread, however many requests wait for the result.

A graph in a folder may be loaded again or deleted while it is served. Scores then still come from the graph that was opened; its
digest is in their signatures. But the service is no longer ready, and Cypher, which opens the folder again, is refused.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from pathlib import Path

from ...graph.errors import TacitError
from ...graph.opening import store_of
from ...graph.protocol import KnowledgeGraph
from .problems import Problem


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
