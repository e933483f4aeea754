"""Loading: existing content stays, loads add up, both stores give one digest, and garbage collection is rare meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tacit.graph import (
    Assertion,
    GraphBusy,
    GraphError,
    GraphNotFound,
    InputError,
    LoadEntry,
    Manifest,
    WritableGraph,
    checksum,
    open_graph,
)
from tacit.graph.embedded import engine as schema
from tacit.graph.embedded import load as embedded_load
from tacit.graph.embedded.engine import Engine
from tacit.graph.embedded.spool import Spool
from tacit.graph.item import Item
from tacit.graph.links import Link
from tacit.graph.loading import rare_cycle_search
from tacit.graph.names import MAX_URI
from tacit.graph.protocol import LinksEvents
from tacit.reasoning.base import BatchScoring, Evidence, Score, Signature

from tests.graph.example_rows import BONE, DOG, NASTY_ROWS, SMALL, random_rows

NewStore = Callable[[], WritableGraph]


def entry(sha256: str, **options: object) -> Callable[[], LoadEntry]:
    return lambda: LoadEntry("conceptnet", 1, "file.csv", sha256, options, 10, 9, {"language": 1})


def test_loads_add_up_and_are_idempotent(new_store: NewStore) -> None:
    store = new_store()
    steps: list[int] = []
    assert store.load(SMALL[:10], entry("a"), steps.append) == (10, 0)
    assert sum(steps) == 10
    assert store.load([*SMALL, *SMALL], entry("b", languages=["en"])) == (len(SMALL) - 10, len(SMALL) + 10)
    manifest = store.manifest()
    assert (manifest.assertions, manifest.checksum) == (len(SMALL), checksum(SMALL))
    assert [load.sha256 for load in manifest.loads] == ["a", "b"]
    assert manifest.loads[0].dropped == {"language": 1}
    assert store.load(SMALL, entry("a")) == (0, len(SMALL))
    assert store.manifest() == manifest
    replaced = lambda: LoadEntry("conceptnet", 2, "other.csv", "a")  # noqa: E731
    store.load([], replaced)
    assert [(load.version, load.sha256) for load in store.manifest().loads] == [(2, "a"), (1, "b")]
    assert store.counts().assertions == len(SMALL)
    assert sorted(store.assertions()) == sorted(SMALL)


def test_a_small_graph_is_the_same_written_anew_and_appended_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        Assertion(f"/{kind}/{number}", relation, f"/{kind}/{number + 1}", float(number), "x", license="cc0" * (number % 2))
        for relation, kind in (("IsA", "c/en"), ("UsedFor", "c/en"), ("isa", "c/en"), ("Added", "c/en"), ("HasSubevent", "e"),
                               ("HasSubevent", "c/en"), ("xWant", "e"), ("xNeed", "e"))
        for number in range(6)
    ]  # fmt: skip
    written: list[bool] = []
    write = embedded_load._write

    def watched(folder: Path, spool: Spool, manifest: Manifest, rewritten: bool) -> None:
        written.append(rewritten)
        write(folder, spool, manifest, rewritten)

    monkeypatch.setattr(embedded_load, "_write", watched)
    for name in ("anew", "appended"):
        with open_graph(tmp_path / name, engine="store", create=True) as graph:
            assert graph.load(rows[::2], entry("a")) == (24, 0)
            assert graph.load(rows[:1] + rows[1::4], entry("b")) == (12, 1)
            assert graph.load(rows[::4]) == (0, 12)
            assert graph.load(rows[3:4]) == (1, 0), "one table is appended to"
            assert graph.load(rows) == (11, 37)
            assert sorted(graph.assertions()) == sorted(rows)
            assert graph.manifest().checksum == checksum(rows)
            assert [load.sha256 for load in graph.manifest().loads] == ["a", "b"]
            assert graph.counts().relations == {"HasSubevent": 12} | dict.fromkeys(
                ["IsA", "UsedFor", "isa", "Added", "xWant", "xNeed"], 6
            )
            assert (graph.counts().concepts, graph.counts().events) == (7, 7)
        monkeypatch.setattr(embedded_load, "REWRITTEN", 0)
    assert written == [False, True, False, True, False, False, False, False]


def test_a_small_graph_with_links_keeps_them(tmp_path: Path) -> None:
    rows = [
        Assertion(f"/e/{number}", relation, f"/e/{number + 1}")
        for relation in ("xWant", "xNeed", "xAttr", "xReact", "xIntent", "oWant")
        for number in range(4)
    ]
    link = Link("/e/0", "SameEvent", "/e/1")
    with open_graph(tmp_path / "graph", engine="store", create=True) as graph:
        graph.load(rows[::2])
        assert isinstance(graph, LinksEvents)
        graph.replace_links([link])
        assert graph.load(rows) == (12, 12)
        assert list(graph.links()) == [link]


def test_of_equal_assertions_the_first_is_kept(new_store: NewStore) -> None:
    store = new_store()
    first, second = Assertion(DOG, "IsA", BONE, 1.0, "x"), Assertion(DOG, "IsA", BONE, 2.0, "x", license="other")
    assert store.load([first, second]) == (1, 1)
    assert store.load([second]) == (0, 1)
    assert list(store.assertions()) == [first]
    assert store.manifest().checksum == checksum([first])


def test_integers_and_floats_keep_their_type(new_store: NewStore) -> None:
    store = new_store()
    store.load([Assertion(DOG, "IsA", BONE, 1, rank=True, score=0)])
    (row,) = store.assertions()
    assert repr(row.weight) == "1.0"
    assert repr(row.rank) == "1"
    assert repr(row.score) == "0.0"
    assert store.manifest().checksum == checksum([row])


@pytest.mark.parametrize(
    "row",
    [
        Assertion("/c/en/" + "x" * MAX_URI, "IsA", BONE),
        Assertion(BONE, "IsA", "/c/en/" + "x" * 70_000),
        Assertion("/e/" + "ü" * 2100, "xWant", "/e/y"),
        Assertion(DOG, "IsA", BONE, rank=2**63),
        Assertion(DOG, "IsA", BONE, score=float("inf")),
    ],
    ids=["uri", "long uri", "event", "rank", "score"],
)
def test_values_that_one_store_cannot_hold_are_refused_by_both(new_store: NewStore, row: Assertion) -> None:
    store = new_store()
    longest = Assertion("/c/en/" + "ü" * ((MAX_URI - 6) // 2), "IsA", BONE, rank=2**63 - 1)
    store.load([longest])
    with pytest.raises(InputError, match="cannot be stored"):
        store.load([Assertion(DOG, "IsA", DOG), row])
    assert list(store.assertions()) == [longest]


def test_a_broken_stream_leaves_a_graph_that_can_be_loaded_again(new_store: NewStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.graph.neo4j.load.BATCH", 1_000)
    monkeypatch.setattr("tacit.graph.embedded.load._BATCH", 1_000)
    store = new_store()
    rows = random_rows(1_200, 400, 2)

    def broken() -> Iterator[Assertion]:
        yield from rows[:1_100]
        raise RuntimeError("the file ends here")

    with pytest.raises(RuntimeError, match="ends here"):
        store.load(broken(), entry("x"))
    manifest = store.manifest()
    assert checksum(store.assertions()) == manifest.checksum
    assert manifest.loads == ()
    store.load(rows, entry("x"))
    unique = {row.fingerprint()[0]: row for row in reversed(rows)}.values()
    assert store.manifest().assertions == len(unique) == store.counts().assertions
    assert store.manifest().checksum == checksum(unique) == checksum(store.assertions())


@pytest.mark.neo4j
def test_both_stores_agree_with_the_rows_neo4j(neo4j_url: str, tmp_path: Path) -> None:
    rows = [*SMALL, *NASTY_ROWS, *{row.fingerprint()[0]: row for row in random_rows(1_500, 750, 3)}.values()]
    with open_graph(tmp_path / "g", create=True) as embedded, open_graph(neo4j_url) as server:
        assert embedded.load(rows, entry("a")) == server.load(reversed(rows), entry("a")) == (len(rows), 0)
        assert embedded.manifest() == server.manifest()
        assert embedded.manifest().checksum == checksum(embedded.assertions()) == checksum(server.assertions())
        assert embedded.counts() == server.counts()
        for name in ("relation", "weight", "source", "contributors", "tail_sense", "rank", "score"):
            statement = f"MATCH ()-[r]->() RETURN r.id AS id, r.{name} AS held ORDER BY id"
            assert embedded.run(statement, limit=10_000) == server.run(statement, limit=10_000)
        statement = "MATCH (n:Concept) RETURN n.uri AS uri, n.text AS text, n.language AS language ORDER BY uri"
        assert embedded.run(statement, limit=10_000) == server.run(statement, limit=10_000)


def test_one_process_loads_at_a_time(tmp_path: Path) -> None:
    with open_graph(tmp_path / "g", create=True) as graph, open_graph(tmp_path / "g") as two:

        def rows() -> Iterator[Assertion]:
            with pytest.raises(GraphBusy, match=r"another process is loading into .*; try again when it is done"):
                two.load(SMALL)
            yield from SMALL

        graph.load(rows())
        assert two.counts().assertions == 0, "a reader keeps what it opened"
        two.load([])
        assert two.counts().assertions == len(SMALL)


def test_loading_nothing_new_leaves_the_file(tmp_path: Path) -> None:
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(SMALL, entry("a"))
        file = tmp_path / "g" / "graph.lbug"
        before = file.stat()
        graph.load(SMALL, entry("a"))
        graph.load([])
        after = file.stat()
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
        assert sorted(path.name for path in file.parent.iterdir()) == ["graph.lbug", "graph.lbug.sums", "graph.lock"]


def test_relations_that_differ_in_case_or_are_called_like_nodes(new_store: NewStore) -> None:
    store = new_store()
    names = ["HasSubevent", "hassubevent", "Concept", "manifest", "Event", "dbpedia_genre", "DBpedia_genre", "type"]
    rows = [Assertion(DOG, name, BONE, float(index)) for index, name in enumerate(names)]
    store.load(rows[:4])
    store.load(rows)
    assert sorted(store.assertions()) == sorted(rows)
    assert store.counts().relations == dict.fromkeys(sorted(names), 1)
    assert [n.weight for n in store.neighbours(DOG, relations=["Concept"])] == [2.0]
    assert [n.weight for n in store.neighbours(DOG, relations=["hassubevent", "Nowhere"])] == [1.0]


def test_opening_does_not_create_a_graph(tmp_path: Path) -> None:
    with pytest.raises(GraphNotFound, match="tacit load"):
        open_graph(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(GraphNotFound, match="is a file"):
        open_graph(tmp_path / "file", create=True)
    with pytest.raises(GraphError, match="cannot be created"):
        open_graph(tmp_path / "file" / "graph", create=True)


def test_an_invalid_row_is_refused_before_anything_is_stored(new_store: NewStore) -> None:
    store = new_store()
    with pytest.raises(InputError, match="two concepts or two events"):
        store.load([*SMALL, Assertion("", "IsA", BONE)])
    assert store.counts().assertions == 0


def test_a_load_grows_its_memory_limit_as_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_load, "LOAD_MEMORY", 24 << 20)
    pools: list[int] = []

    class Counted(Engine):
        def _open(self, memory: int) -> None:
            pools.append(memory)
            super()._open(memory)

    monkeypatch.setattr(embedded_load, "Engine", Counted)
    rows = [Assertion(f"/c/en/{n}", "IsA", f"/c/en/{n * 7 % 5000}", 1.0, "x", "y" * 20) for n in range(60_000)]
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(rows)
        assert max(pools) > 24 << 20
        assert pools[-1] == 24 << 20
        assert graph.counts().assertions == len(rows)
        assert graph.manifest().checksum == checksum(graph.assertions()) == checksum(rows)


def test_a_load_in_several_copies_holds_every_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_load, "COPY", 20)  # the engine is opened anew after ten rows
    monkeypatch.setattr(embedded_load, "_BATCH", 10)
    rows = [Assertion(f"/c/en/{n}", ("IsA", "PartOf")[n % 2], f"/c/en/{n * 7 % 50}", 1.0, "x") for n in range(60)]
    with open_graph(tmp_path / "g", create=True) as graph:
        first, second = graph.load(rows[:40]), graph.load(rows)
        assert (first.new, first.duplicate, second.new, second.duplicate) == (40, 0, 20, 40)
        assert graph.manifest().checksum == checksum(graph.assertions()) == checksum(rows)


@pytest.mark.parametrize("folder", ["a[1]*? {b}'\"\\$rows", "a:b", "file:c"])
def test_a_folder_may_have_characters_of_patterns_quotes_and_urls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (folder, str(tmp_path / "absolute" / folder)):
        with open_graph(path, create=True) as graph:
            assert graph.load(SMALL) == (len(SMALL), 0)
            assert sorted(graph.assertions()) == sorted(SMALL)


def test_a_large_graph_has_a_relation_in_several_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("COPY", 20), ("_BATCH", 10), ("PART", 20)):
        monkeypatch.setattr(embedded_load, name, value)
    monkeypatch.setattr(schema, "APPENDED", 30)
    rows = [Assertion(f"/c/en/{n}", "IsA", f"/c/en/{n * 7 % 50}", float(n), "x") for n in range(60)]
    rows += [Assertion(f"/c/en/{n}", ("HasSubevent", "hassubevent")[n % 2], f"/c/en/{n + 1}") for n in range(50)]
    rows += [Assertion("/e/a", "xWant", "/e/b"), Assertion("/c/en/1", "IsA__2", "/c/en/2")]
    with open_graph(tmp_path / "g", create=True) as graph:
        assert graph.load(rows[:70]).new == 70
        assert graph.load(rows) == (len(rows) - 70, 70)
        assert graph.load(rows).new == 0
        assert graph.manifest().checksum == checksum(graph.assertions()) == checksum(rows)
        assert graph.counts().relations == {"IsA": 60, "HasSubevent": 25, "hassubevent": 25, "xWant": 1, "IsA__2": 1}
        tables = schema.relation_tables(Engine(tmp_path / "g" / "graph.lbug"))
        assert {"isa", "_2_isa", "_3_isa", "_2_hassubevent", "isa__2"} < set(tables)
        assert "_2_xwant" not in tables
        for statement in (
            "MATCH (:Concept)-[r:IsA]->(:Concept) RETURN count(r)",
            "MATCH (:Concept)-[r:IsA {source: 'x'}]->(:Concept) RETURN count(r)",
            "MATCH (:Concept)-[:`IsA`]->(b:Concept) RETURN count(b)",
        ):
            assert graph.run(statement).rows == ((60,),)
        assert graph.run("MATCH ()-[r:hassubevent]->() RETURN count(r)").rows == ((25,),)
        assert graph.run("MATCH ()-[r:IsA|xWant]->() RETURN count(r)").rows == ((61,),)
        assert graph.run("MATCH ()-[r:IsA__2]->() RETURN count(r)").rows == ((1,),)
        path = "MATCH p = shortestPath((a:Concept {uri: '/c/en/59'})-[:IsA*..9]->(b:Concept {uri: '/c/en/41'})) RETURN length(p)"
        assert graph.run(path).rows == ((2,),)


@pytest.mark.slow
def test_the_real_graph_loads(conceptnet_graph: Path) -> None:
    with open_graph(conceptnet_graph, engine="store") as graph:
        manifest = graph.manifest()
        (loaded,) = manifest.loads
        assert loaded.read == loaded.kept == 289_251
        assert graph.counts().assertions == manifest.assertions == 289_251
        assert manifest.checksum == checksum(graph.assertions())


# Reference cycles are looked for rarely during a load or a batch, and as before after it, whatever happened.


def test_the_gc_threshold_is_restored_after_an_error() -> None:
    before = gc.get_threshold()
    within = []

    @rare_cycle_search()
    def load() -> None:
        within.append(gc.get_threshold()[0])
        raise ValueError("a row")

    with pytest.raises(ValueError, match="a row"):
        load()
    assert within == [1_000_000]
    assert gc.get_threshold() == before


def test_a_disabled_garbage_collector_stays_disabled() -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(0)
        with rare_cycle_search():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)


def test_concurrent_blocks_restore_the_gc_threshold() -> None:
    """The first to enter is the first to leave, as threads may."""
    before = gc.get_threshold()
    first, second = rare_cycle_search(), rare_cycle_search()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] == 1_000_000
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before


def test_scoring_collects_garbage_rarely() -> None:
    before, within = gc.get_threshold(), []

    class Watching(BatchScoring):
        def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
            within.append((len(items), explain, gc.get_threshold()[0]))
            return [score] * len(items)

    score = Score(1.0, Evidence(), Signature("watching", (), 1))
    watching = Watching()
    watching.signature = score.signature
    assert watching.score_batch([(["How are you today?"], "I am fine, thank you.")]) == [score]
    assert within == [(1, False, 1_000_000)]
    assert gc.get_threshold() == before
