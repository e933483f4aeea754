"""What a COMET generates is kept: asked once, whoever asks, on both engines; several processes write, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.graph import WritableGraph, open_graph, open_index
from tacit.graph.errors import GraphBusy, GraphError
from tacit.graph.model import Assertion, LoadCounts
from tacit.graph.names import event_uri
from tacit.reasoning.metrics.accent.scorers.base import Origin, Query, TailResult, TailSource
from tacit.reasoning.metrics.accent.tails.event_table import open_table
from tacit.reasoning.metrics.accent.tails.sources import CachedTails, Chain, CometTails, GraphTails
from tacit.reasoning.metrics.accent.tails.tail_cache import JOURNAL, Journal, TailCache, merge_cache

from tests.conftest import Stored
from tests.reasoning.metrics.accent.world import FixedComet, world

SLEEPS = Query("PersonX sleeps", "xReact")
SINGS = Query("PersonX sings", "xWant")
KNOWN = Query("PersonX buys a dog", "xReact")
ANSWERS = {("PersonX sleeps", "xReact"): ["rested", "refreshed"], ("PersonX sings", "xWant"): ["none"]}


def learnt(number: int, process: int = 0) -> Assertion:
    """An assertion that a model might have generated."""
    head, tail = event_uri(f"PersonX does thing {process}"), event_uri(f"to do {number}")
    return Assertion(head, "xWant", tail, source="comet:m", rank=number, score=-float(number))


def tails(graph: WritableGraph, comet: FixedComet, *, remember: bool = True) -> TailSource:
    """The graph, then ``comet``, as the metric chains them."""
    table = open_table(graph)
    return Chain([GraphTails(table, generated=False), CometTails(comet, TailCache(graph, table), remember=remember)])  # type: ignore[arg-type]


def texts(answers: list[TailResult]) -> list[list[str]]:
    return [[tail.text for tail in answer.tails] for answer in answers]


def test_known_heads_need_no_model(new_store: Callable[[], WritableGraph]) -> None:
    graph, comet = new_store(), FixedComet(ANSWERS)
    graph.load(world())
    first = tails(graph, comet).find([KNOWN, SLEEPS, SINGS, SLEEPS])
    assert texts(first) == [["happy"], ["rested", "refreshed"], [], ["rested", "refreshed"]]
    assert first[1].tails[0].origin is Origin.COMET
    assert comet.calls == 2
    again = tails(graph, comet).find([SINGS, KNOWN, SLEEPS])
    assert comet.calls == 2
    assert [again[1], again[2], again[0], again[2]] == first


def test_merged_tails_answer_for_their_model_and_are_in_the_graph(stored: Stored, tmp_path: Path) -> None:
    comet, other = FixedComet(ANSWERS), FixedComet({SLEEPS: ["dreamy"]}, name="other")
    with open_graph(stored(world(), tmp_path / "graph")) as graph:
        first = tails(graph, comet).find([SLEEPS, SINGS])
        assert merge_cache(graph).new == 3
        assert merge_cache(graph).new == 0
        assert [(row.source, row.rank) for row in graph.tails("PersonX sleeps")] == [(comet.source, 1), (comet.source, 0)]
        assert tails(graph, comet).find([SLEEPS, SINGS]) == first
        assert comet.calls == 2
        assert texts(tails(graph, other).find([SLEEPS])) == [["dreamy"]]
        (plain,) = GraphTails(open_table(graph)).find([SLEEPS])
        assert [(tail.text, tail.origin, tail.source, tail.rank) for tail in plain.tails] == [
            ("rested", Origin.COMET, comet.source, 0), ("refreshed", Origin.COMET, comet.source, 1),
        ]  # fmt: skip


def test_an_invalid_record_does_not_prevent_merging_others(tmp_path: Path) -> None:
    good = {"head": "/e/a", "relation": "xWant", "tail": "/e/b", "source": "comet:x", "rank": 0, "score": -1.0}
    bad: list[dict[str, object]] = [
        good | {"relation": "no relation"},
        good | {"tail": "/c/en/dog"},
        good | {"tail": "/e/" + "x" * 70_000},
        good | {"head": None},
        good | {"rank": float("inf")},
        good | {"rank": 10**30},
        good | {"rank": "0"},
        good | {"score": float("nan")},
        good | {"head": "/e/\ud800"},
    ]
    with open_graph(tmp_path / "graph", create=True) as graph:
        lines = ["not JSON", "[" * 100_000, *map(json.dumps, [*bad, good])]
        (tmp_path / "graph" / JOURNAL).write_text("".join(f"{line}\n" for line in lines))
        journal = Journal(tmp_path / "graph" / JOURNAL)
        assert [row.tail for row in journal.new()] == ["/e/b"]
        assert merge_cache(graph) == (1, 0, len(bad) + 2)
        assert [row.tail for row in graph.assertions()] == ["/e/b"]
        assert merge_cache(graph) == (0, 0, 0)


def test_generated_heads_are_no_nearest_heads(tmp_path: Path) -> None:
    with open_graph(tmp_path / "graph", create=True) as graph:
        graph.load([*world(), learnt(1)])
        table = open_table(graph)
    assert table.exact("PersonX does thing 0") is not None
    assert table.exact("PersonX does thing 0") not in table.observed_heads().tolist()


def test_without_the_journal_nothing_is_written(stored: Stored, tmp_path: Path) -> None:
    comet = FixedComet(ANSWERS)
    with open_graph(stored(world(), tmp_path / "graph")) as graph:
        tails(graph, comet, remember=False).find([SLEEPS])
        assert not (tmp_path / "graph" / JOURNAL).exists()
        tails(graph, comet, remember=False).find([SLEEPS])
    assert comet.calls == 2


def test_an_index_uses_the_journal_of_its_graph(stored: Stored, tmp_path: Path) -> None:
    comet = FixedComet(ANSWERS)
    with open_graph(stored(world(), tmp_path / "graph")) as graph:
        with open_index(graph) as index:
            tails(index, comet).find([SLEEPS])  # type: ignore[arg-type]
        tails(graph, comet).find([SLEEPS])
    assert comet.calls == 1


def test_when_a_comet_fails_the_graph_answers(stored: Stored, tmp_path: Path) -> None:
    comet = FixedComet(ANSWERS)
    comet.fails = "out of memory\nand more"
    with open_graph(stored(world(), tmp_path / "graph")) as graph:
        known, unknown = tails(graph, comet).find([KNOWN, SLEEPS])
        assert texts([known, unknown]) == [["happy"], []]
        assert (known.note, unknown.note) == ("", "the COMET fixed failed (out of memory), so only the graph was used")
        comet.fails = ""
        assert texts(tails(graph, comet).find([SLEEPS])) == [["rested", "refreshed"]]


def test_an_unwritable_journal_does_not_affect_scores(stored: Stored, tmp_path: Path) -> None:
    comet = FixedComet(ANSWERS)
    with open_graph(stored(world(), tmp_path / "graph")) as graph:
        source = tails(graph, comet)
        (tmp_path / "graph" / JOURNAL).mkdir()
        (answer,) = source.find([SLEEPS])
    assert texts([answer]) == [["rested", "refreshed"]]
    assert "could not be stored" in answer.note


def test_cached_tails_answer_without_a_comet(stored: Stored, tmp_path: Path) -> None:
    comet = FixedComet(ANSWERS)
    with open_graph(stored(world(), tmp_path / "graph")) as graph:
        assert CachedTails(TailCache(graph, open_table(graph))).signature == ""
        tails(graph, comet).find([SLEEPS])
        source = CachedTails(TailCache(graph, open_table(graph)))
    assert texts(source.find([SLEEPS, SINGS])) == [["rested", "refreshed"], []]
    assert source.signature.startswith("learnt:")


WRITER = """
import sys
from pathlib import Path
from tacit.graph.model import Assertion
from tacit.reasoning.metrics.accent.tails.tail_cache import Journal

