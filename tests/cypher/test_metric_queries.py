"""The cookbook's queries behind the metrics give the answers of the protocol, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tacit.cypher import query
from tacit.graph import Assertion, KnowledgeGraph
from tacit.graph.names import text_of
from tacit.graph.protocol import TailsInBulk
from tacit.reasoning.event_links import link_events

from tests.conftest import STORES
from tests.cypher.test_cookbook import sample_rows
from tests.graph.backends import opened
from tests.networkx_oracle import OracleGraph

HOPS = {1: "one_hop_neighbours", 2: "two_hop_neighbours", 3: "three_hop_neighbours"}
_NODES = [f"/c/en/{name}" for name in ("dog", "hot_dog", "café", "犬", "a'b", "cat", "bone", "park")]
_rows = st.lists(
    st.builds(
        Assertion,
        head=st.sampled_from(_NODES),
        relation=st.sampled_from(["IsA", "UsedFor", "HasSubevent"]),
        tail=st.sampled_from(_NODES),
        weight=st.sampled_from([0.5, 1.0, 1.0, 2.0]),
        source=st.just("conceptnet"),
        dataset=st.sampled_from(["/d/one", "/d/two"]),
        license=st.just(""),
        contributors=st.just(""),
        head_sense=st.just(""),
        tail_sense=st.sampled_from(["", "n"]),
        rank=st.none(),
        score=st.none(),
    ),
    min_size=6,
    max_size=18,
)


@pytest.mark.parametrize("backend", STORES)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
@given(rows=_rows)
def test_random_graphs(backend: str, rows: list[Assertion]) -> None:
    oracle = OracleGraph(rows)
    with TemporaryDirectory() as folder, opened(backend, rows, Path(folder)) as graph:
        for start in _NODES[:2]:
            _same_neighbours(graph, oracle, start)
        for first, second in ((_NODES[:4], _NODES[3:]), (_NODES, _NODES), (_NODES[:1], [])):
            _same_matrix(graph, oracle, first, second)
            _same_counts(graph, oracle, first, second)


@pytest.fixture(scope="module", params=STORES)
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    with opened(request.param, sample_rows(), tmp_path_factory.mktemp("sample")) as graph:
        yield graph


def test_the_sample_graph(sample: KnowledgeGraph) -> None:
    oracle = OracleGraph(sample_rows())
    first, second = (
        sample.resolve(words) for words in (["dog", "walk", "bone", "umbrella"], ["park", "leash", "animal", "walk"])
    )
    endpoints = [uri for uri in first if uri], [uri for uri in second if uri]
    assert min(map(len, endpoints)) >= 3
    _same_matrix(sample, oracle, *endpoints)
    _same_counts(sample, oracle, *endpoints)
    for uri in endpoints[0]:
        _same_neighbours(sample, oracle, uri)


@pytest.mark.parametrize("backend", STORES)
def test_links_change_no_distance(backend: str, tmp_path: Path) -> None:
    oracle = OracleGraph(sample_rows())
    with opened(backend, sample_rows(), tmp_path) as graph:
        link_events(graph)
        concepts = sorted({uri for row in sample_rows() for uri in (row.head, row.tail) if uri.startswith("/c/")})
        _same_matrix(graph, oracle, concepts[100:106], concepts[106:112])


def test_known_tails_of_the_sample_graph(sample: KnowledgeGraph) -> None:
    events, relations = ["PersonX wakes up late", "PersonX cooks dinner for PersonY", "nothing"], ["xReact", "xWant"]
    result = sample.run(query("explore/known_tails").text, {"events": events, "relations": relations})
    expected = {
        (text_of(row.head), row.relation, text_of(row.tail), row.weight, row.source)
        for row in sample_rows()
        if row.relation in relations and text_of(row.head) in events
    }
    assert set(result.rows) == expected != set()


def test_tails_of_many_heads_at_once(sample: KnowledgeGraph) -> None:
    """What ACCENT asks a store, against the rows themselves."""
    assert isinstance(sample, TailsInBulk)
    rows = sorted(sample_rows(), key=lambda row: row.order)
    heads = sorted({row.head for row in rows if row.relation in ("xWant", "HasPrerequisite")})
    assert any(head.startswith("/c/") for head in heads)
    assert any(head.startswith("/e/") for head in heads)
    wanted = {"xWant", "xNeed", "HasPrerequisite"}
    tails = sample.tails_many(heads, wanted)
    assert tails == [row for row in rows if row.head in heads and row.relation in wanted] != []
    assert sample.tails_many(heads, []) == sample.tails_many([], wanted) == sample.heads_many(heads, []) == []
    ends = [row.tail for row in rows if row.relation == "xWant"][:5]
    assert sample.heads_many(ends, ["xWant"]) == [row for row in rows if row.tail in ends and row.relation == "xWant"]
    events = [row for row in rows if row.head.startswith("/e/")]
    assert sample.nodes_by("Event", None) == {(row.head, row.relation, row.source) for row in events}
    assert sample.nodes_by("Event", ["xWant"], "tail") == {
        (row.tail, row.relation, row.source) for row in events if row.relation == "xWant"
    }
    assert sample.nodes_by("Concept", []) == set()
    assert sample.tails_from("atomic") == [row for row in events if row.source.startswith("atomic")] != []
    assert sample.tails_from("comet:") == []


def _same_neighbours(graph: KnowledgeGraph, oracle: OracleGraph, start: str) -> None:
    for hops, name in HOPS.items():
        rows = graph.run(query(f"explore/{name}").text, {"concept": text_of(start)}, limit=5000).rows
        expected = [
            (text_of(neighbour.uri), neighbour.uri, neighbour.weight) for neighbour in oracle.neighbours(start, hops, None)
        ]
        assert list(rows) == expected
        assert [(neighbour.uri, neighbour.weight) for neighbour in graph.neighbours(start, hops, None)] == [
            row[1:] for row in expected
        ]


def _same_matrix(graph: KnowledgeGraph, oracle: OracleGraph, first: list[str], second: list[str]) -> None:
    rows = graph.run(query("explore/hop_weights").text, {"first": first, "second": second}, limit=5000).rows
    weights = {(pair, other): (hops, weight) for pair, other, hops, weight in rows}
    assert len(weights) == len(rows)
    hops = oracle.hop_distances(first, second)
    for (i, pair), (j, other) in product(enumerate(first), enumerate(second)):
        expected = None if pair == other or hops[i, j] < 0 else (hops[i, j], pytest.approx(1 / hops[i, j]))
        assert weights.get((pair, other)) == expected
    assert np.array_equal(graph.hop_distances(first, second), hops)


def _same_counts(graph: KnowledgeGraph, oracle: OracleGraph, first: list[str], second: list[str]) -> None:
    for hops, name in ((1, "one_hop_triples"), (2, "two_hop_triples")):
        rows = graph.run(query(f"explore/{name}").text, {"first": first, "second": second}).rows
        assert rows == (tuple(oracle.count_triples(first, second, hops)),)  # type: ignore[arg-type]
        assert rows == (tuple(graph.count_triples(first, second, hops)),)  # type: ignore[arg-type]
