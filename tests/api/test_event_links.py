"""Linking real texts: which concepts events mention, that scores stay the same, and a run that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tacit.graph import Assertion, Graph, GraphError, WritableGraph, open_graph
from tacit.graph.index import build_from_rows, open_index_directory
from tacit.graph.links import Link, LinkCounts, LinkManifest
from tacit.graph.names import event_uri
from tacit.graph.protocol import LinksEvents
from tacit.loaders import read_atomic, read_conceptnet
from tacit.reasoning import Reasoner
from tacit.reasoning.event_links import EventLinker, _role, link_events
from tacit.reasoning.text.linking import Mention
from tacit.reasoning.text.parsing import Word

from tests.api.conftest import Tacit
from tests.conftest import Stored

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "api" / "sample"
WORDS = (
    "lose wallet dog hot_dog walk walk_the_dog eat ice_cream eat_ice_cream happy buy brush key look_for person chess play "
    "personx shelf put old"
)


def sample_rows() -> list[Assertion]:
    return [*read_conceptnet(SAMPLE / "conceptnet.csv"), *read_atomic(SAMPLE / "atomic2020.tsv")]


@pytest.fixture(scope="module")
def linker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EventLinker]:
    rows = [Assertion(f"/c/en/{word}", "RelatedTo", "/c/en/thing") for word in WORDS.split()]
    with open_index_directory(build_from_rows(rows, tmp_path_factory.mktemp("words") / "index")) as index:
        yield EventLinker(index)


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("PersonX loses PersonX's wallet", "lose predicate 1, wallet object 3"),
        ("PersonX walks the dog", "walk_the_dog predicate 1, walk predicate 1, dog object 3"),
        ("eats a hot dog", "eat predicate 0, hot_dog object 2"),
        ("to eat ice cream", "eat_ice_cream predicate 1, eat predicate 1, ice_cream object 2"),
        ("PersonX looks for PersonX's keys", "look_for predicate 1, key oblique 4"),
        ("PersonX and PersonY play chess", "play predicate 3, chess object 4"),
        ("PersonX puts ___ on the old shelf", "old modifier 5, shelf oblique 6"),
        ("happy", "happy predicate 0"),
        ("___", ""),
        ("PersonX", ""),
        ("PersonX's ___", ""),
        ("dog dog", "dog predicate 1"),
    ],
)
def test_mentions_are_found_without_placeholders(linker: EventLinker, text: str, mentions: str) -> None:
    uri = event_uri(text)
    found_mentions = [(link.tail.removeprefix("/c/en/"), link.role, link.position) for link in linker.links([uri])]
    if text == "dog dog":  # which of the two the parser takes for the root does not matter: the first one counts
        assert [(word, index) for word, _, index in found_mentions] == [("dog", 0)]
    else:
        assert ", ".join(f"{word} {role} {index}" for word, role, index in found_mentions) == mentions


def test_a_conjunct_has_the_role_of_the_first_one() -> None:
    rows = [("buys", 0, 4, "ROOT", 0), ("dogs", 5, 9, "obj", 0), ("and", 10, 13, "cc", 3), ("cats", 14, 18, "conj", 1)]
    parse = tuple(Word(text, start, end, text, "NOUN", "NN", relation, head, 0) for text, start, end, relation, head in rows)
    assert [_role(Mention(start, end, text, "", text, "NOUN"), parse) for text, start, end, _, _ in rows] == [
        "predicate", "object", "modifier", "object",
    ]  # fmt: skip


def test_events_of_one_meaning_are_joined_once(linker: EventLinker) -> None:
    texts = ["to buy a brush", "PersonX buys the brush", "buy brush", "PersonX bought a brush", "PersonX sells a brush"]
    uris = [event_uri(text) for text in texts]
    links = [link for link in linker.links(uris) if link.relation == "SameEvent"]
    alike = sorted(uris[:3])
    assert links == [
        Link(alike[0], "SameEvent", alike[1]),
        Link(alike[0], "SameEvent", alike[2]),
        Link(alike[1], "SameEvent", alike[2]),
    ]
    assert list(linker.links(uris[::-1])) == list(linker.links(uris)), "the order of the events does not matter"


@pytest.fixture(params=["embedded", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def store(request: pytest.FixtureRequest, tmp_path: Path, stored: Stored) -> Iterator[WritableGraph]:
    """The sample graph in each store."""
    if request.param == "embedded":
        with open_graph(stored(sample_rows(), tmp_path / "graph"), engine="store") as graph:
            yield graph
    else:
        with open_graph(request.getfixturevalue("neo4j_url"), engine="store") as graph:
            graph.load(sample_rows())
            yield graph


ITEMS = [
    ("dogs", ["I walked my dog in the rain today."], "Dogs love bones and long walks."),
    ("soup", ["She cooked dinner for her friends.", "Was it good?"], "The soup was burnt, so they ordered a pizza."),
    ("music", ["Do you like music?"], "I play the guitar."),
]
METRICS = {"grounding": {}, "commonsense": {}, "grade": {}, "accent": {}}


def test_scores_and_distances_are_the_same_on_a_linked_graph(store: WritableGraph) -> None:
    """Over the store and over its index, with signatures and evidence."""
    with Graph(store) as graph:
        before = [scores(opened) for opened in (store, graph)]
        linked = link_events(graph)
        assert linked.counts.new == linked.manifest.links > 100
        assert [scores(opened) for opened in (store, graph)] == before
        with open_graph(store.url) as again:
            assert again.index is not None
            assert again.index.directory == graph.index.directory if graph.index else False, "the index is not built again"
            assert scores(again) == before[1]


def scores(graph: WritableGraph) -> list[object]:
    """Every score of every metric over a graph, with its evidence and signature, and distances of concepts."""
    words = graph.resolve(["dog", "rain", "dinner", "soup", "guitar", "bone"])
    uris = [uri for uri in words if uri is not None]
    rows = Reasoner(graph, list(METRICS), options=METRICS).stream(ITEMS, explain=True)
    return [graph.hop_distances(uris, uris).tolist(), *(row.to_dict(explain=True) for row in rows)]


def test_both_engines_have_the_same_links(tmp_path: Path, stored: Stored, store: WritableGraph) -> None:
    assert isinstance(store, LinksEvents)
    first = link_events(store)
    with open_graph(stored(sample_rows(), tmp_path / "other")) as other:
        assert link_events(other) == first
        assert sorted(other.links(), key=str) == sorted(store.links(), key=str)
    again = link_events(store)
    assert again.counts == LinkCounts(0, first.manifest.links, 0)
    assert (again.manifest, again.linked_digest) == (first.manifest, first.linked_digest)


def test_an_index_alone_cannot_be_linked(tmp_path: Path) -> None:
    with open_index_directory(build_from_rows(sample_rows(), tmp_path / "index")) as index, pytest.raises(GraphError):
        link_events(index)


# kill -9

LINKER = """
import sys, time
sys.path.insert(0, {root!r})
from tacit.api.main import run
import tacit.reasoning.event_links as linking
import tacit.graph.embedded.links as embedded
import tacit.graph.neo4j.links as server
linking._BATCH, server.BATCH = 50, 50
where, links, fill = sys.argv[2], linking.EventLinker.links, embedded._fill

