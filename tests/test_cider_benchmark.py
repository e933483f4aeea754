"""The benchmark on CIDER: its table of relations, its random spans, and its figures, against values worked out by hand."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.relations import RELATIONS
from tacit.loaders import MarkedDialogue, MarkedTriplet, Span, read_cider
from tacit.reasoning.text.language import Token

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


def test_the_table_has_relations_of_the_graph_only(cider: Any) -> None:
    assert {name.removeprefix("<") for names in cider.RELATIONS.values() for name in names.split()} <= set(RELATIONS)
    assert {name.removeprefix("<") for name in cider.KEEPING} <= set(RELATIONS)


def test_the_relations_of_the_published_file_have_a_row_where_the_graph_has_a_counterpart(cider: Any, data_dir: Path) -> None:
    rows = read_cider(data_dir / "cicero" / "cider.json.gz", strict=True)
    used = {one.relation for row in rows if isinstance(row, MarkedDialogue) for one in row.triplets}
    assert set(cider.RELATIONS) <= used
    assert {name for name in used - set(cider.RELATIONS) if not name.startswith("Not")} == NO_COUNTERPART


@pytest.mark.parametrize(
    ("head", "tail", "relation", "one", "two"),
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
def test_paths_agree_with_a_relation(cider: Any, head: str, tail: str, relation: str, one: bool, two: bool) -> None:
    edges = cider.Edges(Graph())
    found = [edges.agree(f"/c/en/{head}", f"/c/en/{tail}", relation, hops) for hops in (1, 2)]
    assert found == [one, two]


def tokens(*words: str) -> list[Token]:
    """Return tokens from ``word/POS``, one blank apart."""
    found, start = [], 0
    for word, pos in (each.split("/") for each in words):
        found.append(Token(word, start, start + len(word), word, pos, False))
        start += len(word) + 1
    return found


TURNS = ("Bob drinks tea .", "Tea is hot .")
TOKENS = [
    tokens("Bob/PROPN", "drinks/VERB", "tea/NOUN", "./PUNCT"),
    tokens("Tea/NOUN", "is/AUX", "hot/ADJ", "./PUNCT"),
]


def test_random_spans_have_the_length_and_class_of_the_marked_ones_and_are_not_marked(cider: Any) -> None:
    spans = cider.Spans(TURNS, TOKENS)
    tea = Span("tea", 0, 11, 14)
    assert [one.text for one in spans.like(tea)] == ["Bob", "tea", "Tea"]
    assert [one.text for one in spans.like(Span("drinks tea", 0, 4, 14))] == ["drinks tea", "Tea is"]
    assert [one.text for one in spans.like(Span("hot", 1, 7, 10))] == ["hot"]

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
    found = cider.row("one hop", "first", counts, 2_000, 0)
    assert (found.pairs, found.dialogues) == (4, 2)
    assert found.recall[0] == pytest.approx(3 / 4)
    assert found.random[0] == pytest.approx(3 / 12)
    assert found.precision[0] == pytest.approx(3 / 4)
    # two dialogues drawn twice each: the ends are the dialogues themselves
    assert found.recall[1:] == pytest.approx((1 / 2, 1))
    assert found.random[1:] == pytest.approx((1 / 6, 1 / 3))
    nothing = cider.row("one hop", "first", np.array([[2.0, 0, 6, 0]]), 10, 0)
    assert nothing.precision == (0.5, 0.5, 0.5)
