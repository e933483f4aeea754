"""Training coherence: what is learnt from, the loss of the head by hand, the weights, one seed and one checkpoint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tacit.graph.errors import InputError
from tacit.reasoning.metrics.coherence.checkpoint import PARTS, open_checkpoint
from tacit.reasoning.training.coherence import PartValues, contrasts, fit_weights, part_aucs
from tacit.reasoning.training.corpora import corpus_of, distinct_dialogues, hold_out

pytest.importorskip("transformers")

from tacit.reasoning.models.encoder import open_encoder
from tacit.reasoning.training.coherence import train_coherence
from tacit.reasoning.training.recipe import CoherenceRecipe, HeadRecipe
from tacit.reasoning.training.selection_head import Towers, train_head

from tests.reasoning.models.tiny_encoder import save_tiny_encoder
from tests.reasoning.training.tiny_dialogues import tiny_dialogues

TINY = CoherenceRecipe(head=HeadRecipe(width=8, epochs=3, batch=32))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny", modes=("mean",))


@pytest.mark.parametrize(
    ("name", "corpus"),
    [
        ("topical-chat-valid-freq", "topical-chat"), ("topical-chat-test-rare", "topical-chat"), ("talk-train", "talk"),
        ("empatheticdialogues_dev", "empatheticdialogues"), ("chat.train.00012", "chat"), ("part-1", "part"), ("train", "train"),
        ("testing-stuff", "testing-stuff"), ("7", "7"), ("mutual", "mutual"),
    ],
)  # fmt: skip
def test_files_of_one_corpus_are_recognised_by_their_names(name: str, corpus: str) -> None:
    assert corpus_of(name) == corpus


def test_duplicate_and_evaluation_dialogues_are_excluded() -> None:
    long = "I 'd like a table for two , please ."
    corpora = {
        "one": [["Hi", "Hello"], ["hi !", "  hello"], ["hi", ""], ["hi"], ["x", long.upper(), "y"], ["x", " ", "z"]],
        "two": [["hi", "hello", "bye"], ["HI", "hello"], ["i'd like a table for two please", "yes"], ["short one here", "yes"]],
    }
    distinct, dropped = distinct_dialogues(corpora, [long, "short one here"])
    assert distinct == {"one": [("Hi", "Hello"), ("x", "z")], "two": [("hi", "hello", "bye"), ("short one here", "yes")]}
    assert dropped == {"too short": 2, "excluded": 2, "repeated": 2}


def test_a_tenth_is_held_out_of_each_corpus() -> None:
    corpora = {"one": tiny_dialogues(100), "two": tiny_dialogues(30, seed=1)}
    splits = hold_out(corpora, np.random.default_rng(0))
    for name, dialogues in corpora.items():
        split = splits[name]
        assert len(split.held_out) == len(dialogues) // 10
        assert sorted([*split.train, *split.held_out]) == sorted(dialogues)
    assert splits == hold_out(corpora, np.random.default_rng(0))
    assert splits != hold_out(corpora, np.random.default_rng(1))
    for too_few in ({"one": tiny_dialogues(19)}, {}):
        with pytest.raises(InputError, match="train"):
            hold_out(too_few, np.random.default_rng(0))


def test_contrasts_are_true_random_and_repeated_responses() -> None:
    dialogues = [tuple(f"dialogue {number} turn {turn} of five words or more" for turn in range(4)) for number in range(300)]
    drawn = contrasts(dialogues, 0.5, np.random.default_rng(0))
    true = [item for item, label in zip(drawn.items, drawn.labels, strict=True) if label]
    assert len(true) == 900
    for item in true:
        number = int(item.response.split()[1])
        assert (*item.history, item.response) == dialogues[number][: len(item.history) + 1]
    elsewhere = {turn: number for number, turns in enumerate(dialogues) for turn in turns}
    copied = 0
    for item, label in zip(drawn.items, drawn.labels, strict=True):
        own = elsewhere[item.history[0]]
        if not label and elsewhere.get(item.response, own) == own:
            copied += 1
            assert any(set(item.response.split()) <= set(turn.split()) for turn in item.history[-4:])
    assert 0.45 < copied / len(true) < 0.55


def test_weights_are_those_of_a_logistic_regression() -> None:
    random = np.random.default_rng(0)
    truth = np.array([2.0, 0.5, -3.0, 0.0])
    features = random.normal(size=(20_000, 4)) * [1, 2, 0.5, 1]
    labels = (random.random(20_000) < 1 / (1 + np.exp(-(features @ truth - 1)))).astype(np.int64)
    weights = fit_weights(
        [PartValues(features[:15_000], labels[:15_000], 3.0), PartValues(features[15_000:], labels[15_000:], 1.0)]
    )
    whole = weights["+".join(PARTS)]
    np.testing.assert_allclose([whole["bias"], *(whole[part] for part in PARTS)], [-1, *truth], atol=0.15)
    assert set(whole) == {"bias", *PARTS}
    heavy = fit_weights([PartValues(features, labels, 1e-9), PartValues(features, 1 - labels, 1.0)])
    assert heavy["+".join(PARTS)]["similarity"] < -1.5
    assert part_aucs([PartValues(features, labels, 1.0)])["selection"] < 0.3


def test_with_more_weight_for_similarity_the_log_odds_and_repetition_are_fitted_again() -> None:
    random = np.random.default_rng(0)
    features = random.normal(size=(4_000, 4)) * [1, 2, 0.5, 1]
    labels = (random.random(4_000) < 1 / (1 + np.exp(-(features @ [2.0, 0.5, -3.0, -1.0] - 1)))).astype(np.int64)
    groups = [PartValues(features[:3_000], labels[:3_000], 2.0), PartValues(features[3_000:], labels[3_000:], 1.0)]
    [fitted], [heavier] = (list(fit_weights(groups, factor).values()) for factor in (1.0, 3.0))
    ratios = {part: heavier[part] / fitted[part] for part in PARTS}
    assert ratios["similarity"] / ratios["selection"] == pytest.approx(3)
    assert ratios["association"] == pytest.approx(ratios["selection"])
    # the weighted likelihood has its maximum at this bias, this scale of the other weights and this weight of repetition
    sample_weights = np.repeat([2 / 3_000, 1 / 1_000], [3_000, 1_000])
    repetition = features[:, PARTS.index("repetition")]
    sums = features @ [heavier[part] for part in PARTS] - heavier["repetition"] * repetition

    def loss(bias: float, scale: float, copied: float) -> float:
        odds = bias + scale * sums + copied * repetition
        return float((sample_weights * (np.logaddexp(0, odds) - labels * odds)).sum())

    refitted = np.array([heavier["bias"], 1.0, heavier["repetition"]])
    assert all(loss(*(refitted + sign * 0.05 * step)) > loss(*refitted) for step in np.eye(3) for sign in (1, -1))


def test_repetitions_stay_below_true_responses_with_more_similarity() -> None:
    random = np.random.default_rng(0)
    similar = np.concatenate([random.normal(0.5, 0.1, 300), random.normal(0.3, 0.1, 300), np.ones(60)])
    copied = np.repeat([0.0, 1.0], [600, 60])
    noise = random.normal(size=(660, 2))
    features = np.column_stack([similar, noise, copied])
    labels = np.repeat([1, 0], [300, 360])
    assert PARTS == ("similarity", "association", "selection", "repetition")
    [heavier] = fit_weights([PartValues(features, labels, 1.0)], 4.0).values()
    odds = features @ [heavier[part] for part in PARTS]
    assert np.median(odds[copied == 1]) < np.quantile(odds[labels == 1], 0.05)


def losses(logits: np.ndarray) -> float:
    """Mean cross entropy of the diagonal, by hand."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return float(np.mean(np.log(np.exp(shifted).sum(axis=1)) - np.diag(shifted)))


