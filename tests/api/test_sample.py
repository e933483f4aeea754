"""The sample graph: read by the real loaders without a reject, what its README says, and facts worked out by hand."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from tacit.graph import KnowledgeGraph, open_graph
from tacit.graph.model import Assertion
from tacit.graph.names import text_of
from tacit.graph.relations import ATOMIC_RELATIONS, RELATIONS
from tacit.loaders import Instance, Item, read_atomic, read_cicero, read_conceptnet, read_items
from tacit.reasoning import load_metric, score_items
from tacit.reasoning.metrics.grounding import shipped_talk
from tacit.reasoning.text.language import load_pipeline
from tacit.reasoning.text.linking import Linker

SAMPLE = Path(__file__).parents[2] / "api" / "sample"
CONCEPTNET = SAMPLE / "conceptnet.csv"
ATOMIC = SAMPLE / "atomic2020.tsv"
DIALOGUES = SAMPLE / "dialogues.jsonl"


def read(reader: Any) -> list[Assertion]:
    """Return all rows of ``reader``, none of which may be rejected or dropped."""
    rows = list(reader)
    assert (sum(reader.report.rejected.values()), sum(reader.report.dropped.values())) == (0, 0)
    assert reader.report.read == reader.report.kept == len(rows)
    return rows


@pytest.fixture(scope="module")
def facts() -> list[Assertion]:
    return read(read_conceptnet(CONCEPTNET))


@pytest.fixture(scope="module")
def events() -> list[Assertion]:
    return read(read_atomic(ATOMIC))


@pytest.fixture(scope="module")
def graph(facts: list[Assertion]) -> nx.Graph:
    return nx.Graph((text_of(row.head), text_of(row.tail)) for row in facts)


@pytest.fixture(scope="module")
def loaded(facts: list[Assertion], events: list[Assertion], tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    with open_graph(tmp_path_factory.mktemp("sample") / "graph", create=True) as store:
        assert store.load(facts).new == len(facts)
        assert store.load(events).new == len(events)
        yield store


def test_choices_are_an_instance_of_cicero() -> None:
    [instance] = read_cicero(SAMPLE / "choices.jsonl", strict=True)
    assert isinstance(instance, Instance)
    assert (instance.question.value, instance.target_index, len(instance.choices), instance.correct) == ("motivation", 0, 3, ())


def test_concept_assertions_are_what_the_readme_says(facts: list[Assertion], graph: nx.Graph) -> None:
    relations = {row.relation for row in facts}
    assert relations <= set(RELATIONS)
    sentence = f"{len(facts)} assertions, {len(graph)} concepts, {len(relations)} relations"
    assert sentence in (SAMPLE / "README.md").read_text(encoding="utf-8")
    assert len({row.fingerprint()[0] for row in facts}) == len(facts), "an assertion stands there twice"
    assert len({row.weight for row in facts}) > 5
    assert {row.license for row in facts} == {"cc:zero/1.0"}
    assert nx.is_connected(graph)


def test_concept_lines_are_in_the_official_form() -> None:
    lines = CONCEPTNET.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(lines)
    for line in lines:
        uri, relation, head, tail, data = line.split("\t")
        assert uri == f"/a/[{relation}/,{head}/,{tail}/]"
        assert {"dataset", "license", "sources", "weight"} == set(json.loads(data))


def test_events_are_what_the_readme_says(events: list[Assertion]) -> None:
    assert {row.relation for row in events} == set(ATOMIC_RELATIONS)
    sentence = f"{len(events)} triples, {len({row.head for row in events})} heads, all 23 relations"
    assert sentence in (SAMPLE / "README.md").read_text(encoding="utf-8")
    assert {"PersonX applies for ___", "PersonX walks PersonX's dog"} <= {text_of(row.head) for row in events}
    filled = {text_of(row.tail) for row in events if row.relation == "isFilledBy" and "applies" in row.head}
    assert filled == {"a job", "a passport", "a loan"}


BY_HAND = pytest.mark.parametrize(
    ("source", "target", "hops"),
    [
        ("dog", "bone", 1),  # dog Desires bone
        ("puppy", "bone", 2),  # puppy IsA dog Desires bone
        ("penguin", "sing", 2),  # penguin IsA bird CapableOf sing
        ("headache", "exam", 2),  # both from stress, the one neighbour that they share
        ("chicken", "river", 4),  # chicken IsA animal, fish IsA animal, fish at water, water at river: two senses of fish are one
        ("leash", "quiet", 6),  # quiet hangs on loud alone, leash on dog and walk dog
    ],
)


@BY_HAND
def test_distances_worked_out_by_hand(graph: nx.Graph, source: str, target: str, hops: int) -> None:
    assert nx.shortest_path_length(graph, source, target) == hops


@BY_HAND
def test_distances_in_the_loaded_graph(loaded: KnowledgeGraph, source: str, target: str, hops: int) -> None:
    [start, end] = loaded.resolve([source, target])
    assert start is not None
    assert end is not None
    assert loaded.hop_distances([start], [end]).tolist() == [[hops]]


def test_neighbours_worked_out_by_hand(graph: nx.Graph) -> None:
    assert set(graph["bank"]) == {"money", "river", "save money"}
    assert set(graph["leash"]) == {"dog", "walk dog"}
    assert set(graph["quiet"]) == {"loud"}


def test_some_pairs_contradict_each_other(facts: list[Assertion]) -> None:
    between = defaultdict(set)
    for row in facts:
        between[frozenset((text_of(row.head), text_of(row.tail)))].add(row.relation)
    kinds = Counter(
        pair
        for relations in between.values()
        for pair in (("Antonym", "Synonym"), ("CapableOf", "NotCapableOf"), ("Desires", "NotDesires"))
        if relations.issuperset(pair)
    )
    assert kinds == {("Antonym", "Synonym"): 2, ("CapableOf", "NotCapableOf"): 3, ("Desires", "NotDesires"): 2}


def test_senses_are_kept_on_the_assertion(facts: list[Assertion]) -> None:
    senses = {row.head_sense for row in facts if row.head == "/c/en/fish"}
    assert senses == {"n/wn/animal", "n/wn/food"}


def test_what_people_want_after_cooking(loaded: KnowledgeGraph) -> None:
    tails = loaded.tails("person x cooks  dinner for Person Y.", "xWant")
    assert [text_of(row.tail) for row in tails] == ["to eat together", "to hear whether it tastes good"]


def dialogues() -> list[Item]:
    """The items of the sample."""
    return [item for item in read_items(DIALOGUES, strict=True) if isinstance(item, Item)]


@pytest.fixture(scope="module")
def scores(loaded: KnowledgeGraph) -> dict[str, float]:
    items = ((item.id, item.history, item.response) for item in dialogues())
    rows = score_items(items, [load_metric("grounding", loaded)])
    return {row.id: row.scores["grounding"].value for row in rows}


def test_fitting_responses_are_better_grounded(scores: dict[str, float]) -> None:
    pairs = {name.removesuffix("/good") for name in scores if name.endswith("/good")}
    assert len(pairs) == 4
    assert not [name for name in pairs if scores[f"{name}/good"] < scores[f"{name}/bad"] + 0.1]


def test_scores_agree_with_networkx(loaded: KnowledgeGraph, graph: nx.Graph, scores: dict[str, float]) -> None:
    """The formula of docs/grounding.md, worked out anew over networkx."""
    talk, linker = shipped_talk(), Linker(loaded, load_pipeline())
    rows = sorted((uri, word) for word, uri in zip(talk.counts, loaded.resolve(list(talk.counts)), strict=True) if uri)
    pool = [text_of(uri) for uri, word in rows for _ in range(talk.counts[word])]
    background = [pool[(2 * index + 1) * len(pool) // 1024] for index in range(512)]
    for item in dialogues():
        history = {text_of(mention.concept) for turn in item.history for mention in linker.link(turn)}
        wanted = {text_of(mention.concept): mention.lemma for mention in linker.link(item.response)}
        value = total = 0.0
        for concept, lemma in wanted.items():
            hops = nx.single_source_shortest_path_length(graph, concept)
            nearest = min(hops[other] for other in history)
            part = sum(hops[other] <= nearest for other in background) / 512
            weight = max(talk.idf(word) for word in lemma.split())
            value += weight * (1 - part) ** len(history) * (nearest <= 3)
            total += weight
        assert scores[str(item.id)] == pytest.approx(value / total, abs=1e-12), item.id
