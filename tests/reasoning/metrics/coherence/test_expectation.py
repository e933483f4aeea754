"""Expectation: the mutual information by the model's own losses, words that add up to it, and its place in coherence."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError
from tacit.reasoning import load_metric
from tacit.reasoning.explanation import explain
from tacit.reasoning.metrics.coherence.checkpoint import EXPECTATION, PARTS, open_checkpoint

pytest.importorskip("transformers")

from tacit.reasoning.lru_cache import clear_caches
from tacit.reasoning.metrics.coherence.parts import Expectation, open_language_model
from tacit.reasoning.models.encoder import open_encoder
from tacit.reasoning.training.card import coherence_card as card
from tacit.reasoning.training.coherence import train_coherence
from tacit.reasoning.training.recipe import CoherenceRecipe, HeadRecipe

from tests.reasoning.metrics.coherence.test_metric import ITEMS
from tests.reasoning.models.test_causal_lm import own_losses, tokens_of
from tests.reasoning.models.tiny_causal import save_tiny_causal
from tests.reasoning.models.tiny_encoder import save_tiny_encoder
from tests.reasoning.training.tiny_dialogues import tiny_dialogues


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_causal(tmp_path_factory.mktemp("expectation") / "tiny")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny", modes=("mean",))


@pytest.fixture(scope="module")
def folder(model: Path, encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that was weighed with the language model."""
    found = tmp_path_factory.mktemp("coherence")
    tiny = CoherenceRecipe(head=HeadRecipe(width=8, epochs=2, batch=32))
    train_coherence(
        {"tiny": tiny_dialogues(40)}, open_encoder(encoder), found, recipe=tiny, language_model=open_language_model(model),
        language_model_id="owner/tiny",
    )  # fmt: skip
    return found


def test_a_language_model_is_asked_about_some_of_the_held_out_dialogues(model: Path, encoder: Path, tmp_path: Path) -> None:
    tiny = CoherenceRecipe(head=HeadRecipe(width=8, epochs=1, batch=32), cross_corpus_weights=False, weighting_dialogues=5)
    sizes = []
    for name, asked in (("with", open_language_model(model)), ("without", None)):
        (tmp_path / name).mkdir()
        corpora = {"one": tiny_dialogues(60), "two": tiny_dialogues(25, seed=1)}
        header = train_coherence(corpora, open_encoder(encoder), tmp_path / name, recipe=tiny, language_model=asked)
        sizes.append([header["facts"]["corpora"][corpus]["weighed on"]["dialogues"] for corpus in corpora])
    assert sizes == [[2, 2], [6, 2]]
    same = ((tmp_path / name / "selection.safetensors").read_bytes() for name in ("with", "without"))
    assert next(same) == next(same)


@pytest.mark.parametrize(
    ("history", "before"),
    [
        (["i have a dog"], "B: i have a dog\nA:"),
        (["hi", " ", "i have\n a dog "], "A: hi\nB: i have a dog\nA:"),
        (["one", "two", "three", "four", "five"], "A: two\nB: three\nA: four\nB: five\nA:"),
    ],
)
def test_it_is_the_mutual_information_by_the_models_own_losses(model: Path, history: list[str], before: str) -> None:
    opened = open_language_model(model)
    words = ["give", "it", "a", "bone"]
    tokens = [tokens_of(opened, f" {word}") for word in words]  # a byte-level tokenizer splits before blanks
    response = [token for word in tokens for token in word]
    assert response == tokens_of(opened, " give it a bone")
    begin = [opened.tokenizer.bos_token_id]
    after, alone = (
        np.array(own_losses(opened, [*begin, *tokens_of(opened, prefix), *response])[-len(response) :])
        for prefix in (before, "A:")
    )
    score = load_metric("expectation", language_model=model).score(history, "give  it a\nbone", explain=True)
    assert score.value == pytest.approx(1 - after.sum() / alone.sum(), abs=1e-6)
    ends = np.cumsum([len(word) for word in tokens])
    saved = {
        f'"{word}" given the history': gain.sum() for word, gain in zip(words, np.split(alone - after, ends[:-1]), strict=True)
    }
    assert {piece.name: piece.value for piece in score.evidence.pieces} == pytest.approx(saved, abs=1e-4)
    assert '"bone" given the history' in explain(score)


def test_of_a_long_response_the_words_that_are_read_are_told(model: Path) -> None:
    metric = load_metric("expectation", language_model=model)
    long = " ".join(f"the dog is {number} and" for number in range(200))
    one, other = (metric.score([turn], long, explain=True) for turn in ("i have a dog", "we swam in the sea"))
    assert one.value != other.value
    assert 0 < len(one.evidence.pieces) < 200


