"""A Neo4j server that dies under load and comes back: the service says so, answers 503 meanwhile, and goes on by itself."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tacit.api.main import run

from ...conftest import credentials
from ...graph.test_reliability import OwnServer
from .conftest import HISTORY, RESPONSE, Running, serving

pytestmark = [pytest.mark.neo4j, pytest.mark.slow]

ITEM = {"items": [{"history": HISTORY, "response": RESPONSE}]}
QUERY = {"query": "MATCH (c:Concept {text: 'dog'})-[r:IsA]->(k) RETURN k.text AS kind ORDER BY kind"}


@pytest.fixture
def server(neo4j_script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnServer]:
    """A Neo4j server of the test's own, which it may kill."""
    if not os.environ.get("TACIT_TEST_NEO4J"):
        pytest.skip("no Neo4j wanted; name a server in TACIT_TEST_NEO4J")
    credentials(monkeypatch)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    own = OwnServer(neo4j_script, tmp_path / "server")
    try:
        yield own
    finally:
        subprocess.run([str(neo4j_script), "kill", str(own.home)], check=False, capture_output=True)


class Load:
    """Clients that score all the time and note what they were answered."""

    def __init__(self, service: Running, clients: int = 4) -> None:
        self.statuses: list[int] = []
        self.impatient: list[httpx.Response] = []
        self._url = service.url
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        with httpx.Client(timeout=30) as client:
            while not self._stop.is_set():
                answer = client.post(f"{self._url}/v1/score", json=ITEM)
                self.statuses.append(answer.status_code)
                if answer.status_code == 503 and "retry-after" not in answer.headers:
                    self.impatient.append(answer)
                time.sleep(0.02)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def until(url: str, status: int, seconds: float) -> float:
    """Wait until ``/readyz`` answers with ``status``; return how long it took."""
    begun = time.monotonic()
    while httpx.get(f"{url}/readyz", timeout=10).status_code != status:
        assert time.monotonic() - begun < seconds, f"/readyz is not {status} after {seconds} seconds"
        time.sleep(0.1)
    return time.monotonic() - begun


def test_killed_and_started_again_under_load(server: OwnServer, sample: Path) -> None:
    url = server.start()
    assert run(["load", "conceptnet", str(sample / "conceptnet.csv"), "--into", url, "--json"]) == 0
    with serving(url) as service:
        want = httpx.post(f"{service.url}/v1/score", json=ITEM, timeout=30).json()
        kinds = httpx.post(f"{service.url}/v1/cypher", json=QUERY, timeout=30).json()["rows"]
        assert kinds
        load = Load(service)
        time.sleep(1)
        server.do("kill")
        until(service.url, 503, 10)
        gone = len(load.statuses)
        for path, body in (("/v1/score", ITEM), ("/v1/cypher", QUERY), ("/v1/explain", ITEM["items"][0])):
            answer = httpx.post(f"{service.url}{path}", json=body, timeout=30)
            assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
            assert int(answer.headers["retry-after"]) >= 1
        assert httpx.get(f"{service.url}/healthz").status_code == 200
        time.sleep(1)
        meanwhile = load.statuses[gone:]
        server.start()
        until(service.url, 200, 60)
        time.sleep(1)
        load.stop()
        assert set(load.statuses[:20]) == {200}
        assert set(meanwhile) == {503}
        assert set(load.statuses) == {200, 503}
        assert set(load.statuses[-20:]) == {200}
        assert not load.impatient
        assert httpx.post(f"{service.url}/v1/score", json=ITEM, timeout=30).json() == want
        assert httpx.post(f"{service.url}/v1/cypher", json=QUERY, timeout=30).json()["rows"] == kinds
        assert service.stop() == 0
