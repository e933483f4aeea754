"""Training: what judges saw is left out, negatives are what they are said to be, a killed run goes on with the same curve."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError
from tacit.graph.protocol import KnowledgeGraph

pytest.importorskip("transformers")
pytest.importorskip("bm25s")

from tacit.reasoning.metrics.grade.checkpoint import load_checkpoint, save_checkpoint
from tacit.reasoning.metrics.grade.concepts import EncodedVectors
from tacit.reasoning.metrics.grade.metric import make
from tacit.reasoning.metrics.grade.network import GradeConfig, drop_edges
from tacit.reasoning.models.encoder import TextEncoder, open_encoder
from tacit.reasoning.text.language import SpacyAnalyser
from tacit.reasoning.training import grade as training
from tacit.reasoning.training.card import grade_card as card
from tacit.reasoning.training.grade import Sources, TrainedGrade, train_grade
from tacit.reasoning.training.grade_data import (
    Pairs,
    embedding_negatives,
    lexical_negatives,
    make_pairs,
    normalised_words,
    random_negatives,
    without_judged,
)
from tacit.reasoning.training.loop import STATE
from tacit.reasoning.training.recipe import GradeNetworkRecipe, GradeRecipe

from tests.reasoning.metrics.grade.tiny_grade import DIALOGUES
from tests.reasoning.models.tiny_encoder import save_tiny_encoder

VARIANTS = [[f"{turn[:-1]} {number}{turn[-1]}" for turn in dialogue] for number in range(8) for dialogue in DIALOGUES]


def recipe_of(network: dict[str, Any] | None = None, **settings: Any) -> GradeRecipe:
    return GradeRecipe(**settings, network=GradeNetworkRecipe(**{"limits": (2, 2), "hidden": 16, "pair": 8, **(network or {})}))


RECIPE = recipe_of(epochs=2, batch=16, rate=1e-2, evaluations_per_epoch=3)


def quiet(*_: object) -> None:
    """Tell nobody."""


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> TextEncoder:
    return open_encoder(save_tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny", modes=("mean",)))


@pytest.fixture(scope="module")
def sources(oracle: KnowledgeGraph, analyser: SpacyAnalyser, encoder: TextEncoder) -> Sources:
    return Sources(oracle, analyser, encoder, "", EncodedVectors(encoder, oracle))


def run(
    sources: Sources, folder: Path, train: Callable[..., Any] = quiet, recipe: GradeRecipe | None = None, **named: Any
) -> TrainedGrade:
    return train_grade(VARIANTS, sources, recipe or RECIPE, folder, train, **named)


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return make_pairs(VARIANTS, 2, dev_share=0.2)


def test_pairs_are_turns_with_their_history() -> None:
    pairs = make_pairs(VARIANTS, 2, dev_share=0.2)
    assert len(pairs.response) == 3 * len(VARIANTS)
    assert pairs.texts[pairs.response[2]] == VARIANTS[0][3]
    assert [pairs.texts[row] for row in pairs.context[2]] == [VARIANTS[0][2], VARIANTS[0][1]]
    assert pairs.context[0].tolist()[1] == -1
    for number in range(len(VARIANTS)):
        assert len(set(pairs.dev[pairs.dialogue == number].tolist())) == 1
    fewer_pairs = make_pairs(VARIANTS, 2, limit=60, dev_share=0.2)
    assert 60 <= len(fewer_pairs.response) <= 63
    with pytest.raises(InputError, match="more dialogues"):
        make_pairs(VARIANTS[:2], 2)


def test_evaluation_dialogues_are_excluded() -> None:
    dialogues = [
        ["Hello there .", "How are you doing on this fine day ?", "Fine"], ["hello THERE", "Fine, and you"],
        ["Hi", "Hello there", "Fine"],
        ["Hello there", "no"], ["one"], ["a b", "c d"], ["A b!", "C d."],
    ]  # fmt: skip
    remaining = without_judged(dialogues, [["how are you doing on this fine day", "Fine"], ["Hello there!", "Fine, and you?"]])
    assert [list(dialogue) for dialogue in remaining] == [["Hi", "Hello there", "Fine"], ["Hello there", "no"], ["a b", "c d"]]


@pytest.mark.parametrize("kind", ["random", "lexical", "embedding"])
def test_false_responses_are_of_other_dialogues_and_repeatable(pairs: Pairs, kind: str) -> None:
    def draw(seed: int) -> Any:
        if kind == "embedding":
            vectors = np.random.default_rng(0).normal(size=(len(pairs.texts), 4)).astype(np.float32)
            return embedding_negatives(pairs, vectors, seed)
        return (random_negatives if kind == "random" else lexical_negatives)(pairs, seed)

    negatives = draw(1)
    assert negatives.tolist() == draw(1).tolist()
    for index, row in enumerate(negatives.tolist()):
        assert int(pairs.dialogue[index]) not in pairs.dialogues_of[row]
        assert normalised_words(pairs.texts[row]) != normalised_words(pairs.texts[pairs.response[index]])
        assert row in set(pairs.response.tolist())
    if kind != "lexical":
        assert negatives.tolist() != draw(2).tolist()


def test_lexical_and_embedding_negatives_are_similar(pairs: Pairs) -> None:
    def shared(rows: Any) -> float:
        words = [set(normalised_words(text).split()) for text in pairs.texts]
        return float(np.mean([len(words[a] & words[b]) for a, b in zip(pairs.response, rows, strict=True)]))

    assert shared(lexical_negatives(pairs, 0)) > 2 * shared(random_negatives(pairs, 0))
    vectors = np.random.default_rng(0).normal(size=(len(pairs.texts), 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    near = embedding_negatives(pairs, vectors, 0)
    assert float((vectors[pairs.response] * vectors[near]).sum(1).mean()) > 0.8


def test_a_trained_model_scores_and_round_trips(sources: Sources, tmp_path: Path) -> None:
    recipe = recipe_of(epochs=10, batch=16, rate=5e-3, evaluations_per_epoch=1)
    trained = run(sources, tmp_path / "work", recipe=recipe, facts={"licence": "none", "data": []})
    losses = [row["loss"] for row in trained.state.curve]
    assert losses[-1] < 0.7 * losses[0]
    assert trained.state.best == min(row["dev_loss"] for row in trained.state.curve)
    text = card(trained.checkpoint, path="model")
    digest = save_checkpoint(trained.checkpoint, tmp_path / "model", text)
    assert f"| digest | `{digest}` |" in (tmp_path / "model" / "README.md").read_text()
    metric = make(sources.graph, model=load_checkpoint(tmp_path / "model"), encoder=sources.encoder, pipeline=sources.analyser)
    trues, falses = ([metric.score([d[0]], other[1]).value for d, other in zip(VARIANTS[:8], others, strict=True)]
                     for others in (VARIANTS[:8], [*VARIANTS[1:8], VARIANTS[0]]))  # fmt: skip
    assert np.mean(trues) > np.mean(falses)


class Killed(Exception):
    """Stands for a process that ends."""


def test_a_killed_training_resumes_with_the_same_curve(sources: Sources, tmp_path: Path) -> None:
    whole = run(sources, tmp_path / "whole")

    def kill(stage: str, done: int, total: int) -> None:
        if stage == "training" and done == total // 2 + 1:
            raise Killed

    with pytest.raises(Killed):
        run(sources, tmp_path / "broken", kill)
    stages: list[tuple[str, int]] = []
    resumed = run(sources, tmp_path / "broken", lambda stage, done, _: stages.append((stage, done)))
    first = next(done for stage, done in stages if stage == "training")
    assert first > 2
    assert json.dumps(resumed.state.curve) == json.dumps(whole.state.curve)
    for name, tensor in whole.checkpoint.model.state_dict().items():
        np.testing.assert_array_equal(resumed.checkpoint.model.state_dict()[name].numpy(), tensor.numpy())
    other = run(sources, tmp_path / "broken", recipe=recipe_of(seed=1, epochs=1, batch=16, rate=1e-2, evaluations_per_epoch=1))
    assert other.state.curve != whole.state.curve
    for state in (tmp_path / "broken").rglob(STATE):
        state.write_bytes(state.read_bytes()[:100])
    with pytest.raises(ModelError, match="to start again"):
        run(sources, tmp_path / "broken")


@pytest.mark.parametrize(
    "settings",
    [
        {"graph": False},
        {"limits": ()},
        {"limits": (4,)},
        {"hop_attention": False},
        {"profile": "released"},
    ],
    ids=str,
)
def test_every_ablation_trains(sources: Sources, tmp_path: Path, settings: dict[str, Any]) -> None:
    trained = run(sources, tmp_path, recipe=recipe_of(settings, epochs=1, batch=32, evaluations_per_epoch=1))
    assert np.isfinite(trained.state.best)
    assert trained.checkpoint.model.config.graph is settings.get("graph", True)


def test_edges_are_dropped_only_in_training(sources: Sources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[bool] = []
    steps: list[str] = []

    def drop(adjacency: Any, *arguments: Any) -> Any:
        modes.append(True)
        return drop_edges(adjacency, *arguments)

    monkeypatch.setattr(training, "drop_edges", drop)
    monkeypatch.setattr(
        training, "evaluate_pairs", lambda *_: {"dev_loss": float(len(steps)), "dev_wins_1": 0.0, "dev_wins_2": 0.0}
    )

    def count_step(stage: str, *_: int) -> None:
        if stage == "training":
            steps.append(stage)

    run(sources, tmp_path, count_step, recipe=recipe_of(epochs=1, batch=32, evaluations_per_epoch=2))
    assert len(modes) == len(steps) > 0


def test_a_tuned_encoder_is_trained_and_saved(
    sources: Sources, oracle: KnowledgeGraph, analyser: SpacyAnalyser, encoder: TextEncoder, tmp_path: Path
) -> None:
    base = save_tiny_encoder(tmp_path / "bert", seed=3)
    recipe = recipe_of(tuned=str(base), epochs=1, batch=16, evaluations_per_epoch=1, rate=1e-3)
    trained = run(sources, tmp_path / "work", recipe=recipe)
    assert trained.checkpoint.facts["recipe"]["tuned"] == "bert"
    save_checkpoint(trained.checkpoint, tmp_path / "model", card(trained.checkpoint, path="m"), trained.tokenizer)
    assert (tmp_path / "model" / "encoder" / "config.json").is_file()
    again = load_checkpoint(tmp_path / "model")
    before = {name: weight for name, weight in trained.checkpoint.model.state_dict().items() if "encoder" in name}
    assert before
    for name, tensor in before.items():
        np.testing.assert_array_equal(again.model.state_dict()[name].numpy(), tensor.numpy())
    metric = make(oracle, model=again, encoder=encoder, pipeline=analyser)
    assert ("reading", "2") in metric.signature.parts
    items: list[Any] = [([turn], answer) for dialogue in DIALOGUES for turn, answer in pairwise(dialogue)]
    items += [([], ""), (["dog " * 300, "cat " * 300], "bone " * 300)]
    together = [score.value for score in metric.score_batch(items)]
    np.testing.assert_allclose([metric.score(*item).value for item in items], together, rtol=0, atol=1e-5)


def test_invalid_arguments_are_one_sentence(sources: Sources, tmp_path: Path) -> None:
    for settings, sentence in (
        ({"epochs": 0}, "epochs is 0; it must be >= 1"), ({"drop_edge": 1.0}, "drop_edge is 1.0"),
        ({"negatives": "none"}, "negatives is \"none\"; it must be one of 'hard' or 'random'"),
        ({"network": {"hidden": 18}}, "network.hidden is 18; it must be a multiple of network.heads, 4"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=sentence):
            run(sources, tmp_path, recipe=recipe_of(**settings))


def test_the_recipe_has_the_defaults_of_the_network() -> None:
    network = GradeNetworkRecipe()
    assert GradeConfig(**asdict(network)) == GradeConfig()
