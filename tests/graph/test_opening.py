"""Where a graph is and who asks: URLs, arguments, the environment, and what is said when nothing answers."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tacit.graph import GraphError, GraphNotFound, GraphUnavailable, InputError, KnowledgeGraph, WritableGraph, open_graph
from tacit.graph.opening import _parts

NOBODY = "bolt://127.0.0.1:1"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NEO4J_USERNAME", "NEO4J_USER", "NEO4J_PASSWORD", "NEO4J_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TACIT_NEO4J_RETRY_SECONDS", "1")


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("neo4j://localhost", ("neo4j://localhost:7687", None, None, None)),
        ("bolt://ann:p%40ss@db.example:9999/facts", ("bolt://db.example:9999", "ann", "p@ss", "facts")),
        ("neo4j+s://ann@db.example/", ("neo4j+s://db.example:7687", "ann", None, None)),
        ("bolt+ssc://[::1]:1", ("bolt+ssc://[::1]:1", None, None, None)),
    ],
)
def test_the_parts_of_a_url(url: str, parts: tuple[str | None, ...]) -> None:
    assert _parts(url) == parts


def test_the_environment_fills_what_the_url_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_USER", "bob")
    monkeypatch.setenv("NEO4J_PASSWORD", "secret")
    monkeypatch.setenv("NEO4J_DATABASE", "facts")
    assert _parts("bolt://host:1") == ("bolt://host:1", "bob", "secret", "facts")
    monkeypatch.setenv("NEO4J_USERNAME", "ann")
    assert _parts("bolt://host:1") == ("bolt://host:1", "ann", "secret", "facts")
    assert _parts("bolt://eve:open@host:1/other") == ("bolt://host:1", "eve", "open", "other")


@pytest.mark.parametrize("url", ["http://localhost", "s3://bucket/graph", "", "bolt://host:notaport", "://x"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(InputError):
        open_graph(url)


@pytest.mark.parametrize("thing", [None, 3, ["g"], object()])
def test_other_things_are_refused(thing: object) -> None:
    pytest.importorskip("py2neo")
    with pytest.raises(InputError, match="is no graph"):
        open_graph(thing)


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_nobody_there(scheme: str) -> None:
    started = time.monotonic()
    with pytest.raises(GraphUnavailable) as caught:
        open_graph(f"{scheme}://ann:hunter2@127.0.0.1:1")
    assert time.monotonic() - started < 20
    assert "127.0.0.1:1" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_host_that_does_not_exist() -> None:
    with pytest.raises(GraphUnavailable):
        open_graph("bolt://no-such-host.invalid")


def test_a_damaged_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "graph.lbug").write_bytes(os.urandom(8192))
    with pytest.raises(GraphError, match="load it again"):
        open_graph(tmp_path)


def test_a_path_of_any_kind(tmp_path: Path) -> None:
    folder = tmp_path / "with space 'quote' ü"
    for way in (folder, str(folder)):
        with open_graph(way, create=True) as graph:
            assert graph.url == str(folder)
            assert isinstance(graph, KnowledgeGraph)
            assert isinstance(graph, WritableGraph)
            assert "with space" in repr(graph)


@pytest.mark.neo4j
def test_neo4j_credentials(neo4j_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    password = os.environ["NEO4J_PASSWORD"]
    address = neo4j_url.partition("://")[2]
    for url in (f"bolt://neo4j:{password}@{address}", f"neo4j://neo4j:{password}@{address}/neo4j"):
        monkeypatch.delenv("NEO4J_PASSWORD", raising=False)
        with open_graph(url) as graph:
            assert graph.counts().assertions == 0
            assert password not in graph.url + repr(graph)
            assert isinstance(graph, WritableGraph)
    with pytest.raises(GraphUnavailable, match="user name or password") as caught:
        open_graph(f"bolt://neo4j:wr0ng-one@{address}")
    assert "wr0ng-one" not in str(caught.value)
    with pytest.raises(GraphNotFound, match="no such database"):
        open_graph(neo4j_url, user="neo4j", password=password, database="nowhere")