journal = Journal(Path(sys.argv[1]))
for number in range(40):
    journal.append([Assertion(f"/e/head_{sys.argv[2]}", "xWant", f"/e/tail_{number}", source="comet:m", rank=number, score=-1.0)])
"""


def test_concurrent_writers_lose_no_records(stored: Stored, tmp_path: Path) -> None:
    with open_graph(stored(world(), tmp_path / "graph")) as graph:
        before = graph.counts().assertions
        path = tmp_path / "graph" / JOURNAL
        writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(process)]) for process in range(2)]
        folded = 0
        while any(writer.poll() is None for writer in writers):  # the graph takes in what there is, in the midst of it
            folded += merge_cache(graph).new
            time.sleep(0.1)
        assert [writer.wait() for writer in writers] == [0, 0]
        folded += merge_cache(graph).new
        assert folded == 80
        assert graph.counts().assertions == before + 80


def test_a_busy_graph_keeps_the_journal(tmp_path: Path) -> None:
    import fcntl

    with open_graph(tmp_path / "graph", create=True) as graph, (tmp_path / "graph" / "graph.lock").open("a") as lock:
        journal = Journal(tmp_path / "graph" / JOURNAL)
        journal.append([learnt(1)])
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(GraphBusy):
            merge_cache(graph)
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert journal.new() == [learnt(1)]
        assert merge_cache(graph).new == 1


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(["append", "read", "fold", "tear"]), max_size=12))
def test_a_reader_sees_every_record_once(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    """Whatever is appended, torn or emptied between its looks: each record that was there at a look, in order."""
    journal, seen, waiting, number = Journal(tmp_path_factory.mktemp("journal") / JOURNAL), [], [], 0
    reader = Journal(journal.path)
    held: list[Assertion] = []

    class Graph:
        def load(self, rows: list[Assertion]) -> LoadCounts:
            held.extend(rows)
            return LoadCounts(len(rows), 0)

    for step in steps:
        if step == "append":
            journal.append([learnt(number), learnt(number + 1)])
            waiting += [learnt(number), learnt(number + 1)]
            number += 2
        elif step == "tear" and journal.path.exists():
            with journal.path.open("ab") as file:
                file.write(b'{"head": "/e/half')
        elif step == "fold":
            journal.merge_cache(Graph())  # type: ignore[arg-type]
            waiting = []
        elif step == "read":
            assert reader.new() == waiting
            seen += waiting
            waiting = []
    assert [row.rank for row in held] == sorted({row.rank for row in held if row.rank is not None})
    new_records = reader.new()
    assert new_records == waiting


def test_invalid_lines_are_skipped(tmp_path: Path) -> None:
    journal = Journal(tmp_path / JOURNAL)
    journal.append([learnt(0)])
    with journal.path.open("ab") as file:
        file.write(b'null\n{"head": 1}\n[]\n\xff\n' + json.dumps({"head": "/e/a"}).encode() + b"\n")
    journal.append([learnt(1)])
    assert journal.new() == [learnt(0), learnt(1)]
    with pytest.raises(GraphError, match="cannot be written"):
        Journal(tmp_path / "no" / "folder").append([learnt(0)])
