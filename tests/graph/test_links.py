"""Links on both stores: a small graph whose links are written by hand, and the queries that leave links out."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph import (
    Assertion,
    Graph,
    GraphError,
    InputError,
    KnowledgeGraph,
    QueryInvalid,
    UnknownName,
    WritableGraph,
    open_graph,
)
from tacit.graph.check import check_graph
from tacit.graph.export import export_csv_import
from tacit.graph.links import (
    ROLES,
    ConceptTail,
    Link,
    LinkCounts,
    LinkEntry,
    LinkManifest,
    checked_link,
    is_current,
    link_manifest_of,
    link_properties,
    linked_digest,
)
from tacit.graph.protocol import LinksEvents

from tests.graph.backends import imported

NewStore = Callable[[], WritableGraph]

LOSES, KEEPS, FINDS = "/e/PersonX_loses_PersonX's_wallet", "/e/PersonX_keeps_a_wallet", "/e/PersonX_finds_the_wallet"
FIND, LOOK, CALM = "/e/to_find_the_wallet", "/e/to_look_for_it", "/e/calm"
WALLET, LOSE, MONEY = "/c/en/wallet", "/c/en/lose", "/c/en/money"
ROWS = [
    Assertion(WALLET, "AtLocation", "/c/en/pocket", 2.0, "conceptnet"),
    Assertion(LOSE, "RelatedTo", "/c/en/win", 1.0, "conceptnet"),
    Assertion(MONEY, "AtLocation", "/c/en/bank", 1.0, "conceptnet"),
    Assertion(LOSES, "xWant", LOOK, 1.0, "atomic2020", "train.tsv"),
    Assertion(LOSES, "xWant", FIND, 1.0, "atomic2020", "train.tsv"),
    Assertion(LOSES, "xReact", "/e/sad", 3.0, "atomic2020"),
    Assertion(KEEPS, "xReact", CALM, 1.0, "atomic2020"),
    Assertion(FINDS, "xReact", CALM, 2.0, "atomic2020"),
    Assertion(FINDS, "xWant", LOOK, 5.0, "atomic2020"),
    Assertion(FINDS, "xNeed", LOOK, 1.0, "atomic2020"),
]
LINKS = [
    Link(LOSES, "Mentions", LOSE, "predicate", 1),
    Link(LOSES, "Mentions", WALLET, "object", 3),
    Link(KEEPS, "Mentions", WALLET, "object", 3),
    Link(FINDS, "Mentions", WALLET, "object", 3),
    Link(FIND, "Mentions", WALLET, "object", 3),
    Link(FINDS, "SameEvent", FIND),
]


def entry(graph: KnowledgeGraph) -> LinkEntry:
    return LinkEntry(1, "pipeline@1", "en", graph.manifest().digest, 7, 4, 5, 1)


def linked(new_store: NewStore, links: list[Link] | None = None) -> WritableGraph:
    store = new_store()
    store.load(ROWS)
    assert isinstance(store, LinksEvents)
    store.replace_links(LINKS if links is None else links, lambda: entry(store))
    return store


def test_links_are_stored_counted_and_read_back(new_store: NewStore) -> None:
    store = new_store()
    store.load(ROWS)
    assert isinstance(store, LinksEvents)
    assert store.link_manifest() == LinkManifest()
    assert list(store.links()) == []
    assert sorted(store.events()) == sorted({uri for row in ROWS[3:] for uri in (row.head, row.tail)})
    before = store.manifest()
    assert store.replace_links([*LINKS, LINKS[0]], lambda: entry(store)) == LinkCounts(6, 0, 0)
    assert sorted(store.links(), key=str) == sorted(LINKS, key=str)
    manifest = store.link_manifest()
    hashes = [hashlib.blake2b("\t".join(map(str, link)).encode(), digest_size=16).digest() for link in LINKS]
    want = sum(int.from_bytes(digest, "little") for digest in hashes) % 2**128
    assert manifest == LinkManifest(entry(store), 6, want)
    assert store.manifest() == before, "links are not assertions"
    assert linked_digest(before, LinkManifest()) == before.digest
    assert linked_digest(before, manifest) not in (before.digest, manifest.digest)
    rows = store.run(
        "MATCH (e:Event)-[m:Mentions]->(c:Concept {text: 'wallet'}) WHERE m.role = 'object' AND m.position = 3 "
        "RETURN e.text AS event, type(m) AS kind ORDER BY event"
    ).rows
    assert rows == tuple((text, "Mentions") for text in sorted(
        ("PersonX loses PersonX's wallet", "PersonX keeps a wallet", "PersonX finds the wallet", "to find the wallet")
    ))  # fmt: skip
    assert store.run("MATCH (a:Event)-[:SameEvent]-(b:Event) RETURN count(*) AS n").rows == ((2,),)


def test_the_same_links_change_nothing_and_others_replace_them(new_store: NewStore) -> None:
    store = linked(new_store)
    assert isinstance(store, LinksEvents)
    manifest = store.link_manifest()
    assert store.replace_links(reversed(LINKS), lambda: entry(store)) == LinkCounts(0, 6, 0)
    assert store.link_manifest() == manifest
    other = [*LINKS[1:], Link(LOSES, "Mentions", LOSE, "object", 1), Link(LOSES, "Mentions", MONEY, "modifier", 2)]
    assert store.replace_links(other, lambda: entry(store)) == LinkCounts(2, 5, 1)
    assert sorted(store.links(), key=str) == sorted(other, key=str)
    fresh = sum(link.fingerprint()[1] for link in other) % 2**128
    assert (store.link_manifest().links, store.link_manifest().checksum) == (7, fresh)
    assert store.replace_links([], lambda: entry(store)) == LinkCounts(0, 0, 7)
    assert list(store.links()) == []
    assert linked_digest(store.manifest(), store.link_manifest()) == store.manifest().digest


def test_links_do_not_change_concept_and_event_queries(new_store: NewStore) -> None:
    store = new_store()
    store.load(ROWS)
    concepts = [WALLET, LOSE, MONEY, "/c/en/pocket", "/c/en/win", "/c/en/bank"]

    def answers() -> list[object]:
        return [
            store.counts(), sorted(store.assertions()), store.hop_distances(concepts, concepts).tolist(),
            [store.neighbours(node, hop) for node in concepts for hop in (1, 2)],
            [store.paths(*pair) for pair in itertools.permutations(concepts, 2)],
            [store.triples_between(concepts, concepts, hops) for hops in (1, 2)],
            [store.count_triples(concepts, concepts, hops) for hops in (1, 2)],
            [store.tails(node) for node in (LOSES, FINDS, FIND)], [store.heads(text) for text in ("wallet", "find", "to find")],
            store.resolve(["wallet", "PersonX finds the wallet"]), store.manifest(),
        ]  # fmt: skip

    before = answers()
    assert isinstance(store, LinksEvents)
    store.replace_links(LINKS, lambda: entry(store))
    assert answers() == before
    assert store.hop_distances([LOSE], [WALLET]).tolist() == [[-1]], "the event that mentions both is no path"


def test_the_tails_of_a_concept_come_best_first(new_store: NewStore) -> None:
    store = linked(new_store)
    assert isinstance(store, LinksEvents)
    tails = store.concept_tails("the wallets")
    assert tails == [
        ConceptTail("xWant", LOOK, 2, FINDS, "object", 5.0, "atomic2020", ""),
        ConceptTail("xReact", CALM, 2, FINDS, "object", 2.0, "atomic2020", ""),
        ConceptTail("xNeed", LOOK, 1, FINDS, "object", 1.0, "atomic2020", ""),
        ConceptTail("xReact", "/e/sad", 1, LOSES, "object", 3.0, "atomic2020", ""),
        ConceptTail("xWant", FIND, 1, LOSES, "object", 1.0, "atomic2020", "train.tsv"),
    ]
    assert store.concept_tails(WALLET, "xWant", 1) == [tails[0]]
    assert store.concept_tails(LOSE, "xReact") == [ConceptTail("xReact", "/e/sad", 1, LOSES, "predicate", 3.0, "atomic2020", "")]
    assert store.concept_tails("pocket") == store.concept_tails("/c/en/unicorn") == store.concept_tails(WALLET, limit=0) == []
    with pytest.raises(UnknownName, match="unicorn"):
        store.concept_tails("unicorn")
    with pytest.raises(InputError, match="limit"):
        store.concept_tails(WALLET, limit=-1)


def test_a_graph_without_links_says_what_to_do(new_store: NewStore) -> None:
    store = new_store()
    store.load(ROWS)
    assert isinstance(store, LinksEvents)
    with pytest.raises(GraphError, match="are not linked to concepts; run tacit link"):
        store.concept_tails(WALLET)
    assert store.run("MATCH (:Event)-[m:Mentions]->(:Concept) RETURN count(m) AS n").rows == ((0,),)


def test_a_load_keeps_links_and_makes_them_out_of_date(new_store: NewStore) -> None:
    store = linked(new_store)
    assert isinstance(store, LinksEvents)
    manifest = store.link_manifest()
    assert is_current(store.manifest(), manifest)
    assert store.load(ROWS).new == 0
    assert is_current(store.manifest(), store.link_manifest())
    store.load([Assertion(MONEY, "RelatedTo", WALLET, 1.0, "conceptnet")])
    assert store.link_manifest() == manifest
    assert not is_current(store.manifest(), manifest)
    assert sorted(store.links(), key=str) == sorted(LINKS, key=str)


@pytest.mark.parametrize("relation", ["Mentions", "SameEvent"])
def test_relations_cannot_have_the_name_of_a_link(new_store: NewStore, relation: str) -> None:
    store = linked(new_store)
    with pytest.raises(InputError, match=f"the relation {relation} is kept for links"):
        store.load([Assertion(WALLET, relation, MONEY)])
    store.load([Assertion(WALLET, relation.lower(), MONEY), Assertion(LOSES, relation.upper(), FINDS)])
    assert isinstance(store, LinksEvents)
    assert store.counts().relations[relation.lower()] == store.counts().relations[relation.upper()] == 1
    assert sorted(store.links(), key=str) == sorted(LINKS, key=str)
    assert store.replace_links(LINKS, lambda: entry(store)).new == 0


@pytest.mark.parametrize(
    "link",
    [
        Link(WALLET, "Mentions", LOSE, "object", 1),
        Link(LOSES, "Mentions", FINDS, "object", 1),
        Link(LOSES, "Mentions", "", "object", 1),
        Link(LOSES, "Mentions", WALLET),
        Link(LOSES, "Mentions", WALLET, "object", -1),
        Link(LOSES, "Mentions", WALLET, "verb", 1),  # type: ignore[arg-type]
        Link(FINDS, "SameEvent", WALLET),
        Link(FIND, "SameEvent", FINDS),
        Link(FIND, "SameEvent", FIND),
        Link(FINDS, "SameEvent", FIND, "object", 1),
        Link(LOSES, "xWant", FIND),  # type: ignore[arg-type]
    ],
)
def test_invalid_links_are_refused_and_change_nothing(tmp_path: Path, link: Link) -> None:
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(ROWS)
        with pytest.raises(InputError):
            graph.replace_links([*LINKS, link], lambda: entry(graph))
        assert graph.link_manifest() == LinkManifest()
        assert list(graph.links()) == []
    assert {path.name for path in (tmp_path / "g").iterdir()} == {"graph.lbug", "graph.lbug.sums", "graph.lock"}


@pytest.mark.neo4j
def test_an_interrupted_run_on_neo4j_is_noted_and_completed(neo4j_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.graph.neo4j.links.BATCH", 2)

    def broken() -> LinkEntry:
        raise KeyboardInterrupt

    with open_graph(neo4j_url, engine="store") as store:
        store.load(ROWS)
        assert isinstance(store, LinksEvents)
        with pytest.raises(KeyboardInterrupt):
            store.replace_links(LINKS[:5], broken)
        assert store.unfinished() == ["link"]
        assert (store.link_manifest().links, store.link_manifest().entry) == (5, None)
        assert store.replace_links(LINKS[1:], lambda: entry(store)) == LinkCounts(1, 4, 1)
        assert store.unfinished() == []
        assert store.link_manifest().checksum == sum(link.fingerprint()[1] for link in LINKS[1:]) % 2**128
        assert sorted(store.links(), key=str) == sorted(LINKS[1:], key=str)


def test_a_graph_of_an_older_version_gets_the_tables_when_it_is_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("tacit.graph.embedded.engine.create_links", lambda _: None)
        with open_graph(tmp_path / "g", create=True) as graph:
            graph.load(ROWS)
    with open_graph(tmp_path / "g") as graph:
        assert list(graph.links()) == []
        with pytest.raises(QueryInvalid, match=r"are not linked by Mentions .*; run tacit link GRAPH"):
            graph.run("MATCH (:Event)-[m:Mentions]->(:Concept) RETURN count(m) AS n")
        graph.replace_links(LINKS, lambda: entry(graph))
        assert sorted(graph.links(), key=str) == sorted(LINKS, key=str)


def test_assertions_in_a_table_with_the_name_of_a_link_are_not_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("tacit.graph.embedded.engine.create_links", lambda _: None)
        patch.setattr("tacit.graph.embedded.engine.RESERVED_NAMES", set())
        patch.setattr("tacit.graph.loading.LINK_RELATIONS", ())
        with open_graph(tmp_path / "g", create=True) as graph:
            graph.load([*ROWS, Assertion(WALLET, "Mentions", MONEY)])
    with open_graph(tmp_path / "g") as graph:
        with pytest.raises(GraphError, match="has assertions of the relation Mentions, a name that is kept for links"):
            graph.replace_links(LINKS, lambda: entry(graph))
        assert graph.manifest().assertions == len(ROWS) + 1


def test_check_finds_links_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(ROWS)
        assert "links" not in {part.name for part in check_graph(str(tmp_path / "g")).parts}
        graph.replace_links(LINKS, lambda: entry(graph))
    checked = check_graph(str(tmp_path / "g"))
    assert checked.sound
    assert "links" in {part.name for part in checked.parts}
    monkeypatch.setattr("tacit.graph.embedded.graph.EmbeddedGraph._scan_links", lambda _: iter(LINKS[1:]))
    (bad,) = (part for part in check_graph(str(tmp_path / "g")).parts if part.problem)
    assert bad.name == "links"
    assert "there are 5 links, their manifest says 6" in str(bad.problem)


@pytest.mark.slow
@pytest.mark.neo4j
def test_an_import_by_neo4j_admin_brings_the_links(neo4j_script: Path, tmp_path: Path) -> None:
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(ROWS)
        graph.replace_links(LINKS, lambda: entry(graph))
        manifests = graph.manifest(), graph.link_manifest()
        with imported(graph, neo4j_script, tmp_path / "server") as server:
            assert isinstance(server, LinksEvents)
            assert (server.manifest(), server.link_manifest()) == manifests
            assert sorted(server.links(), key=str) == sorted(LINKS, key=str)
            assert server.replace_links(LINKS, lambda: entry(server)) == LinkCounts(0, 6, 0)
            assert sorted(server.assertions()) == sorted(ROWS)


def test_an_export_without_links_has_no_manifest_of_links(tmp_path: Path) -> None:
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(ROWS)
        export_csv_import(graph, tmp_path / "out")
    assert len((tmp_path / "out" / "mentions.csv").read_text(encoding="utf-8").splitlines()) == 1
    assert len((tmp_path / "out" / "manifest.csv").read_text(encoding="utf-8").splitlines()) == 3


@given(
    st.lists(
        st.builds(
            Link, st.text(min_size=1).map("/e/".__add__), st.just("Mentions"), st.text(min_size=1).map("/c/en/".__add__),
            st.sampled_from(ROLES), st.integers(0, 10**6),
        )
    )
)  # fmt: skip
def test_fingerprints_depend_on_every_field(links: list[Link]) -> None:
    assert [checked_link(link) for link in links] == links
    assert len({link.fingerprint() for link in links}) == len(set(links))
    for link in links:
        other = link._replace(position=(link.position or 0) + 1)
        assert other.fingerprint() != link.fingerprint()


def test_manifests_round_trip_through_properties() -> None:
    manifest = LinkManifest(LinkEntry(1, "p", "en", "0123", 9, 8, 7, 6), 13, 2**127)
    held = link_properties(manifest)
    assert link_manifest_of([(held["loads"], held["assertions"], held["checksum"])]) == manifest
    assert link_manifest_of([]) == LinkManifest()
    with pytest.raises(GraphError, match="run tacit link again"):
        link_manifest_of([("[{}]", 1, "0")])


# paths through concepts and events


def linked_oracle() -> nx.MultiGraph:
    """The assertions and links as a networkx graph."""
    joined = nx.MultiGraph()
    for row in [*ROWS, *(link.assertion() for link in LINKS)]:
        joined.add_edge(row.head, row.tail, weight=row.weight)
    return joined


@pytest.mark.parametrize("engine", ["store", "index"])
def test_linked_paths_are_the_shortest_paths(new_store: NewStore, engine: str) -> None:
    store = linked(new_store)
    graph = store if engine == "store" else Graph(store, progress=False)
    assert isinstance(graph, LinksEvents)
    oracle = linked_oracle()
    nodes = sorted(oracle)
    for source, target in itertools.combinations(nodes, 2):
        paths = graph.linked_paths(source, target, 6, 100)
        if not nx.has_path(oracle, source, target) or nx.shortest_path_length(oracle, source, target) > 6:
            assert paths == [], (source, target)
            continue
        want = {tuple(nodes) for nodes in nx.all_shortest_paths(nx.Graph(oracle), source, target)}
        assert {path.nodes for path in paths} == want
        assert paths == sorted(paths, key=lambda path: path.order)
        assert all(oracle.has_edge(step.head, step.tail) for path in paths for step in path.assertions)
    assert [path.text() for path in graph.linked_paths("pocket", "PersonX loses PersonX's wallet")] == [
        "pocket <-AtLocation- wallet <-Mentions- PersonX loses PersonX's wallet"
    ]
    ways = [path.text() for path in graph.linked_paths("lose", "calm")]
    assert {way.removeprefix("lose <-Mentions- PersonX loses PersonX's wallet ") for way in ways} == {
        "-Mentions-> wallet <-Mentions- PersonX finds the wallet -xReact-> calm",
        "-Mentions-> wallet <-Mentions- PersonX keeps a wallet -xReact-> calm",
        "-xWant-> to find the wallet <-SameEvent- PersonX finds the wallet -xReact-> calm",
        "-xWant-> to look for it <-xWant- PersonX finds the wallet -xReact-> calm",
    }
    (step,) = graph.linked_paths(FINDS, FIND)[0].assertions
    assert (step.relation, step.weight, step.source) == ("SameEvent", 1.0, "tacit link")
    assert [path.nodes for path in graph.linked_paths("wallet", WALLET)] == [(WALLET,)]
    assert graph.linked_paths("/c/en/unicorn", WALLET) == graph.linked_paths(LOSE, WALLET, 1) == []
    assert graph.linked_paths(LOSE, WALLET, limit=0) == []
    with pytest.raises(UnknownName, match=r"'unicorn' is neither a concept nor an event of .*; tacit heads finds events"):
        graph.linked_paths("unicorn", "wallet")
    with pytest.raises(InputError):
        graph.linked_paths(LOSE, WALLET, 7)


def test_the_linked_index_follows_the_links(tmp_path: Path) -> None:
    with open_graph(tmp_path / "g", create=True, progress=False) as graph:
        graph.load(ROWS)
        with pytest.raises(GraphError, match="run tacit link"):
            graph.linked_paths(LOSE, WALLET)
        graph.replace_links(LINKS, lambda: entry(graph))
        assert len(graph.linked_paths(LOSE, WALLET)) == 1
        concepts = graph.index
        assert concepts is not None
        graph.replace_links(LINKS[1:], lambda: entry(graph))
        assert graph.linked_paths(LOSE, WALLET) == []
        assert graph.index is concepts, "the index of concepts does not depend on links"
    assert len(list((tmp_path / "g" / "linked-index").iterdir())) == 1
    assert [path.name for path in (tmp_path / "g" / "index").iterdir()] == [concepts.directory.name]
