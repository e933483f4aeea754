"""Whether the graph answers: asked for real, at most once a second, and by one thread, however many want to know."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future

from ...graph.errors import TacitError
from ...graph.protocol import KnowledgeGraph
from .problems import Problem


class Health:
    """The last answer of the graph's store, and how old it is.

    Args:
        graph: the graph, or an index of it, whose store is asked then; None when there is none, which is always well.
        fresh: seconds for which an answer counts; patience: seconds that it may take before the graph counts as gone.
    """

    def __init__(self, graph: KnowledgeGraph | None, *, fresh: float, patience: float) -> None:
        self._graph = graph
        self._fresh, self._patience = fresh, patience
        self._lock = threading.Lock()
        self._asking: Future[str] | None = None
        self._known_at = float("-inf")
        self._trouble = "the graph was not asked yet"

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

    def doubt(self) -> None:
        """Somebody else found the graph gone: ask again before anything else is answered."""
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
        """Ask the store the least that there is to ask."""
        assert self._graph is not None
        trouble = ""
        try:
            store = getattr(self._graph, "store", self._graph)
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

    def _url(self) -> str:
        return self._graph.url if self._graph is not None else ""
