"""HTTP client for measurements: keep-alive connections, one request at a time on each, at a fixed rate or as fast as possible."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Figures:
    """What a stretch of requests gave: seconds of each, how many had which status, the time of all, and the processor's."""

    seconds: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)
    span: float = 0.0
    processor: float = float("nan")

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.seconds) / self.span

    def milliseconds(self, percentile: float) -> float:
        """A percentile of the times."""
        return float(np.percentile(self.seconds, percentile)) * 1000

    @property
    def errors(self) -> int:
        """Requests without an answer of status 200; 0 stands for a connection that failed."""
        return sum(number for status, number in self.statuses.items() if status != 200)


Ask = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[int]]
"""Sends one request on an open connection, reads its answer, and returns the status."""


async def post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes) -> int:
    """Send one request on an open connection, read its answer, and return the status."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return await _exchange(reader, writer, head.encode() + body)


def scoring(bodies: Iterator[bytes]) -> Ask:
    """Return a request to score the next body."""
    return lambda reader, writer: post(reader, writer, "/v1/score", next(bodies))


def getting(paths: Iterator[str]) -> Ask:
    """Return a request for the next path."""
    return lambda reader, writer: _exchange(reader, writer, f"GET {next(paths)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> int:
    writer.write(request)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.partition(b":")[2]))
    return int(answer[9:12])


async def drive(port: int, ask: Ask, connections: int, seconds: float, pace: float | None = None) -> Figures:
    """Send requests for some seconds over a number of connections; ``pace`` requests a second, or as fast as possible.

    When paced, a request's time counts from the moment it was due, so that a server that stalls is not flattered.
    """
    figures = Figures()
    started = time.perf_counter()
    number = 0

    async def use_connection() -> None:
        nonlocal number
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while True:
            due = time.perf_counter()
            if pace is not None:
                due = started + number / pace
                number += 1
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if due - started > seconds:
                break
            status = await ask(reader, writer)
            figures.seconds.append(time.perf_counter() - due)
            figures.statuses[status] = figures.statuses.get(status, 0) + 1
        writer.close()

    await asyncio.gather(*(use_connection() for _ in range(connections)))
    figures.span = time.perf_counter() - started
    return figures


async def burst(port: int, bodies: Iterator[bytes], connections: int) -> Figures:
    """Open a number of connections, then send one request on each at the same time."""
    figures = Figures()
    opened = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(connections)))
    started = time.perf_counter()

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            status = await post(reader, writer, "/v1/score", next(bodies))
        except (OSError, asyncio.IncompleteReadError):
            status = 0
        figures.seconds.append(time.perf_counter() - started)
        figures.statuses[status] = figures.statuses.get(status, 0) + 1
        writer.close()

    await asyncio.gather(*(send(reader, writer) for reader, writer in opened))
    figures.span = time.perf_counter() - started
    return figures