def test_loss_of_the_head_by_hand() -> None:
    import torch

    random = np.random.default_rng(0)
    vectors = random.normal(size=(6, 5)).astype(np.float16)
    rows = np.array([[0, -1, 1], [2, 3, 4], [1, 0, 4], [5, 2, 5]])
    towers = Towers(np.zeros(5, np.float32), np.ones(5, np.float32), HeadRecipe(width=3, dropout=0.0))
    head = towers.head()
    texts = np.vstack([vectors.astype(np.float64), np.zeros(5)])

    def unit(array: np.ndarray) -> np.ndarray:
        return np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True))

    contexts = unit(np.hstack([texts[rows[:, 0]], texts[rows[:, 1]]]) @ head.context + head.context_bias)
    responses = unit(texts[rows[:, 2]] @ head.response + head.response_bias)
    logits = 20 * contexts @ responses.T
    logits[1, 2] = logits[2, 1] = -np.inf  # the same response twice is no negative of itself
    expected = (losses(logits) + losses(logits.T)) / 2
    standard = [torch.from_numpy(texts[rows[:, column]].astype(np.float32)) for column in range(3)]
    assert float(towers.loss(standard, rows).detach()) == pytest.approx(expected, abs=1e-4)


def test_a_head_learns_to_match_responses() -> None:
    random = np.random.default_rng(0)
    contexts = random.normal(size=(300, 12))
    turned = contexts @ np.linalg.qr(random.normal(size=(12, 12)))[0]
    vectors = np.vstack([contexts, turned]).astype(np.float16)
    rows = np.stack([np.arange(300), np.full(300, -1), np.arange(300, 600)], axis=1)
    progress_calls: list[tuple[int, int]] = []
    head = train_head(
        vectors,
        rows[:250],
        settings=HeadRecipe(width=12, epochs=60, batch=50),
        progress=lambda *done: progress_calls.append(done),
    )
    fresh = rows[250:]
    standardised = vectors.astype(np.float32)
    nothing = np.full((50, 12), np.nan, np.float32)
    right = sum(
        int(head.fits(np.repeat(standardised[[row[0]]], 50, 0), nothing, standardised[fresh[:, 2]])[0].argmax() == index)
        for index, row in enumerate(fresh)
    )
    assert right > 40
    assert progress_calls[-1] == (300, 300)


