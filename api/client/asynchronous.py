"""The asyncio client: requests as coroutines, and files scored with several concurrent requests."""

from __future__ import annotations

import os
from asyncio import Task, create_task, gather, sleep
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Self

import httpx

from ...loaders import read_items
from ...reasoning.scorer import ItemScores, StreamItem
from .batches import Batch, BatchSizer, batches, check_concurrency
from .exchange import TIMEOUT, URL, RetryPolicy, check_open, settings
from .methods import Methods

CONCURRENCY = 4


class AsyncClient(Methods):
    """The methods of :class:`Client` for asyncio, with concurrent requests; an async context manager."""

    def __init__(
        self,
        url: str = URL,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        retry: RetryPolicy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """See :class:`Client`; no request is sent yet."""
        self._retry = retry or RetryPolicy()
        self._http: httpx.AsyncClient = httpx.AsyncClient(transport=transport, **settings(url, api_key, timeout))

    def score_items(
        self,
        items: Iterable[StreamItem],
        *,
        metrics: Sequence[str] | None = None,
        explain: bool = False,
        batch_size: int | None = None,
        concurrency: int = CONCURRENCY,
    ) -> AsyncIterator[ItemScores]:
        """Yield as :meth:`Client.score_items`, with up to ``concurrency`` concurrent requests and batches in memory.

        Raises:
            InputError: ``batch_size`` or ``concurrency`` is below 1.
        """
        return self._stream(items, metrics, explain, check_concurrency(concurrency), self._sizer(batch_size))

    def score_file(
        self,
        path: str | os.PathLike[str],
        *,
        metrics: Sequence[str] | None = None,
        explain: bool = False,
        batch_size: int | None = None,
        concurrency: int = CONCURRENCY,
        strict: bool = False,
    ) -> AsyncIterator[ItemScores]:
        """Yield as :meth:`Client.score_file`, with up to ``concurrency`` concurrent requests and batches in memory.

        Raises:
            InputError: ``batch_size`` or ``concurrency`` is below 1.
        """
        return self._stream(
            read_items(path, strict=strict), metrics, explain, check_concurrency(concurrency), self._sizer(batch_size)
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def _transmit(self, request: httpx.Request) -> httpx.Response:
        check_open(self._http)
        return await self._http.send(request)

    async def _pause(self, seconds: float) -> None:
        await sleep(seconds)

    async def _stream(
        self, items: Iterable[StreamItem], metrics: Sequence[str] | None, explain: bool, concurrency: int, sizer: BatchSizer
    ) -> AsyncIterator[ItemScores]:
        """Yield rows in order, with at most ``concurrency`` concurrent requests; closing the generator cancels them."""
        pending: deque[tuple[Batch, Task[list[ItemScores]]]] = deque()
        await self._apply_limits(sizer, concurrency)
        try:
            for batch in batches(items, sizer):
                pending.append((batch, create_task(self._rows(batch.items, metrics, explain, sizer))))
                if len(pending) >= concurrency:
                    batch_sent, task = pending.popleft()
                    for row in batch_sent.filled(await task):
                        yield row
            while pending:
                batch_sent, task = pending.popleft()
                for row in batch_sent.filled(await task):
                    yield row
        finally:
            for _, task in pending:
                task.cancel()
            await gather(*(task for _, task in pending), return_exceptions=True)
