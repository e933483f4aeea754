"""What every request passes: ids, keys, sizes, the queue, the health of the graph, measurements, the log."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tacit.api.server import Keys, Settings
from tacit.api.server.keys import new_key, read_keys, write_keys
from tacit.api.server.telemetry import flush
from tacit.graph import GraphUnavailable, InputError, KnowledgeGraph
from tacit.reasoning import Reasoner

from tests.api.server.conftest import HISTORY, RESPONSE, InProcessClient
from tests.api.server.test_scores import Scripted

ITEM = {"items": [{"history": HISTORY, "response": RESPONSE}]}


def test_valid_request_ids_are_kept_and_others_replaced(ask: InProcessClient) -> None:
    answer = ask("GET", "/healthz", headers={"X-Request-ID": "run-7/item:3"})
    assert answer.headers["x-request-id"] == "run-7/item:3"
    ids = {ask("GET", "/healthz", headers={"X-Request-ID": header}).headers["x-request-id"] for header in ("", "a b", "x" * 200)}
    assert len(ids) == 3
    assert all(re.fullmatch(r"[0-9a-f]{16}-[0-9a-f]{8}", request_id) for request_id in ids)


def test_requests_need_a_valid_key(service: Callable[..., InProcessClient], tmp_path: Path) -> None:
    path = tmp_path / "keys"
    key, entry = new_key("alice")
    other, _ = new_key("mallory")
    write_keys(path, [entry])
    assert path.stat().st_mode & 0o077 == 0
    assert key[len("tacit_") :] not in path.read_text()
    ask = service(keys=Keys(path))
    for headers in ({"Authorization": f"Bearer {key}"}, {"authorization": f"bearer {key}"}, {"X-API-Key": key}):
        assert ask("POST", "/v1/score", json=ITEM, headers=headers).status_code == 200
    wrong: list[dict[str, str]] = [
        {}, {"Authorization": "Bearer"}, {"Authorization": f"Basic {key}"}, {"X-API-Key": other}, {"X-API-Key": key[:-1] + "~"},
        {"X-API-Key": key[:-1]}, {"X-API-Key": "tacit_000000000000_" + "A" * 43}, {"X-API-Key": "0" * 64},
    ]  # fmt: skip
    for headers in wrong:
        for path_ in ("/v1/score", "/v1/nothing", "/metrics"):
            answer = ask("POST", path_, json=ITEM, headers=headers)
            assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert key not in answer.text
    for open_path in ("/healthz", "/readyz", "/openapi.json"):
        assert ask("GET", open_path).status_code == 200


def test_a_removed_key_is_refused(
    service: Callable[..., InProcessClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[Keys.__module__], "_CHECK_SECONDS", 0.0)
    path = tmp_path / "keys"
    (first, event), (second, two) = new_key("alice"), new_key("bob")
    write_keys(path, [event])
    ask = service(keys=Keys(path))
    requests = [lambda key=key: ask("GET", "/v1/info", headers={"X-API-Key": key}).status_code for key in (first, second)]
    assert [event() for event in requests] == [200, 401]
    write_keys(path, [two])
    assert [event() for event in requests] == [401, 200]


def test_invalid_key_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Keys(tmp_path / "none")
    (tmp_path / "empty").write_text("# nobody yet\n")
    with pytest.raises(InputError, match="has no keys"):
        Keys(tmp_path / "empty")
    (tmp_path / "bad").write_text("secret\n")
    with pytest.raises(InputError, match="bad:1"):
        read_keys(tmp_path / "bad")
    for name in ("", " ", "a\nb"):
        with pytest.raises(InputError):
            new_key(name)


def test_large_bodies_are_refused_with_and_without_content_length(service: Callable[..., InProcessClient]) -> None:
    ask = service(body_bytes=1000)

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b" " * 300

    for content in (b" " * 1001, chunks()):
        answer = ask("POST", "/v1/score", content=content, headers={"content-type": "application/json"})
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:tacit:problem:too-large")
    padded = b" " * (900 - len(json.dumps(ITEM))) + json.dumps(ITEM).encode()
    assert ask("POST", "/v1/score", content=padded, headers={"content-type": "application/json"}).status_code == 200
    assert ask.app.state.service.batcher.waiting == 0


def test_bodies_that_arrive_together_are_limited_together(service: Callable[..., InProcessClient]) -> None:
    ask = service(bodies_bytes=1000)

    async def chunks(number: int) -> AsyncIterator[bytes]:
        for _ in range(number):
            yield b" " * 300

    statuses = [
        ask("POST", "/v1/score", content=chunks(number), headers={"content-type": "application/json"}).status_code
        for number in (3, 6, 3)
    ]
    assert statuses == [400, 429, 400], "not JSON, too many bytes at once, and none of them left behind"


class Waiting(Scripted):
    """A metric that scores only when it is told to."""

    name = "waiting"

    def __init__(self) -> None:
        self.go = threading.Event()
        self.batches: list[int] = []

    def score_batch(self, items: Any, *, explain: bool = False) -> Any:
        self.batches.append(len(items))
        assert self.go.wait(60)
        return super().score_batch(items, explain=explain)


def test_a_full_queue_is_a_429_and_what_waits_is_scored_together(
    service: Callable[..., InProcessClient], index: KnowledgeGraph
) -> None:
    metric = Waiting()
    ask = service(Reasoner(index, [metric]), waiting_items=6)
    request = ("POST", "/v1/score", {"items": [{"history": [], "response": "x"}]})
    two = ("POST", "/v1/score", {"items": [{"history": [], "response": "x"}] * 2})

    async def arrive() -> list[httpx.Response]:
        first = asyncio.create_task(ask._ask(request[0], request[1], {"json": request[2]}))
        while not metric.batches:
            await asyncio.sleep(0.01)
        others = [asyncio.create_task(ask._ask(way, path, {"json": body})) for way, path, body in [request] * 4 + [two] * 3]
        while sum(other.done() for other in others) < 2:  # those for which there is no room
            await asyncio.sleep(0.01)
        assert "tacit_queue_items 6.0" in (await ask._ask("GET", "/metrics", {})).text
        metric.go.set()
        return await asyncio.gather(first, *others)

    answers = asyncio.run(arrive())
    assert [answer.status_code for answer in answers] == [200] * 6 + [429] * 2
    assert answers[-1].json()["type"] == "urn:tacit:problem:queue-full"
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert metric.batches == [1, 6]


def test_a_timed_out_request_is_a_504_and_leaves_the_queue(
    service: Callable[..., InProcessClient], index: KnowledgeGraph
) -> None:
    metric = Waiting()
    ask = service(Reasoner(index, [metric]), request_seconds=0.3)
    body = {"items": [{"history": [], "response": "x"}]}
    answers = ask.together([("POST", "/v1/score", body)] * 3)
    assert {answer.status_code for answer in answers} == {504}
    metric.go.set()
    until(lambda: ask.app.state.service.batcher.waiting == 0)
    object.__setattr__(ask.app.state.service.settings, "request_seconds", 60.0)  # no machine is too slow for what follows
    assert ask("POST", "/v1/score", json=body).status_code == 200


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() - begun < 60
        time.sleep(0.01)


class Mortal:
    """A graph whose store can go away and come back, or not answer at all."""

    url = "bolt://127.0.0.1:1"

    def __init__(self, index: KnowledgeGraph) -> None:
        self._index = index
        self.pings = 0
        self.state = "up"
        self.back = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    @property
    def store(self) -> Any:
        return self

    def run(self, *_: Any, **__: Any) -> None:
        self.pings += 1
        if self.state == "hangs":
            assert self.back.wait(60)
        if self.state != "up":
            raise GraphUnavailable("the server does not answer; start it")


def test_readiness_fails_while_the_store_is_away(service: Callable[..., InProcessClient], index: KnowledgeGraph) -> None:
    graph = Mortal(index)
    ask = service(Reasoner(graph, ["grounding"]), ready_seconds=1e-9, ping_seconds=60.0)

    def status_codes() -> set[int]:
        answers = [
            ask("GET", "/readyz"),
            ask("POST", "/v1/score", json=ITEM),
            ask("GET", "/v1/concepts/dog"),
            ask("GET", "/v1/info"),
        ]
        for answer in answers:
            assert answer.status_code == 200 or int(answer.headers["retry-after"]) >= 1
        return {answer.status_code for answer in answers}

    assert status_codes() == {200}
    graph.state = "gone"
    assert status_codes() == {503}
    assert ask("GET", "/healthz").status_code == 200
    assert "tacit_graph_up 0.0" in ask("GET", "/metrics").text
    graph.state = "up"
    assert status_codes() == {200}
    assert "tacit_graph_up 1.0" in ask("GET", "/metrics").text
    graph.state = "hangs"
    ask.app.state.service.health._timeout = 0.1
    before = graph.pings
    assert status_codes() == {503}
    assert graph.pings == before + 1, "one question is on its way; the others are told what is known"
    ask.app.state.service.health._timeout = 60.0  # no machine is too slow for what follows
    graph.state = "up"
    graph.back.set()
    until(lambda: ask.app.state.service.health.up)
    assert status_codes() == {200}


def test_the_first_requests_wait_while_the_engine_of_a_large_graph_opens(
    service: Callable[..., InProcessClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = service(ping_seconds=0.05)
    health = ask.app.state.service.health
    ping = health._ping

    def slow(answer: Any) -> None:
        time.sleep(0.5)
        ping(answer)

    monkeypatch.setattr(health, "_ping", slow)
    assert {response.status_code for response in ask.together([("GET", "/readyz", None), ("POST", "/v1/score", ITEM)] * 5)} == {
        200
    }
    assert health.up


def test_readiness_queries_the_store_at_most_once_a_second(
    service: Callable[..., InProcessClient], index: KnowledgeGraph
) -> None:
    graph = Mortal(index)
    ask = service(Reasoner(graph, ["grounding"]), ready_seconds=60)
    ask.together([("GET", "/readyz", None)] * 50 + [("POST", "/v1/score", ITEM)] * 50)
    assert graph.pings == 1


def test_prometheus_metrics_count_requests_batches_and_items(ask: InProcessClient) -> None:
    ask("POST", "/v1/score", json={"items": [{"history": [], "response": "x"}] * 3})
    ask("POST", "/v1/score", json={})
    ask("GET", "/v1/concepts/dog")
    ask("GET", "/nothing/here")
    text = ask("GET", "/metrics").text
    for line in (
        'tacit_requests_total{method="POST",route="/v1/score",status="200"} 1.0',
        'tacit_requests_total{method="POST",route="/v1/score",status="422"} 1.0',
        'tacit_requests_total{method="any",route="other",status="404"} 1.0',
        'tacit_items_scored_total{metric="grounding"} 3.0',
        "tacit_batch_items_sum 3.0",
        'tacit_request_seconds_count{route="/v1/score"} 2.0',
        "tacit_graph_up 1.0",
    ):
        assert line in text
    assert "dog" not in text


@pytest.mark.parametrize("log_text", [False, True])
def test_the_log_contains_texts_only_if_enabled(
    service: Callable[..., InProcessClient], index: KnowledgeGraph, capfd: pytest.CaptureFixture[str], log_text: bool
) -> None:
    ask = service(Reasoner(index, [Scripted(), "grounding"]), logging=True, log_text=log_text)
    secret = {"items": [{"history": ["marmalade"], "response": "fault"}], "metrics": ["scripted"]}
    ask("POST", "/v1/score", json=secret, headers={"X-Request-ID": "mine"})
    ask("POST", "/v1/explain", json={"history": ["marmalade"], "response": "x" * 400_001})
    ask("GET", "/v1/concepts/marmalade")
    ask("GET", "/v1/neighbours", params={"concept": "marmalade"})
    ask("GET", "/marmalade")
    flush()
    err = capfd.readouterr().err
    rows = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert [row["event"] for row in rows] == ["request"] * 5
    assert rows[0]["request_id"] == "mine"
    assert (rows[0]["route"], rows[0]["status"], rows[0]["items"]) == ("/v1/score", 200, 1)
    assert ("marmalade" in err) == log_text


def test_head_is_logged_as_such(service: Callable[..., InProcessClient], capfd: pytest.CaptureFixture[str]) -> None:
    answer = service(logging=True)("HEAD", "/healthz")
    assert (answer.status_code, answer.content) == (200, b"")
    flush()
    row = json.loads(capfd.readouterr().err.splitlines()[-1])
    assert (row["method"], row["route"], row["bytes_out"]) == ("HEAD", "/healthz", 0)


def test_an_unexpected_error_is_a_500_whose_id_is_in_the_log(
    service: Callable[..., InProcessClient],
    index: KnowledgeGraph,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ask = service()

    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("marmalade")

    monkeypatch.setattr(type(index), "paths", broken)
    answer = ask("GET", "/v1/paths", params={"source": "dog", "target": "cat"})
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    failure, request = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    assert (failure["level"], failure["event"], failure["error"]) == ("error", "failure", "ZeroDivisionError")
    assert (request["level"], request["event"], request["status"]) == ("warning", "request", 500)
    assert failure["request_id"] == request["request_id"] == answer.headers["x-request-id"]
    assert "marmalade" not in answer.text + json.dumps([failure, request])


def test_settings_are_checked() -> None:
    assert Settings.of(["items=5", "request_seconds=1.5"]).items == 5
    for wrong in ("item=5", "items", "items=many", "items=0", "log_text=1", "items=-1"):
        with pytest.raises(InputError):
            Settings.of([wrong])
