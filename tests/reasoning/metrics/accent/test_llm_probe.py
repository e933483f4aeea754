"""A probe of a language model: what a layer makes of a tuple as it does of texts read at once, and learning from judgements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError
from tacit.reasoning.metrics.accent.scorers.language_models import PROBE
from tacit.reasoning.metrics.accent.verbalise import as_prompt, verbalise

from tests.reasoning.metrics.accent.tiny_judges import CHAT, KINDS, save_judge
from tests.reasoning.models.tiny_causal import END, save_tiny_causal

pytest.importorskip("transformers")

from tacit.reasoning.metrics.accent.scorers.language_models import LlmProbe, PlausibilityPrompt, open_llm_probe
from tacit.reasoning.models.asking import template_tokens
from tacit.reasoning.models.causal_lm import CausalModel, open_causal
from tacit.reasoning.models.layers import cut_above, watched
from tacit.reasoning.models.linear_probe import Probe
from tacit.reasoning.training.card import probe_card as card
from tacit.reasoning.training.llm_probe import FOLDS, Labelled, agreement, train_probe

TUPLES = [
    ("PersonX buys a dog", "xWant", "to feed the dog"),
    ("PersonX buys a dog", "xReact", "happy"),
    ("PersonX swims in the sea all day long and forgets the time", "HinderedBy", "PersonY is at the beach"),
    ("Köpek", "oEffect", "çok güzel 😀"),
    ("PersonX buys a dog", "xReact", "happy"),
]
WIDTH, LAYERS = 32, 3
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system here') }}{% endif %}" + CHAT


@pytest.fixture(scope="module", params=[*KINDS, "chat"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = KINDS.get(request.param, {"template": CHAT})
    return save_judge(tmp_path_factory.mktemp("probed") / "model", layers=LAYERS, **options)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> CausalModel:
    return open_causal(save_tiny_causal(tmp_path_factory.mktemp("plain") / "model", positions=4096, layers=LAYERS))


def probe_of(causal: CausalModel, layer: int = 2) -> Probe:
    weights = np.random.default_rng(layer).normal(0, 0.02, WIDTH).astype(np.float32)
    return Probe(PROBE, layer, weights, causal.files.signature, bias=-0.3, digest="of-a-test")


def read_at_once(causal: CausalModel, probe: Probe, triple: tuple[str, str, str]) -> float:
    """What the probe says of the states of the whole model, when it reads everything in one piece."""
    import torch

    event, inferred = verbalise(*triple)
    before, after = (
        causal.tokenizer(text, add_special_tokens=False)["input_ids"] for text in PlausibilityPrompt(causal).template
    )
    (token_ids,) = causal.tokens([f"Event: {event}.\nInference: {inferred}."])
    ids = [*before, *token_ids, *after]
    if ids[0] != causal.begin:
        ids.insert(0, causal.begin)
    with torch.inference_mode():
        states = causal.model(input_ids=torch.tensor([ids]), use_cache=False, output_hidden_states=True).hidden_states
    last = states[probe.layer][0, -1].double().numpy()
    return float(1 / (1 + np.exp(-(last @ probe.weights.astype(float) + probe.bias))))


def test_scores_are_the_probe_applied_to_states_of_the_full_model(folder: Path) -> None:
    whole = open_causal(folder)
    probe = probe_of(whole)
    expected = [read_at_once(whole, probe, triple) for triple in TUPLES]
    scorer = LlmProbe(open_causal(folder), probe)
    scores = [score.value for score in scorer.score(TUPLES)]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5)
    assert scores[1] == scores[4]
    assert len({round(score, 6) for score in scores}) == 4
    alone = [LlmProbe(open_causal(folder), probe).score([triple])[0].value for triple in TUPLES]
    np.testing.assert_allclose(scores, alone, rtol=0, atol=1e-5)
    assert scorer.score([]) == []
    assert scorer.signature == f"llm-probe-2(of-a-test:{whole.signature})"


def test_layers_above_the_probe_are_not_run_and_tuples_are_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = LlmProbe(open_causal(folder), probe_of(open_causal(folder)))
    model = scorer.prompt.causal.model
    (stack,) = (module for name, module in model.named_modules() if type(module).__name__ == "ModuleList")
    assert len(stack) == 2
    scorer.score(TUPLES[:1])
    read: list[int] = []
    forward = scorer.prompt.causal.body.forward

    def counted(*arguments: Any, **named: Any) -> Any:
        read.append(named["input_ids"].numel())
        return forward(*arguments, **named)

    monkeypatch.setattr(scorer.prompt.causal.body, "forward", counted)
    scorer.score(TUPLES)
    before, after = template_tokens(scorer.prompt.causal, scorer.prompt.template)
    texts = scorer.prompt.causal.tokens([as_prompt(*verbalise(*triple)) for triple in TUPLES[1:4]])
    beginnings = 3 if "gemma2" in type(model).__name__.lower() else 0  # its attention cannot be replaced
    assert sum(read) == sum(len(text) + len(after) for text in texts) + beginnings * len(before)
    read.clear()
    scorer.score(TUPLES[::-1])
    assert not read


def test_chat_templates_are_applied(tmp_path: Path) -> None:
    def template(**options: Any) -> Any:
        return PlausibilityPrompt(open_causal(save_judge(tmp_path / str(len(list(tmp_path.iterdir()))), **options))).template

    with_system, without = template(template=CHAT), template(template=NO_SYSTEM)
    assert with_system.before.startswith("<s><|turn|>system" if "<s>" in with_system.before else f"{END}<|turn|>system")
    assert "system" not in without.before
    assert with_system.after == without.after
    for chat in (with_system, without):
        assert chat.before.count("You judge whether inferences about everyday events are plausible") == 1
        assert (chat.before.count("\nYes"), chat.before.count("\nNo")) == (4, 4)
        assert chat.before.endswith("<|turn|>user\n")
        assert chat.after.endswith("<|turn|>assistant\n")
    plain = template()
    assert plain.before.endswith("Answer: No\n\n")
    assert plain.after.endswith("\nAnswer:")


def test_unreadable_models_are_refused(tmp_path: Path) -> None:
    short = PlausibilityPrompt(open_causal(save_judge(tmp_path / "short", positions=64)))
    with pytest.raises(ModelError, match=r"reads 64 tokens, and a prompt has \d+; give a model with a longer context"):
        short.states([("A", "b")], [1])
    for template, reason in (("{{ raise_exception('never') }}", "fails .never."), ("hello", "changes its messages")):
        with pytest.raises(ModelError, match=reason):
            PlausibilityPrompt(open_causal(save_judge(tmp_path / "broken", template=template))).states([("A", "b")], [1])


def test_the_end_of_a_long_tuple_is_read(tmp_path: Path) -> None:
    prompt = PlausibilityPrompt(open_causal(save_judge(tmp_path / "model", positions=1024)))
    room = 1024 - len(template_tokens(prompt.causal, prompt.template)[0])
    ends = ["to sing in the sea " * room, "a happy dog and " + "to sing in the sea " * room]
    states = prompt.states([("Alex swims", end) for end in ends], [2])
    np.testing.assert_allclose(states[0], states[1], atol=1e-5)


def test_a_probe_is_bound_to_its_model(plain: CausalModel, tmp_path: Path) -> None:
    other = open_causal(save_tiny_causal(tmp_path / "other", positions=4096, layers=LAYERS, seed=1))
    with pytest.raises(ModelError, match=r"was trained on model@\w+, and .*other' is other@\w+; give that model, or"):
        LlmProbe(other, probe_of(plain))
    with pytest.raises(ModelError, match=f"must be from 1 to {LAYERS}, not 9"):
        LlmProbe(plain, probe_of(plain, 9))
    with pytest.raises(InputError, match="unknown relation between events 'xLikes'"):
        LlmProbe(plain, probe_of(plain, LAYERS)).score([("PersonX buys a dog", "xLikes", "bones")])


def test_probe_files_round_trip(tmp_path: Path, plain: CausalModel) -> None:
    probe = replace(probe_of(plain), facts={"tuples": 7})
    (tmp_path / PROBE.file).write_bytes(probe.to_bytes())
    for path in (tmp_path, tmp_path / PROBE.file):
        opened = PROBE.open(path)
        assert (opened.layer, opened.bias, opened.model, opened.facts) == (2, -0.3, plain.files.signature, {"tuples": 7})
        np.testing.assert_array_equal(opened.weights, probe.weights)
    assert opened.to_bytes() == probe.to_bytes()
    with pytest.raises(ModelError, match="there is no probe at"):
        PROBE.open(tmp_path / "missing")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"weights": np.array([np.nan], np.float32)}, "its array weights contains numbers that are not finite"),
        ({"weights": np.zeros((2, 2), np.float32)}, "its weights, bias or layer are invalid"),
        ({"layer": 0}, "its weights, bias or layer are invalid"),
        ({"layer": "2"}, "its weights, bias or layer are invalid"),
    ],
)
def test_damaged_probe_files_are_refused(tmp_path: Path, plain: CausalModel, changed: dict[str, Any], reason: str) -> None:
    (tmp_path / PROBE.file).write_bytes(replace(probe_of(plain), **changed).to_bytes())
    with pytest.raises(ModelError, match=reason):
        PROBE.open(tmp_path)
    for damaged in (b"", b"once upon a time", probe_of(plain).to_bytes()[:-5]):
        (tmp_path / PROBE.file).write_bytes(damaged)
        with pytest.raises(ModelError, match="is not a probe"):
            PROBE.open(tmp_path)


def judged(number: int, seed: int = 0) -> list[Labelled]:
    """Tuples of many heads, each called plausible by the toss of a coin."""
    random = np.random.default_rng(seed)
    labels: dict[tuple[str, str, str], bool] = {}
    for _ in range(number):
        head = f"PersonX has {random.integers(100)} {random.choice(['dogs', 'puppies', 'bones'])}"
        tail = f"to {random.choice(['give', 'want', 'tell', 'swim at'])} the {random.choice(['beach', 'weekend', 'hungry sea'])}"
        labels[head, str(random.choice(["xWant", "xNeed"])), tail] = bool(random.integers(2))
    return [(*triple, plausible) for triple, plausible in labels.items()]


def states_of(causal: CausalModel, rows: list[Labelled], layer: int) -> Any:
    return PlausibilityPrompt(causal).states([verbalise(*row[:3]) for row in rows], [layer])[:, 0].astype(float)


def test_a_linear_signal_is_learnt_and_measured_on_new_heads(plain: CausalModel, tmp_path: Path) -> None:
    causal = open_causal(plain.files.folder)
    rows = judged(400)
    states = states_of(causal, rows, 2)
    states -= states.mean(0)
    along = states @ np.linalg.svd(states, full_matrices=False)[2][0]
    rows = [(*row[:3], bool(value > 0)) for row, value in zip(rows, along, strict=True)]
    old = [row for row in rows if "bones" not in row[0]]
    new = [row for row in rows if "bones" in row[0]]
    progress_calls: list[tuple[str, int, int]] = []
    probe = train_probe(old, causal, tmp_path, progress=lambda *arguments: progress_calls.append(arguments))
    assert probe.facts["auc"] > 0.95
    assert probe.facts["interval"][0] <= probe.facts["auc"] <= probe.facts["interval"][1]
    assert ("reading", len(old), len(old)) in progress_calls
    assert progress_calls[-1] == ("fitting", 2, 2)
    (tmp_path / PROBE.file).write_bytes(probe.to_bytes())
    scores = [score.value for score in open_llm_probe(plain.files.folder, tmp_path).score([row[:3] for row in new])]
    assert np.mean((np.array(scores) > 0.5) == np.array([row[3] for row in new])) > 0.9
    told_of = card(probe, path="mine")
    assert "--scorer llm-probe -O model=MODEL -O probe=mine" in told_of
    assert f"{len(old)} judged tuples" in told_of


def test_nothing_is_learnt_from_random_labels(plain: CausalModel, tmp_path: Path) -> None:
    rows = judged(200)
    probe = train_probe(rows, open_causal(plain.files.folder), tmp_path)
    assert 0.3 < probe.facts["auc"] < 0.7
    scores = LlmProbe(open_causal(plain.files.folder), probe).score([row[:3] for row in rows])
    assert np.std([score.value for score in scores]) < 0.2


@pytest.mark.parametrize("seed", [2, 5])
def test_a_probe_that_is_no_better_than_chance_is_refused(plain: CausalModel, tmp_path: Path, seed: int) -> None:
    with pytest.raises(InputError, match=r"with an AUC of 0\.4\d, no better than chance; train on more tuples"):
        train_probe(judged(200, seed), open_causal(plain.files.folder), tmp_path)


def test_order_and_duplicates_do_not_matter_and_contradictions_are_dropped(plain: CausalModel, tmp_path: Path) -> None:
    causal = open_causal(plain.files.folder)
    rows = judged(60)
    probe = train_probe(rows, causal, tmp_path, seed=3)
    again = train_probe(rows[::-1], causal, tmp_path, seed=3)
    assert again.digest == probe.digest
    both_ways = [("PersonX sings", "xWant", "to stop", True), ("PersonX sings", "xWant", "to stop", False)]
    more = train_probe([*rows, *both_ways, rows[0]], causal, tmp_path, seed=3)
    assert more.facts["left_out"] == 3
    np.testing.assert_array_equal(more.weights, probe.weights)


def test_an_interrupted_training_continues(plain: CausalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = judged(200)
    batches = -(-len(rows) // 64)
    uninterrupted = train_probe(rows, plain, tmp_path / "uninterrupted")
    states, calls = PlausibilityPrompt.states, []

    def states_until_interrupted(self: PlausibilityPrompt, *arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return states(self, *arguments)

    monkeypatch.setattr(PlausibilityPrompt, "states", states_until_interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_probe(rows, plain, tmp_path / "interrupted")
    assert train_probe(rows, plain, tmp_path / "interrupted").to_bytes() == uninterrupted.to_bytes()
    assert batches == 4
    assert len(calls) == 3 + batches - 2
    train_probe(rows[:100], plain, tmp_path / "interrupted")  # other tuples are read anew
    assert len(calls) == 3 + batches - 2 + 2


def test_the_direction_is_that_of_ridge_regression_within_relations(plain: CausalModel, tmp_path: Path) -> None:
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    causal = open_causal(plain.files.folder)
    rows = sorted(judged(60))
    probe = train_probe(rows, causal, tmp_path)
    states = states_of(causal, rows, probe.layer)
    scaler = StandardScaler().fit(states)
    inputs, labels = scaler.transform(states), np.array([float(row[3]) for row in rows])
    for relation in {row[1] for row in rows}:
        mine = np.array([row[1] == relation for row in rows])
        inputs[mine] -= inputs[mine].mean(0)
        labels[mine] -= labels[mine].mean()
    ridge = Ridge(alpha=probe.facts["penalty"] * len(rows), fit_intercept=False).fit(inputs, labels)
    expected = ridge.coef_ / scaler.scale_
    direction = probe.weights / np.linalg.norm(probe.weights)
    np.testing.assert_allclose(direction, expected / np.linalg.norm(expected), atol=1e-4)


def test_agreement_is_the_mean_auc_over_relations() -> None:
    from sklearn.metrics import roc_auc_score

    random = np.random.default_rng(0)
    labels, relations = random.integers(0, 2, 300).astype(float), random.integers(0, 4, 300)
    scores = np.round(random.normal(size=300) + labels, 1)  # ties among them
    labels[relations == 3] = 1.0  # of one kind alone: has no area
    parts = [
        (roc_auc_score(labels[relations == number], scores[relations == number]), (relations == number).sum())
        for number in range(3)
    ]
    expected = sum(area * rows for area, rows in parts) / sum(rows for _, rows in parts)
    assert agreement(labels, relations, scores) == pytest.approx(expected, abs=1e-12)
    assert np.isnan(agreement(np.ones(3), np.zeros(3, int), np.arange(3.0)))


@pytest.mark.parametrize(
    "rows",
    [
        [],
        judged(4),
        [(f"PersonX has {number} dogs", "xWant", "to give food", True) for number in range(3 * FOLDS)],
        [(f"PersonX has {number} dogs", ("xWant", "xNeed")[number % 2], "to swim", number % 2 == 0) for number in range(40)],
    ],
    ids=["none", "few heads", "one label", "a label a relation"],
)
def test_too_little_training_data_is_refused(plain: CausalModel, rows: list[Labelled], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="are too few; give 10 heads or more"):
        train_probe(rows, plain, tmp_path)


def test_layers_out_of_range_are_refused(plain: CausalModel) -> None:
    model = open_causal(plain.files.folder).model
    with pytest.raises(InputError, match="must be from 1 to 3, not 4"):
        cut_above(model, 4)
    with pytest.raises(InputError, match="must be from 1 to 3, not 0"), watched(model, [0]):
        pass
    with watched(model, [1]):
        pass
    assert not any(module._forward_hooks for module in model.modules())


def test_the_shipped_probe_has_a_card(plain: CausalModel) -> None:
    probe = PROBE.open()
    assert probe.model.startswith("qwen2.5-coder-1.5b-instruct-q4_k_m@")
    assert PROBE.shipped is not None
    text = (PROBE.shipped / "README.md").read_text(encoding="utf-8")
    assert probe.digest in text
    assert f"AUC {probe.facts['auc']:.3f}" in text
    with pytest.raises(ModelError, match=r"was trained on qwen2\.5-coder"):
        LlmProbe(plain, probe)
