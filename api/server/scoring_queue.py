"""Micro-batching across requests: items wait in one queue with a size limit, and one thread scores them in batches.

An idle service scores a request at once. Under load more items wait and batches grow, which costs less per item: two short items
together take little more time than one. So if requests were waiting when a batch ended, the next one is delayed by a few
milliseconds, in which the clients that were just answered can send again. While other requests wait, a large request
contributes only some of its items to each batch.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ...graph.item import Item
from ...reasoning.base import Metric
from ...reasoning.scorer import ItemScores, score_items
from .problems import Problem

_SHARE = 16
"""Items that a request contributes to a batch per turn."""
_WAIT_SECONDS = 0.003
"""Longest delay of a batch under load, in seconds."""
_FULL_BATCH = 8
"""Items from which a batch is not delayed: larger ones save little."""

Observe = Callable[[int, Sequence[str]], object]


@dataclass(slots=True, eq=False)
class _Job:
    """The items of one request and their results."""

    items: Sequence[Item]
    sizes: Sequence[int]
    key: tuple[tuple[str, ...], bool]
    finish: Callable[[list[ItemScores]], Any]
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]
    taken: int = 0
    rows: list[ItemScores] = field(default_factory=list)
    outcome: Any = None
    failure: Exception | None = None


class Batcher:
    """The scoring thread and its queue. The thread starts with the first request.

    A batch has at least one item, and an empty queue takes a request of any size. ``observe`` is called after each batch with its
    size and the names of the metrics.
    """

    def __init__(
        self,
        metrics: Mapping[str, Metric],
        *,
        batch_items: int,
        batch_characters: int,
        waiting_items: int,
        observe: Observe = lambda *_: None,
    ) -> None:
        self._metrics = metrics
        self._batch_items, self._batch_characters, self._max_waiting = batch_items, batch_characters, waiting_items
        self._observe = observe
        self._changed = threading.Condition()
        self._jobs: deque[_Job] = deque()
        self._thread: threading.Thread | None = None
        self._closed = False
        self.waiting = 0  # items in the queue

    async def score(
        self,
        items: Sequence[Item],
        names: tuple[str, ...],
        explain: bool,
        finish: Callable[[list[ItemScores]], Any] = lambda rows: rows,
    ) -> Any:
        """Score ``items`` and return ``finish(rows)``, which runs in the scoring thread; 429 when the queue is full."""
        loop = asyncio.get_running_loop()
        job = _Job(items, [_size(item) for item in items], (names, explain), finish, loop, loop.create_future())
        with self._changed:
            if self._closed:
                raise Problem(503, "stopping", "the service is shutting down; try again in a moment")
            if self.waiting and self.waiting + len(items) > self._max_waiting:
                raise Problem(
                    429,
                    "queue-full",
                    f"{self.waiting:,} items are waiting to be scored; try again in a moment, or send fewer at once",
                )
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="scoring", daemon=True)
                self._thread.start()
            self.waiting += len(items)
            self._jobs.append(job)
            self._changed.notify()
        try:
            await job.answer
        except asyncio.CancelledError:
            self._drop(job)
            raise
        if job.failure is not None:
            raise job.failure
        return job.outcome

    def close(self) -> None:
        """Score what is in the queue, refuse new requests, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _drop(self, job: _Job) -> None:
        """Remove a cancelled request from the queue."""
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)
                self.waiting -= len(job.items) - job.taken

    def _work(self) -> None:
        last_size = 0
        while True:
            with self._changed:
                if self._jobs:
                    self._gather(min(_FULL_BATCH, last_size + self.waiting))
                while not self._jobs:
                    if self._closed:
                        return
                    self._changed.wait()
                parts = self._take()
            last_size = sum(end - start for _, start, end in parts)
            self._score(parts)

    def _gather(self, enough: int) -> None:
        """Wait until the queue has ``enough`` items, for at most a few milliseconds."""
        deadline = time.monotonic() + _WAIT_SECONDS
        while self.waiting < enough and not self._closed:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return
            self._changed.wait(remaining)

    def _take(self) -> list[tuple[_Job, int, int]]:
        """Take a batch from the queue: items of requests with the same metrics, round-robin, oldest request first."""
        key = self._jobs[0].key
        candidates = [job for job in self._jobs if job.key == key]
        starts = {id(job): job.taken for job in candidates}
        free_items, characters = self._batch_items, self._batch_characters
        unfinished_jobs: Sequence[_Job] = candidates
        while unfinished_jobs and free_items > 0 and characters > 0:
            for job in unfinished_jobs:
                for size in islice(job.sizes, job.taken, job.taken + min(_SHARE, free_items)):
                    if characters <= 0:
                        break
                    job.taken += 1
                    free_items -= 1
                    characters -= size
                if free_items <= 0 or characters <= 0:
                    break
            unfinished_jobs = [job for job in unfinished_jobs if job.taken < len(job.items)]
        parts = [(job, starts[id(job)], job.taken) for job in candidates if job.taken > starts[id(job)]]
        self.waiting -= sum(end - start for _, start, end in parts)
        unfinished = [job for job, _, _ in parts if job.taken < len(job.items)]
        batched = {id(job) for job, _, _ in parts}
        self._jobs = deque([job for job in self._jobs if id(job) not in batched] + unfinished)
        return parts

    def _score(self, parts: Sequence[tuple[_Job, int, int]]) -> None:
        names, explain = parts[0][0].key
        items = [item for job, start, end in parts for item in job.items[start:end]]
        finished: list[_Job] = []
        try:
            rows = iter(list(score_items(items, [self._metrics[name] for name in names], batch_size=len(items), explain=explain)))
        except Exception as error:
            for job, _, _ in parts:
                job.failure = error
                self._drop(job)
            finished = [job for job, _, _ in parts]
        else:
            for job, start, end in parts:
                job.rows += islice(rows, end - start)
                if end == len(job.items):
                    finished.append(job)
                    try:
                        job.outcome = job.finish(job.rows)
                    except Exception as error:
                        job.failure = error
        self._observe(len(items), names)
        _deliver(finished)


def _deliver(jobs: Sequence[_Job]) -> None:
    """Complete the futures, with one call into each event loop."""
    for loop in {job.loop for job in jobs}:
        answers = [job.answer for job in jobs if job.loop is loop]
        try:
            loop.call_soon_threadsafe(_wake, answers)
        except RuntimeError:  # the loop was closed
            continue


def _wake(answers: Sequence[asyncio.Future[Any]]) -> None:
    for answer in answers:
        if not answer.done():
            answer.set_result(None)


def _size(item: Item) -> int:
    """Characters of an item."""
    return sum(map(len, item.history)) + len(item.response) + sum(map(len, item.references))
