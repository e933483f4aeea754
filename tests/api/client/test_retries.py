"""What the client does when the service is busy, away, slow, or no service at all; waits are counted, not slept."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.api import AsyncClient, Client
from tacit.api.client import RetryPolicy
from tacit.api.client.exchange import retry_after
from tacit.graph import (
    GraphError,
    GraphUnavailable,
    InputError,
    QueryInvalid,
    QueryRefused,
    QueryTimeout,
    ServiceError,
    ServiceUnavailable,
    UnknownName,
)

from tests.api.client.fake_service import Handler, Service, problem


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
def test_failed_requests_are_retried(score: Callable[..., float], waits: list[float], answer: httpx.Response | Exception) -> None:
    service = Service(answer, answer, answer)
    assert score(service) == 4
    assert len(service.requests) == 4
    assert [request.content for request in service.requests] == [service.requests[0].content] * 4
    assert len(waits) == 3
    assert all(0 <= wait <= 0.2 * 2**attempt for attempt, wait in enumerate(waits))


def test_retry_after_is_respected(score: Callable[..., float], waits: list[float]) -> None:
    assert score(Service(problem(503, **{"Retry-After": "7"}))) == 4
    assert 7 <= waits[0] <= 7.2


def test_it_gives_up_instead_of_exceeding_the_total_wait(score: Callable[..., float], waits: list[float]) -> None:
    service = Service(problem(503, "graph-unavailable", "the graph is away", **{"Retry-After": "3600"}))
    with pytest.raises(GraphUnavailable, match=r"^the graph is away \(request r-1\)$"):
        score(service)
    assert waits == []


def test_it_gives_up_after_the_maximum_of_attempts(score: Callable[..., float], waits: list[float]) -> None:
    service = Service(*[problem(429)] * 9)
    with pytest.raises(ServiceUnavailable, match="try again"):
        score(service, retry=RetryPolicy(retries=2))
    assert (len(service.requests), len(waits)) == (3, 2)


def test_an_unreachable_service_is_named(score: Callable[..., float], waits: list[float]) -> None:
    service = Service(*[httpx.ConnectError("connection refused")] * 9)
    with pytest.raises(ServiceUnavailable, match=r"http://127\.0\.0\.1:8000/v1/score cannot be reached \(connection refused\)"):
        score(service, retry=RetryPolicy(retries=1))
    assert len(waits) == 1


def test_a_timeout_is_not_retried(score: Callable[..., float], waits: list[float]) -> None:
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
        (problem(404, "unknown-concept"), UnknownName, "try again"),
        (problem(500, "failure"), ServiceError, "try again"),
        (httpx.Response(502, text="<html>bad gateway"), ServiceUnavailable, "answers 502 Bad Gateway"),
        (httpx.Response(500, json=["no", "document"]), ServiceError, "answers 500"),
        (httpx.Response(200, text="<html>hello"), ServiceError, "is not one of tacit's service"),
        (httpx.Response(200, json={"items": []}), ServiceError, "0 rows for 1 items"),
        (httpx.Response(200, json={"items": [{"id": 1}]}), ServiceError, "neither scores nor an error"),
        (httpx.Response(200, json=[1]), ServiceError, "is not one of tacit's service"),
        (httpx.Response(302, headers={"Location": "https://elsewhere.example"}), ServiceError, "answers 302"),
    ],
)
def test_problem_responses_raise_the_errors_of_the_library(
    score: Callable[..., float], waits: list[float], answer: httpx.Response, kind: type[Exception], match: str
) -> None:
    with pytest.raises(kind, match=match) as caught:
        score(Service(answer))
    assert type(caught.value) is kind
    assert waits == []


def test_requests_send_the_key(score: Callable[..., float], monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_invalid_addresses_are_refused(url: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(InputError, match="is not the address of a service"):
            kind(url)


def test_invalid_keys_are_refused() -> None:
    with pytest.raises(InputError, match="the API key"):
        Client(api_key="two\nlines")


def test_an_unreachable_service_is_neither_alive_nor_ready() -> None:
    with Client(transport=httpx.MockTransport(Service(httpx.ConnectError("no"), problem(503)))) as client:
        assert client.health() is False
        assert client.ready() is False


@given(st.integers(1, 60), st.floats(0, 1e6), st.sampled_from([None, "0", "3", "soon", "-1", "1e9", "", "٣"]))
def test_waits_are_within_their_bounds(attempt: int, spent: float, retry_after_header: str | None) -> None:
    policy = RetryPolicy()
    wait = policy.wait(attempt, spent, retry_after_header)
    if attempt > policy.retries:
        assert wait is None
    elif wait is not None:
        assert 0 <= wait - retry_after(retry_after_header) <= min(policy.longest, policy.first * 2 ** (attempt - 1)) + 1e-9
        assert spent + wait <= policy.seconds


def test_retry_after_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 25 <= retry_after(later) <= 30
    assert retry_after("Fri, 31 Dec 1999 23:59:59 GMT") == 0
    assert retry_after("tomorrow") == 0
