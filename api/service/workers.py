"""A desk for questions asked of the graph: so many threads answer, so many questions may wait, the rest is turned away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from .problems import Problem

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
