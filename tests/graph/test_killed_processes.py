"""Loading processes and servers are killed, and the graphs must stay complete."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tacit.graph import Assertion, GraphUnavailable, KnowledgeGraph, LoadEntry, Manifest, checksum, open_graph

from tests.conftest import OwnServer
from tests.graph.example_rows import DOG, random_rows

ROWS = 14_000
FEW, BATCH = 1_400, 1_000  # for a server: rows, and how many of them one transaction holds
ROOT = Path(__file__).parents[2]

# A process that loads and says when it has read its rows; `stop_at` makes it wait there, so that the kill hits that point.
LOADER = """
import sys, time
sys.path.insert(0, {root!r})
from tests.graph.example_rows import random_rows
from tacit.graph import LoadEntry, open_graph
from tacit.graph.embedded import engine, load as embedded
from tacit.graph.neo4j import load
load.BATCH = {batch}
if {large}:  # several tables for each relation
    engine.APPENDED, embedded.PART, embedded._BATCH, embedded.REWRITTEN = 0, 500, 500, 0

def rows(stop_at):
    for number, row in enumerate(random_rows({rows}, 6000, 7)):
        if number == stop_at:
            print("here", flush=True)
            time.sleep(3600)
        yield row
    print("here", flush=True)

with open_graph(sys.argv[1], create=True) as graph:
    print("open", flush=True)
    graph.load(rows(int(sys.argv[2])), lambda: LoadEntry("test", 1, "f", "sha"))
    print("done", flush=True)
"""


def loader(url: str, stop_at: int, rows: int, large: bool) -> subprocess.Popen[str]:
    program = LOADER.format(root=str(ROOT), rows=rows, batch=BATCH, large=large)
    command = [sys.executable, "-c", program, url, str(stop_at)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONHASHSEED": "random"})


def killed(url: str, stop_at: int, delay: float, rows: int = ROWS, large: bool = False) -> bool:
    """Start a load, kill it ``delay`` seconds after it reached its point, and say whether it died before it was done."""
    with loader(url, stop_at, rows, large) as process:
        assert process.stdout is not None
        while "here" not in (line := process.stdout.readline()):
            assert line
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        return "done" not in process.stdout.read()


@cache
def expected(number: int) -> Manifest:
    """The manifest, less its loads, of a graph of the first ``number`` rows."""
    rows = {row.fingerprint()[0]: row for row in reversed(random_rows(number, 6000, 7))}.values()
    return Manifest((), len(rows), checksum(rows))


def whole(graph: KnowledgeGraph, rows: int = ROWS) -> None:
    """The graph is what one undisturbed load makes of the rows: no edge lost, none doubled."""
    manifest, want = graph.manifest(), expected(rows)
    assert (manifest.digest, manifest.assertions) == (want.digest, want.assertions)
    assert graph.counts().assertions == want.assertions
    assert checksum(graph.assertions()) == want.checksum
    assert len(manifest.loads) == 1


def consistent(graph: KnowledgeGraph) -> None:
    """The manifest says what is there, however much that is."""
    rows = list(graph.assertions())
    manifest = graph.manifest()
    assert (manifest.assertions, manifest.checksum) == (len(rows), checksum(rows))


@pytest.mark.slow
def test_an_embedded_load_killed_at_any_step(tmp_path: Path) -> None:
    folder = tmp_path / "g"
    deaths = 0
    points = ((10_000, 0.0, False), (-1, 0.0, False), (-1, 0.1, True), (-1, 0.3, False), (-1, 0.6, True))
    for stop_at, delay, large in points:
        deaths += killed(str(folder), stop_at, delay, large=large)
        with open_graph(folder, create=True) as graph:
            consistent(graph)
            assert graph.manifest().assertions in (0, expected(ROWS).assertions)
    assert deaths >= 3
    with open_graph(folder) as graph:
        graph.load(random_rows(ROWS, 6000, 7), _entry)
        whole(graph)
    assert sorted(path.name for path in folder.iterdir()) == ["graph.lbug", "graph.lbug.sums", "graph.lock"]


@pytest.mark.slow
@pytest.mark.neo4j
def test_a_neo4j_load_killed_at_any_step(neo4j_url: str) -> None:
    for stop_at in (BATCH + 1, FEW - 100):
        assert killed(neo4j_url, stop_at, 0.0, FEW)
        with open_graph(neo4j_url) as graph:
            consistent(graph)
            assert 0 < graph.manifest().assertions < expected(FEW).assertions
    with open_graph(neo4j_url) as graph:
        graph.load(random_rows(FEW, 6000, 7), _entry)
        whole(graph, FEW)


@pytest.mark.slow
@pytest.mark.neo4j
def test_a_neo4j_server_killed_while_loading_and_reading(own_server: OwnServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.graph.neo4j.load.BATCH", BATCH)
    url = own_server.start()
    before = []

    def rows() -> Iterator[Assertion]:
        for number, row in enumerate(random_rows(FEW, 6000, 7)):
            if number == FEW - 100:
                before.extend(patient.neighbours("/c/en/concept_0", 2, None))
                own_server.do("kill")
            yield row

    monkeypatch.setenv("TACIT_NEO4J_RETRY_SECONDS", "120")
    with open_graph(url) as patient:
        monkeypatch.setenv("TACIT_NEO4J_RETRY_SECONDS", "0.5")
        with open_graph(url) as graph, pytest.raises(GraphUnavailable, match="does not answer") as caught:
            graph.load(rows(), _entry)
        assert "\n" not in str(caught.value)

        back = threading.Thread(target=own_server.start)
        back.start()
        assert patient.neighbours("/c/en/concept_0", 2, None) == before != [], "a server that comes back is waited for"
        back.join()
        consistent(patient)
        assert 0 < patient.manifest().assertions < expected(FEW).assertions
        patient.load(random_rows(FEW, 6000, 7), _entry)
        whole(patient, FEW)

    monkeypatch.setenv("TACIT_NEO4J_RETRY_SECONDS", "0.2")
    with open_graph(url) as graph:
        stream = graph.assertions()
        next(stream)
        own_server.do("kill")
        started = time.monotonic()
        for ask in (
            lambda: graph.hop_distances([DOG, "/c/en/concept_1"], ["/c/en/concept_2"]),
            lambda: graph.neighbours("/c/en/concept_1", 2),
            lambda: graph.resolve(["dog"]),
            lambda: graph.manifest(),
            lambda: list(graph.assertions()),
        ):
            with pytest.raises(GraphUnavailable, match=r"does not answer .*; check that the server runs there$"):
                ask()
        assert time.monotonic() - started < 60


def _entry() -> LoadEntry:
    return LoadEntry("test", 1, "f", "sha")
