"""The metric coherence and its parts: values worked out again, shares that add up, any company, and every strange input."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tacit.graph.errors import ModelError
from tacit.reasoning import load_metric
from tacit.reasoning.base import Metric, Piece
from tacit.reasoning.explanation import explain
from tacit.reasoning.metrics.coherence.checkpoint import PARTS, SelectionHead, load_head, open_checkpoint
from tacit.reasoning.metrics.coherence.metric import Coherence

pytest.importorskip("transformers")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tacit.reasoning.metrics.coherence.checkpoint import Floats
from tacit.reasoning.models.encoder import _opened, open_encoder
from tacit.reasoning.training.coherence import train_coherence
from tacit.reasoning.training.recipe import CoherenceRecipe, HeadRecipe

from tests.reasoning.models.tiny_encoder import save_tiny_encoder
from tests.reasoning.training.tiny_dialogues import tiny_dialogues

ITEMS: list[tuple[list[str], str]] = [
    (["i have a dog"], "give it a bone"),
    (["hi", "i have a dog"], "we swam in the sea"),
    (["hi", "the puppy is hungry"], "the puppy is hungry"),
    (["we went to the beach", "", "  "], "we swam in the sea"),
    ([], "tell me more"),
    (["", " "], "tell me more"),
    (["i have a dog"], ""),
    (["i have a dog"], " \n"),
    (["i have a dog"], "bone"),
    (["i have a dog"], "xylophone zebra"),
    (["我有一只狗"], "çok güzel 😀"),
    (["😀"], "?!"),
    ([f"turn {number} of the dog" for number in range(500)], "give it a bone"),
    (["the dog wants a bone " * 500], "give it food " * 300),
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny", modes=("mean",))


@pytest.fixture(scope="module")
def folder(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint trained on tiny dialogues."""
    checkpoint = tmp_path_factory.mktemp("coherence")
    tiny = CoherenceRecipe(head=HeadRecipe(width=8, epochs=4, batch=32))
    train_coherence({"tiny": tiny_dialogues(80)}, open_encoder(encoder), checkpoint, recipe=tiny)
    return checkpoint


@pytest.fixture(scope="module")
def metrics(folder: Path, encoder: Path) -> dict[str, Metric]:
    return {
        "coherence": load_metric("coherence", checkpoint=folder, encoder=encoder),
        "similarity": load_metric("similarity", encoder=encoder),
        "association": load_metric("association", checkpoint=folder),
        "selection": load_metric("selection", checkpoint=folder, encoder=encoder),
        "repetition": load_metric("repetition"),
    }


def values(metric: Metric, items: Sequence[tuple[Sequence[str], str]]) -> list[float]:
    return [score.value for score in metric.score_batch(list(items))]


def shares(pieces: Sequence[Piece]) -> float:
    return sum(piece.share for piece in pieces)


@pytest.mark.parametrize("name", ["coherence", *PARTS])
def test_shares_add_up_to_the_value(metrics: dict[str, Metric], name: str) -> None:
    for item, score in zip(ITEMS, metrics[name].score_batch(ITEMS, explain=True), strict=True):
        assert math.isnan(score.value) == bool(score.evidence.note), item
        if score.evidence.pieces:
            assert shares(score.evidence.pieces) == pytest.approx(score.value, abs=1e-5), item
        for piece in score.evidence.pieces:
            if piece.rests_on:
                assert shares(piece.rests_on) == pytest.approx(piece.share, abs=1e-5), item
        assert explain(score).startswith(name)
        json.dumps(score.to_dict(), allow_nan=False)


@pytest.mark.parametrize("name", ["coherence", *PARTS])
def test_scores_do_not_depend_on_batch_order_or_explanation(metrics: dict[str, Metric], name: str) -> None:
    metric = metrics[name]
    items = (ITEMS * 5)[:64]
    together = values(metric, items)
    _opened.clear()
    alone = [metric.score(*item).value for item in items]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)
    np.testing.assert_allclose(values(metric, items[::-1])[::-1], together, rtol=0, atol=1e-5)
    explained = [score.value for score in metric.score_batch(items, explain=True)]
    np.testing.assert_allclose(explained, together, rtol=0, atol=1e-5)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(st.text(max_size=30), max_size=5), response=st.text(max_size=30))
