"""A cluster's URL, ``neo4j://``, on a real server: reads may go to any member, writes lead, and what was written is read back."""

from __future__ import annotations

from typing import Any

import pytest
from tacit.graph import Assertion, open_graph
from tacit.graph.neo4j import Neo4jGraph

pytestmark = pytest.mark.neo4j

ROWS = [Assertion("/c/en/dog", "Desires", "/c/en/bone", 2.0, "conceptnet", "/d/test")]


def opened(url: str, sessions: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> Neo4jGraph:
    """Open ``url`` with routing, and note with what each session of its driver begins."""
    graph = open_graph("neo4j://" + url.partition("://")[2], engine="store")
    assert isinstance(graph, Neo4jGraph)
    driver = graph._server.driver
    begin = driver.session

    def noted(**settings: Any) -> Any:
        sessions.append(settings)
        return begin(**settings)

    monkeypatch.setattr(driver, "session", noted)
    return graph


def read(graph: Neo4jGraph) -> None:
    """Ask in each way that there is."""
    assert graph.resolve(["dog"]) == ["/c/en/dog"]
    assert graph.hop_distances(["/c/en/dog"], ["/c/en/bone"], 2).tolist() == [[1]]
    assert sum(batch.num_rows for batch in graph.scan()) == 1
    assert graph.run("MATCH (a:Concept)-[r]->(b) RETURN type(r) AS name").rows == (("Desires",),)


def test_reads_after_writes_use_bookmarks(neo4j_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions: list[dict[str, Any]] = []
    with opened(neo4j_url, sessions, monkeypatch) as graph:
        assert isinstance(graph, Neo4jGraph)
        graph.load(ROWS)
        assert {session["default_access_mode"] for session in sessions} == {"WRITE"}
        assert len({id(session["bookmark_manager"]) for session in sessions}) == 1
        sessions.clear()
        read(graph)
        assert len(sessions) >= 4
        assert {session["default_access_mode"] for session in sessions} == {"READ"}
        assert all(session["bookmarks"].raw_values == graph._server.bookmarks.raw_values for session in sessions)
        assert len(graph._server.bookmarks.raw_values) == 1


def test_readers_do_not_wait_for_bookmarks(neo4j_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_graph(neo4j_url) as graph:
        graph.load(ROWS)
    sessions: list[dict[str, Any]] = []
    with opened(neo4j_url, sessions, monkeypatch) as reader:
        assert isinstance(reader, Neo4jGraph)
        read(reader)
        assert {session["default_access_mode"] for session in sessions} == {"READ"}
        assert not any(session["bookmarks"] for session in sessions)
