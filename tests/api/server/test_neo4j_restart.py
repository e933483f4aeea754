"""A Neo4j server that dies under load and comes back: the service says so, answers 503 meanwhile, and goes on by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from tacit.graph import open_graph
from tacit.loaders import read_conceptnet

from tests.api.server.conftest import HISTORY, RESPONSE, Running, serving
from tests.conftest import OwnServer

pytestmark = [pytest.mark.neo4j, pytest.mark.slow]

ITEM = {"items": [{"history": HISTORY, "response": RESPONSE}]}
QUERY = {"query": "MATCH (c:Concept {text: 'dog'})-[r:IsA]->(k) RETURN k.text AS kind ORDER BY kind"}


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
                time.sleep(0.1)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; how long that may take is no promise of the service."""
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() - begun < 120
        time.sleep(0.2)


def test_the_service_restarts_after_a_kill_under_load(
    own_server: OwnServer, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    url = own_server.start()
    with open_graph(url) as graph:
        graph.load(row for row in read_conceptnet(sample / "conceptnet.csv") if row.relation in ("IsA", "UsedFor", "AtLocation"))
    with serving(url) as service, httpx.Client(timeout=30) as client:

        def ready(status: int) -> bool:
            return client.get(f"{service.url}/readyz").status_code == status

        want = httpx.post(f"{service.url}/v1/score", json=ITEM, timeout=30).json()
        kinds = httpx.post(f"{service.url}/v1/cypher", json=QUERY, timeout=30).json()["rows"]
        assert kinds
        load = Load(service)
        until(lambda: len(load.statuses) >= 20)
        own_server.do("kill")
        until(lambda: ready(503))
        gone = len(load.statuses)
        for path, body in (("/v1/score", ITEM), ("/v1/cypher", QUERY), ("/v1/explain", ITEM["items"][0])):
            answer = httpx.post(f"{service.url}{path}", json=body, timeout=30)
            assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
            assert int(answer.headers["retry-after"]) >= 1
        assert httpx.get(f"{service.url}/healthz").status_code == 200
        until(lambda: len(load.statuses) >= gone + 8)
        meanwhile = load.statuses[gone:]
        own_server.start()
        until(lambda: ready(200))
        again = len(load.statuses)
        until(lambda: len(load.statuses) >= again + 24)
        load.stop()
        assert set(load.statuses[:20]) == {200}
        assert set(meanwhile) == {503}
        assert set(load.statuses) == {200, 503}
        assert set(load.statuses[-20:]) == {200}
        assert not load.impatient
        assert httpx.post(f"{service.url}/v1/score", json=ITEM, timeout=30).json() == want
        assert httpx.post(f"{service.url}/v1/cypher", json=QUERY, timeout=30).json()["rows"] == kinds
        assert service.stop() == 0