def test_any_text_has_a_score_in_the_metrics_range(metrics: dict[str, Metric], history: list[str], response: str) -> None:
    scores = {name: metric.score(history, response).value for name, metric in metrics.items()}
    judged = not math.isnan(scores["coherence"])
    assert all(math.isnan(scores[name]) != judged for name in ("similarity", "selection", "repetition"))
    assert not judged or (abs(scores["similarity"]) <= 1 and abs(scores["selection"]) <= 1 and 0 <= scores["repetition"] <= 1)
    assert math.isnan(scores["association"]) or scores["association"] >= 0


def test_coherence_is_the_weighted_sum_of_its_parts(metrics: dict[str, Metric], folder: Path) -> None:
    weights = json.loads((folder / "coherence.json").read_text())["weights"]["+".join(PARTS)]
    scores = values(metrics["coherence"], ITEMS)
    judged = [(item, value) for item, value in zip(ITEMS, scores, strict=True) if not math.isnan(value)]
    assert len(judged) > len(ITEMS) / 2
    for item, value in judged:  # a part that cannot judge counts as 0
        expected = weights["bias"] + sum(weights[name] * np.nan_to_num(metrics[name].score(*item).value) for name in PARTS)
        assert value == pytest.approx(expected, abs=1e-6)


def test_similarity_is_the_cosine_with_the_last_turn_that_has_words(metrics: dict[str, Metric], encoder: Path) -> None:
    first, second = open_encoder(encoder).encode(["i have a dog", "give it a bone"])
    score = metrics["similarity"].score(["hi", "i have a dog", ""], "give it a bone", explain=True)
    assert score.value == pytest.approx(float(first @ second), abs=1e-6)
    assert score.evidence.pieces[0].turn == 1


def test_selection_is_the_cosine_of_the_head(metrics: dict[str, Metric], folder: Path, encoder: Path) -> None:
    head = load_head(folder / "selection.safetensors")
    vectors = open_encoder(encoder).pooled(["i have a dog", "the puppy is hungry", "give it food"])
    before, last, response = (vectors - head.mean) / head.scale
    context = np.concatenate([last, before]) @ head.context + head.context_bias
    answer = response @ head.response + head.response_bias
    expected = context @ answer / np.linalg.norm(context) / np.linalg.norm(answer)
    score = metrics["selection"].score(["x", "i have a dog", "the puppy is hungry"], "give it food", explain=True)
    assert score.value == pytest.approx(float(expected), abs=1e-5)
    assert [piece.turn for piece in score.evidence.pieces] == [2, 1, None]
    assert [piece.turn for piece in metrics["selection"].score(["x"], "y", explain=True).evidence.pieces] == [0, None]


def test_association_sums_its_edges(metrics: dict[str, Metric], folder: Path) -> None:
    graph = open_checkpoint(folder).associations
    score = metrics["association"].score(["i have a dog"], "give it a bone", explain=True)
    assert score.value > 0
    for piece in score.evidence.pieces:
        assert piece.path is not None
        assert piece.history is not None
        assert piece.response is not None
        edge = piece.path.assertions[0]
        assert (edge.relation, edge.weight) == ("FollowedBy", piece.value)
        assert dict(graph.following(piece.history.lemma, 1_000))[piece.response.lemma] == piece.value
        assert "give it a bone"[piece.response.start : piece.response.end] == piece.response.text
    known = graph.ids(["give", "it", "a", "bone", "give it", "it a", "a bone"])
    term_ids = graph.ids(["i", "have", "a", "dog", "i have", "have a", "a dog"])
    best = graph.between(term_ids[term_ids >= 0], known[known >= 0]).max(axis=0)
    assert score.value == pytest.approx(float(best.mean()), abs=1e-6)
    assert "FollowedBy" in explain(score)
    assert metrics["association"].score(["i have a dog"], "xylophone").evidence.note == "no term of the response is known"


