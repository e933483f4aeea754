"""Tuning the encoder's top layers along with the head: what learns and what stays, one seed, and checkpoints that hold layers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError
from tacit.reasoning import load_metric
from tacit.reasoning.coherence.checkpoint import HEADER, LAYERS, open_checkpoint

pytest.importorskip("transformers")

from tacit.reasoning.encoder import TextEncoder, open_encoder
from tacit.reasoning.layers import in_half_precision, put_layers, read_layers, to_bytes, top_layers, weights_of
from tacit.reasoning.training.coherence import train_coherence
from tacit.reasoning.training.coherence_settings import Settings
from tacit.reasoning.training.selection import train_head
from tacit.reasoning.training.towers import HeadSettings
from tacit.reasoning.training.tuning import TuningSettings, _whole_dialogues, tune_layers

from .tiny_dialogues import tiny_dialogues
from .tiny_encoder import save_tiny_encoder

HEAD = HeadSettings(width=8, epochs=3, batch=32, own_turns=True, hidden=4)
TUNING = TuningSettings(layers=1, epochs=2, batch=32)
ITEMS = [(["i have a dog"], "give it a bone"), (["hi", "we went to the beach"], "we swam in the sea"), (["what ?"], "food")] * 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny", modes=("mean",))


@pytest.fixture(scope="module")
def encoder(folder: Path) -> TextEncoder:
    return open_encoder(folder)


@pytest.fixture(scope="module")
def trained(encoder: TextEncoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of two corpora, weighed near and far, with one tuned layer."""
    place = tmp_path_factory.mktemp("tuned")
    corpora = {"one": tiny_dialogues(40, only="pets"), "two": tiny_dialogues(40, seed=1, only="sea")}
    train_coherence(corpora, encoder, place, settings=Settings(head=HEAD, tuning=TUNING))
    return place