def test_every_input_has_a_value_that_its_words_add_up_to(model: Path) -> None:
    for item, score in zip(ITEMS, load_metric("expectation", language_model=model).score_batch(ITEMS, explain=True), strict=True):
        assert math.isnan(score.value) == bool(score.evidence.note), item
        if not score.evidence.note:
            assert score.value <= 1
            assert sum(piece.share for piece in score.evidence.pieces) == pytest.approx(score.value, abs=1e-6), item
        json.dumps(score.to_dict(), allow_nan=False)


def test_neither_company_nor_order_moves_it(model: Path) -> None:
    metric = load_metric("expectation", language_model=model)
    many = (ITEMS * 5)[:64]
    together = [score.value for score in metric.score_batch(many)]
    clear_caches()
    alone = [metric.score(*item).value for item in many]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)
    clear_caches()
    backwards = [score.value for score in metric.score_batch(many[::-1], explain=True)]
    np.testing.assert_allclose(backwards[::-1], together, rtol=0, atol=1e-5)


def test_what_was_asked_is_remembered(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clear_caches()
    metric = load_metric("expectation", language_model=model)
    part = metric.part  # type: ignore[attr-defined]
    assert isinstance(part, Expectation)
    asked: list[int] = []
    ask = part.model.token_losses
    monkeypatch.setattr(part.model, "token_losses", lambda before, texts: asked.append(len(texts)) or ask(before, texts))
    metric.score_batch([(["i have a dog"], "give it a bone"), (["hi"], "give it a bone"), (["hi"], "give it a bone")])
    assert sum(asked) == 3  # after two contexts, and alone
    metric.score_batch([(["hi"], "give it a bone")])
    load_metric("expectation", language_model=model).score(["hi"], "give it a bone")  # the same model: what it said is known
    assert sum(asked) == 3


def test_a_checkpoint_weighs_it(folder: Path, model: Path, encoder: Path) -> None:
    checkpoint = open_checkpoint(folder)
    assert checkpoint.parts == (*PARTS, EXPECTATION)
    assert "| language model | owner/tiny, content" in card(checkpoint.header, checkpoint.digest, path="x")
    options = {"checkpoint": folder, "encoder": encoder, "language_model": model}
    whole = load_metric("coherence", **options)
    score = whole.score(["i have a dog"], "give it a bone", explain=True)
    assert [piece.name for piece in score.evidence.pieces[1:]] == [*PARTS, EXPECTATION]
    told = checkpoint.weights
    alone = load_metric("expectation", language_model=model).score(["i have a dog"], "give it a bone").value
    assert score.evidence.pieces[-1].share == pytest.approx(told.weights[-1] * alone, abs=1e-6)
    parts = dict(whole.signature.parts)
    assert parts["language_model"] == checkpoint.header["language_model"]["digest"] == open_language_model(model).files.digest


def test_another_language_model_is_refused(folder: Path, encoder: Path, tmp_path: Path) -> None:
    other = save_tiny_causal(tmp_path / "other", seed=5)
    with pytest.raises(ModelError, match="was weighed with the language model"):
        load_metric("coherence", checkpoint=folder, encoder=encoder, language_model=other)
    with pytest.raises(ModelError, match="no model folder"):
        load_metric("expectation", language_model=tmp_path / "none")
    with pytest.raises(InputError, match=r"weighs no language model; leave .* out, .*--language-model"):
        load_metric("coherence", language_model=other)


def test_a_model_of_the_machine_has_to_be_named(folder: Path, encoder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    header = json.loads((copy / "coherence.json").read_text())
    header["language_model"]["id"] = None
    (copy / "coherence.json").write_text(json.dumps(header))
    with pytest.raises(ModelError, match="weighed with a language model in a file or folder, tiny; name it"):
        load_metric("coherence", checkpoint=copy, encoder=encoder)
    assert "coherence.language_model=MODEL" in card(header, "0", path="x")
    assert "coherence.language_model" not in card(open_checkpoint(folder).header, "0", path="x")


def test_a_header_that_does_not_tell_its_language_model_is_refused(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    header = json.loads((copy / "coherence.json").read_text())
    weights = {key: value for key, value in header["weights"].items() if EXPECTATION not in key}
    for broken in ({"language_model": {}}, {"language_model": 3}, {"weights": weights}):
        (copy / "coherence.json").write_text(json.dumps(header | broken))
        with pytest.raises(ModelError, match="is not a coherence checkpoint"):
            open_checkpoint(copy)