def test_a_trained_metric_prefers_true_responses(metrics: dict[str, Metric]) -> None:
    good, elsewhere, copied = values(
        metrics["coherence"],
        [(["i have a dog"], "give it a bone"), (["i have a dog"], "we swam in the sea"), (["i have a dog"], "i have a dog")],
    )
    assert good > elsewhere
    assert good > copied


def test_empty_responses_and_histories_have_different_notes(metrics: dict[str, Metric]) -> None:
    for metric in metrics.values():
        blank, first = metric.score(["hi"], " "), metric.score([" "], "hi there")
        assert blank.evidence.note == "the response cannot be judged: it has no words"
        assert first.evidence.note == "the history is empty"
        assert math.isnan(blank.value)
        assert math.isnan(first.value)


def test_parts_without_an_encoder_need_no_torch(folder: Path) -> None:
    program = (
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "from tacit.reasoning import load_metric\n"
        f"checkpoint = {str(folder)!r}\n"
        "for name, options in (('association', {'checkpoint': checkpoint}), ('repetition', {})):\n"
        "    assert load_metric(name, **options).score(['i have a dog'], 'give it a bone').value is not None\n"
        "for name in ('coherence', 'selection', 'similarity'):\n"
        "    options = {} if name == 'similarity' else {'checkpoint': checkpoint}\n"
        "    try: load_metric(name, **options)\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
    )
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    lines = output.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("MissingExtra torch is not installed; run: pip install 'tacit-kg[neural]'") for line in lines)


def test_signatures_name_what_a_score_depends_on(folder: Path, encoder: Path, tmp_path: Path) -> None:
    metric = load_metric("coherence", checkpoint=folder, encoder=encoder)
    opened = open_checkpoint(folder)
    parts = dict(metric.signature.parts)
    assert parts == {"checkpoint": opened.digest, "encoder": open_encoder(encoder).signature, "parts": "+".join(PARTS)}
    assert dict(load_metric("association", checkpoint=folder).signature.parts) == {"associations": opened.associations_digest}
    again = tmp_path / "again"
    again.mkdir()
    tiny = CoherenceRecipe(head=HeadRecipe(width=8, epochs=4, batch=32))
    train_coherence({"tiny": tiny_dialogues(80)}, open_encoder(encoder), again, recipe=replace(tiny, seed=1))
    assert load_metric("coherence", checkpoint=again, encoder=encoder).signature != metric.signature


def test_another_encoder_is_refused(folder: Path, tmp_path: Path) -> None:
    other = save_tiny_encoder(tmp_path / "other", modes=("mean",), seed=5)
    for name in ("coherence", "selection"):
        with pytest.raises(ModelError, match="was trained over the encoder"):
            load_metric(name, checkpoint=folder, encoder=other)


def test_damaged_checkpoints_are_one_sentence(folder: Path, encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="tacit train coherence"):
        load_metric("association", checkpoint=tmp_path)
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    header = json.loads((copy / "coherence.json").read_text())
    weights = header["weights"]["+".join(PARTS)]
    no_weight = {**header, "weights": {"+".join(PARTS): {key: value for key, value in weights.items() if key != "similarity"}}}
    nan = {**header, "weights": {"+".join(PARTS): weights | {"bias": math.nan}}}
    for broken in (
        "",
        "[]",
        "{}",
        "null",
        json.dumps(header | {"version": 99}),
        json.dumps(no_weight),
        json.dumps(nan),
        "[" * 5_000,
    ):
        (copy / "coherence.json").write_text(broken)
        with pytest.raises(ModelError, match="is not a coherence checkpoint"):
            load_metric("coherence", checkpoint=copy, encoder=encoder)
    tuned = header | {"files": header["files"] | {"encoder.safetensors": "0"}}
    (copy / "coherence.json").write_text(json.dumps(tuned))
    with pytest.raises(ModelError, match=r"is not a coherence checkpoint \(it consists of .*encoder\.safetensors"):
        load_metric("coherence", checkpoint=copy, encoder=encoder)
    (copy / "coherence.json").write_text(json.dumps(header))
    (copy / "selection.safetensors").write_bytes((folder / "selection.safetensors").read_bytes()[:-1])
    with pytest.raises(ModelError, match=r"selection\.safetensors .* is damaged"):
        load_metric("selection", checkpoint=copy, encoder=encoder)
    assert load_metric("association", checkpoint=copy).score(["i have a dog"], "give it a bone").value > 0
    (copy / "associations" / "weights.npy").unlink()
    with pytest.raises(ModelError, match=r"has no associations/weights\.npy"):
        load_metric("association", checkpoint=copy)