def talk() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Texts, and the pairs of forty dialogues as places in them, with the numbers of the dialogues."""
    dialogues = tiny_dialogues(40)
    places = {text: place for place, text in enumerate(dict.fromkeys(turn for turns in dialogues for turn in turns))}
    rows = [
        (places[turns[number - 1]], places[turns[number - 2]] if number > 1 else -1, places[turns[number]])
        for turns in dialogues
        for number in range(1, 4)
    ]
    return list(places), np.array(rows), np.repeat(np.arange(40), 3)


def picked(encoder: TextEncoder, head: Any, texts: list[str], rows: np.ndarray) -> float:
    """How far the true response stands above the others, in the mean."""
    vectors = encoder.pooled(texts)
    before = np.where(rows[:, 1:2] < 0, np.nan, vectors[rows[:, 1]]).astype(np.float32)
    answers = sorted(set(rows[:, 2].tolist()))
    found = np.stack([head.fits(vectors[rows[:, 0]], before, np.repeat(vectors[[a]], len(rows), 0))[0] for a in answers], 1)
    true = found[np.arange(len(rows)), [answers.index(row) for row in rows[:, 2].tolist()]]
    return float((true - found.mean(axis=1)).mean())


def test_the_top_layers_learn_and_all_else_stays(encoder: TextEncoder) -> None:
    texts, rows, dialogues = talk()
    head = train_head(encoder.pooled(texts).astype(np.float16), rows, settings=HEAD)
    before = {name: weight.clone() for name, weight in encoder.model.named_parameters()}
    told: list[tuple[int, int]] = []
    settings = TuningSettings(layers=1, epochs=20, batch=32, rate=1e-3)
    layers, tuned_head = tune_layers(
        encoder, head, texts, rows, dialogues, settings=settings, of_head=HEAD, progress=lambda *done: told.append(done)
    )
    assert told == [(step, 60) for step in range(1, 61)]
    assert set(layers) == set(weights_of(top_layers(encoder.model, 1)))
    assert all("layer.1." in name for name in layers)
    for name, weight in encoder.model.named_parameters():
        assert weight.equal(before[name])
        assert weight.requires_grad
    tuned = encoder.tuned(layers, "abc")
    assert tuned is encoder.tuned(layers, "abc")
    assert tuned.signature == f"{encoder.signature}+abc"
    assert picked(tuned, tuned_head, texts, rows) > picked(encoder, head, texts, rows) + 0.05
    again, _ = tune_layers(encoder, head, texts, rows, dialogues, settings=settings, of_head=HEAD)
    assert to_bytes(again) == to_bytes(layers)
    other, _ = tune_layers(encoder, head, texts, rows, dialogues, settings=settings, of_head=HEAD, seed=1)
    assert to_bytes(other) != to_bytes(layers)


def test_a_tuned_copy_shares_what_was_not_tuned(encoder: TextEncoder) -> None:
    layers = in_half_precision(weights_of(top_layers(encoder.model, 1)))
    name = next(iter(layers))
    layers = {**layers, name: layers[name] + np.float16(1)}
    copied = dict(put_layers(encoder.model, layers).named_parameters())
    for key, weight in encoder.model.named_parameters():
        assert (copied[key] is weight) == (key not in layers)
    np.testing.assert_allclose(copied[name].detach().numpy(), layers[name], rtol=1e-6)
    with pytest.raises(ModelError, match="another"):
        put_layers(encoder.model, {"no.such": layers[name]})
    with pytest.raises(ModelError, match="shape"):
        put_layers(encoder.model, {name: np.zeros((1, 1), np.float16)})


@pytest.mark.parametrize("number", [0, 3, 100])
def test_no_more_layers_than_there_are(encoder: TextEncoder, number: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 layers"):
        top_layers(encoder.model, number)
    with pytest.raises(InputError, match="2 layers"):
        train_coherence({"one": []}, encoder, tmp_path, settings=Settings(tuning=TuningSettings(layers=number)))
    assert not list(tmp_path.iterdir())


def test_batches_are_of_whole_dialogues_and_every_pair_has_its_turn() -> None:
    dialogues = np.repeat(np.arange(30), np.random.default_rng(0).integers(1, 6, 30))
    batches = _whole_dialogues(dialogues, 10, np.random.default_rng(0))
    seen: set[int] = set()
    for _ in range(60):
        batch = next(batches)
        assert 1 <= len(batch) <= 10
        assert len(set(batch.tolist())) == len(batch)
        whole = dialogues[batch]
        inside = whole[:-1] if len(batch) == 10 else whole
        for number in set(inside.tolist()) - {whole[-1]}:
            assert (whole == number).sum() == (dialogues == number).sum()
        seen |= set(batch.tolist())
    assert seen == set(range(len(dialogues)))


def test_a_checkpoint_with_tuned_layers_scores_with_them(trained: Path, folder: Path, encoder: TextEncoder) -> None:
    checkpoint = open_checkpoint(trained)
    tuned = encoder.tuned(read_layers(trained / LAYERS), checkpoint.layers_digest)
    metric = load_metric("coherence", checkpoint=trained, encoder=folder)
    assert checkpoint.header["encoder"]["signature"] == tuned.signature != encoder.signature
    assert f"|encoder:{tuned.signature}|" in str(metric.signature)
    together = [score.value for score in metric.score_batch(ITEMS)]
    alone = [metric.score(*item).value for item in ITEMS]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    evidence = metric.score(*ITEMS[1], explain=True).evidence.pieces
    vectors = tuned.encode(["we went to the beach", "we swam in the sea"])
    assert evidence[1].value == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-5)
    selection = load_metric("selection", checkpoint=trained, encoder=folder)
    assert evidence[3].value == pytest.approx(selection.score(*ITEMS[1]).value, abs=1e-5)
    assert tuned.signature in str(selection.signature)


def test_layers_that_are_damaged_or_of_another_encoder_are_refused(trained: Path, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="was trained over the encoder"):
        load_metric("coherence", checkpoint=trained, encoder=save_tiny_encoder(tmp_path / "other", modes=("mean",), seed=1))
    copy = Path(shutil.copytree(trained, tmp_path / "copy"))
    header = json.loads((copy / HEADER).read_text(encoding="utf-8"))
    del header["files"][LAYERS]
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / HEADER).write_text(json.dumps(header), encoding="utf-8")
    with pytest.raises(ModelError, match="was trained over the encoder"):  # which says that there are layers
        load_metric("coherence", parts="similarity", checkpoint=tmp_path / "plain", encoder=folder)
    whole = (copy / LAYERS).read_bytes()
    (copy / LAYERS).write_bytes(whole[:-10] + b"0123456789")
    with pytest.raises(ModelError, match="damaged"):
        load_metric("coherence", checkpoint=copy, encoder=folder)
    (copy / LAYERS).unlink()
    with pytest.raises(ModelError, match=f"has no {LAYERS}"):
        load_metric("coherence", checkpoint=copy, encoder=folder)
    for broken in (b"", whole[:50], to_bytes({"x": np.array([np.inf], np.float16)}), to_bytes({})):
        (copy / LAYERS).write_bytes(broken)
        with pytest.raises(ModelError, match="tuned layers"):
            read_layers(copy / LAYERS)
    assert json.loads((trained / "coherence.json").read_text(encoding="utf-8"))["facts"]["settings"]["tuning"]["layers"] == 1
