"""Tails of heads: from the graph by wording and likeness, from a chain of sources; table and vectors kept beside a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from tacit.graph import KnowledgeGraph, open_graph
from tacit.graph.errors import GraphError, InputError
from tacit.graph.model import Assertion
from tacit.graph.names import event_uri
from tacit.graph.storage import HEADER
from tacit.reasoning.metrics.accent.scorers.base import KnownTail, Origin, Query, TailResult
from tacit.reasoning.metrics.accent.tails.event_table import EventTable, events_home, open_table
from tacit.reasoning.metrics.accent.tails.sources import Chain, GraphTails, NearestTails
from tacit.reasoning.models.vector_cache import VectorCache

from tests.conftest import Stored
from tests.reasoning.metrics.accent.world import WordEncoder, world

GraphOf = Callable[[Iterable[Assertion]], KnowledgeGraph]


@pytest.fixture(scope="module")
def table(stored: Stored, tmp_path_factory: pytest.TempPathFactory) -> EventTable:
    folder = tmp_path_factory.mktemp("world")
    with open_graph(stored(world(), folder / "graph")) as graph:
        return open_table(graph)


def test_the_table_equals_the_tails_of_every_backend(graph_of: GraphOf, tmp_path: Path, table: EventTable) -> None:
    opened = open_table(graph_of(world()), home=tmp_path / "events")
    assert (opened.heads, opened.tails, opened.relations, opened.sources) == (
        table.heads,
        table.tails,
        table.relations,
        table.sources,
    )
    for head in range(len(table.heads)):
        for relation in table.relations:
            assert [row[:4] for row in opened.rows(head, relation)] == [row[:4] for row in table.rows(head, relation)]


def test_the_table_keeps_the_order_of_the_graph(table: EventTable) -> None:
    head = table.exact("PersonX buys a dog")
    assert head is not None
    assert [table.tails[row.tail] for row in table.rows(head, "xWant")] == ["to go to the park", "to feed the dog"]
    assert table.rows(head, "xIntent") == []
    assert table.rows(head, "no relation") == []
    assert "isFilledBy" not in table.relations


def test_conceptnet_events_have_atomic_relations(table: EventTable) -> None:
    (tails,) = GraphTails(table).find([Query("PersonX walks the dog", "xNeed")])
    [tail] = tails.tails
    assert (tail.text, tail.form, tail.source) == ("get a leash", "PersonX gets a leash", "conceptnet")


def test_a_table_is_built_once_and_bound_to_its_graph(stored: Stored, tmp_path: Path) -> None:
    read: list[int] = []
    with open_graph(stored(world(), tmp_path / "graph")) as graph:
        first = open_table(graph, progress=read.append)
        assert sum(read) == len(world())
        open_table(graph, progress=read.append)
        assert sum(read) == len(world())
        graph.load([Assertion(event_uri("PersonX sleeps"), "xReact", event_uri("rested"), 1.0, "atomic2020")])
        second = open_table(graph)
    assert second.exact("PersonX sleeps") is not None
    assert not first.folder.exists()


def test_a_table_has_a_header_so_that_builders_do_not_replace_each_others(stored: Stored, tmp_path: Path) -> None:
    built: list[int] = []

    def another_builder(_: int) -> None:
        if not built:
            built.append((open_table(graph, home=tmp_path / "events").folder / HEADER).stat().st_ino)

    with open_graph(stored(world(), tmp_path / "graph")) as graph:
        table = open_table(graph, home=tmp_path / "events", progress=another_builder)
    assert [(table.folder / HEADER).stat().st_ino] == built
    with pytest.raises(GraphError, match="belongs to another graph"):
        EventTable(table.folder, digest="another")


def test_a_damaged_table_is_rebuilt(stored: Stored, tmp_path: Path) -> None:
    with open_graph(stored(world(), tmp_path / "graph")) as graph:
        folder = open_table(graph).folder
        (folder / "tail.npy").write_bytes(b"broken")
        with pytest.raises(GraphError, match=r"tail\.npy is damaged"):
            EventTable(folder)
        assert len(open_table(graph)) == len([row for row in world() if row.relation not in ("isFilledBy", "IsA")])


def test_a_graph_without_events_has_no_tails(tmp_path: Path) -> None:
    with open_graph(tmp_path / "graph", create=True) as graph:
        table = open_table(graph)
    assert GraphTails(table).find([Query("PersonX eats", "xWant")]) == [TailResult()]
    vectors = VectorCache(tmp_path, WordEncoder())  # type: ignore[arg-type]
    assert NearestTails(GraphTails(table), vectors).find([Query("PersonX eats", "xWant")]) == [TailResult()]


@pytest.mark.parametrize(
    "wording",
    ["PersonX buys a dog", " person x buys a dog .", "PersonX buy a dog", "PersonX buys the dog", "PersonX buys dog"],
)
def test_a_head_is_found_in_any_wording(table: EventTable, wording: str) -> None:
    (tails,) = GraphTails(table).find([Query(wording, "xReact")])
    assert [(tail.text, tail.origin, tail.head, tail.likeness) for tail in tails.tails] == [
        ("happy", Origin.GRAPH, "PersonX buys a dog", 1.0)
    ]


@pytest.mark.parametrize(
    "query", [Query("PersonX sells a dog", "xReact"), Query("PersonX buys a dog", "xNeed"), Query("", "xWant")]
)
def test_unknown_heads_have_no_tails(table: EventTable, query: Query) -> None:
    """An unknown head, a head of which people said that nothing is needed, no head at all."""
    assert GraphTails(table).find([query]) == [TailResult()]


def test_the_nearest_heads_answer_for_an_unknown_one(table: EventTable, tmp_path: Path) -> None:
    encoder = WordEncoder()
    nearest = NearestTails(GraphTails(table), VectorCache(tmp_path, encoder), limit=1, threshold=0.3)  # type: ignore[arg-type]
    (tails,) = nearest.find([Query("PersonX buys a cat", "xWant")])
    first, second = encoder.encode(["PersonX buys a cat", tails.tails[0].head])
    assert {tail.head for tail in tails.tails} == {"PersonX buys a dog"}
    assert {tail.origin for tail in tails.tails} == {Origin.NEAREST}
    assert tails.tails[0].likeness == pytest.approx(float(first @ second), abs=1e-3)
    assert nearest.find([Query("entirely other words", "xWant")]) == [TailResult()]


def test_the_nearest_heads_are_those_with_tails_under_the_relation(table: EventTable, tmp_path: Path) -> None:
    nearest = NearestTails(GraphTails(table), VectorCache(tmp_path, WordEncoder()), limit=1, threshold=0.1)  # type: ignore[arg-type]
    (tails,) = nearest.find([Query("PersonX gets a puppy", "xReact")])
    assert "PersonX gets a puppy" not in {tail.head for tail in tails.tails}
    assert tails.tails


@pytest.mark.parametrize(("limit", "threshold"), [(0, 0.5), (3, 1.5), (3, -2)])
def test_invalid_searches_are_refused(table: EventTable, tmp_path: Path, limit: int, threshold: float) -> None:
    with pytest.raises(InputError, match="nearest must be >= 1"):
        NearestTails(GraphTails(table), VectorCache(tmp_path, WordEncoder()), limit=limit, threshold=threshold)  # type: ignore[arg-type]


def test_vectors_are_stored_and_computed_once(tmp_path: Path) -> None:
    encoder = WordEncoder()
    vectors = VectorCache(tmp_path, encoder)  # type: ignore[arg-type]
    vectors.add(["a b", "c", "a b"])
    vectors.add(["c", "d e"])
    assert sorted(encoder.seen) == ["a b", "c", "d e"]
    again = VectorCache(tmp_path, encoder)  # type: ignore[arg-type]
    mixed = again[["d e", "new", "a b", "new"]]
    assert encoder.seen[3:] == ["new"]
    np.testing.assert_allclose(mixed, WordEncoder().encode(["d e", "new", "a b", "new"]), atol=1e-3)
    assert len(VectorCache(tmp_path, WordEncoder("others"))) == 0  # type: ignore[arg-type]
    again.path.write_bytes(b"\x00" * 30)
    assert len(VectorCache(tmp_path, encoder)) == 0  # type: ignore[arg-type]


def test_vectors_stay_in_memory_on_read_only_disks(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    vectors = VectorCache(tmp_path / "file" / "below", WordEncoder())  # type: ignore[arg-type]
    vectors.add(["a", "b"])
    assert vectors.known(["b", "a"]).shape == (2, 64)


class Counting:
    """Knows a tail for some heads, and counts what it is asked."""

    signature = "counting"

    def __init__(self, heads: set[str], note: str = "") -> None:
        self.heads, self.note = heads, note
        self.queries: list[Query] = []

    def find(self, queries: Iterable[Query]) -> list[TailResult]:
        self.queries += queries
        tail = KnownTail("a", "a", Origin.GRAPH, "h", 1.0, "test")
        return [
            TailResult((tail,) if query.head in self.heads else (), self.note) for query in self.queries[-len(list(queries)) :]
        ]


def test_a_chain_passes_only_unanswered_queries_on() -> None:
    first, second, third = Counting({"a"}), Counting({"b"}, "second failed"), Counting({"c"})
    chain = Chain([first, second, third, Counting(set())])
    tails = chain.find([Query(head, "xWant") for head in "abcda"])
    assert [bool(answer.tails) for answer in tails] == [True, True, True, False, True]
    assert [[query.head for query in source.queries] for source in (first, second, third)] == [
        list("abcd"),
        list("bcd"),
        list("cd"),
    ]
    assert [answer.note for answer in tails] == ["", "second failed", "second failed", "second failed", ""]
    assert chain.signature == "counting,counting,counting,counting"
    assert chain.find([]) == []


def test_tables_of_a_read_only_graph_are_cached(stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_graph(stored(world(), tmp_path / "graph")) as graph:
        (tmp_path / "graph" / "events").write_text("in the way")
        monkeypatch.setattr("platformdirs.user_cache_dir", lambda _: str(tmp_path / "cache"))
        assert events_home(graph) == tmp_path / "cache" / "events"
        assert len(open_table(graph)) > 0