def test_invalid_heads_are_refused(folder: Path, tmp_path: Path) -> None:
    head = load_head(folder / "selection.safetensors")
    file = tmp_path / "head.safetensors"
    wrong = [
        dataclasses.replace(head, context=head.context[1:]),
        dataclasses.replace(head, mean=head.mean * np.nan),
        dataclasses.replace(head, response=head.response[:, 0]),
    ]
    for wrong_array in wrong:
        file.write_bytes(wrong_array.to_bytes())
        with pytest.raises(ModelError, match="selection head"):
            load_head(file)
    for data in (b"", b"x" * 100):
        file.write_bytes(data)
        with pytest.raises(ModelError, match="cannot be read"):
            load_head(file)
    file.write_bytes(head.to_bytes())
    assert load_head(file).to_bytes() == head.to_bytes() == dataclasses.replace(load_head(file)).to_bytes()
    assert isinstance(load_head(file), SelectionHead)


def test_metrics_share_encoded_texts(folder: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _opened.clear()
    opened = open_encoder(encoder)
    rows: list[int] = []
    run = opened._run
    monkeypatch.setattr(opened, "_run", lambda batch: rows.append(len(batch)) or run(batch))
    items = ITEMS[:4]
    for name, options in (("coherence", {"checkpoint": folder}), ("selection", {"checkpoint": folder}), ("similarity", {})):
        metric = load_metric(name, encoder=encoder, **options)
        assert not isinstance(metric, Coherence) or metric.parts
        metric.score_batch(items)
    spoken = {text for history, response in items for text in [*[t for t in history if t.strip()][-2:], response]}
    assert sum(rows) == len(spoken)


# The head of response selection: cosines and summands by hand, and files that give back what was written.


def test_the_cosine_of_a_head_is_the_sum_over_its_turns(tmp_path: Path) -> None:
    random = np.random.default_rng(0)

    def some(*shape: int) -> Floats:
        return random.normal(size=shape).astype(np.float32)

    head = SelectionHead(some(5), np.abs(some(5)) + 1, some(10, 3), some(3), some(5, 3), some(3))
    last, before, responses = some(3, 2, 5)
    before[1] = np.nan
    cosines, summands = head.fits(last, before, responses)
    np.testing.assert_allclose(summands.sum(axis=1), cosines, atol=1e-6)
    assert summands[1, 1] == 0
    for row in range(2):
        parts = []
        for vector, map_ in zip((last, before, responses), (head.context[:5], head.context[5:], head.response), strict=True):
            standard = (vector[row].astype(np.float64) - head.mean) / head.scale
            parts.append(np.nan_to_num(standard @ map_))
        context, answer = parts[0] + parts[1] + head.context_bias, parts[2] + head.response_bias
        lengths = np.linalg.norm(context) * np.linalg.norm(answer)
        expected = [parts[0] @ answer / lengths, parts[1] @ answer / lengths, head.context_bias @ answer / lengths]
        np.testing.assert_allclose(summands[row], expected, atol=1e-5)
    file = tmp_path / "head.safetensors"
    file.write_bytes(head.to_bytes())
    opened = load_head(file)
    assert opened.to_bytes() == head.to_bytes()
    np.testing.assert_allclose(opened.fits(last, before, responses)[0], cosines, atol=1e-2)
    for broken in ({"response": opened.response[:, 1:]}, {"context_bias": opened.context_bias * np.nan}):
        file.write_bytes(dataclasses.replace(opened, **broken).to_bytes())
        with pytest.raises(ModelError, match="selection head"):
            load_head(file)
