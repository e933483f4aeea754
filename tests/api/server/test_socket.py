"""The service as a process behind a socket: hostile and slow clients, the log, SIGTERM, keys, what is refused."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.server.conftest import HISTORY, PROGRAM, RESPONSE, Running, serving
from tests.api.server.test_middleware import until

Tacit = Callable[..., Any]
ITEM = {"items": [{"history": HISTORY, "response": RESPONSE}]}
HEAD = b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def exchange(port: int, *parts: bytes, pause: float = 0.0, patience: float = 15.0) -> bytes:
    """Send ``parts`` with pauses between them and return all that comes back until the other end closes."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
        try:
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
        except OSError:
            pass  # the other end has had enough, and may have said why
        try:
            while received := connection.recv(65_536):
                answer += received
        except ConnectionError:
            pass
    return answer


def status_of(answer: bytes) -> int:
    """The status of an answer, 0 when the connection was closed without one."""
    return int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0


def resident(pid: int) -> int:
    """Bytes of memory that a process holds."""
    with Path(f"/proc/{pid}/statm").open(encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_many_clients_at_once_all_get_their_answers(running: Running) -> None:
    limits = httpx.Limits(max_connections=200, keepalive_expiry=0.5)  # the service closes idle ones after a second
    with httpx.Client(base_url=running.url, limits=limits, timeout=60) as client:
        alone = client.post("/v1/score", json=ITEM).json()
        with ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda _: client.post("/v1/score", json=ITEM), range(400)))
    assert {answer.status_code for answer in answers} == {200}
    assert all(answer.json() == alone for answer in answers)


