"""The compact model of tails: its training and file, what it expects, how close it says a tail is, what its triples support."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from tacit.graph import open_graph
from tacit.graph.errors import InputError, ModelError
from tacit.reasoning.metrics.accent.events import head_form
from tacit.reasoning.metrics.accent.scorers import retrieval_model
from tacit.reasoning.metrics.accent.scorers.base import Origin, Triple
from tacit.reasoning.metrics.accent.scorers.resources import ScorerResources
from tacit.reasoning.metrics.accent.scorers.retrieval_model import (
    RetrievalModel,
    from_bytes,
    open_retrieval_model,
    quantise,
    to_bytes,
)
from tacit.reasoning.metrics.accent.scorers.retriever import HEAD_WIDTH, TAIL_WIDTH, Retriever, Support
from tacit.reasoning.metrics.accent.verbalise import statement

from tests.conftest import Stored
from tests.reasoning.metrics.accent.world import WordEncoder, world

ANIMALS = ("dog", "cat", "fox", "cow", "hen", "pig", "bee", "ant")


def lesson() -> list[Triple]:
    """Heads about eight animals, each with tails about its own animal alone."""
    verbs, acts = ("buys", "feeds", "sees", "calls", "finds"), ("to stroke", "to keep", "to name", "to free")
    return [
        (f"PersonX {verb} a {animal}", relation, f"{act} the {animal}" if relation == "xWant" else f"{animal} lover")
        for animal in ANIMALS for verb in verbs for relation in ("xWant", "xAttr") for act in acts
    ]  # fmt: skip


@pytest.fixture(scope="module")
def trained() -> RetrievalModel:
    pytest.importorskip("torch")
    from tacit.reasoning.training.recipe import RetrieverRecipe
    from tacit.reasoning.training.retriever import train_retriever

    encoder = WordEncoder()
    recipe = RetrieverRecipe(steps=50, batch_size=64, parts=32, seed=1)
    return train_retriever(lesson(), ("xWant", "xAttr", "oWant"), encoder.encode, recipe, encoder=("words", "words"))


def test_a_trained_retriever_ranks_learnt_tails_first(trained: RetrievalModel) -> None:
    assert trained.relations == ("xWant", "xAttr")
    retriever = Retriever(trained, WordEncoder().encode, encoder="words", pool=4)
    for animal in ANIMALS:
        [score] = retriever.score([(f"PersonX buys a {animal}", "xWant", "PersonX sings")])
        assert {close.tail.text.split()[-1] for close in score.closest} == {animal}
        right, wrong = retriever.score(
            [(f"PersonX loses a {animal}", "xWant", f"PersonX wants to keep the {other}") for other in (animal, "horse")]
        )
        assert right.value > wrong.value
        assert right.closest[0].tail.text == f"PersonX keeps the {animal}"
        assert right.closest[0].tail.origin is Origin.MODEL
        assert right.value == pytest.approx(1.0, abs=0.01)


def test_tails_without_a_statement_are_not_learnt() -> None:
    pytest.importorskip("torch")
    from tacit.reasoning.training.recipe import RetrieverRecipe
    from tacit.reasoning.training.retriever import train_retriever

    triples = [*lesson(), ("PersonX buys a dog", "xWant", "to")]
    recipe = RetrieverRecipe(steps=1, batch_size=64, parts=32)
    model = train_retriever(triples, ("xWant", "xAttr"), WordEncoder().encode, recipe, encoder=("words", "words"))
    assert "" not in model.texts


def test_equal_seeds_give_equal_models_even_after_a_kill(
    trained: RetrievalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from tacit.reasoning.training import retriever
    from tacit.reasoning.training.loop import Plan
    from tacit.reasoning.training.recipe import RetrieverRecipe
    from tacit.reasoning.training.retriever import train_retriever

    monkeypatch.setattr(retriever, "Plan", partial(Plan, keep_every=15))
    steps: list[int] = []

    def die(step: int, _: int, __: float) -> None:
        steps.append(step)
        if len(steps) == 35:
            raise KeyboardInterrupt

    def train(seed: int) -> RetrievalModel:
        recipe = RetrieverRecipe(steps=50, batch_size=64, parts=32, seed=seed)
        return train_retriever(
            lesson(), ("xWant", "xAttr"), WordEncoder().encode, recipe, encoder=("words", "words"), checkpoints=tmp_path / "c",
            progress=die,
        )  # fmt: skip

    with pytest.raises(KeyboardInterrupt):
        train(1)
    assert to_bytes(train(1)) == to_bytes(trained)
    assert steps[34:37] == [35, 31, 32]
    assert to_bytes(train(2)) != to_bytes(trained)


def test_models_round_trip_through_files(trained: RetrievalModel, tmp_path: Path) -> None:
    data = to_bytes(trained)
    (tmp_path / "retriever.safetensors").write_bytes(data)
    opened = open_retrieval_model(tmp_path)
    assert (opened.relations, opened.texts, opened.encoder, dict(opened.facts)) == (
        trained.relations, trained.texts, trained.encoder, dict(trained.facts),
    )  # fmt: skip
    assert opened.digest == trained.digest
    assert opened.scales == trained.scales
    original, other = (Retriever(model, WordEncoder().encode, encoder="words", pool=8) for model in (trained, opened))
    assert original.evaluate(lesson()[:40]) == other.evaluate(lesson()[:40])


@pytest.mark.parametrize(("parts", "width"), [(8, 16), (6, 18)])
def test_quantised_vectors_and_products_are_close_to_exact_ones(parts: int, width: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(400, width)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    quantised = quantise(vectors, parts, seed=0)
    rows = np.arange(400)
    assert quantised.codes.nbytes == parts * 400
    assert (quantised.vectors(rows) * vectors).sum(1).mean() > 0.98
    np.testing.assert_allclose(np.linalg.norm(quantised.vectors(rows), axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(quantised.products(vectors[3], rows), quantised.vectors(rows) @ vectors[3], atol=1e-5)
    some = rows[7::9]
    np.testing.assert_array_equal(quantised.products(vectors[3], some), quantised.products(vectors[3])[some])
    np.testing.assert_array_equal(quantised.part(some).products(vectors[3]), quantised.products(vectors[3])[some])
    few_quantised = quantise(vectors[:5], 2, seed=0)  # fewer vectors than centroids: each is its own
    np.testing.assert_allclose(few_quantised.vectors(np.arange(5)), vectors[:5], atol=1e-3)


def test_support_is_pointwise_mutual_information_under_the_kernels(trained: RetrievalModel) -> None:
    """Against the definition, triple by triple, over the vectors that the model keeps."""
    support = Support(trained, WordEncoder().encode, encoder="words")
    number = trained.relations.index("xWant")
    rows = trained.triples[number]
    assert {(trained.texts[head], trained.texts[tail]) for head, tail in rows.tolist()} == {
        (head_form(head), statement(tail, relation)) for head, relation, tail in lesson() if relation == "xWant"
    }
    vectors = trained.embeddings.vectors(np.arange(len(trained.texts)))
    for head, tail in ((rows[0, 0], rows[0, 1]), (rows[0, 0], rows[-1, 1])):
        weights = [
            (exp((vectors[h] @ vectors[head] - 1) / HEAD_WIDTH), exp((vectors[t] @ vectors[tail] - 1) / TAIL_WIDTH))
            for h, t in rows.tolist()
        ]
        both, of_heads, of_tails = sum(a * b for a, b in weights), sum(a for a, _ in weights), sum(b for _, b in weights)
        value, witnesses = support.measure(vectors[head] @ trained.basis.T, number, vectors[tail] @ trained.basis.T)
        assert value == pytest.approx(log(both * len(weights) / (of_heads * of_tails)), abs=1e-3)
        strongest = [(witness.head, witness.tail) for witness in witnesses]
        assert len(set(strongest)) == 3
        spoken = dict(zip(map(tuple, rows.tolist()), (a * b for a, b in weights), strict=True))
        assert [spoken[animal_named] for animal_named in strongest] == pytest.approx(
            sorted(spoken.values(), reverse=True)[:3], rel=1e-3
        )


def test_excluded_triples_give_no_support(trained: RetrievalModel) -> None:
    support = Support(trained, WordEncoder().encode, encoder="words")
    number = trained.relations.index("xWant")
    rows = trained.triples[number]
    head, tail = (trained.embeddings.vectors(rows[:1, side])[0] @ trained.basis.T for side in (0, 1))
    whole, witnesses = support.measure(head, number, tail)
    assert (witnesses[0].head, witnesses[0].tail) == tuple(rows[0])
    less, others = support.measure(head, number, tail, without=(int(rows[0, 0]), int(rows[0, 1])))
    assert less < whole
    assert all(triple.head != rows[0, 0] and triple.tail != rows[0, 1] for triple in others)
    silent = replace(trained, triples=tuple(triple[:1] for triple in trained.triples))
    nobody = Support(silent, WordEncoder().encode, encoder="words")
    assert nobody.measure(head, number, tail, without=(int(rows[0, 0]), -1)) == (0.0, ())


def test_related_tuples_have_more_support(stored: Stored, trained: RetrievalModel, tmp_path: Path) -> None:
    (tmp_path / "retriever.safetensors").write_bytes(to_bytes(trained))
    graph = open_graph(stored(world(), tmp_path / "graph"))
    scorer = ScorerResources(graph, encoder=WordEncoder()).scorer("support", model=tmp_path)
    assert scorer.signature == f"support({trained.digest})"
    for animal, other in pairwise(ANIMALS):
        right, wrong = scorer.score([(f"PersonX loses a {animal}", "xWant", f"to keep the {goal}") for goal in (animal, other)])
        assert right.value > 0 > wrong.value
        assert right.closest[0].tail.text == f"PersonX keeps the {animal}"
        assert right.closest[0].tail.origin is Origin.NEAREST
        assert right.closest[0].tail.head.endswith(f"a {animal}")
        assert 0 < right.closest[0].tail.likeness < 1


def test_a_model_is_opened_once_for_all_users(
    stored: Stored, trained: RetrievalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "retriever.safetensors").write_bytes(to_bytes(trained))
    graph = open_graph(stored(world(), tmp_path / "graph"))
    opened: list[object] = []
    monkeypatch.setattr(
        retrieval_model, "open_retrieval_model", lambda model: opened.append(model) or open_retrieval_model(model)
    )
    resources = ScorerResources(graph, encoder=WordEncoder())
    for name in ("blend", "support", "retriever", "compatibility"):
        resources.scorer(name, model=tmp_path)
    assert opened == [tmp_path]


def test_scores_do_not_depend_on_the_batch(trained: RetrievalModel) -> None:
    retriever = Retriever(trained, WordEncoder().encode, encoder="words", pool=5)
    together = retriever.score(lesson()[::7])
    for triple, score in zip(lesson()[::7], together, strict=True):
        assert retriever.score([triple])[0].value == pytest.approx(score.value, abs=1e-6)
    assert retriever.score([]) == []


@pytest.mark.parametrize("cut", [0, 7, 100, -1])
def test_invalid_model_files_are_refused(trained: RetrievalModel, tmp_path: Path, cut: int) -> None:
    data = to_bytes(trained)
    with pytest.raises(ModelError, match="is not a tail retriever"):
        from_bytes(data[:cut], "file")
    with pytest.raises(ModelError, match="there is no tail retriever"):
        open_retrieval_model(tmp_path / "none")
    changed = data.replace(b'\\"version\\": 2', b'\\"version\\": 9')
    assert changed != data
    with pytest.raises(ModelError, match="its format is version 9, and this tacit reads version 2"):
        from_bytes(changed, "file")


def test_a_retriever_is_bound_to_its_encoder(trained: RetrievalModel) -> None:
    with pytest.raises(ModelError, match="was trained on vectors of words"):
        Retriever(trained, WordEncoder("others").encode, encoder="others")
    with pytest.raises(InputError, match="unknown relation between events 'oWant'"):
        Retriever(trained, WordEncoder().encode, encoder="words").score([("a", "oWant", "b")])


def test_the_shipped_model_is_small_and_has_a_card() -> None:
    model = open_retrieval_model()
    folder = Path(__file__).parents[4] / "reasoning" / "metrics" / "accent" / "model"
    assert sum(file.stat().st_size for file in folder.iterdir()) < 10_000_000
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert model.digest in card
    assert model.encoder[1] in card
    assert json.dumps(model.facts["triples"]) in card.replace(",", "")
    assert "CC BY 4.0" in (folder / "LICENSE").read_text(encoding="utf-8")
