"""The benchmark on CIDER: its table of relations, its random spans, and its figures, against values worked out by hand."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.model import Assertion
from tacit.graph.model import Path as GraphPath
from tacit.graph.relations import RELATIONS
from tacit.loaders import MarkedDialogue, MarkedTriplet, Span, read_cider
from tacit.reasoning.base import Piece
from tacit.reasoning.text.language import Token
from tacit.reasoning.text.linking import Mention

from tests.networkx_oracle import OracleGraph

FOLDER = Path(__file__).parents[1] / "benchmarks"
NO_COUNTERPART = {"Should", "SocialRule", "Simutaneous"}


@pytest.fixture
def cider(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("cider")


class Edge:
    def __init__(self, head: str, relation: str, tail: str) -> None:
        self.head, self.relation, self.tail = f"/c/en/{head}", relation, f"/c/en/{tail}"


class Graph:
    """Assertions of which a test needs no more than the ends and the relation."""

    def assertions(self) -> list[Edge]:
        return [
            Edge("tea", "UsedFor", "drink"), Edge("drink", "Causes", "warmth"), Edge("green_tea", "IsA", "tea"),
            Edge("cup", "AtLocation", "kitchen"),
        ]  # fmt: skip


def test_the_table_contains_relations_of_the_graph_only(cider: Any) -> None:
    assert {name.removeprefix("<") for names in cider.RELATIONS.values() for name in names.split()} <= set(RELATIONS)
    assert {name.removeprefix("<") for name in cider.KEEPING} <= set(RELATIONS)


def test_the_relations_of_the_published_file_have_a_row_where_the_graph_has_a_counterpart(cider: Any, data_dir: Path) -> None:
    rows = read_cider(data_dir / "cicero" / "cider.json.gz", strict=True)
    used = {triplet.relation for row in rows if isinstance(row, MarkedDialogue) for triplet in row.triplets}
    assert set(cider.RELATIONS) <= used
    assert {name for name in used - set(cider.RELATIONS) if not name.startswith("Not")} == NO_COUNTERPART


@pytest.mark.parametrize(
    ("head", "tail", "relation", "first", "two"),
    [
        ("tea", "drink", "UsedFor", True, True),
        ("drink", "tea", "UsedFor", False, False),
        ("drink", "tea", "HasPrerequisite", True, True),  # what is used for drinking has to be there before
        ("green_tea", "drink", "UsedFor", False, True),  # through IsA
        ("tea", "warmth", "UsedFor", False, False),  # UsedFor, then Causes, which keeps nothing
        ("tea", "kitchen", "AtLocation", False, False),
        ("kitchen", "cup", "LocatedNear", True, True),
    ],
)
def test_paths_agree_with_a_relation(cider: Any, head: str, tail: str, relation: str, first: bool, two: bool) -> None:
    edges = cider.Edges(Graph())
    agreements = [edges.agree(f"/c/en/{head}", f"/c/en/{tail}", relation, hops) for hops in (1, 2)]
    assert agreements == [first, two]


def piece(history: str, response: str, *edges: tuple[str, str, str], rests_on: tuple[Piece, ...] = ()) -> Piece:
    """Return a piece of evidence that joins two concepts, with a path along ``edges`` if there are some."""
    first, last = (Mention(0, 1, name, f"/c/en/{name}", name, "NOUN") for name in (history, response))
    rows = [Assertion(f"/c/en/{head}", relation, f"/c/en/{tail}") for head, relation, tail in edges]
    nodes = [first.concept]
    for row in rows:
        nodes.append(row.tail if row.head == nodes[-1] else row.head)
    path = GraphPath(tuple(nodes), tuple(rows)) if rows else None
    return Piece("concept", 1.0, 1.0, last, 0, first, len(rows), path, rests_on=rests_on)


def test_evidence_names_pairs_with_the_paths_that_it_shows(cider: Any) -> None:
    beside = piece("cup", "kitchen", ("kitchen", "HasA", "cup"))
    named_pairs = cider.named_by(
        [
            piece("cup", "kitchen", ("cup", "AtLocation", "kitchen"), rests_on=(beside,)),
            piece("green_tea", "drink", ("green_tea", "IsA", "tea"), ("tea", "UsedFor", "drink")),
            piece("cup", "warmth"),
            Piece("concept", 0.0, 0.0, Mention(0, 1, "moon", "/c/en/moon", "moon", "NOUN")),
        ]
    )
    assert named_pairs == {
        ("/c/en/cup", "/c/en/kitchen"): [("AtLocation",), ("<HasA",)],
        ("/c/en/green_tea", "/c/en/drink"): [("IsA", "UsedFor")],
        ("/c/en/cup", "/c/en/warmth"): [],
    }


@pytest.mark.parametrize(
    ("steps", "relation", "agrees"),
    [
        (("AtLocation",), "AtLocation", True),
        (("<HasA",), "AtLocation", True),
        (("HasA",), "AtLocation", False),
        (("IsA", "UsedFor"), "UsedFor", True),
        (("UsedFor", "Causes"), "UsedFor", False),
        (("IsA", "RelatedTo"), "UsedFor", False),
    ],
)
def test_a_shown_path_agrees_with_a_relation(cider: Any, steps: tuple[str, ...], relation: str, agrees: bool) -> None:
    assert cider.say(steps, relation) == agrees
    assert cider.back(cider.back(steps)) == steps


@pytest.mark.parametrize("turned", [False, True])
def test_evidence_joins_spans_in_either_order(cider: Any, turned: bool) -> None:
    graph, edges = OracleGraph([Assertion("/c/en/cup", "AtLocation", "/c/en/kitchen")]), cider.Edges(Graph())
    evidence = {("/c/en/cup", "/c/en/kitchen"): [("AtLocation",)]}
    cup, kitchen = Span("cup", 0, 0, 3), Span("kitchen", 1, 0, 7)
    head, tail, names = (kitchen, cup, ["kitchen"]) if turned else (cup, kitchen, ["cup"])
    ends = [f"/c/en/{name}" for name in names], [f"/c/en/{'cup' if turned else 'kitchen'}"]
    for relation, agrees in (("AtLocation", not turned), ("Should", None)):
        joined_pairs = cider.joined(cider.Pair(head, relation, tail, True), ends, graph, edges, evidence)
        assert (joined_pairs["evidence"], joined_pairs["path"], joined_pairs.get("path, relation")) == (True, True, agrees)
    nothing = cider.joined(cider.Pair(head, "AtLocation", tail, True), ends, graph, edges, {})
    assert (nothing["evidence"], nothing["path"], nothing["path, relation"]) == (False, False, False)


def tokens(*words: str) -> list[Token]:
    """Return tokens from ``word/POS``, one blank apart."""
    token_list, start = [], 0
    for word, pos in (term.split("/") for term in words):
        token_list.append(Token(word, start, start + len(word), word, pos, False))
        start += len(word) + 1
    return token_list


TURNS = ("Bob drinks tea .", "Tea is hot .")
TOKENS = [
    tokens("Bob/PROPN", "drinks/VERB", "tea/NOUN", "./PUNCT"),
    tokens("Tea/NOUN", "is/AUX", "hot/ADJ", "./PUNCT"),
]


def test_random_spans_have_the_length_and_class_of_the_marked_ones_and_are_not_marked(cider: Any) -> None:
    spans = cider.Spans(TURNS, TOKENS)
    tea = Span("tea", 0, 11, 14)
    assert [span.text for span in spans.like(tea)] == ["Bob", "tea", "Tea"]
    assert [span.text for span in spans.like(Span("drinks tea", 0, 4, 14))] == ["drinks tea", "Tea is"]
    assert [span.text for span in spans.like(Span("hot", 1, 7, 10))] == ["hot"]

    marked = MarkedTriplet(tea, "IsA", Span("Tea", 1, 0, 3))
    pairs = cider.pairs_of(MarkedDialogue("one", TURNS, (marked,)), spans, np.random.default_rng(0))
    assert [pair.marked for pair in pairs] == [True, *[False] * cider.DRAWS]
    # of the pairs of nouns in two turns, only Bob and Tea are not marked
    assert {frozenset((pair.head.text, pair.tail.text)) for pair in pairs[1:]} == {frozenset(("Bob", "Tea"))}

    every = (marked, MarkedTriplet(Span("Bob", 0, 0, 3), "IsA", Span("Tea", 1, 0, 3)))
    assert cider.pairs_of(MarkedDialogue("one", TURNS, every), spans, np.random.default_rng(0)) == []


def test_a_mention_belongs_to_a_span_that_contains_it(cider: Any) -> None:
    class Found:
        def __init__(self, start: int, end: int, concept: str) -> None:
            self.start, self.end, self.concept = start, end, concept

    mentions = [Found(0, 3, "bob"), Found(4, 14, "drink_tea"), Found(11, 14, "tea"), Found(11, 14, "tea")]
    assert cider.concepts_in(mentions, Span("tea", 0, 11, 14)) == ["tea"]
    assert cider.concepts_in(mentions, Span("Bob drinks", 0, 0, 10)) == ["bob"]


def test_figures_by_hand(cider: Any) -> None:
    # marked pairs, those joined, random pairs, those joined; a dialogue without marked pairs counts for nothing
    counts = np.array([[2, 1, 6, 1], [2, 2, 6, 2], [0, 0, 0, 0]], dtype=np.float64)
    row = cider.row("one hop", "first", counts, 2_000, 0)
    assert (row.pairs, row.dialogues) == (4, 2)
    assert row.recall[0] == pytest.approx(3 / 4)
    assert row.random[0] == pytest.approx(3 / 12)
    assert row.precision[0] == pytest.approx(3 / 4)
    # two dialogues drawn twice each: the ends are the dialogues themselves
    assert row.recall[1:] == pytest.approx((1 / 2, 1))
    assert row.random[1:] == pytest.approx((1 / 6, 1 / 3))
    nothing = cider.row("one hop", "first", np.array([[2.0, 0, 6, 0]]), 10, 0)
    assert nothing.precision == (0.5, 0.5, 0.5)
