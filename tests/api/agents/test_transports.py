"""The server by the SDK's own client over stdio and HTTP: a thousand calls, every escape of Cypher, keys, and a clean stdout."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from typing import Any

import httpx
import pytest
from mcp import MCPError
from mcp.client.streamable_http import streamable_http_client
from tacit.graph import KnowledgeGraph

from tests.api.agents.conftest import Connected, Served, connected, over_http, text_of
from tests.api.server.conftest import PROGRAM
from tests.graph.query.refused_statements import COSTLY, HOSTILE

CALLS = 335  # three times: by either transport, and by HTTP with two versions of the protocol
TOGETHER = 20
ENDLESS = "UNWIND range(1, 10000000) AS x UNWIND range(1, 10000000) AS y RETURN count(*) AS c"


def test_a_thousand_concurrent_calls_succeed(far: Connected, index: KnowledgeGraph) -> None:
    others = ["bone", "doctor", "knife", "umbrella", "cat"]
    expected = index.hop_distances(["dog"], others)[0].tolist()

    async def calls(begin: int) -> list[tuple[int, Any]]:
        replies = []
        for number in range(begin, CALLS, TOGETHER):
            answer = await far.client.call_tool("hops", {"source": "dog", "targets": [others[number % 5]]})
            replies.append((number, answer))
        return replies

    async def all_of_them() -> list[list[tuple[int, Any]]]:
        return await asyncio.gather(*(calls(begin) for begin in range(TOGETHER)))

    answers = dict(call for some in far.run(all_of_them) for call in some)
    assert len(answers) == CALLS
    assert not [number for number, answer in answers.items() if answer.is_error]
    for number, answer in answers.items():
        [row] = json.loads(text_of(answer))["hops"]
        assert row == {"source": "dog", "target": others[number % 5], "hops": expected[number % 5]}


@pytest.mark.parametrize("far", ["stdio", "http"], indirect=True)
def test_every_escape_is_refused(far: Connected) -> None:
    before = far.text("cypher", query="MATCH (a)-[r]->(b) RETURN count(r) AS edges, sum(r.weight) AS weight")
    answered = [name for name, query in HOSTILE.items() if not far.call("cypher", query=query).is_error]
    assert answered == []
    for name in ("create", "copy to", "load csv http", "escape for a keyword"):
        text = text_of(far.call("cypher", query=HOSTILE[name]))
        assert text.count("\n") == 0
        assert len(text) < 400
        assert "refused" in text or "not allowed" in text
    assert far.text("cypher", query="MATCH (a)-[r]->(b) RETURN count(r) AS edges, sum(r.weight) AS weight") == before


def test_queries_in_place_of_cookbook_names_are_checked(near: Connected) -> None:
    for name in ("create", "delete", "load csv file", "home directory"):
        assert "the cookbook has no query" in text_of(near.call("run_cookbook", name=HOSTILE[name]))


def test_costly_queries_time_out(stdio: Connected) -> None:
    started = time.monotonic()
    names = ["long range in reduce", "doubling lists"]
    for name in names:
        stdio.call("cypher", query=COSTLY[name], timeout=0.5)
    assert time.monotonic() - started < 5 * len(names)
    result = stdio.call("cypher", query=ENDLESS, timeout=0.5)
    assert result.is_error
    assert "0.5 seconds" in text_of(result)


def test_both_transports_have_the_same_tools(stdio: Connected, served: Served) -> None:
    mine = stdio.run(stdio.client.list_tools).tools
    with over_http(served) as other:
        assert other.run(other.client.list_tools).tools == mine
        score = next(tool for tool in mine if tool.name == "score")
        assert score.input_schema["properties"]["metrics"]["items"]["enum"] == ["grounding", "length"]
        assert other.text("schema") == stdio.text("schema")
        assert other.client.instructions == stdio.client.instructions


def test_requests_need_and_send_the_key(served: Served) -> None:
    with pytest.raises((MCPError, BaseExceptionGroup)), connected(streamable_http_client(f"{served.url}/mcp")):
        pass
    with over_http(served) as client:
        client.text("hops", source="dog", targets=["bone"])
    for _ in range(200):
        events = [event for event in served.events() if event["event"] == "request"]
        request_ids = {event["request_id"] for event in events if event["route"] == "/v1/hops"}
        both = [event for event in events if event["request_id"] in request_ids]
        refused = {event["status"] for event in events if "key" not in event}
        if len(both) >= 2 * len(request_ids) > 0 and 401 in refused:
            break
        time.sleep(0.05)  # the log is written in the background
    assert {event["route"] for event in both} == {"/v1/hops", "/mcp"}
    assert len({event["key"] for event in both}) == 1
    assert 401 in refused


@pytest.mark.parametrize(
    ("method", "changed", "status"),
    [
        ("GET", {}, 405),
        ("DELETE", {}, 405),
        ("POST", {"host": "evil.example.org"}, 421),
        ("POST", {"origin": "https://evil.example.org"}, 403),
        ("POST", {"authorization": "Bearer wrong"}, 401),
        ("POST", {"content-type": "text/plain"}, 415),
        ("POST", {"content-length": "99999999"}, 413),
    ],
)
def test_the_limits_of_the_service_hold(served: Served, method: str, changed: dict[str, str], status: int) -> None:
    headers = {"authorization": f"Bearer {served.key}", "content-type": "application/json", "accept": "application/json"}
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}' if method == "POST" else b""
    if "content-length" in changed:
        body = b" " * (8 << 20) + body
        changed = {}
    answer = httpx.request(method, f"{served.url}/mcp", headers=headers | changed, content=body)
    assert answer.status_code == status
    assert answer.json()["type"].startswith("urn:tacit:problem:")
    assert answer.headers["x-request-id"]


def test_stdout_carries_the_protocol_only(sample_graph: str) -> None:
    """By hand, in the handshake of older clients, with a line that is not JSON; the program ends when stdin does."""
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    calls = {
        2: {"name": "hops", "arguments": {"source": "dog", "targets": ["cat"]}},
        3: {"name": "cypher", "arguments": {"query": "RETURN 1 AS one"}},
        4: {"name": "infer", "arguments": {"dialogue": ["I cooked dinner."]}},
    }
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call} for number, call in calls.items()),
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "mcp", sample_graph, "--metrics", "length"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write("".join(f"{line}\n" for line in ("this is not JSON", *map(json.dumps, messages))))
        process.stdin.flush()
        rows = []
        while not calls.keys() <= {row.get("id") for row in rows}:
            rows.append(json.loads(process.stdout.readline()))
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert [json.loads(line) for line in out.splitlines()] == []
    assert all(row["jsonrpc"] == "2.0" for row in rows)
    answers = {row["id"]: row["result"] for row in rows if "result" in row}
    assert answers[1]["serverInfo"]["name"] == "tacit"
    assert answers[1]["capabilities"].keys() == {"tools", "resources", "prompts"}
    assert json.loads(answers[3]["content"][0]["text"])["rows"] == [{"one": 1}]
    assert err == ""
