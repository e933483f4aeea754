"""Tuple scorers: equation 1 by hand, the compact model's training and file, blends, and what each says of a tuple it cannot
judge.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tacit.graph import KnowledgeGraph, open_graph
from tacit.graph.errors import InputError, ModelError
from tacit.reasoning.accent.scorers.blend import Blend, Part, exchanged, scales_of
from tacit.reasoning.accent.scorers.compact import Compact, Scale, from_bytes, open_compact, to_bytes
from tacit.reasoning.accent.scorers.compatibility import UNKNOWN, Compatibility
from tacit.reasoning.accent.scorers.opening import SCORERS, Opener
from tacit.reasoning.accent.scorers.plain import PlainCosine
from tacit.reasoning.accent.scorers.quantise import quantise
from tacit.reasoning.accent.scorers.retriever import Retriever
from tacit.reasoning.accent.scorers.tuplescore import Triple, TupleScore
from tacit.reasoning.accent.tails.lookup import GraphTails
from tacit.reasoning.accent.tails.source import Origin
from tacit.reasoning.accent.tails.table import open_table

from .accent_world import WordEncoder, world

RELATIONS = ("xWant", "xReact", "xNeed")


@pytest.fixture
def graph(tmp_path: Path) -> KnowledgeGraph:
    store = open_graph(tmp_path / "graph", create=True)
    store.load(world())
    return store


def compatibility(graph: KnowledgeGraph, encoder: WordEncoder, **options: object) -> Compatibility:
    tails = GraphTails(open_table(graph))
    return Compatibility(tails, encoder.encode, RELATIONS, encoder=encoder.signature, **options)  # type: ignore[arg-type]


def test_compatibility_is_equation_1(graph: KnowledgeGraph) -> None:
    """The largest cosine with the two known tails, both written as ATOMIC writes them."""
    encoder = WordEncoder()
    (score,) = compatibility(graph, encoder).score([("PersonX buys a dog", "xWant", "PersonX wants to feed the puppy")])
    given, fed, park = (
        WordEncoder().encode(["PersonX feeds the puppy", "PersonX feeds the dog", "PersonX goes to the park"]).astype(float)
    )
    assert score.value == pytest.approx(max(given @ fed, given @ park), abs=1e-6)
    assert [(close.tail.text, close.tail.origin) for close in score.closest] == [
        ("to feed the dog", Origin.GRAPH), ("to go to the park", Origin.GRAPH),
    ]  # fmt: skip
    assert [close.similarity for close in score.closest] == pytest.approx([given @ fed, given @ park], abs=1e-6)


@pytest.mark.parametrize("tail", ["PersonX is happy", "happy", "PersonX feels happy", "person x be happy ."])
def test_a_tail_in_any_wording_is_the_known_one(graph: KnowledgeGraph, tail: str) -> None:
    (score,) = compatibility(graph, WordEncoder()).score([("PersonX buys the dog", "xReact", tail)])
    assert score.value == pytest.approx(1.0, abs=1e-6)


def test_scores_are_floored_at_nothing(graph: KnowledgeGraph) -> None:
    class Opposed(WordEncoder):
        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.array([[1.0, 0.0] if text == "PersonX is happy" else [-1.0, 0.0] for text in texts], dtype=np.float32)

    (score,) = compatibility(graph, Opposed()).score([("PersonX buys a dog", "xReact", "sad")])
    assert score.value == 0.0
    assert score.closest[0].similarity == -1.0


def test_what_nothing_is_known_of(graph: KnowledgeGraph) -> None:
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
    with pytest.raises(InputError, match=r"no relation 'xLikes' between events; choose from xNeed, xReact, xWant"):
        compatibility(graph, WordEncoder()).score([("PersonX buys a dog", "xLikes", "bones")])


def test_the_plain_cosine() -> None:
    encoder = WordEncoder()
    (score,) = PlainCosine(encoder.encode, encoder="words").score([("PersonX buy a dog", "xWant", "PersonX wants to buy a bone")])
    one, other = WordEncoder().encode(["PersonX buys a dog", "PersonX buys a bone"]).astype(float)
    assert score.value == pytest.approx(one @ other, abs=1e-6)


ANIMALS = ("dog", "cat", "fox", "cow", "hen", "pig", "bee", "ant")


def lesson() -> list[Triple]:
    """Heads about eight animals, each with tails about its own animal alone."""
    verbs, acts = ("buys", "feeds", "sees", "calls", "finds"), ("to stroke", "to keep", "to name", "to free")
    return [
        (f"PersonX {verb} a {animal}", relation, f"{act} the {animal}" if relation == "xWant" else f"{animal} lover")
        for animal in ANIMALS for verb in verbs for relation in ("xWant", "xAttr") for act in acts
    ]  # fmt: skip


@pytest.fixture(scope="module")
def trained() -> Compact:
    pytest.importorskip("torch")
    from tacit.reasoning.training.retriever import Recipe, train_retriever

    encoder = WordEncoder()
    recipe = Recipe(steps=150, batch_size=64, parts=32, seed=1)
    return train_retriever(lesson(), ("xWant", "xAttr", "oWant"), encoder.encode, recipe, encoder=("words", "words"))


def test_a_trained_retriever_expects_what_it_learnt(trained: Compact) -> None:
    assert trained.relations == ("xWant", "xAttr")
    retriever = Retriever(trained, WordEncoder().encode, encoder="words", pool=4)
    for animal in ANIMALS:
        assert {text.split()[-1] for text in retriever.expected(f"PersonX buys a {animal}", "xWant", 4)} == {animal}
        right, wrong = retriever.score(
            [(f"PersonX loses a {animal}", "xWant", f"PersonX wants to keep the {other}") for other in (animal, "horse")]
        )
        assert right.value > wrong.value
        assert right.closest[0].tail.text == f"PersonX keeps the {animal}"
        assert right.closest[0].tail.origin is Origin.MODEL
        assert right.value == pytest.approx(1.0, abs=0.01)


def test_one_seed_gives_one_model(trained: Compact) -> None:
    pytest.importorskip("torch")
    from tacit.reasoning.training.retriever import Recipe, train_retriever

    again, other = (
        train_retriever(
            lesson(), ("xWant", "xAttr"), WordEncoder().encode, Recipe(steps=150, batch_size=64, parts=32, seed=seed),
            encoder=("words", "words"),
        )
        for seed in (1, 2)
    )  # fmt: skip
    assert to_bytes(again) == to_bytes(trained)
    assert to_bytes(other) != to_bytes(trained)


def test_a_file_gives_the_model_back(trained: Compact, tmp_path: Path) -> None:
    data = to_bytes(trained)
    (tmp_path / "retriever.safetensors").write_bytes(data)
    opened = open_compact(tmp_path)
    assert (opened.relations, opened.texts, opened.encoder, dict(opened.facts)) == (
        trained.relations, trained.texts, trained.encoder, dict(trained.facts),
    )  # fmt: skip
    assert opened.digest == trained.digest
    assert opened.scales == trained.scales
    one, other = (Retriever(model, WordEncoder().encode, encoder="words", pool=8) for model in (trained, opened))
    assert one.judge(lesson()[:40]) == other.judge(lesson()[:40])


def test_quantised_vectors_are_near_and_their_products_are_theirs() -> None:
    vectors = np.random.default_rng(0).normal(size=(400, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    kept = quantise(vectors, 8, seed=0)
    rows = np.arange(400)
    assert kept.codes.nbytes == 8 * 400
    assert (kept.vectors(rows) * vectors).sum(1).mean() > 0.98
    np.testing.assert_allclose(np.linalg.norm(kept.vectors(rows), axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(kept.products(vectors[3], rows), kept.vectors(rows) @ vectors[3], atol=1e-5)
    few = quantise(vectors[:5], 4, seed=0)  # fewer vectors than centroids: each is its own
    np.testing.assert_allclose(few.vectors(np.arange(5)), vectors[:5], atol=1e-3)


def test_scores_do_not_depend_on_what_is_beside_them(trained: Compact) -> None:
    retriever = Retriever(trained, WordEncoder().encode, encoder="words", pool=5)
    together = retriever.score(lesson()[::7])
    for one, score in zip(lesson()[::7], together, strict=True):
        assert retriever.score([one])[0].value == pytest.approx(score.value, abs=1e-6)
    assert retriever.score([]) == []


@pytest.mark.parametrize("cut", [0, 7, 100, -1])
def test_what_is_no_retriever(trained: Compact, tmp_path: Path, cut: int) -> None:
    data = to_bytes(trained)
    with pytest.raises(ModelError, match="is no tail retriever"):
        from_bytes(data[:cut], "file")
    with pytest.raises(ModelError, match="there is no tail retriever"):
        open_compact(tmp_path / "none")
    changed = data.replace(b'\\"version\\": 1', b'\\"version\\": 9')
    assert changed != data
    with pytest.raises(ModelError, match="another format or version"):
        from_bytes(changed, "file")


def test_a_retriever_reads_its_own_encoder_alone(trained: Compact) -> None:
    with pytest.raises(ModelError, match="reads the vectors of words"):
        Retriever(trained, WordEncoder("others").encode, encoder="others")
    with pytest.raises(InputError, match="no relation 'oWant'"):
        Retriever(trained, WordEncoder().encode, encoder="words").score([("a", "oWant", "b")])


class Fixed:
    """Gives the number that the tail spells."""

    relations = None

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor
        self.signature = f"fixed{factor:g}"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        return [TupleScore(self.factor * float(tail), note=f"note {self.factor:g}") for _, _, tail in tuples]


def test_a_blend_is_the_mean_on_common_scales_of_those_that_speak() -> None:
    parts = {"one": Part(Fixed(), {"xWant": Scale(0.5, 0.1)}), "two": Part(Fixed(2.0), {"xWant": Scale(1.0, 0.4)})}
    score, silent = Blend(parts).score([("h", "xWant", "0.6"), ("h", "xWant", "nan")])
    assert score.value == pytest.approx(1 / (1 + np.exp(-(1.0 + 0.5) / 2)))
    assert score.note == "note 1; note 2"
    assert silent.value == 0.5
    assert Blend(parts).signature == "blend(one:fixed1+two:fixed2)"
    (alone,) = Blend(parts | {"three": Part(Fixed(), {})}).score([("h", "xWant", "0.6")])
    assert alone.value == score.value


def test_scales_are_of_a_relation_and_leave_out_what_is_no_number() -> None:
    tuples = [("h", relation, str(number)) for number in range(10) for relation in ("xWant", "xNeed")]
    scales = scales_of(Fixed(), [*tuples, ("h", "xWant", "nan")])
    assert scales["xWant"] == scales["xNeed"] == Scale(4.5, round(float(np.std(range(10))), 4))


def test_tails_are_exchanged_within_their_relation() -> None:
    triples = [(f"h{number}", relation, f"{relation} {number}") for number in range(40) for relation in ("xWant", "xNeed")]
    mixed = exchanged(triples, seed=1)
    assert mixed == exchanged(triples, seed=1) != exchanged(triples, seed=2)
    assert sum(one in triples for one in mixed) < 10
    assert sorted(tail for _, _, tail in mixed) == sorted(tail for _, _, tail in triples)
    assert all(tail.startswith(relation) for _, relation, tail in mixed)


def test_every_scorer_is_known_by_its_name(graph: KnowledgeGraph) -> None:
    opener = Opener(graph, encoder=WordEncoder())
    assert opener.scorer("cosine").signature == "cosine(words)"
    with pytest.raises(InputError, match="kg-bert needs a model"):
        opener.scorer("kg-bert")
    with pytest.raises(InputError, match=f"no tuple scorer 'best'; choose from {', '.join(SCORERS)}"):
        opener.scorer("best")
    assert opener.relations()[:2] == ["xIntent", "xNeed"]


def test_the_shipped_model_is_small_and_says_what_it_is() -> None:
    model = open_compact()
    folder = Path(__file__).parents[2] / "reasoning" / "accent" / "model"
    assert sum(file.stat().st_size for file in folder.iterdir()) < 8_000_000
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert model.digest in card
    assert model.encoder[1] in card
    assert json.dumps(model.facts["triples"]) in card.replace(",", "")
    assert "CC BY 4.0" in (folder / "LICENSE").read_text(encoding="utf-8")
