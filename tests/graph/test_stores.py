"""The two stores on a small world worked out by hand, and on texts that try to break out of a query."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tacit.graph import Assertion, InputError, KnowledgeGraph, LoadEntry, WritableGraph, checksum

from tests.conftest import GraphOf
from tests.graph.example_rows import ANIMAL, BONE, CAT, DOG, FOOD, MEAT, NASTY_ROWS, NASTY_TEXTS, SMALL, random_rows

NewStore = Callable[[], WritableGraph]
EATS = "/e/PersonX_eats_[]"


@pytest.fixture
def small(graph_of: GraphOf) -> KnowledgeGraph:
    return graph_of(SMALL)


def test_concept_queries(small: KnowledgeGraph) -> None:
    assert small.resolve(["the dogs", "unicorn", "Hund", "/c/en/cat"]) == [DOG, None, None, CAT]
    assert small.resolve(["Hund"], "de") == ["/c/de/hund"]
    near = small.neighbours(DOG, 1, None)
    assert [(n.uri, n.hop, n.weight) for n in near] == [(ANIMAL, 1, 4.0), (BONE, 1, 3.5), ("/c/en/bark", 1, 1.0)]
    assert [(n.uri, n.weight) for n in small.neighbours(DOG, 2)] == [(CAT, 4.0), (MEAT, 1.0)]
    assert small.neighbours(DOG, 1, 1, ["Desires", "Nowhere"])[0][:] == (BONE, 1, 2.0)
    assert small.neighbours("/c/en/unicorn") == small.neighbours(EATS) == small.neighbours(DOG, relations=[]) == []
    ends = [DOG, FOOD, "/c/en/hound", "/c/en/unicorn", EATS]
    want = [[0, 3, -1, -1, -1], [3, 0, -1, -1, -1], [-1, -1, 0, -1, -1], [-1] * 5, [-1] * 5]
    assert small.hop_distances(ends, ends).tolist() == want
    assert small.hop_distances([DOG, DOG], [FOOD], 2).tolist() == [[-1], [-1]]
    assert small.hop_distances([], [FOOD]).shape == (0, 1)
    assert small.hop_distances([DOG], [DOG, BONE], 0).tolist() == [[0, -1]]


def test_chains(small: KnowledgeGraph) -> None:
    paths = small.triples_between([DOG, CAT], [BONE, DOG])
    assert [(p.nodes, p.assertions[0].relation) for p in paths] == [
        ((DOG, BONE), "AtLocation"), ((DOG, BONE), "Desires"), ((DOG, BONE), "RelatedTo"),
    ]  # fmt: skip
    assert small.count_triples([DOG, CAT], [BONE, DOG]) == (1, 3)
    assert small.count_triples([DOG, BONE], [BONE, DOG]) == (2, 3)
    two = small.triples_between([DOG], [CAT, MEAT], 2)
    assert [p.text() for p in two] == [
        "dog -IsA-> animal <-IsA- cat",
        "dog <-AtLocation- bone -RelatedTo-> meat",
        "dog -Desires-> bone -RelatedTo-> meat",
        "dog -RelatedTo-> bone -RelatedTo-> meat",
    ]
    assert small.count_triples([DOG], [CAT, MEAT], 2) == (2, 4)
    assert small.triples_between([], [DOG]) == []
    assert [p.text() for p in small.paths(DOG, FOOD)] == ["dog <-AtLocation- bone -RelatedTo-> meat -IsA-> food"]
    assert [p.text() for p in small.paths(CAT, BONE)] == ["cat -Desires-> meat <-RelatedTo- bone"]
    assert [p.text() for p in small.paths(DOG, MEAT)] == ["dog <-AtLocation- bone -RelatedTo-> meat"]
    assert small.paths(DOG, FOOD, 2) == small.paths(DOG, "/c/en/hound") == small.paths("/c/en/no", "/c/en/no") == []
    assert [p.nodes for p in small.paths(DOG, DOG)] == [(DOG,)]


def test_event_queries(small: KnowledgeGraph) -> None:
    tails = small.tails("person x eats ____.")
    assert [(t.tail, t.relation, t.weight) for t in tails] == [
        ("/e/to_drink", "xWant", 2.0), ("/e/chews", "HasSubEvent", 1.0), ("/e/to_rest", "xWant", 1.0),
    ]  # fmt: skip
    assert tails[1] == SMALL[13]
    assert [t.tail for t in small.tails(EATS, "HasSubEvent")] == ["/e/chews"]
    assert small.tails(EATS, "HasSubevent") == small.tails("nothing known") == []
    assert len(small.tails(EATS, "xWant", 1)) == 1
    assert small.heads("EATS") == [EATS, "/e/PersonX_eats_dinner"]
    assert small.heads("personx eats dinner", 1) == ["/e/PersonX_eats_dinner"]
    assert small.heads("to rest") == small.heads("eats", 0) == []
    for blank in ("", " ", "."):
        with pytest.raises(InputError, match="has no word to look for"):
            small.heads(blank)


def test_counts_and_stream(small: KnowledgeGraph) -> None:
    counts = small.counts()
    assert (counts.concepts, counts.events, counts.assertions) == (9, 6, len(SMALL))
    assert counts.relations["HasSubevent"] == counts.relations["HasSubEvent"] == 1
    assert list(counts.relations)[:2] == ["IsA", "RelatedTo"]
    assert small.manifest().digest


def test_stored_assertions_are_read_back(new_store: NewStore) -> None:
    rows = [*SMALL, *NASTY_ROWS]
    store = new_store()
    assert store.counts().assertions == 0
    assert list(store.assertions()) == []
    store.load(rows)
    assert sorted(store.assertions(), key=repr) == sorted(rows, key=repr)
    manifest = store.manifest()
    assert (manifest.assertions, manifest.checksum) == (len(rows), checksum(rows))
    rescanned = [batch.num_rows for batch in store.scan(10)]  # type: ignore[attr-defined]
    assert sum(rescanned) == len(rows)


def test_stores_stream_more_than_a_batch(new_store: NewStore) -> None:
    rows = list({row.fingerprint()[0]: row for row in random_rows(6000, 9000, 1)}.values())
    store = new_store()
    assert store.load(rows) == (len(rows), 0)
    assert {row.fingerprint() for row in store.assertions()} == {row.fingerprint() for row in rows}


def test_hostile_text_is_stored_as_data(new_store: NewStore) -> None:
    store = new_store()
    store.load(SMALL)
    before = store.manifest(), store.counts()
    for text in NASTY_TEXTS:
        uri = f"/c/en/{text}"
        assert store.resolve([text, uri]) == [None, None]
        assert store.neighbours(uri) == []
        assert np.all(store.hop_distances([uri, DOG], [uri]) == -1)
        assert store.triples_between([uri], [DOG]) == store.triples_between([uri], [DOG], 2) == []
        assert store.count_triples([uri], [DOG], 2) == (0, 0)
        assert store.paths(uri, DOG) == store.paths(DOG, uri) == []
        assert store.tails(f"/e/{text}") == []
        if text:
            store.heads(text)
        with pytest.raises(InputError):
            store.neighbours(DOG, relations=[text])
        with pytest.raises(InputError):
            store.tails(EATS, text)
        with pytest.raises(InputError):
            store.load([Assertion(DOG, text, CAT)])
        assert (store.manifest(), store.counts()) == before


def test_any_text_can_be_stored(new_store: NewStore) -> None:
    store = new_store()
    rows = [Assertion(f"/c/en/{text}", "IsA", "/c/en/x", 1.0, text) for text in NASTY_TEXTS if text]
    text = NASTY_TEXTS[0]
    assert store.load(rows, lambda: LoadEntry(text, 1, text, text, {text: text})).new == len(rows)
    assert store.resolve([row.head for row in rows]) == [row.head for row in rows]
    assert {n.uri for n in store.neighbours("/c/en/x", 1, None)} == {row.head for row in rows}
    assert store.hop_distances([row.head for row in rows], ["/c/en/x"]).tolist() == [[1]] * len(rows)
    assert store.manifest().loads[-1].options == {text: text}


def test_bad_arguments(new_store: NewStore) -> None:
    store = new_store()
    for call in (
        lambda: store.neighbours(DOG, 0),
        lambda: store.neighbours(DOG, 7),
        lambda: store.neighbours(DOG, 1, -1),
        lambda: store.hop_distances([DOG], [CAT], 7),
        lambda: store.triples_between([DOG], [CAT], 3),  # type: ignore[arg-type]
        lambda: store.paths(DOG, CAT, limit=-1),
        lambda: store.tails("..."),
        lambda: store.heads("x", -1),
        lambda: store.load([Assertion(DOG, "IsA", EATS)]),
        lambda: store.load([Assertion(DOG, "IsA", CAT, float("nan"))]),
        lambda: store.load([Assertion(DOG, "IsA", CAT, -1.0)]),
    ):
        with pytest.raises(InputError):
            call()
    store.close()
    store.close()
    with pytest.raises(InputError, match="is closed"):
        store.counts()
