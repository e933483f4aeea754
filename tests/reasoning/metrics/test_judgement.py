"""The metric judgement: what it reads is what the whole model computes, and its probe is learnt from dialogues."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError
from tacit.graph.open import open_graph
from tacit.reasoning.lru_cache import clear_caches
from tacit.reasoning.metrics.judgement import PROBE, make
from tacit.reasoning.metrics.judgement_claims import AGAINST, GraphClaims
from tacit.reasoning.reference import SHIPPED, references_of
from tacit.reasoning.text.language import open_analyser
from tacit.reasoning.text.linking import Linker
from tacit.reasoning.text.parsing import open_parser
from tacit.reasoning.text.turns import transcript

from ..training.tiny_dialogues import tiny_dialogues
from .accent.tiny_judges import CHAT, KINDS, save_judge

pytest.importorskip("transformers")

from tacit.reasoning.metrics.judgement import Judgement, JudgementPrompt
from tacit.reasoning.models.asking import template_tokens
from tacit.reasoning.models.causal_lm import CausalModel, open_causal
from tacit.reasoning.models.linear_probe import Probe
from tacit.reasoning.training.judgement import make_contrasts, multiple_choice_contrasts, train_judgement
from tacit.reasoning.training.probes import layers_to_try
from tacit.reasoning.training.reference import LEAST_JUDGED

WORDS = ["yes no", ": yes", ": no", "Yes No", ": Yes", ": No"] * 4
WIDTH, LAYERS = 32, 3
PROPOSED = "\nProposed reply by A:"
PAIRS = [
    (("i have a dog", "it wants a bone"), "give it a bone"),
    (("i have a dog", "it wants a bone"), "we swam in the sea all day long and went to the beach"),
    (("what did you do at the weekend ?",), "give it food"),
    (("i have a dog", "it wants a bone"), "give it a bone"),
]


@pytest.fixture(scope="module", params=[*KINDS, "chat"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = KINDS.get(request.param, {"template": CHAT})
    return save_judge(tmp_path_factory.mktemp("judge") / "model", layers=LAYERS, more=WORDS, **options)


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> CausalModel:
    return open_causal(save_judge(tmp_path_factory.mktemp("plain") / "model", layers=LAYERS, more=WORDS, kind="llama"))


def probe_of(causal: CausalModel, layer: int = 2, yes: float = 0.0) -> Probe:
    weights = np.random.default_rng(layer).normal(0, 0.02, WIDTH).astype(np.float32)
    return Probe(PROBE, layer, weights, causal.files.signature, yes, -0.3).written()


def read_at_once(causal: CausalModel, turns: tuple[str, ...], response: str) -> tuple[Any, float]:
    """The hidden states of all layers, and the log-odds of yes, when the model reads the whole prompt in one piece."""
    import torch

    prompt = JudgementPrompt(causal)
    before, after = prompt.template
    special = causal.tokenizer(before, add_special_tokens=False)["input_ids"]
    ids = [*special, *causal.tokens([transcript(turns, PROPOSED)])[0], *causal.tokens([f" {response}"])[0]]
    ids += causal.tokenizer(after, add_special_tokens=False)["input_ids"]
    if ids[0] != causal.begin:
        ids.insert(0, causal.begin)
    with torch.inference_mode():
        output = causal.model(input_ids=torch.tensor([ids]), use_cache=False, output_hidden_states=True)
    logits = output.logits[0, -1].double().numpy()
    yes, no = (np.logaddexp.reduce(logits[list(tokens)]) for tokens in prompt.answers)
    return [states[0, -1].numpy() for states in output.hidden_states], float(yes - no)


def test_states_with_a_cached_prefix_equal_those_of_the_whole_prompt(folder: Path) -> None:
    causal = open_causal(folder)
    rows = JudgementPrompt(causal).read(PAIRS, [1, 2], margins=True)
    for row, (turns, response) in enumerate(PAIRS):
        states, margin = read_at_once(causal, turns, response)
        np.testing.assert_allclose(rows.hidden[row], [states[1], states[2]], rtol=0, atol=2e-4)
        if causal.body is not causal.model:  # a model that changes its logits after its head is read by its own output
            assert rows.margins[row] == pytest.approx(margin, abs=1e-3)
    assert np.array_equal(rows.hidden[0], rows.hidden[3])
    alone = [JudgementPrompt(causal).read([pair], [2]).hidden[0, 0] for pair in PAIRS]
    np.testing.assert_allclose(rows.hidden[:, 1], alone, rtol=0, atol=2e-4)


def test_layers_above_the_probe_are_not_run_and_turns_are_read_once(causal: CausalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judgement(open_causal(causal.files.folder), probe_of(causal))
    assert judge.prompt.causal.model.config.num_hidden_layers == 2
    read: list[int] = []
    body = judge.prompt.causal.body.forward

    def counted(*arguments: Any, **named: Any) -> Any:
        read.append(named["input_ids"].numel())
        return body(*arguments, **named)

    monkeypatch.setattr(judge.prompt.causal.body, "forward", counted)
    scores = judge.score_batch([(list(turns), response) for turns, response in PAIRS])
    texts = [len(causal.tokens([text])[0]) for text in {transcript(turns, PROPOSED) for turns, _ in PAIRS}]
    after = len(template_tokens(causal, judge.prompt.template)[1])
    replies = sum(
        len(causal.tokens([f" {response}"])[0]) + after for response in dict.fromkeys(response for _, response in PAIRS)
    )
    assert sum(read) <= 1 + sum(texts) + replies + 80  # the padding of two batches
    before = sum(read)
    assert [score.value for score in judge.score_batch([(list(turns), response) for turns, response in PAIRS])] == [
        score.value for score in scores
    ]
    assert sum(read) == before  # the second time nothing is read
    expected = [probe_of(causal).log_odds(JudgementPrompt(causal).read([pair], [2]).hidden[:, 0])[0] for pair in PAIRS]
    np.testing.assert_allclose([score.value for score in scores], 1 / (1 + np.exp(-np.array(expected))), rtol=0, atol=1e-5)


@pytest.mark.parametrize("yes", [0.0, 0.4])
def test_in_half_precision_scores_do_not_depend_on_the_batch(tmp_path: Path, yes: float) -> None:
    half = open_causal(save_judge(tmp_path / "model", layers=LAYERS, more=WORDS, kind="llama"), dtype="bfloat16")
    probe = probe_of(half, yes=yes)
    together = [score.value for score in Judgement(half, probe).score_batch(PAIRS)]
    clear_caches()
    alone = [Judgement(half, probe).score(*pair).value for pair in PAIRS]
    assert together == alone
    clear_caches()
    assert together == [score.value for score in Judgement(half, probe).score_batch(PAIRS[::-1])][::-1]


def test_the_log_odds_of_yes_have_the_weight_of_the_probe(causal: CausalModel) -> None:
    states, margin = read_at_once(causal, *PAIRS[0])
    probe = probe_of(causal, 1, yes=0.5)
    odds = states[1].astype(float) @ probe.weights.astype(float) + 0.5 * margin - 0.3
    judge = Judgement(open_causal(causal.files.folder), probe)
    assert judge.score(*PAIRS[0]).value == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-5)


def test_evidence_is_the_contribution_of_each_turn_and_word(causal: CausalModel) -> None:
    judge = Judgement(open_causal(causal.files.folder), probe_of(causal))
    [whole] = judge.score(*PAIRS[0], explain=True).evidence.pieces
    effects = {piece.name: piece.value for piece in whole.rests_on}
    assert set(effects) == {"turn 1 adds", "turn 2, the last one, adds", '"give" adds', '"it" adds', '"a" adds', '"bone" adds'}
    without = judge.score(PAIRS[0][0], "give it a")
    assert effects['"bone" adds'] == pytest.approx(whole.value - np.log(without.value / (1 - without.value)), abs=1e-4)
    assert [abs(piece.value) for piece in whole.rests_on] == sorted((abs(piece.value) for piece in whole.rests_on), reverse=True)
    assert whole.share == judge.score(*PAIRS[0]).value


def test_edges_for_and_against_a_response_are_shown_without_changing_scores(causal: CausalModel, sample_graph: str) -> None:
    with open_graph(sample_graph) as graph:
        judge = Judgement(
            open_causal(causal.files.folder), probe_of(causal), GraphClaims(Linker(graph, open_analyser(None)), open_parser(None))
        )
        score = judge.score(["My dog is here, and it is hot."], "It wants a bone, for it is cold.", explain=True)
        edges = [piece for piece in score.evidence.pieces[0].rests_on if piece.path]
        texts = [piece.name for piece in edges]
        assert any("for it: dog -Desires-> bone" in text for text in texts), texts
        assert [text.startswith("the graph, against") for text in texts] == sorted(
            (piece.path.assertions[0].relation in AGAINST for piece in edges if piece.path), reverse=True
        )
    plain = Judgement(open_causal(causal.files.folder), probe_of(causal))
    assert plain.score(["My dog is here, and it is hot."], "It wants a bone, for it is cold.").value == score.value


def test_edge_cases(causal: CausalModel) -> None:
    judge = Judgement(open_causal(causal.files.folder), probe_of(causal))
    nothing = judge.score([], "give it a bone")
    assert np.isnan(nothing.value)
    assert nothing.evidence.note == "the history is empty"
    history = [f"the puppy is hungry {number}" for number in range(6)]
    assert judge.score(history, "give it food").value == judge.score([*history[-4:]], "give it food").value
    long = judge.score(["the dog " * 900], "the bone " * 900)
    assert 0 < long.value < 1


def test_a_probe_is_bound_to_its_model(causal: CausalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = open_causal(save_judge(tmp_path / "other", layers=LAYERS, more=WORDS, seed=1))
    with pytest.raises(
        ModelError, match=r"was trained on model@\w+, and .*other' is other@\w+; give that model, or .*tacit train judgement"
    ):
        Judgement(other, probe_of(causal))
    with pytest.raises(ModelError, match=f"must be from 1 to {LAYERS}, not 9"):
        Judgement(open_causal(causal.files.folder), probe_of(causal, 9))
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path))
    (tmp_path / "probe").mkdir()
    (tmp_path / "probe" / PROBE.file).write_bytes(probe_of(causal).to_bytes())
    with pytest.raises(ModelError, match="get it with: tacit fetch judge, or name a model with"):
        make(probe=tmp_path / "probe")


def test_probe_files_round_trip(causal: CausalModel, tmp_path: Path) -> None:
    probe = replace(probe_of(causal, yes=0.25), facts={"pairs": 7})
    (tmp_path / PROBE.file).write_bytes(probe.to_bytes())
    opened = PROBE.open(tmp_path)
    assert (opened.layer, opened.yes, opened.bias, opened.model, opened.facts) == (2, 0.25, -0.3, probe.model, {"pairs": 7})
    np.testing.assert_array_equal(opened.weights, probe.weights)
    assert opened.to_bytes() == probe.to_bytes()
    for changed, reason in (
        ({"layer": 0}, "weights, bias or layer"),
        ({"weights": np.array([np.nan], np.float32)}, "not finite"),
    ):
        (tmp_path / PROBE.file).write_bytes(replace(probe, **changed).to_bytes())
        with pytest.raises(ModelError, match=reason):
            PROBE.open(tmp_path)
    (tmp_path / PROBE.file).write_bytes(b"once upon a time")
    with pytest.raises(ModelError, match="is not a probe of judgement"):
        PROBE.open(tmp_path)


def test_false_responses_are_of_every_kind_and_differ_from_the_true_one() -> None:
    talk = [
        tuple(f"{turn} {count}" if count % 2 else turn for turn in talk_turns)
        for count, talk_turns in enumerate(tiny_dialogues(60))
    ]
    long = {"talk": [(*talk_turns, *other, *talk_turns[:2]) for talk_turns, other in zip(talk[:30], talk[30:], strict=True)]}
    contrasts = make_contrasts(long, limit=25, each=6)
    assert len(contrasts) == 25
    assert {kind for contrast in contrasts for kind, _ in contrast.false} >= {
        "random",
        "same dialogue",
        "near",
        "repeated",
        "negated",
    }
    for contrast in contrasts:
        assert contrast.true not in [text for _, text in contrast.false]
        assert len({kind for kind, _ in contrast.false}) == len(contrast.false)
        turns = long["talk"][contrast.dialogue]
        position = turns.index(contrast.true)
        assert contrast.turns == turns[max(0, position - 4) : position] or contrast.true in turns[position + 1 :]
    assert make_contrasts(long, limit=25, each=6) == contrasts
    assert make_contrasts(long, limit=10, each=6) == contrasts[:10]
    assert make_contrasts(long, limit=25, each=6, seed=1) != contrasts


def test_a_probe_learns_to_prefer_true_responses(causal: CausalModel, tmp_path: Path) -> None:
    contrasts = make_contrasts({"talk": tiny_dialogues(80)}, limit=80, each=2)
    progress_calls: list[tuple[str, int, int]] = []
    probe = train_judgement(
        contrasts, causal, tmp_path / "states", seed=1, progress=lambda *arguments: progress_calls.append(arguments)
    )
    assert probe.facts["ordered"] > 0.58  # of kinds that were not in the fit
    assert probe.facts["interval"][0] <= probe.facts["ordered"] <= probe.facts["interval"][1]
    assert progress_calls[-1] == ("fitting", LAYERS - 1, LAYERS - 1)
    again = train_judgement(contrasts, causal, tmp_path / "states", seed=1)
    assert again.digest == probe.digest
    fresh = make_contrasts({"talk": tiny_dialogues(60, seed=9)}, limit=60, each=2, seed=3)
    judge = Judgement(open_causal(causal.files.folder), probe)
    right = [
        judge.score(choice.turns, choice.true).value > judge.score(choice.turns, text).value
        for choice in fresh
        for _, text in choice.false
    ]
    assert np.mean(right) > 0.65


def test_an_interrupted_reading_continues(causal: CausalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contrasts = make_contrasts({"talk": tiny_dialogues(60)}, limit=40, each=2)
    whole = train_judgement(contrasts, causal, tmp_path / "whole")
    read, number = JudgementPrompt.read, []

    def stops(self: JudgementPrompt, *arguments: Any, **named: Any) -> Any:
        number.append(1)
        if len(number) == 3:
            raise KeyboardInterrupt
        return read(self, *arguments, **named)

    monkeypatch.setattr(JudgementPrompt, "read", stops)
    with pytest.raises(KeyboardInterrupt):
        train_judgement(contrasts, causal, tmp_path / "states")
    assert train_judgement(contrasts, causal, tmp_path / "states").digest == whole.digest
    assert len(number) == 3 + (sum(1 + len(contrast.false) for contrast in contrasts) - 1) // 32 + 1 - 2


def test_too_few_dialogues_are_refused(causal: CausalModel, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="3 histories with false responses are too few; give 10 dialogues or more"):
        train_judgement(make_contrasts({"talk": tiny_dialogues(3)}, limit=9), causal, tmp_path)


@pytest.mark.parametrize("knowing", [True, False])
def test_yes_has_equal_weight_if_it_separates_responses_of_another_corpus(
    causal: CausalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knowing: bool
) -> None:
    contrasts = make_contrasts({"talk": tiny_dialogues(60)}, limit=40, each=2)
    chosen = [(("the puppy is hungry",), (f"give it food {index}", f"tell me more {index}"), 0) for index in range(40)]
    others = multiple_choice_contrasts("choices", chosen)
    assert others[3].true == "give it food 3"
    assert others[3].false == (("given", "tell me more 3"),)
    read, random = JudgementPrompt.read, np.random.default_rng(0)
    texts, seen = [], []

    def knows(self: JudgementPrompt, pairs: Any, layers: Any, *, margins: bool = False) -> Any:
        rows = read(self, pairs, layers, margins=margins)
        known = np.array([1.0 if knowing and "give it food" in response else -1.0 for _, response in pairs])
        elsewhere = np.array([turns == ("the puppy is hungry",) for turns, _ in pairs])
        states = rows._replace(margins=np.where(elsewhere, known, random.normal(size=len(pairs))))
        texts.extend(states.hidden[~elsewhere])
        seen.extend(states.margins[~elsewhere])
        return states

    monkeypatch.setattr(JudgementPrompt, "read", knows)
    probe = train_judgement(contrasts, causal, tmp_path / "weighed", weigh=others)
    assert probe.facts["weighed_on"] == 40
    assert probe.facts["yes_share"] == (1.0 if knowing else 0.5)
    column = layers_to_try(LAYERS).index(probe.layer)
    along = np.array(texts, np.float16)[:, column].astype(float) @ probe.weights.astype(float)
    assert probe.yes * np.std(seen) == pytest.approx(along.std() if knowing else 0.0, rel=1e-3)


def test_a_probe_that_is_no_better_than_chance_is_not_written(
    causal: CausalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = JudgementPrompt.read

    def blank(self: JudgementPrompt, *arguments: Any, **named: Any) -> Any:
        rows = read(self, *arguments, **named)
        return rows._replace(hidden=np.ones_like(rows.hidden), margins=np.zeros(len(rows.margins)))

    monkeypatch.setattr(JudgementPrompt, "read", blank)
    with pytest.raises(InputError, match="50% of left-out pairs in order, no more than chance; train on more histories"):
        train_judgement(make_contrasts({"talk": tiny_dialogues(60)}, limit=40, each=2), causal, tmp_path / "states")


def test_the_shipped_probe_has_a_reference_for_percentiles() -> None:
    probe = PROBE.open()
    model = probe.model.rpartition("@")[2]
    (reference,) = references_of("judgement", [SHIPPED])
    assert reference.signature == f"judgement|model:{model}|dtype:bfloat16|probe:{probe.digest}|v:2"
    assert min(reference.facts["responses"].values()) >= LEAST_JUDGED
    assert reference.percentile(0.0) == 0
    assert reference.percentile(1.0) == 100
    assert reference.above > 0.6