@pytest.mark.parametrize(
    ("parts", "statuses"),
    [
        ([b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20], {400}),
        ([b"GARBAGE\r\n\r\n"], {400}),
        ([HEAD + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\n12345"], {400}),
        ([HEAD + b"Content-Length: -5\r\n\r\n"], {400}),
        ([HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n"], {400}),
        ([HEAD + b"Connection: close\r\nContent-Length: 6\r\n\r\n\xff\xfe\x00{}}"], {400}),
        ([HEAD + b"Connection: close\r\nContent-Length: 3000000\r\n\r\n" + b" " * 3_000_000], {413}),
        ([HEAD + b"Expect: 100-continue\r\nContent-Length: 3000000\r\n\r\n"], {413}),
        ([HEAD + b"Content-Length: 99999999999999\r\n\r\n"], {413}),
        ([HEAD + b"Transfer-Encoding: chunked\r\n\r\n"] + [b"10000\r\n" + b"x" * 65_536 + b"\r\n"] * 40 + [b"0\r\n\r\n"], {413}),
        ([b"GET /healthz HTTP/1.1\r\n" + b"X-Long: " + b"y" * 200_000 + b"\r\n\r\n"], {0, 400}),
        ([b"GET /healthz HTTP/1.1\r\n"] + [b"X-More: yes\r\n" * 1000] * 20, {0, 400}),
        ([b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"y" * 40_000 + b"\r\n\r\n"], {0, 400}),
        ([b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X-More: yes\r\n" * 3_000 + b"\r\n"], {0, 400}),
        ([b"GET /healthz?" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"], {0, 400}),
        ([b"GET /" + b"a" * 65_600 + b" HTTP/1.1\r\n\r\n"], {400}),
        ([b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n"], {0, 400}),
    ],
)
def test_invalid_http_is_refused_or_disconnected(running: Running, parts: list[bytes], statuses: set[int]) -> None:
    response = exchange(running.port, *parts)
    assert status_of(response) in statuses
    if response:
        head, _, body = response.rpartition(b"\r\n\r\n")
        assert b"content-type: application/problem+json" in head.lower()
        assert json.loads(body)["status"] == status_of(response)
    assert httpx.get(f"{running.url}/healthz").status_code == 200


def test_each_of_many_heads_on_a_connection_may_be_long(running: Running) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"y" * 20_000 + b"\r\n"
    response = exchange(running.port, (head + b"\r\n") * 3 + head + b"Connection: close\r\n\r\n")
    assert response.count(b"HTTP/1.1 200 OK") == 4


def test_head_is_get_without_the_body(running: Running) -> None:
    with httpx.Client(base_url=running.url) as client:
        for path in ("/", "/healthz", "/readyz", "/static/app.js", "/v1/neighbours?concept=dog", "/v1/nothing", "/v1/score"):
            head, got = client.head(path), client.get(path)
            assert (head.status_code, head.content) == (got.status_code, b"")
            assert head.headers["content-length"] == str(len(got.content))
            assert head.headers["content-type"] == got.headers["content-type"]
    response = exchange(running.port, b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert response.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [b"POST /v1/score HTTP/1.1\r\n", b"Host: localhost\r\n"],
        [HEAD + b"Content-Length: 100\r\n\r\n", b"{", b'"'],
    ],
)
def test_slow_clients_time_out(running: Running, parts: list[bytes]) -> None:
    begun = time.monotonic()
    assert not exchange(running.port, *parts, pause=0.3)
    assert time.monotonic() - begun < 8


def test_an_idle_connection_is_closed_after_its_answer(running: Running) -> None:
    answer = exchange(running.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert status_of(answer) == 200


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc to read memory from")
def test_large_and_slow_bodies_use_bounded_memory(running: Running) -> None:
    before = resident(running.process.pid)
    with ThreadPoolExecutor(20) as pool:
        whole = HEAD + b"Connection: close\r\nContent-Length: 10000000\r\n\r\n" + b" " * 10_000_000
        statuses = set(pool.map(lambda _: status_of(exchange(running.port, whole, patience=60)), range(20)))
    assert statuses <= {0, 413}
    assert 413 in statuses
    assert resident(running.process.pid) - before < 100 << 20


def test_the_log_is_json_without_texts(running: Running) -> None:
    before = sum(event["event"] == "request" for event in running.events())
    httpx.post(f"{running.url}/v1/score", json={"items": [{"history": ["marmalade"], "response": "x"}]})
    until(lambda: {"listening", "request"} <= {event["event"] for event in running.events()})
    httpx.get(f"{running.url}/healthz?last=marked")
    until(lambda: sum(event["event"] == "request" for event in running.events()) >= before + 2)
    assert not any("marmalade" in line for line in running.lines)


def test_a_quiet_service_logs_errors_only(sample_graph: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["serve", sample_graph, "--metrics", "grounding", "--port", str(port), "--quiet"]
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *words], stderr=subprocess.PIPE, text=True) as process:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:

                def answers() -> bool:
                    with suppress(httpx.ConnectError):
                        return client.get("/healthz").status_code == 200
                    return False

                until(answers)
                assert client.get("/nowhere").status_code == 404
                slow = "MATCH (a)-[]->(b), (c)-[]->(d), (e)-[]->(f), (g)-[]->(h) RETURN count(*) AS n"
                assert client.post("/v1/cypher", json={"query": slow, "timeout": 0.5}).status_code == 504
        finally:
            process.terminate()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    logged = [(event["level"], event["event"], event["status"]) for event in map(json.loads, errors.splitlines())]
    assert logged == [("warning", "request", 504)]


def test_keys_from_the_command_line_work_and_sigterm_finishes_running_requests(
    tacit: Tacit, sample_graph: str, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    outcome = tacit("keys", "add", keys, "alice")
    key = outcome.out.strip()
    assert outcome.status == 0
    assert key not in outcome.err
    assert tacit("keys", "list", keys, "--json").json == [{"id": key.split("_")[1], "name": "alice"}]
    slow = "MATCH (a)-[]->(b), (c)-[]->(d), (e)-[]->(f), (g)-[]->(h) RETURN count(*) AS n"
    with serving(sample_graph, "--keys", str(keys)) as service, httpx.Client(base_url=service.url, timeout=60) as client:
        assert client.post("/v1/score", json=ITEM).status_code == 401
        client.headers["X-API-Key"] = key
        assert client.post("/v1/score", json=ITEM).status_code == 200
        answers: list[httpx.Response] = []
        thread = threading.Thread(target=lambda: answers.append(client.post("/v1/cypher", json={"query": slow, "timeout": 3})))
        thread.start()
        until(lambda: "tacit_cypher_open 1.0" in client.get("/metrics").text)
        assert service.stop() == 0
        thread.join(10)
        assert [answer.status_code for answer in answers] == [504]
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{service.url}/healthz")
        assert not any(key in line for line in service.lines)
        events = service.events()
        [scored] = [event for event in events if (event.get("route"), event.get("status")) == ("/v1/score", 200)]
        assert scored["key"] == key.split("_")[1]
        stopping, stopped = [event for event in events if event["event"] in ("stopping", "stopped")]
        assert stopping["running"] == 1
        assert stopping["detail"] == "SIGTERM: no new connections; finishing 1 request within 30 seconds"
        assert (stopped["unfinished"], stopped["detail"]) == (0, "all requests are answered")
    assert tacit("keys", "remove", keys, "bob").status == 2
    assert tacit("keys", "remove", keys, "alice").status == 0
    assert tacit("keys", "list", keys, "--json").json == []


def test_a_public_host_needs_keys_or_an_explicit_option(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    for words in (
        ["--host", "0.0.0.0"],
        ["--keys", tmp_path / "none"],
        ["--metrics", "nothing"],
        ["--limit", "items=many"],
        ["--keys", tmp_path / "none", "--no-auth"],
    ):
        outcome = tacit("serve", sample_graph, *words)
        assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1), outcome.err


def test_a_missing_extra_is_named(tacit: Tacit, sample_graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("tacit.api.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    outcome = tacit("serve", sample_graph)
    assert outcome.status == 1
    assert "pip install 'tacit-kg[serve]'" in outcome.err
    assert json.dumps(outcome.err).count("\\n") == 1


def test_a_port_in_use_is_one_sentence(tacit: Tacit, sample_graph: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        outcome = tacit("serve", sample_graph, "--port", taken.getsockname()[1])
    assert (outcome.status, outcome.err.count("\n")) == (2, 1), outcome.err
    assert "in use" in outcome.err
