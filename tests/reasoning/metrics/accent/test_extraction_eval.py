"""Extracted tuples against human ones: counts by hand, scikit-learn and sacrebleu as oracles, and what must always hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tacit.graph.errors import InputError
from tacit.reasoning import load_metric
from tacit.reasoning.evaluation.correlation import Interval
from tacit.reasoning.metrics.accent.events import RELATIONS
from tacit.reasoning.metrics.accent.extractors.extraction_eval import Presence, compare_tuples

from tests.reasoning.models.tiny_encoder import save_tiny_encoder

pytest.importorskip("sacrebleu")

Dialogues = list[list[tuple[str, str, str]]]

HUMAN: Dialogues = [
    [("PersonX be sad", "xWant", "PersonX cries"), ("PersonX be sad", "oReact", "PersonY be sorry")],
    [("PersonX wins", "xReact", "PersonX feels happy")],
    [],
    [("PersonX eats a big cake", "xWant", "PersonX wants to sleep")],
]
EXTRACTED: Dialogues = [
    [("PersonX is sad", "xWant", "PersonX cries"), ("PersonX is sad", "xNeed", "PersonX cries")],
    [("PersonX wins", "xReact", "PersonX feels happy"), ("PersonX loses", "xReact", "PersonX feels bad")],
    [("PersonX goes", "xWant", "PersonX stays")],
    [],
]


def by_name(rows: Sequence[Presence]) -> dict[str, Presence]:
    return {row.relation: row for row in rows}


def test_counts_by_hand() -> None:
    rows = by_name(compare_tuples(EXTRACTED, HUMAN, resamples=50))
    assert list(rows) == ["micro", "macro", *RELATIONS]
    want, react, micro, macro = rows["xWant"], rows["xReact"], rows["micro"], rows["macro"]
    assert (want.human, want.extracted, want.both) == (2, 2, 1)
    assert (want.precision.value, want.recall.value, want.f1.value) == (0.5, 0.5, 0.5)
    assert (micro.human, micro.extracted, micro.both) == (4, 4, 2)
    assert micro.f1.value == 0.5
    assert macro.f1.value == pytest.approx((0.5 + 1.0) / 12)
    assert rows["isAfter"].f1.value == 0
    assert want.chance == pytest.approx(2 * (2 * 2 / 4) / (2 + 2))  # two of four dialogues by each side meet in one
    assert micro.chance == pytest.approx(2 * (2 * 2 / 4 + 1 * 1 / 4) / (4 + 4))
    assert want.bleu.value == 1  # "be sad" and "is sad" are one wording
    assert react.bleu.value is not None
    assert 0 < react.bleu.value < 1
    assert rows["oReact"].bleu.value is None
    assert micro.similarity.value is None


def test_bleu_equals_sacrebleu() -> None:
    from sacrebleu.metrics.bleu import BLEU

    rows = by_name(compare_tuples(EXTRACTED, HUMAN, resamples=10))
    outputs = ["PersonX wins | PersonX feels happy", "PersonX loses | PersonX feels bad"]
    references = [["PersonX wins | PersonX feels happy"] * 2]
    wanted = BLEU(max_ngram_order=2, smooth_method="none").corpus_score(outputs, references).score / 100
    assert rows["xReact"].bleu.value == pytest.approx(wanted)
    assert rows["micro"].bleu.value == pytest.approx((1 + wanted) / 2)


def test_bertscore_is_the_mean_of_the_best_over_the_human_tuples(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    metric = load_metric("bertscore", encoder=str(save_tiny_encoder(tmp_path)))
    human: Dialogues = [[], [*HUMAN[1], ("PersonX cheats", "xReact", "PersonX feels bad")], [], []]
    rows = by_name(compare_tuples(EXTRACTED, human, bertscore=metric, resamples=10))  # type: ignore[arg-type]
    own, other = ["PersonX wins | PersonX feels happy", "PersonX loses | PersonX feels bad"], "PersonX cheats | PersonX feels bad"
    wanted = max(metric.score((), own[1], [text]).value for text in (own[0], other))
    assert rows["xReact"].bertscore.value == pytest.approx((1 + wanted) / 2)
    assert rows["xWant"].bertscore.value is None


def test_similarity_uses_the_nearest_human_tuple_and_encodes_each_text_once() -> None:
    requests: list[str] = []

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        requests.extend(texts)
        angles = np.array([0.5 if "loses" in text else 0.0 for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    rows = by_name(compare_tuples(EXTRACTED, HUMAN, encode=encode, resamples=10))
    assert rows["xReact"].similarity.value == pytest.approx((1 + np.cos(0.5)) / 2, abs=1e-6)
    assert rows["xWant"].similarity.value == pytest.approx(1)
    assert len(requests) == len(set(requests)) == 3


def test_intervals_contain_the_value_and_depend_on_the_seed() -> None:
    human, extracted = HUMAN * 10, EXTRACTED * 10
    first, same, second = (compare_tuples(extracted, human, resamples=299, seed=seed)[0] for seed in (1, 1, 2))
    assert first == same
    assert first.f1.value == second.f1.value
    assert first != second
    low, value, high = first.f1.low, first.f1.value, first.f1.high
    assert low is not None
    assert high is not None
    assert value is not None
    assert 0.3 < low < value < high < 0.7


triples = st.tuples(
    st.sampled_from(["PersonX runs", "PersonX eats", "x"]), st.sampled_from(RELATIONS[:4]), st.just("PersonX sleeps")
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.lists(triples, max_size=3), st.lists(triples, max_size=3)), min_size=1, max_size=6))
def test_scores_equal_scikit_learn(pairs: list[tuple[list[Any], list[Any]]]) -> None:
    from sklearn.metrics import precision_recall_fscore_support

    extracted, human = [list(first) for first, _ in pairs], [list(second) for _, second in pairs]
    rows = by_name(compare_tuples(extracted, human, resamples=3))
    here, there = (
        np.array([[relation in {first[1] for first in tuples} for relation in RELATIONS] for tuples in side])
        for side in (extracted, human)
    )
    options = {"average": "binary", "zero_division": 0}
    wanted = precision_recall_fscore_support(there.ravel(), here.ravel(), **options)[:3]
    micro = rows["micro"]
    assert (micro.precision.value, micro.recall.value, micro.f1.value) == pytest.approx(wanted)
    f1s = [precision_recall_fscore_support(there[:, at], here[:, at], **options)[2] for at in range(len(RELATIONS))]
    assert rows["macro"].f1.value == pytest.approx(np.mean(f1s))
    assert 0 <= micro.chance <= 1


def test_a_perfect_and_an_empty_extractor() -> None:
    rows = by_name(compare_tuples(HUMAN, HUMAN, resamples=20))
    assert (rows["micro"].f1.value, rows["micro"].bleu.value) == (1, 1)
    nothing = by_name(compare_tuples([[] for _ in HUMAN], HUMAN, resamples=20))
    assert (nothing["micro"].precision.value, nothing["micro"].recall.value, nothing["micro"].f1.value) == (0, 0, 0)
    assert nothing["micro"].bleu.value is None
    assert nothing["micro"].f1 == Interval(0.0, 0.0, 0.0)


def test_invalid_comparisons_are_refused() -> None:
    with pytest.raises(InputError, match="4 and 3 dialogues"):
        compare_tuples(EXTRACTED, HUMAN[:3])
    with pytest.raises(InputError, match="0 and 0 dialogues"):
        compare_tuples([], [])
    with pytest.raises(InputError, match="resamples is 0"):
        compare_tuples(EXTRACTED, HUMAN, resamples=0)
