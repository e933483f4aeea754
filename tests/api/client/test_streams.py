"""Streams through the client: parts of the right size, order, several requests on their way, and nothing left behind."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import pairwise
from typing import Any

import httpx
import orjson
import pytest
from tacit.api import AsyncClient, Client
from tacit.graph import InputError, ServiceError

from tests.api.client.fake_service import Service, problem, scored


def items(number: int) -> Iterator[tuple[int, list[str], str]]:
    return ((index, ["Hello."], "x" * (1 + index % 7)) for index in range(number))


def test_large_batches_are_split_into_requests() -> None:
    def small(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/info":
            return scored(request)
        sent = orjson.loads(request.content)["items"]
        return (
            scored(request) if len(sent) <= 3 and all(len(item["response"]) < 7 for item in sent) else problem(413, "too-large")
        )

    with Client(transport=httpx.MockTransport(small)) as client:
        rows = list(client.score_items(items(20)))
    assert [row.id for row in rows] == list(range(20))
    assert [row.id for row in rows if row.error] == [6, 13]
    assert all(row.scores["grounding"].value == 1 + row.id % 7 for row in rows if not row.error)


def test_long_items_make_small_requests() -> None:
    service = Service()
    with Client(transport=httpx.MockTransport(service)) as client:
        rows = list(client.score_items((index, ["y" * 100_000], "x") for index in range(12)))
    assert len(rows) == 12
    assert [len(orjson.loads(request.content)["items"]) for request in service.requests] == [4, 4, 4]


def test_a_stream_reads_its_input_lazily() -> None:
    taken = 0

    def source() -> Iterator[tuple[int, list[str], str]]:
        nonlocal taken
        for item in items(1_000_000):
            taken += 1
            yield item

    with Client(transport=httpx.MockTransport(Service())) as client:
        stream = client.score_items(source(), batch_size=10)
        assert [next(stream).id for _ in range(25)] == list(range(25))
        assert taken == 8 + 10 + 10


class Crowd:
    """Scores, later requests first, and counts how many are under way at a time."""

    def __init__(self) -> None:
        self.now = self.max_concurrent = self.number = 0

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/info":
            return scored(request)
        self.now += 1
        self.number += 1
        self.max_concurrent = max(self.max_concurrent, self.now)
        await asyncio.sleep(0.004 if self.number % 2 else 0)
        self.now -= 1
        return scored(request)


def test_concurrent_requests_keep_the_order_of_rows() -> None:
    crowd = Crowd()

    async def ask() -> list[Any]:
        async with AsyncClient(transport=httpx.MockTransport(crowd)) as client:
            return [row.id async for row in client.score_items(items(95), batch_size=5, concurrency=3)]

    assert asyncio.run(ask()) == list(range(95))
    assert (crowd.number, crowd.max_concurrent) == (19, 3)


def test_leaving_a_stream_cancels_its_requests() -> None:
    crowd = Crowd()

    async def ask() -> tuple[int, int]:
        async with AsyncClient(transport=httpx.MockTransport(crowd)) as client:
            stream = client.score_items(items(1_000), batch_size=5, concurrency=4)
            assert isinstance(stream, AsyncIterator)
            async for _ in stream:
                break
            await stream.aclose()  # type: ignore[attr-defined]
            left = len([task for task in asyncio.all_tasks() if task is not asyncio.current_task()])
            return left, crowd.number

    left, number = asyncio.run(ask())
    assert left == 0
    assert number <= 5


def test_a_failing_stream_raises_once() -> None:
    async def ask() -> None:
        async with AsyncClient(transport=httpx.MockTransport(lambda _: problem(500, "failure"))) as client:
            async for _ in client.score_items(items(100), batch_size=5):
                pass

    with pytest.raises(ServiceError):
        asyncio.run(ask())


@pytest.mark.parametrize("size", [0, -1])
def test_batches_and_concurrency_are_at_least_one(size: int) -> None:
    with Client() as client, pytest.raises(InputError, match="batch_size must be >= 1"):
        client.score_items([], batch_size=size)
    with pytest.raises(InputError, match="concurrency must be >= 1"):
        AsyncClient().score_items([], concurrency=size)


class Clock:
    """A service that takes so many seconds an item, by a clock that does not sleep."""

    def __init__(self, seconds: float, *, limits: dict[str, Any] | None = None, allowed: float = 60.0) -> None:
        self.seconds, self.limits, self.allowed = seconds, limits, allowed
        self.now = 0.0
        self.sizes: list[int] = []
        self.patience: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/info":
            return Service(limits=self.limits)(request)
        size = len(orjson.loads(request.content)["items"])
        self.sizes.append(size)
        self.patience.append(request.extensions["timeout"]["read"])
        taken = size * self.seconds
        self.now += min(taken, self.allowed)
        return problem(504, "timeout") if taken > self.allowed else scored(request)


@pytest.fixture(params=["plain", "awaited"])
def stream(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Score a number of items at a service with a clock, by either client; returns the rows."""

    def run(clock: Clock, number: int, **options: Any) -> list[Any]:
        monkeypatch.setattr(sys.modules["tacit.api.client.methods"], "monotonic", lambda: clock.now)
        transport = httpx.MockTransport(clock)
        if request.param == "plain":
            with Client(transport=transport) as client:
                return list(client.score_items(items(number), **options))

        async def ask() -> list[Any]:
            async with AsyncClient(transport=transport) as client:
                return [row async for row in client.score_items(items(number), concurrency=1, **options)]

        return asyncio.run(ask())

    return run


@pytest.mark.parametrize(("seconds", "largest"), [(0.001, 1_000), (0.05, 100), (0.5, 10), (3.0, 8), (20.0, 2)])
def test_requests_grow_and_shrink_until_each_takes_about_five_seconds(
    stream: Callable[..., list[Any]], seconds: float, largest: int
) -> None:
    clock = Clock(seconds)
    rows = stream(clock, 3_000 if seconds < 1 else 40)
    assert [row.id for row in rows] == list(range(len(rows)))
    assert not any(row.error for row in rows)
    assert clock.sizes[0] == 8
    passed = [size for size in clock.sizes if size * seconds <= 60]
    assert max(passed) == largest
    assert all(size * seconds <= max(5.0, seconds) * 1.01 for size in passed[8:-1]), clock.sizes
    assert all(second <= 2 * first for first, second in pairwise(clock.sizes))


def test_requests_keep_within_the_limits_of_the_service(stream: Callable[..., list[Any]]) -> None:
    for limits, largest in (({"items": 50}, 50), ({"waiting_items": 60}, 30), ({"request_seconds": 6.0}, 20), ({}, 100)):
        clock = Clock(0.05, limits=limits)
        stream(clock, 2_000)
        assert max(clock.sizes) == largest
    clock = Clock(0.05)
    stream(clock, 100, batch_size=12)
    assert max(clock.sizes) == 12


def test_the_timeout_grows_with_the_number_of_items(stream: Callable[..., list[Any]]) -> None:
    clock = Clock(0.5)
    stream(clock, 100)
    assert clock.patience[0] == 60
    assert clock.patience[-1] == pytest.approx(60 + 3 * clock.sizes[-1] * 0.5)


def test_a_busy_service_gets_smaller_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tacit.api.client.blocking"], "sleep", lambda _: None)
    service = Service(*[problem(429, **{"Retry-After": "0"})] * 2)
    with Client(transport=httpx.MockTransport(service)) as client:
        assert len(list(client.score_items(items(40), batch_size=8))) == 40
    sizes = [len(orjson.loads(request.content)["items"]) for request in service.requests]
    assert sizes[:5] == [8, 8, 8, 4, 8]
