"""Streams through the client: parts of the right size, order, several requests on their way, and nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import orjson
import pytest
from tacit.api import AsyncClient, Client
from tacit.graph import InputError, ServiceError

from .pretending import Service, problem, scored


def items(number: int) -> Iterator[tuple[int, list[str], str]]:
    return ((place, ["Hello."], "x" * (1 + place % 7)) for place in range(number))


def test_what_is_too_much_at_once_goes_in_parts() -> None:
    def small(request: httpx.Request) -> httpx.Response:
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
        rows = list(client.score_items((place, ["y" * 100_000], "x") for place in range(12)))
    assert len(rows) == 12
    assert [len(orjson.loads(request.content)["items"]) for request in service.requests] == [4, 4, 4]


def test_a_stream_takes_no_more_than_it_needs() -> None:
    taken = 0

    def source() -> Iterator[tuple[int, list[str], str]]:
        nonlocal taken
        for item in items(1_000_000):
            taken += 1
            yield item

    with Client(transport=httpx.MockTransport(Service())) as client:
        stream = client.score_items(source(), batch_size=10)
        assert [next(stream).id for _ in range(25)] == list(range(25))
        assert taken == 30


class Crowd:
    """Scores, later requests first, and counts how many are under way at a time."""

    def __init__(self) -> None:
        self.now = self.most = self.number = 0

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.now += 1
        self.number += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.004 if self.number % 2 else 0)
        self.now -= 1
        return scored(request)


def test_several_requests_are_under_way_and_rows_keep_their_order() -> None:
    crowd = Crowd()

    async def ask() -> list[Any]:
        async with AsyncClient(transport=httpx.MockTransport(crowd)) as client:
            return [row.id async for row in client.score_items(items(95), batch_size=5, concurrency=3)]

    assert asyncio.run(ask()) == list(range(95))
    assert (crowd.number, crowd.most) == (19, 3)


def test_a_stream_that_is_left_ends_its_requests() -> None:
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
def test_batches_and_numbers_that_make_no_sense(size: int) -> None:
    with Client() as client, pytest.raises(InputError, match="a batch of"):
        client.score_items([], batch_size=size)
    with pytest.raises(InputError, match="requests at a time"):
        AsyncClient().score_items([], concurrency=size)
