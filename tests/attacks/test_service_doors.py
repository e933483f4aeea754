"""Attacks on the service's doors: what one hostile client, web page or lost file may not do to it.

Each test attacks one application in this process, or one server on loopback with short limits. Tests marked ``long`` repeat an
attack at full size: ``pytest -m long``.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel
from tacit.api.server import Keys, Settings, create_app
from tacit.api.server.bodies import VALUES, count_values, parse
from tacit.api.server.keys import editing_keys, new_key, read_keys, write_keys
from tacit.api.server.listening import Server, bind, client_of, server_config
from tacit.api.server.problems import Problem
from tacit.api.server.schemas import CypherRequest, ExplainRequest, ScoreRequest
from tacit.graph import InputError
from tacit.reasoning import Reasoner

ITEM = {"items": [{"history": [], "response": "a dog"}]}
HEAD = b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
LIMITS: dict[str, Any] = {"header_seconds": 0.5, "body_seconds": 0.7, "idle_seconds": 30, "client_connections": 24}


class App:
    """An application that is asked in this process, as from a browser or another program."""

    def __init__(self, keys: Path | None = None, host_names: tuple[str, ...] = (), **limits: Any) -> None:
        known = None if keys is None else Keys(keys)
        self.app = create_app(Reasoner(None, ["length"]), keys=known, settings=Settings(**limits), host_names=host_names)

    def __call__(self, method: str, path: str, base: str = "http://127.0.0.1:8000", **content: Any) -> httpx.Response:
        async def asked() -> httpx.Response:
            async with httpx.AsyncClient(transport=_Bound(app=self.app), base_url=base) as client:
                return await client.request(method, path, **content)

        return asyncio.run(asked())


class _Bound(httpx.ASGITransport):
    """Carries requests to an application that listens at 127.0.0.1, whatever host they name."""

    def __init__(self, app: Any) -> None:
        async def here(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "server": ("127.0.0.1", 8000)}, receive, send)

        super().__init__(here)


class Running:
    """The service at a socket of this machine, in a thread."""

    def __init__(self, keys: Path) -> None:
        self.settings = Settings(**LIMITS)
        self.app = create_app(Reasoner(None, ["length"]), keys=Keys(keys), settings=self.settings)
        self.socket = bind("127.0.0.1", 0)
        self.port = self.socket.getsockname()[1]
        self.server = Server(server_config(self.app, self.settings), quiet=True)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],), daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def alive(self) -> bool:
        """Whether a client that behaves is answered."""
        return httpx.get(f"http://127.0.0.1:{self.port}/healthz", timeout=5).status_code == 200

    def open(self) -> int:
        return len(self.server.server_state.connections)

    def emptied(self, seconds: float) -> bool:
        """Whether all connections are closed within ``seconds``."""
        until = time.monotonic() + seconds
        while self.open() and time.monotonic() < until:
            time.sleep(0.02)
        return not self.open()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("doors") / "keys"
    write_keys(path, [new_key("alice")[1]])
    return path


@pytest.fixture(scope="module")
def running(keys: Path) -> Iterator[Running]:
    service = Running(keys)
    yield service
    service.server.should_exit = True
    service.thread.join(10)


def read(connection: socket.socket) -> bytes:
    """All that comes until the other end closes."""
    received = b""
    try:
        while part := connection.recv(65_536):
            received += part
    except ConnectionError:
        pass
    return received


def flood(connection: socket.socket, data: bytes, limit: int, pause: float = 0.001) -> int:
    """Send ``data`` again and again, and return how often that went well before the other end had enough, at most ``most``."""
    for number in range(limit):
        try:
            connection.sendall(data)
        except OSError:
            return number
        time.sleep(pause)
    return limit


# Bodies of many values


BOMBS = {
    "objects": (b'{"items":[', b"{}", b"]}"),
    "lists": (b'{"items":[', b"[[]]", b"]}"),
    "items": (b'{"items":[', b'{"history":[],"response":""}', b"]}"),
    "turns": (b'{"items":[{"response":"","history":[', b'""', b"]}]}"),
    "numbers": (b'{"items":[{"response":"","history":[', b"1", b"]}]}"),
    "metrics": (b'{"items":[],"metrics":[', b"0", b"]}"),
}


def bomb(name: str, size: int) -> bytes:
    before, bomb_bytes, after = BOMBS[name]
    return before + b",".join([bomb_bytes] * (size // (len(bomb_bytes) + 1))) + after


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("size", [900_000, pytest.param(8_000_000, marks=pytest.mark.long)])
def test_refusing_a_body_of_many_values_takes_little_memory(name: str, size: int) -> None:
    body = bomb(name, size)
    gc.collect()
    tracemalloc.start()
    try:
        with pytest.raises(Problem) as caught:
            parse(body, ScoreRequest, few)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.status == 422
    assert caught.value.kind == ("too-many-items" if name == "items" and size < 1_000_000 else "too-many-values")
    assert len(caught.value.extra.get("errors", ())) <= 20
    assert peak < 40e6 + 3 * size


def few(body: Any) -> None:
    if len(body["items"]) > 1_000:
        raise Problem(422, "too-many-items", "too many")


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (ScoreRequest, {"items": [{}] * 1_000}),
        (ScoreRequest, {"items": [{"history": [1] * 5_000, "response": "x"}] * 10}),
        (ScoreRequest, {"items": [{str(number): 1 for number in range(50_000)}]}),
        (ExplainRequest, {str(number): 1 for number in range(50_000)}),
        (CypherRequest, {"query": 1, **{str(number): 1 for number in range(50_000)}}),
    ],
)
def test_the_number_of_reported_errors_is_limited(model: type[BaseModel], body: Any) -> None:
    content = json.dumps(body).encode()
    tracemalloc.start()
    try:
        with pytest.raises(Problem) as caught:
            parse(content, model)  # type: ignore[type-var]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.kind == "invalid-body"
    assert 1 <= len(caught.value.extra["errors"]) <= 20
    assert peak < 20e6


def test_values_within_texts_are_not_counted() -> None:
    assert count_values(b'{"a": [1, 2, {"b,[{": "x,\\",[{\\\\"}, []]}') == 8  # 7 values
    long = ",[{" * 200_000
    body = json.dumps({"items": [{"history": [long[:150_000]], "response": long[:199_999]}]}).encode()
    assert count_values(body) < 10
    assert len(parse(body, ScoreRequest).items) == 1
    two = [json.dumps(["a,b\\" * 70_000, "["]).encode(), json.dumps(['"' * 300_000, 1, 2]).encode()]
    assert [count_values(body) for body in two] == [3, 4]  # texts that cross the blocks in which a body is read


def test_bodies_of_the_maximum_size_are_accepted() -> None:
    assert count_values(b"[" + b",".join([b"0"] * (VALUES - 2)) + b"]") < VALUES
    items = [{"history": ["Good morning."] * 20, "response": "a dog"}] * 1_000
    assert len(parse(json.dumps({"items": items}).encode(), ScoreRequest).items) == 1_000


def test_empty_turns_count_as_work() -> None:
    app = App()
    answer = app("POST", "/v1/score", json={"items": [{"history": [""] * 190_000, "response": ""}]}).json()
    assert "error" not in answer["items"][0]
    app = App(item_characters=100)
    answer = app("POST", "/v1/score", json={"items": [{"history": [""] * 101, "response": ""}]}).json()
    assert "at most 100" in answer["items"][0]["error"]


@pytest.mark.parametrize(
    "body", [b'{"items":' + b"[" * 5_000, b'{"items": 1' + b"0" * 5_000 + b"}", b'"\\ud800"', b"{} {}", b"NaN"]
)
def test_invalid_json_is_a_400(body: bytes) -> None:
    with pytest.raises(Problem) as caught:
        parse(body, ScoreRequest)
    assert caught.value.status == 400


def test_large_bodies_are_parsed_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.api.server import bodies

    threads: list[str] = []
    real = bodies.parse

    def parse_here(*arguments: Any) -> Any:
        threads.append(threading.current_thread().name.partition("_")[0])
        return real(*arguments)

    monkeypatch.setattr(bodies, "parse", parse_here)
    app = App()
    for size in (10, 100_000):
        assert app("POST", "/v1/score", json={"items": [{"history": [], "response": "x" * size}]}).status_code == 200
    assert threads == ["MainThread", "parsing"]


# Trailers, slow bodies, many connections: all without a key


@pytest.mark.parametrize("path", ["/v1/score", "/healthz"])
def test_endless_trailers_are_disconnected(running: Running, path: str) -> None:
    line = b"X-Trailer: " + b"y" * 8_000 + b"\r\n"
    with running.connect() as connection:
        connection.sendall(HEAD.replace(b"/v1/score", path.encode()) + b"Transfer-Encoding: chunked\r\n\r\n0\r\n")
        assert flood(connection, line, 1_000) < 1_000
    assert running.emptied(3)


def test_endless_trailer_values_and_chunk_extensions_are_disconnected(running: Running) -> None:
    for begin in (b"0\r\nX-Trailer: ", b"1;extension="):
        with running.connect() as connection:
            connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + begin)
            assert flood(connection, b"y" * 8_000, 1_000) < 1_000
    assert running.emptied(3)


def test_slow_trailers_have_the_time_limit_of_bodies(running: Running) -> None:
    with running.connect() as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n")
        assert flood(connection, b"X-Trailer: y\r\n", 100, pause=0.05) < 100


def test_trailers_do_not_become_headers(running: Running, keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[Keys.__module__], "_CHECK_SECONDS", 0.0)
    key, entry = new_key("trailer")
    with editing_keys(keys) as entries:
        entries.append(entry)
    body = json.dumps(ITEM).encode()
    chunk = b"%x\r\n%b\r\n" % (len(body), body)
    with running.connect() as connection:
        connection.sendall(
            HEAD
            + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            + chunk
            + b"0\r\nX-API-Key: "
            + key.encode()
            + b"\r\n\r\n"
        )
        assert read(connection).startswith(b"HTTP/1.1 401")
    with running.connect() as connection:
        head = HEAD.replace(b"Content-Type: application/json\r\n", b"X-API-Key: %b\r\n" % key.encode())
        late = b"Content-Type: application/json\r\n\r\n"
        connection.sendall(head + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunk + b"0\r\n" + late)
        assert read(connection).startswith(b"HTTP/1.1 415")
    with running.connect() as connection:
        head = HEAD + b"X-API-Key: %b\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" % key.encode()
        connection.sendall(head + chunk + b"0\r\nX-More: yes\r\n\r\n")
        assert read(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (HEAD, 401),
        (HEAD.replace(b"Host: localhost", b"Host: evil.example"), 421),
        (HEAD + b"Origin: http://evil.example\r\n", 403),
        (GET.replace(b"GET", b"POST"), 415),
        (GET.replace(b"GET", b"POST") + b"Content-Type: application/json\r\nContent-Length: 99999999999\r\n", 413),
    ],
)
def test_a_refused_request_closes_its_connection(running: Running, head: bytes, status: int) -> None:
    length = b"" if b"Length" in head else b"Content-Length: 100000\r\n"
    with running.connect() as connection:
        connection.sendall(head + length + b"\r\n{")
        begun = time.monotonic()
        answer = read(connection)
    assert int(answer[9:12]) == status
    assert time.monotonic() - begun < 4


def test_a_client_that_is_still_sending_gets_the_error_response(running: Running) -> None:
    with running.connect() as connection:
        connection.sendall(HEAD + b"Content-Length: 3000000\r\n\r\n")
        for _ in range(3):
            connection.sendall(b" " * 1_000_000)
        assert read(connection).startswith(b"HTTP/1.1 401")


def test_slow_bodies_of_one_client_do_not_block_others(running: Running) -> None:
    number = 2 * LIMITS["client_connections"]
    connections = [running.connect() for _ in range(number)]
    try:
        for connection in connections:
            flood(connection, HEAD + b"Content-Length: 1000\r\n\r\n{", 1, 0)
        time.sleep(0.2)
        assert running.open() <= LIMITS["client_connections"]
        begun = time.monotonic()
        while running.open() and time.monotonic() - begun < 5:
            for connection in connections:
                flood(connection, b"x", 1, 0)
            time.sleep(0.1)
        assert time.monotonic() - begun < 5, "connections of one byte now and then stay open"
        assert running.alive()
    finally:
        for connection in connections:
            connection.close()


def test_clients_are_counted_by_address_or_network() -> None:
    assert {client_of(address) for address in ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:0:1::")} == {"2001:db8::/64"}
    assert client_of("2001:db8:0:1::1") == "2001:db8:0:1::/64"
    assert client_of("::ffff:10.0.0.1") == client_of("10.0.0.1") == "10.0.0.1"


@pytest.mark.parametrize("first", [b"", b"G", GET, b"\r\n"])
def test_slow_request_heads_time_out(running: Running, first: bytes) -> None:
    with running.connect() as connection:
        begun = time.monotonic()
        connection.sendall(first)
        read(connection)
    assert time.monotonic() - begun < 4


def test_many_pipelined_requests_are_disconnected(running: Running) -> None:
    with running.connect() as connection:
        connection.sendall((GET + b"\r\n") * 4 + GET + b"Connection: close\r\n\r\n")
        assert read(connection).count(b"HTTP/1.1 200") == 5
    with running.connect() as connection:
        connection.sendall((GET + b"\r\n") * 5_000)
        assert read(connection).count(b"HTTP/1.1 200") < 20
    assert running.alive()


def test_a_half_closed_connection_is_answered(running: Running) -> None:
    for request in (GET + b"\r\n", (GET + b"\r\n") * 3):
        with running.connect() as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            assert read(connection).count(b"HTTP/1.1 200") == request.count(b"GET")
    with running.connect() as connection:
        connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        connection.shutdown(socket.SHUT_WR)
        assert not read(connection).startswith(b"HTTP/1.1 200")
    assert running.emptied(3)


@pytest.mark.long
def test_four_thousand_slow_connections_do_not_block_others(sample_graph: str, keys: Path) -> None:
    program = "import sys; from tacit.api.main import main; sys.argv[0] = 'tacit'; main()"
    words = [sys.executable, "-c", program, "serve", sample_graph, "-m", "grounding", "--keys", str(keys), "--port", "0"]
    attack = (
        "import socket, sys, time, resource\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)\n"
        "made = []\n"
        "for _ in range(4110):\n"
        "    try:\n"
        "        made.append(socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=5))\n"
        f"        made[-1].sendall({HEAD!r} + b'Content-Length: 1000\\r\\n\\r\\n')\n"
        "    except OSError: pass\n"
        "print('open', flush=True)\n"
        "time.sleep(25)\n"
    )
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as service:
        assert service.stderr is not None
        line = next(line for line in service.stderr if '"listening"' in line)
        reader = threading.Thread(target=service.stderr.read, daemon=True)
        reader.start()
        port = json.loads(line)["url"].rpartition(":")[2]
        with subprocess.Popen([sys.executable, "-c", attack, port], stdout=subprocess.PIPE, text=True) as attacker:
            assert attacker.stdout is not None
            attacker.stdout.readline()
            begun, answered = time.monotonic(), 0
            while time.monotonic() - begun < 15:
                try:  # from another address, since the attacker has used up its own
                    transport = httpx.HTTPTransport(local_address="127.0.0.2")
                    with httpx.Client(transport=transport, timeout=3) as client:
                        answered += client.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
                except httpx.TransportError:
                    answered -= 1_000
                time.sleep(0.2)
            attacker.kill()
        service.terminate()
        assert service.wait(60) == 0
        reader.join(10)
    assert answered > 10


# Web pages of other sites


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8000"}, 200),
        ({"Host": "LOCALHOST."}, 200),
        ({"Host": "[::1]:8000"}, 200),
        ({"Host": "127.0.0.1"}, 200),
        ({"Host": "tacit.example"}, 200),
        ({"Host": "tacit.example:443"}, 200),
        ({"Host": "[2001:DB8::7]"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "localhost.evil.example"}, 421),
        ({"Host": "evil.example:8000"}, 421),
        ({"Host": "192.168.1.7"}, 421),
        ({"Host": "localhost@evil.example"}, 421),
        ({"Host": ""}, 421),
        ({"Host": "evil.example", "X-Forwarded-Host": "localhost"}, 421),
    ],
)
@pytest.mark.parametrize("path", ["/v1/info", "/", "/healthz", "/openapi.json", "/static/app.js"])
def test_the_host_header_must_name_this_service(app: App, headers: dict[str, str], status: int, path: str) -> None:
    answer = app("GET", path, headers=headers)
    assert answer.status_code == status
    assert status == 200 or answer.json()["type"] == "urn:tacit:problem:misdirected"


@pytest.fixture(scope="module")
def app() -> App:
    return App(host_names=("tacit.example", "[2001:db8::7]", "proxy.example:8443"))


def test_two_hosts_or_none_are_a_bad_request(running: Running) -> None:
    for hosts, version, status in ((b"Host: localhost\r\nHost: evil\r\n", b"1.1", 400), (b"", b"1.1", 400), (b"", b"1.0", 200)):
        with running.connect() as connection:
            connection.sendall(b"GET /healthz HTTP/" + version + b"\r\n" + hosts + b"Connection: close\r\n\r\n")
            assert int(read(connection)[9:12]) == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://127.0.0.1:8000"}, 200),
        ({"Origin": "http://localhost:8000", "Host": "localhost:8000"}, 200),
        ({"Origin": "https://tacit.example", "Host": "tacit.example"}, 200),
        ({"Origin": "https://tacit.example", "Host": "127.0.0.1:8000"}, 200),  # a proxy that names the service by its address
        ({"Origin": "https://proxy.example:8443", "Host": "127.0.0.1:8000"}, 200),
        ({"Origin": "https://proxy.example", "Host": "127.0.0.1:8000"}, 403),
        ({"Origin": "http://localhost:3000"}, 403),
        ({"Origin": "http://127.0.0.1:3000"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "https://tacit.example.evil"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
    ],
)
def test_pages_of_other_sites_are_refused(app: App, headers: dict[str, str], status: int) -> None:
    for answer in (app("POST", "/v1/score", json=ITEM, headers=headers), app("GET", "/v1/cookbook", headers=headers)):
        assert answer.status_code == status
        assert "access-control-allow-origin" not in answer.headers
    if status == 403 and "Origin" in headers:
        preflight = app("OPTIONS", "/v1/score", headers={**headers, "Access-Control-Request-Method": "POST"})
        assert (preflight.status_code, "access-control-allow-origin" in preflight.headers) == (403, False)


def test_a_key_does_not_allow_another_site(keys: Path) -> None:
    key, entry = new_key("bob")
    with editing_keys(keys) as entries:
        entries.append(entry)
    ask = App(keys)
    for headers, status in (({}, 200), ({"Origin": "http://evil.example"}, 403), ({"Host": "evil.example"}, 421)):
        assert ask("POST", "/v1/score", json=ITEM, headers={"X-API-Key": key, **headers}).status_code == status


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        (None, 415),
        ("", 415),
        ("text/plain", 415),
        ("text/plain; application/json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/jsonp", 415),
    ],
)
@pytest.mark.parametrize("path", ["/v1/score", "/v1/cypher", "/v1/explain"])
def test_bodies_need_the_content_type_json(app: App, kind: str | None, status: int, path: str) -> None:
    content = json.dumps(ITEM).encode()
    answer = app("POST", path, content=content, headers={} if kind is None else {"content-type": kind})
    assert (answer.status_code == 415) == (status == 415)
    assert app("POST", path, headers={} if kind is None else {"content-type": kind}).status_code in {status, 400}


def test_names_of_hosts_are_checked() -> None:
    for name in ("http://tacit.example", "a b", "", "tacit.example/x", "user@tacit.example"):
        with pytest.raises(InputError, match="is not a host name"):
            App(host_names=(name,))


# Headers of answers


@pytest.mark.parametrize(
    "path",
    [
        "/static?x=%0D%0AX-Injected:%201",
        "/static%0D%0AX-Injected:%201",
        "/static/%0d%0aX-Injected:%201?x=%0d%0aX-Injected:%201",
        "/v1/concepts/%0D%0AX-Injected:%201",
        "/v1/score/?x=%0D%0AX-Injected:%201",
        "//evil.example/%0D%0AX-Injected:%201/..",
        "/healthz/?%0D%0AX-Injected:%201",
    ],
)
def test_headers_cannot_be_injected(running: Running, path: str) -> None:
    with running.connect() as connection:
        connection.sendall(b"GET %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path.encode())
        head, _, _ = read(connection).partition(b"\r\n\r\n")
    names = {line.partition(b":")[0].lower() for line in head.split(b"\r\n")[1:]}
    assert b"x-injected" not in names
    assert names <= {
        b"date", b"content-length", b"content-type", b"x-request-id", b"connection", b"x-content-type-options",
        b"cross-origin-resource-policy", b"www-authenticate", b"allow", b"location",
    }  # fmt: skip
    assert b"location: http://evil" not in head.lower()
    assert b"location: //" not in head.lower()


def test_invalid_request_ids_are_not_echoed(running: Running) -> None:
    for header in (b"a\tb", b"x\x0bX-Injected: 1", b"\xff", b"y" * 129):
        with running.connect() as connection:
            connection.sendall(GET + b"Connection: close\r\nX-Request-ID: " + header + b"\r\n\r\n")
            assert header not in read(connection)


# Files of keys, and the served folder


def test_keys_added_by_concurrent_threads_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "keys"

    def add(number: int) -> None:
        with editing_keys(path, create=True) as entries:
            entries.append(new_key(f"name {number}")[1])

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(add, range(48)))
    assert sorted(entry.name for entry in read_keys(path)) == sorted(f"name {number}" for number in range(48))
    assert [file.name for file in tmp_path.iterdir()] == ["keys"]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.long
def test_keys_added_by_concurrent_processes_are_all_kept(tmp_path: Path) -> None:
    program = "import sys; from tacit.api.main import main; sys.argv[0] = 'tacit'; main()"
    words = [sys.executable, "-c", program, "keys", "add", str(tmp_path / "keys")]
    started = [subprocess.Popen([*words, f"name {number}"], stdout=subprocess.DEVNULL) for number in range(12)]
    assert [process.wait(120) for process in started] == [0] * 12
    assert len(read_keys(tmp_path / "keys")) == 12


def test_a_failed_change_leaves_the_key_file_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    with pytest.raises(ZeroDivisionError), editing_keys(path, create=True):
        raise ZeroDivisionError
    assert not path.exists()
    with pytest.raises(InputError, match="cannot be opened"), editing_keys(path):
        pass
    write_keys(path, [new_key("alice")[1]])
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), editing_keys(path) as entries:
        entries[:] = [1 / 0]  # type: ignore[list-item]
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["deleted", "garbled", "binary", "folder"])
def test_a_missing_key_file_refuses_everyone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], damage: str
) -> None:
    monkeypatch.setattr(sys.modules[Keys.__module__], "_CHECK_SECONDS", 0.0)
    path = tmp_path / "keys"
    key, entry = new_key("alice")
    write_keys(path, [entry])
    ask = App(path)

    def asked() -> list[int]:
        with_key = ask("POST", "/v1/score", json=ITEM, headers={"X-API-Key": key})
        without = ask("POST", "/v1/score", json=ITEM)
        ready = ask("GET", "/readyz")
        for answer in (with_key, ready):
            if answer.status_code == 503:
                assert answer.json()["type"] == "urn:tacit:problem:keys-unavailable"
                assert str(tmp_path) not in answer.text
        return [with_key.status_code, without.status_code, ready.status_code]

    assert asked() == [200, 401, 200]
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "deleted":
        path.write_bytes(b"half a li" if damage == "garbled" else os.urandom(300))
    assert asked() == [503, 401, 503]
    assert ask("GET", "/healthz").status_code == 200
    assert f'"event":"keys","detail":"the keys at {path}' in (err := capfd.readouterr().err) or f"{path}:1" in err
    if damage == "folder":
        path.rmdir()
    write_keys(path, [entry])
    assert asked() == [200, 401, 200]


@pytest.mark.parametrize("change", ["loaded again", "deleted"])
def test_a_changed_served_folder_is_reported(graph_copy: Path, change: str, tacit: Callable[..., Any], tmp_path: Path) -> None:
    from tacit.graph import open_graph, open_index

    with open_graph(str(graph_copy)) as store, open_index(store) as index:
        application = create_app(Reasoner(index, ["grounding"]))
        ask = App.__new__(App)
        ask.app = application
        digest = ask("GET", "/v1/info").json()["graph"]["digest"]
        count = {"query": "MATCH (a:Concept) RETURN count(a) AS n"}
        assert ask("GET", "/v1/info").json()["graph"]["changed"] is None
        assert ask("POST", "/v1/cypher", json=count).status_code == ask("GET", "/readyz").status_code == 200
        if change == "deleted":
            shutil.rmtree(graph_copy)
        else:
            (tmp_path / "more.tsv").write_text("PersonX sleeps\txWant\tto dream\n")
            assert tacit("load", "atomic2020", tmp_path / "more.tsv", "--into", graph_copy).status == 0
        info = ask("GET", "/v1/info").json()["graph"]
        assert (info["digest"], change in info["changed"]) == (digest, True)
        for answer in (ask("GET", "/readyz"), ask("POST", "/v1/cypher", json=count)):
            assert (answer.status_code, answer.json()["type"]) == (503, "urn:tacit:problem:graph-changed")
            assert change in answer.json()["detail"]
        scored = ask("POST", "/v1/score", json=ITEM).json()["items"][0]
        assert f"graph:{digest}" in scored["signature"]["grounding"]
        application.state.service.close()


@pytest.fixture
def graph_copy(sample_graph: str, tmp_path: Path) -> Path:
    """A small graph that a test may spoil."""
    return Path(shutil.copytree(sample_graph, tmp_path / "graph"))
