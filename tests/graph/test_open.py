"""Opening graphs: URLs, arguments, the environment, and the messages when no server answers."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import neo4j
import pytest
from neo4j.exceptions import DriverError, ServiceUnavailable, SessionExpired
from tacit.graph import (
    Assertion,
    GraphError,
    GraphNotFound,
    GraphUnavailable,
    InputError,
    KnowledgeGraph,
    WritableGraph,
    open_graph,
)
from tacit.graph.check import check_graph
from tacit.graph.embedded import integrity
from tacit.graph.embedded.graph import EmbeddedGraph
from tacit.graph.index import IndexGraph
from tacit.graph.neo4j import Neo4jGraph
from tacit.graph.neo4j.connection import Server
from tacit.graph.open import Graph, _parts, index_of, store_of
from tacit.graph.path_search import count_triples_many, counted_chains
from tacit.graph.protocol import ConceptIndex, CountsInBulk, LimitsQueries, Pingable, StreamsRecords

from tests.graph.example_rows import BONE, DOG, FOOD, SMALL

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


@pytest.mark.parametrize(
    "url", ["http://localhost", "s3://bucket/graph", "", "bolt://host:notaport", "bolt://host?policy=x", "://x"]
)
def test_unknown_url_schemes_are_refused(url: str) -> None:
    with pytest.raises(InputError):
        open_graph(url)


@pytest.mark.parametrize("thing", [None, 3, ["g"], object()])
def test_invalid_open_arguments_are_refused(thing: object) -> None:
    pytest.importorskip("py2neo")
    with pytest.raises(InputError, match="is not a graph"):
        open_graph(thing)


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_no_server_at_the_address(scheme: str) -> None:
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


@pytest.mark.parametrize("url", ["bolt://a..b:1", "bolt://" + "a" * 70 + ".org"])
def test_an_invalid_host_name(url: str) -> None:
    with pytest.raises(InputError, match="host name is invalid; check the URL"):
        open_graph(url)


@pytest.mark.parametrize("seconds", ["soon", "-1", "nan", "inf"])
def test_an_invalid_timeout(seconds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_NEO4J_RETRY_SECONDS", seconds)
    with pytest.raises(InputError, match=f"TACIT_NEO4J_RETRY_SECONDS={seconds} is not a number of seconds"):
        open_graph(NOBODY)


@pytest.mark.parametrize(
    ("raised", "kind", "says"),
    [
        (ServiceUnavailable("gone"), GraphUnavailable, "does not answer (gone); check that the server runs there"),
        (SessionExpired("gone"), GraphUnavailable, "does not answer (gone); check that the server runs there"),
        (ConnectionResetError("reset"), GraphUnavailable, "does not answer (reset); check that the server runs there"),
        (DriverError("out of order"), GraphError, "asking failed on bolt://host:1 (out of order)"),
    ],
)
def test_only_connection_errors_are_reported_as_unreachable(raised: Exception, kind: type[Exception], says: str) -> None:
    server = object.__new__(Server)
    server.url = "bolt://host:1"
    with pytest.raises(kind, match=re.escape(says)) as caught, server._errors("asking"):
        raise raised
    assert type(caught.value) is kind
    with pytest.raises(ValueError, match="a mistake"), server._errors("asking"):
        raise ValueError("a mistake in what is done with the rows")


def test_a_damaged_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "graph.lbug").write_bytes(os.urandom(8192))
    with pytest.raises(GraphError, match="load it again"):
        open_graph(tmp_path)


def test_a_database_without_checksums_is_first_opened_in_a_limited_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_graph(tmp_path, create=True) as graph:
        graph.load(SMALL)
    (tmp_path / "graph.lbug.sums").unlink()
    with open_graph(tmp_path, engine="store") as store:
        assert store.counts().assertions == len(SMALL)
    monkeypatch.setattr(integrity, "_PROBE", f"{integrity._PROBE}bytearray(1 << 32)\n")
    with pytest.raises(GraphError, match=r"graph\.lbug is damaged \(MemoryError\); load it again"):
        open_graph(tmp_path)
    check = check_graph(str(tmp_path))
    assert not check.sound
    monkeypatch.undo()
    check = check_graph(str(tmp_path))
    assert check.sound
    assert "they were written" in check.parts[0].note
    monkeypatch.setattr(integrity, "_PROBE", "raise SystemExit(1)")
    with open_graph(tmp_path, engine="store") as store:
        assert store.counts().assertions == len(SMALL)


def test_paths_are_accepted_in_any_form(tmp_path: Path) -> None:
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


def _indexes(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "index").iterdir()) if (folder / "index").exists() else []


def test_the_index_is_built_once_by_the_first_concept_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    progress_calls: list[int] = []
    with open_graph(tmp_path, create=True, progress=progress_calls.append) as graph:
        graph.load(SMALL)
        assert graph.run("MATCH (c:Concept {text: 'dog'}) RETURN c.uri AS uri").rows == ((DOG,),)
        assert graph.heads("dinner") == ["/e/PersonX_eats_dinner"]
        assert _indexes(tmp_path) == []
        assert graph.hop_distances([DOG], [FOOD]).tolist() == [[3]]
        assert sum(progress_calls) == len(SMALL)
        assert _indexes(tmp_path) == [graph.manifest().digest]
        assert isinstance(graph.index, IndexGraph)
    with open_graph(tmp_path, progress=progress_calls.append) as graph:
        assert graph.paths(DOG, FOOD)[0].hops == 3
    assert sum(progress_calls) == len(SMALL), "an index that is there is not built again"


def test_the_next_query_sees_a_load(tmp_path: Path) -> None:
    with open_graph(tmp_path, create=True, progress=False) as graph:
        graph.load(SMALL)
        assert graph.resolve(["kennel"]) == [None]
        before = graph.manifest().digest
        graph.load([Assertion(DOG, "AtLocation", "/c/en/kennel", 1.0)])
        assert graph.resolve(["kennel"]) == ["/c/en/kennel"]
        assert graph.manifest().digest != before
        assert _indexes(tmp_path) == [graph.manifest().digest]
        with open_graph(tmp_path, engine="store") as store:
            store.load([Assertion(DOG, "AtLocation", "/c/en/yard", 1.0)])
    with open_graph(tmp_path) as graph:
        assert graph.resolve(["yard"]) == ["/c/en/yard"]


def test_an_open_graph_keeps_its_index_and_the_next_one_gets_a_new_one(tmp_path: Path) -> None:
    with open_graph(tmp_path, create=True, progress=False) as graph:
        graph.load(SMALL)
        digest = graph.manifest().digest
    with open_graph(tmp_path, progress=False) as early, open_graph(tmp_path, engine="store") as other:
        assert early.resolve(["kennel"]) == [None]
        other.load([Assertion(DOG, "AtLocation", "/c/en/kennel", 1.0)])
        assert early.resolve(["kennel"]) == [None]
        rows = early.store.counts().assertions, sum(1 for _ in early.assertions())  # the engine is opened only now
        assert (rows, early.manifest().digest, early.store.manifest().digest) == ((len(SMALL),) * 2, digest, digest)
        with open_graph(tmp_path, progress=False) as late:
            assert isinstance(late, KnowledgeGraph)
            assert late.resolve(["kennel"]) == ["/c/en/kennel"]
            assert late.manifest().digest == other.manifest().digest != digest
            assert _indexes(tmp_path) == [late.manifest().digest]


def test_metrics_count_with_the_index(tmp_path: Path) -> None:
    with open_graph(tmp_path, create=True) as graph, open_graph(tmp_path, engine="store") as store:
        graph.load(SMALL)
        sets = [([DOG], [BONE]), ([DOG, BONE], [FOOD])]
        assert index_of(store) is None
        assert index_of(graph) is graph.index
        assert store_of(graph) is graph.store
    with open_graph(tmp_path) as graph, open_graph(tmp_path, engine="store") as store:
        assert count_triples_many(graph, sets, 2).tolist() == count_triples_many(store, sets, 2).tolist()
        assert counted_chains(graph, [DOG], [FOOD, BONE]) == counted_chains(store, [DOG], [FOOD, BONE])
        assert graph.triples_between([DOG], [BONE]) == store.triples_between([DOG], [BONE])
        assert graph.counts() == store.counts()


def test_graphs_implement_the_protocols_that_they_claim(tmp_path: Path) -> None:
    offers: dict[type, tuple[type, ...]] = {
        Graph: (KnowledgeGraph, WritableGraph, LimitsQueries, CountsInBulk),
        EmbeddedGraph: (KnowledgeGraph, WritableGraph, LimitsQueries, StreamsRecords, CountsInBulk),
        Neo4jGraph: (KnowledgeGraph, WritableGraph, LimitsQueries, Pingable, StreamsRecords, CountsInBulk),
        IndexGraph: (KnowledgeGraph, CountsInBulk, ConceptIndex),
    }
    protocols = (KnowledgeGraph, WritableGraph, LimitsQueries, Pingable, StreamsRecords, CountsInBulk, ConceptIndex)
    with open_graph(tmp_path, create=True) as graph:
        graph.load(SMALL)
        server: Any = Neo4jGraph.__new__(Neo4jGraph)
        server._server = SimpleNamespace(url="neo4j://localhost")
        graphs: list[object] = [graph, graph.store, graph.index, server]
        offered = {type(opened): tuple(protocol for protocol in protocols if isinstance(opened, protocol)) for opened in graphs}
    assert offered == offers


def test_an_index_of_a_read_only_folder_is_kept_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(SMALL)
    (tmp_path / "g" / "index").write_text("a file where the folder should be")
    progress_calls: list[int] = []
    for _ in range(2):
        with open_graph(tmp_path / "g", progress=progress_calls.append) as graph:
            assert graph.index is not None
            assert graph.index.directory.parent == tmp_path / "cache" / "index"
    assert sum(progress_calls) == len(SMALL)


def test_without_a_writable_index_folder_the_store_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(SMALL)
        (tmp_path / "g" / "index").write_text("a file where the folder should be")
        with pytest.warns(RuntimeWarning, match="no index of .* can be written .*, so the store answers, which is much slower"):
            assert graph.resolve(["dogs"]) == [DOG]
        assert graph.index is None
        assert index_of(graph) is None
        assert graph.hop_distances([DOG], [FOOD]).tolist() == [[3]]
    with open_graph(tmp_path / "g", engine="index") as graph, pytest.raises(GraphError, match="can be written"):
        graph.resolve(["dogs"])
    with pytest.raises(InputError, match="unknown engine 'fast'; choose from auto, index, store"):
        open_graph(tmp_path / "g", engine="fast")  # type: ignore[call-overload]


def test_an_error_in_the_first_query_is_not_reported_as_a_wrong_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: neo4j.Driver) -> None:
        raise ValueError("an error in a query")

    monkeypatch.setattr(neo4j.Driver, "verify_connectivity", broken)
    with pytest.raises(ValueError, match="an error in a query"):
        open_graph("bolt://localhost:7687")