def test_equal_seeds_give_equal_checkpoints(folder: Path, tmp_path: Path) -> None:
    corpora = {"one": tiny_dialogues(60, only="pets"), "two": tiny_dialogues(60, seed=1, only="talk")}
    digests = []
    for number, seed in enumerate((0, 0, 1)):
        output = tmp_path / str(number)
        output.mkdir()
        steps: set[str] = set()
        train_coherence(
            corpora,
            open_encoder(folder),
            output,
            recipe=replace(TINY, seed=seed),
            progress=lambda step, *_, steps=steps: steps.add(step),
        )
        digests.append(open_checkpoint(output).digest)
        assert {"encoding", "counting", "training the head", "counting without one", "weighing the parts"} <= steps
    assert digests[0] == digests[1] != digests[2]
    header = open_checkpoint(tmp_path / "0").header
    facts = header["facts"]
    assert facts["corpora"]["one"] == {
        "learnt from": {"dialogues": 54, "pairs": 162},
        "weighed on": {"dialogues": 6, "pairs": 18},
    }
    assert facts["areas"]["similarity"] == facts["areas of parts trained without the corpus"]["similarity"]
    assert facts["areas"]["association"] > facts["areas of parts trained without the corpus"]["association"]


def test_cross_corpus_weights_can_be_disabled(folder: Path, tmp_path: Path) -> None:
    corpora = {"one": tiny_dialogues(40), "two": tiny_dialogues(40, seed=1)}
    near = CoherenceRecipe(head=TINY.head, cross_corpus_weights=False)
    header = train_coherence(corpora, open_encoder(folder), tmp_path, recipe=near)
    assert header["facts"]["areas of parts trained without the corpus"] is None


def test_batched_encoding_equals_single_encoding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.reasoning.training import corpora as room

    monkeypatch.setattr(room, "_CHUNK", 7)
    texts = [text for dialogue in tiny_dialogues(20) for text in dialogue]
    counts: list[int] = []
    vectors = room.pooled_vectors(texts, open_encoder(folder), count=counts.append)
    np.testing.assert_allclose(vectors, open_encoder(folder).pooled(texts), rtol=2e-3, atol=2e-3)
    assert sum(counts) == len(texts)


@pytest.mark.parametrize("stage", ["counting", "training the head", "weighing the parts"])
def test_an_interrupted_training_continues_to_the_same_checkpoint(
    stage: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.reasoning.training import corpora as corpora_module

    corpora = {"tiny": tiny_dialogues(80)}
    encoder = open_encoder(folder)
    for name in ("whole", "interrupted", "continued"):
        (tmp_path / name).mkdir()
    whole = train_coherence(corpora, encoder, tmp_path / "whole", recipe=TINY)

    def interrupt(name: str, _done: int, _total: int) -> None:
        if name == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_coherence(
            corpora, encoder, tmp_path / "interrupted", checkpoints=tmp_path / "kept", recipe=TINY, progress=interrupt
        )

    def encode(*_: object) -> None:
        raise AssertionError("all turns were encoded before the interruption")

    monkeypatch.setattr(corpora_module, "_pooled", encode)
    continued = train_coherence(corpora, encoder, tmp_path / "continued", checkpoints=tmp_path / "kept", recipe=TINY)
    assert continued == whole