def slow(self, events, progress=None):
    for number, link in enumerate(links(self, events, progress)):
        if where == "links" and number == 120:
            print("here", flush=True)
            time.sleep(3600)
        yield link

def filled(*arguments):
    fill(*arguments)
    if where == "fill":
        print("here", flush=True)
        time.sleep(3600)

linking.EventLinker.links, embedded._fill = slow, filled
raise SystemExit(run(["link", sys.argv[1], "--json", "--quiet"]))
"""


def killed(url: str, where: str) -> None:
    """Run ``tacit link`` in a process of its own and kill it at a point."""
    command = [sys.executable, "-c", LINKER.format(root=str(ROOT)), url, where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        assert line == "here\n"
    assert process.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.parametrize("where", ["links", "fill"])
def test_an_embedded_run_killed_and_repeated(tmp_path: Path, stored: Stored, tacit: Tacit, where: str) -> None:
    folder = stored(sample_rows(), tmp_path / "graph")
    untouched = stored(sample_rows(), tmp_path / "untouched")
    killed(str(folder), where)
    with open_graph(folder) as graph:
        assert (graph.link_manifest(), list(graph.links())) == (LinkManifest(), [])
        assert graph.unfinished() == ["link"]
    message = tacit("info", folder).err
    assert "tacit link was killed and wrote nothing; run it again" in message
    same_as_undisturbed(str(folder), str(untouched), tacit)
    assert sorted(path.name for path in folder.iterdir() if path.name != "index") == [
        "graph.lbug",
        "graph.lbug.sums",
        "graph.lock",
    ]


@pytest.mark.slow
@pytest.mark.neo4j
def test_a_neo4j_run_killed_and_repeated(tmp_path: Path, stored: Stored, tacit: Tacit, neo4j_url: str) -> None:
    with open_graph(neo4j_url) as graph:
        graph.load(sample_rows())
    killed(neo4j_url, "links")
    with open_graph(neo4j_url) as graph:
        partial = graph.link_manifest()
        assert (partial.links, partial.entry) == (100, None)
        assert len(list(graph.links())) == 100
        assert graph.unfinished() == ["link"]
    assert "tacit link is still running or was interrupted; if it is not running, run it again" in tacit("info", neo4j_url).err
    same_as_undisturbed(neo4j_url, str(stored(sample_rows(), tmp_path / "untouched")), tacit)
    with open_graph(neo4j_url) as graph:
        assert graph.unfinished() == []


def same_as_undisturbed(url: str, other: str, tacit: Tacit) -> None:
    """Link both graphs: the one whose linking was killed before is the same as the other."""
    counts, want = tacit("link", url, "--json", "--quiet").json, tacit("link", other, "--json", "--quiet").json
    for name in ("mentions", "same", "links_digest", "linked_digest"):
        assert counts[name] == want[name], name
    with open_graph(url) as linked, open_graph(other) as two:
        assert linked.link_manifest() == two.link_manifest()
        assert sorted(linked.links(), key=str) == sorted(two.links(), key=str)
        assert linked.manifest().checksum == two.manifest().checksum
    assert tacit("check", url).status == 0


# the command line


def test_load_links_when_asked_and_says_when_links_are_out_of_date(tmp_path: Path, tacit: Tacit) -> None:
    graph = tmp_path / "graph"
    tacit("load", "conceptnet", SAMPLE / "conceptnet.csv", "--into", graph)
    loaded = tacit("load", "atomic2020", SAMPLE / "atomic2020.tsv", "--into", graph, "--link", "--json").json
    info = tacit("info", graph, "--json").json
    assert info["links"]["current"] is True
    assert info["links"]["links"] == loaded["links"]["new"] == loaded["links"]["mentions"] + loaded["links"]["same"]
    assert info["linked_digest"] == loaded["links"]["linked_digest"] != info["digest"] == loaded["digest"]
    assert tacit("link", graph, "--json").json["kept"] == info["links"]["links"]
    more = tmp_path / "more.tsv"
    more.write_text("PersonX loses PersonX's dog\txReact\tsad\n", encoding="utf-8")
    done = tacit("load", "atomic2020", more, "--into", graph)
    assert "the events were linked before this load; run tacit link" in done.err
    assert "out of date, tacit link renews them" in tacit("info", graph).out
    text = tacit("link", graph)
    assert text.status == 0
    assert "new" in text.out
    assert "out of date" not in tacit("info", graph).out


def test_tails_and_paths_go_from_concepts_to_events(tmp_path: Path, stored: Stored, tacit: Tacit) -> None:
    graph = stored(sample_rows(), tmp_path / "graph")
    for words in (("tails", graph, "/c/en/exam"), ("paths", graph, "exam", "happy", "--events")):
        done = tacit(*words)
        assert (done.status, done.out) == (1, "")
        assert done.err == f"tacit: the events of {graph} are not linked to concepts; run tacit link {graph}\n"
    assert "has no tails of the event 'exam'" in tacit("tails", graph, "exam").err
    tacit("link", graph)
    rows = tacit("tails", graph, "exam", "xReact", "--json").json
    assert {(row["tail_text"], row["event_text"], row["events"], row["role"]) for row in rows} == {
        ("happy", "PersonX passes the exam", 1, "object"), ("relieved", "PersonX passes the exam", 1, "object"),
        ("prepared", "PersonX studies for the exam", 1, "oblique"), ("tired", "PersonX studies for the exam", 1, "oblique"),
    }  # fmt: skip
    assert tacit("tails", graph, "exam", "--json", "--limit", 1).json == tacit("tails", graph, "/c/en/exam", "--json").json[:1]
    event = tacit("tails", graph, "PersonX passes the exam", "xReact", "--json").json
    assert {row["tail_text"] for row in event} == {"happy", "relieved"}, "an event answers for itself, as before"
    assert "has no ObjectUse here, and neither has an event that mentions it" in tacit("tails", graph, "exam", "ObjectUse").err
    ways = [
        tacit("paths", graph, "exam", "relieved", "--events", "--engine", engine, "--json").json for engine in ("auto", "store")
    ]
    assert ways[0] == ways[1]
    assert [way["text"] for way in ways[0]] == ["exam <-Mentions- PersonX passes the exam -xReact-> relieved"]
    assert "'relieved'" in tacit("paths", graph, "exam", "relieved").err, "without --events only concepts count"


def test_only_a_graph_can_be_linked(tmp_path: Path, tacit: Tacit) -> None:
    for words in (("link", tmp_path / "nothing"), ("link",)):
        done = tacit(*words)
        assert (done.status, done.out) == (2, "")
        assert len(done.err.strip().splitlines()) <= 3
