"""Tuple scorers: equation 1 by hand, blends, and what each says of a tuple it cannot judge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tacit.graph import KnowledgeGraph, open_graph
from tacit.graph.errors import InputError, ModelError
from tacit.reasoning.metrics.accent.metric import make as make_accent
from tacit.reasoning.metrics.accent.scorers.base import Origin, Triple, TupleScore
from tacit.reasoning.metrics.accent.scorers.compatibility import (
    UNKNOWN,
    Blend,
    Compatibility,
    Part,
)
from tacit.reasoning.metrics.accent.scorers.resources import ScorerResources
from tacit.reasoning.metrics.accent.scorers.retrieval_model import Scale
from tacit.reasoning.metrics.accent.tails.event_table import open_table
from tacit.reasoning.metrics.accent.tails.sources import GraphTails
from tacit.reasoning.metrics.judgement import MODEL_FILE
from tacit.reasoning.registry import SCORER_REGISTRY, default_scorer

from tests.conftest import Stored
from tests.reasoning.metrics.accent.world import WordEncoder, world

RELATIONS = ("xWant", "xReact", "xNeed")


@pytest.fixture
def graph(stored: Stored, tmp_path: Path) -> KnowledgeGraph:
    return open_graph(stored(world(), tmp_path / "graph"))


def compatibility(graph: KnowledgeGraph, encoder: WordEncoder, **options: object) -> Compatibility:
    tails = GraphTails(open_table(graph))
    return Compatibility(tails, encoder.encode, RELATIONS, encoder=encoder.signature, **options)  # type: ignore[arg-type]


def test_compatibility_is_equation_1(graph: KnowledgeGraph) -> None:
    """The largest cosine with the two known tails, both written as ATOMIC writes them."""
    encoder = WordEncoder()
    (score,) = compatibility(graph, encoder).score([("PersonX buys a dog", "xWant", "PersonX wants to feed the puppy")])
    query_vector, fed, park = (
        WordEncoder().encode(["PersonX feeds the puppy", "PersonX feeds the dog", "PersonX goes to the park"]).astype(float)
    )
    assert score.value == pytest.approx(max(query_vector @ fed, query_vector @ park), abs=1e-6)
    assert [(close.tail.text, close.tail.origin) for close in score.closest] == [
        ("to feed the dog", Origin.GRAPH), ("to go to the park", Origin.GRAPH),
    ]  # fmt: skip
    assert [close.similarity for close in score.closest] == pytest.approx([query_vector @ fed, query_vector @ park], abs=1e-6)


@pytest.mark.parametrize("tail", ["PersonX is happy", "happy", "PersonX feels happy", "person x be happy ."])
def test_tails_match_in_any_wording(graph: KnowledgeGraph, tail: str) -> None:
    (score,) = compatibility(graph, WordEncoder()).score([("PersonX buys the dog", "xReact", tail)])
    assert score.value == pytest.approx(1.0, abs=1e-6)


def test_scores_are_at_least_zero(graph: KnowledgeGraph) -> None:
    class Opposed(WordEncoder):
        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.array([[1.0, 0.0] if text == "PersonX is happy" else [-1.0, 0.0] for text in texts], dtype=np.float32)

    (score,) = compatibility(graph, Opposed()).score([("PersonX buys a dog", "xReact", "sad")])
    assert score.value == 0.0
    assert score.closest[0].similarity == -1.0


def test_tuples_without_known_tails(graph: KnowledgeGraph) -> None:
    class Fallback:
        signature = "fallback"
        relations = frozenset(("xWant",))

        def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
            return [TupleScore(0.7, note="guessed") for _ in tuples]

    tuples = [("PersonX flies", "xWant", "to land"), ("PersonX buys a dog", "xReact", "happy")]
    alone, known = compatibility(graph, WordEncoder()).score(tuples)
    assert (alone.value, alone.closest, alone.note) == (0.0, (), UNKNOWN)
    scorer = compatibility(graph, WordEncoder(), fallback=Fallback())
    guessed, same, none = scorer.score([*tuples, ("PersonX flies", "xNeed", "wings")])
    assert (guessed.value, guessed.note, none.value) == (0.7, "guessed", 0.0)
    assert same == known
    assert scorer.signature.endswith("+fallback")
    assert scorer.score([]) == []


def test_each_distinct_text_is_embedded_once(graph: KnowledgeGraph) -> None:
    encoder = WordEncoder()
    tuples = [("PersonX buys a dog", "xWant", tail) for tail in ("to eat", "to feed the dog", "to eat")]
    compatibility(graph, encoder).score([*tuples, ("PersonX buy dog", "xWant", "to eat")])
    assert sorted(encoder.seen) == ["PersonX eats", "PersonX feeds the dog", "PersonX goes to the park"]


def test_an_unknown_relation_is_refused_with_the_known_ones(graph: KnowledgeGraph) -> None:
    with pytest.raises(InputError, match=r"unknown relation between events 'xLikes'; choose from xNeed, xReact, xWant"):
        compatibility(graph, WordEncoder()).score([("PersonX buys a dog", "xLikes", "bones")])


class Fixed:
    """Gives the number that the tail spells."""

    relations = None

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor
        self.signature = f"fixed{factor:g}"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        return [TupleScore(self.factor * float(tail), note=f"note {self.factor:g}") for _, _, tail in tuples]


def test_a_blend_is_the_standardised_mean_of_available_scores() -> None:
    parts = {"one": Part(Fixed(), {"xWant": Scale(0.5, 0.1)}), "two": Part(Fixed(2.0), {"xWant": Scale(1.0, 0.4)})}
    score, silent = Blend(parts).score([("h", "xWant", "0.6"), ("h", "xWant", "nan")])
    assert score.value == pytest.approx(1 / (1 + np.exp(-(1.0 + 0.5) / 2)))
    assert score.note == "note 1; note 2"
    assert silent.value == 0.5
    assert Blend(parts).signature == "blend(one:fixed1+two:fixed2)"
    (alone,) = Blend(parts | {"three": Part(Fixed(), {})}).score([("h", "xWant", "0.6")])
    assert alone.value == score.value


def test_the_default_scorer_is_the_probe_if_its_language_model_is_available(
    graph: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path))
    assert default_scorer() == "blend"
    fetched = tmp_path / "models" / MODEL_FILE
    fetched.parent.mkdir()
    fetched.write_bytes(b"no model")
    assert default_scorer() == "llm-probe"
    assert default_scorer(tails_asked=True) == "blend"
    with pytest.raises(ModelError, match=MODEL_FILE):
        make_accent(graph, extractor="cskb", encoder=WordEncoder())
    with pytest.raises(ModelError, match="the tail retriever was trained on"):  # a part of blend
        make_accent(graph, extractor="cskb", encoder=WordEncoder(), nearest=2)


def test_an_unknown_dtype_is_refused_before_a_model_is_opened(graph: KnowledgeGraph) -> None:
    with pytest.raises(InputError, match="unknown dtype 'float8'; choose from float32, bfloat16, float16"):
        ScorerResources(graph, dtype="float8")


def test_every_scorer_is_known_by_its_name(graph: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resources = ScorerResources(graph, encoder=WordEncoder())
    assert resources.tails().signature == "graph"
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match="get it with: tacit fetch judge"):
        resources.scorer("llm-probe")
    with pytest.raises(InputError, match="kg-bert needs a model"):
        resources.scorer("kg-bert")
    with pytest.raises(InputError, match=f"unknown tuple scorer 'best'; choose from {', '.join(SCORER_REGISTRY.own)}"):
        resources.scorer("best")
    assert resources.relations()[:2] == ["xIntent", "xNeed"]
