"""What the client does when the service is busy, away, slow, or no service at all; waits are counted, not slept."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.api import AsyncClient, Client
from tacit.api.client import Patience
from tacit.api.client.retrying import retry_after
from tacit.graph import (
    GraphError,
    GraphUnavailable,
    InputError,
    QueryInvalid,
    QueryRefused,
    QueryTimeout,
    ServiceError,
    ServiceUnavailable,
)

Handler = Callable[[httpx.Request], httpx.Response]
SIGNATURE = "grounding|graph:8f0c|hops:6|v:1"


def problem(status: int, kind: str = "busy", detail: str = "try again", **headers: str) -> httpx.Response:
    body = {"type": f"urn:tacit:problem:{kind}", "status": status, "detail": detail, "request_id": "r-1"}
    return httpx.Response(status, json=body, headers=headers)


def scored(request: httpx.Request) -> httpx.Response:
    items = orjson.loads(request.content)["items"]
    rows = [
        {"id": at, "scores": {"grounding": len(item["response"])}, "signature": {"grounding": SIGNATURE}}
        for at, item in enumerate(items, 1)
    ]
    return httpx.Response(200, json={"items": rows})


class Service:
    """Answers with ``answers`` one after another, then with scores; an exception among them is a connection that fails."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if not self.answers:
            return scored(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits of both clients, which take no time."""
    waited: list[float] = []

    async def pause(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(sys.modules["tacit.api.client.blocking"], "sleep", waited.append)
    monkeypatch.setattr(sys.modules["tacit.api.client.asynchronous"], "sleep", pause)
    return waited


@pytest.fixture(params=["plain", "awaited"])
def score(request: pytest.FixtureRequest) -> Callable[..., float]:
    """Score one response at a service, by either client."""

    def plain(service: Handler, **options: Any) -> float:
        with Client(transport=httpx.MockTransport(service), **options) as client:
            return client.score(["Hello."], "four")["grounding"].value

    def awaited(service: Handler, **options: Any) -> float:
        async def ask() -> float:
            async with AsyncClient(transport=httpx.MockTransport(service), **options) as client:
                return (await client.score(["Hello."], "four"))["grounding"].value

        return asyncio.run(ask())

    return plain if request.param == "plain" else awaited


@pytest.mark.parametrize(
    "answer",
    [
        problem(429),
        problem(503, "graph-unavailable"),
        httpx.ConnectError("refused"),
        httpx.RemoteProtocolError("cut"),
        httpx.ReadError("reset"),
        httpx.ConnectTimeout("slow"),
    ],
    ids=["429", "503", "refused", "cut", "reset", "connect timeout"],
)
def test_it_asks_again(score: Callable[..., float], waits: list[float], answer: httpx.Response | Exception) -> None:
    service = Service(answer, answer, answer)
    assert score(service) == 4
    assert len(service.requests) == 4
    assert [request.content for request in service.requests] == [service.requests[0].content] * 4
    assert len(waits) == 3
    assert all(0 <= wait <= 0.2 * 2**attempt for attempt, wait in enumerate(waits))


def test_it_waits_as_long_as_it_is_asked_to(score: Callable[..., float], waits: list[float]) -> None:
    assert score(Service(problem(503, **{"Retry-After": "7"}))) == 4
    assert 7 <= waits[0] <= 7.2


def test_it_gives_up_rather_than_wait_longer_than_it_may(score: Callable[..., float], waits: list[float]) -> None:
    service = Service(problem(503, "graph-unavailable", "the graph is away", **{"Retry-After": "3600"}))
    with pytest.raises(GraphUnavailable, match=r"^the graph is away \(request r-1\)$"):
        score(service)
    assert waits == []


def test_it_gives_up_after_so_many_requests(score: Callable[..., float], waits: list[float]) -> None:
    service = Service(*[problem(429)] * 9)
    with pytest.raises(ServiceUnavailable, match="try again"):
        score(service, patience=Patience(retries=2))
    assert (len(service.requests), len(waits)) == (3, 2)


def test_a_service_that_is_not_there_is_named(score: Callable[..., float], waits: list[float]) -> None:
    service = Service(*[httpx.ConnectError("connection refused")] * 9)
    with pytest.raises(ServiceUnavailable, match=r"http://127\.0\.0\.1:8000/v1/score cannot be reached \(connection refused\)"):
        score(service, patience=Patience(retries=1))
    assert len(waits) == 1


def test_an_answer_that_takes_too_long_is_not_asked_for_again(score: Callable[..., float], waits: list[float]) -> None:
    service = Service(httpx.ReadTimeout("late"))
    with pytest.raises(ServiceUnavailable, match="did not answer in time"):
        score(service)
    assert (len(service.requests), waits) == (1, [])


@pytest.mark.parametrize(
    ("answer", "kind", "match"),
    [
        (problem(400, "query-refused", "no writing."), QueryRefused, r"^no writing \(request r-1\)$"),
        (problem(422, "query-invalid"), QueryInvalid, "try again"),
        (problem(422, "query-failed"), GraphError, "try again"),
        (problem(504, "query-timeout"), QueryTimeout, "try again"),
        (problem(422, "invalid-input"), InputError, "try again"),
        (problem(401, "no-key", "give a key"), InputError, "give a key"),
        (problem(404, "unknown-concept"), InputError, "try again"),
        (problem(500, "failure"), ServiceError, "try again"),
        (httpx.Response(502, text="<html>bad gateway"), ServiceUnavailable, "answers 502 Bad Gateway"),
        (httpx.Response(500, json=["no", "document"]), ServiceError, "answers 500"),
        (httpx.Response(200, text="<html>hello"), ServiceError, "is not tacit's"),
        (httpx.Response(200, json={"items": []}), ServiceError, "0 rows for 1 items"),
        (httpx.Response(200, json={"items": [{"id": 1}]}), ServiceError, "KeyError"),
        (httpx.Response(200, json=[1]), ServiceError, "is not tacit's"),
        (httpx.Response(302, headers={"Location": "https://elsewhere.example"}), ServiceError, "answers 302"),
    ],
)
def test_problems_are_the_librarys_errors(
    score: Callable[..., float], waits: list[float], answer: httpx.Response, kind: type[Exception], match: str
) -> None:
    with pytest.raises(kind, match=match) as caught:
        score(Service(answer))
    assert type(caught.value) is kind
    assert waits == []


def test_the_key_goes_along(score: Callable[..., float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_API_KEY", "from-the-environment")
    service = Service()
    score(service, api_key="tacit_1_2")
    score(service)
    sent = [request.headers["Authorization"] for request in service.requests]
    assert sent == ["Bearer tacit_1_2", "Bearer from-the-environment"]
    monkeypatch.delenv("TACIT_API_KEY")
    score(service)
    assert "Authorization" not in service.requests[-1].headers


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://host", "http://", "bolt://localhost"])
def test_addresses_that_are_none(url: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(InputError, match="is no address of a service"):
            kind(url)


def test_keys_that_are_none() -> None:
    with pytest.raises(InputError, match="the API key"):
        Client(api_key="two\nlines")


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


def test_a_service_that_is_away_is_neither_alive_nor_ready() -> None:
    with Client(transport=httpx.MockTransport(Service(httpx.ConnectError("no"), problem(503)))) as client:
        assert client.health() is False
        assert client.ready() is False


@given(st.integers(1, 60), st.floats(0, 1e6), st.sampled_from([None, "0", "3", "soon", "-1", "1e9", "", "٣"]))
def test_waits_stay_within_their_bounds(attempt: int, spent: float, asked: str | None) -> None:
    patience = Patience()
    wait = patience.wait(attempt, spent, asked)
    if attempt > patience.retries:
        assert wait is None
    elif wait is not None:
        assert 0 <= wait - retry_after(asked) <= min(patience.longest, patience.first * 2 ** (attempt - 1)) + 1e-9
        assert spent + wait <= patience.seconds


def test_retry_after_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 25 <= retry_after(later) <= 30
    assert retry_after("Fri, 31 Dec 1999 23:59:59 GMT") == 0
    assert retry_after("tomorrow") == 0
