"""Measures of generated texts: values worked out by hand, ranges, and texts or references that are not there."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph.errors import InputError
from tacit.reasoning.evaluation.generation import (
    Pair,
    bleu,
    cider,
    cider_each,
    distinct_n,
    measure,
    meteor,
    rouge_l,
    similarity,
    words,
)

pytest.importorskip("sacrebleu")
pytest.importorskip("rouge_score")
pytest.importorskip("nltk")

TEXTS = st.lists(st.sampled_from(["the", "a", "dog", "cat", "eats", "sleeps", "now", "."]), min_size=1, max_size=8).map(" ".join)
PAIRS = st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=3)), min_size=1, max_size=5)


def test_words_are_penn_treebank_tokens_without_punctuation() -> None:
    assert words("Don't go! He said: (well), stay.") == ("do", "n't", "go", "he", "said", "well", "stay")
    assert words("Don’t go") == words("Don't go")
    assert words("...") == ()


def test_bleu_by_hand() -> None:
    pairs: list[Pair] = [("the dog eats", ["the dog sleeps now", "a cat"])]
    # 2 of 3 words and 1 of 2 bigrams are right; the nearest length is 4 or 2, of which the shorter counts, so no penalty
    assert bleu(pairs, 1) == pytest.approx(2 / 3)
    assert bleu(pairs, 2) == pytest.approx(math.sqrt(2 / 3 * 1 / 2))
    # counts are summed over texts: 3 of 4 words; 4 words beside 5 of the references
    pairs = [("the dog eats", ["the dog sleeps now"]), ("cat", ["cat"])]
    assert bleu(pairs, 1) == pytest.approx(3 / 4 * math.exp(1 - 5 / 4))


def test_rouge_and_meteor_are_means_over_texts() -> None:
    pairs: list[Pair] = [("the dog eats", ["a cat", "the dog sleeps"]), ("yes", ["no"]), (" ", ["no"])]
    assert rouge_l(pairs) == pytest.approx((2 / 3 + 0 + 0) / 3)
    # two matches in one run: F 2/3, penalty 0.5 (1/2)^3
    assert meteor(pairs) == pytest.approx((2 / 3 * (1 - 0.5 / 8)) / 3, abs=1e-4)


def test_cider_by_hand() -> None:
    # "dog eats" for "dog eats": unigrams and bigrams are right, trigrams and longer do not exist: 10 (1 + 1 + 0 + 0) / 4
    assert cider_each([("dog eats", ["dog eats"]), ("cat", ["bird"])]).tolist() == pytest.approx([5.0, 0.0])
    # "a" is in all references and has the rarity log(2/2) = 0; "b" has log 2; one bigram each, "a b" beside "b a"
    assert cider_each([("a b", ["b a"]), ("x", ["a"])])[0] == pytest.approx(10 * (1 + 0) / 4)
    # clipped: "b b" counts as one "b" of "b": min(2,1) 1 / (2 1) = 1/2 of unigrams, and one bigram too many: exp(-1/72)
    assert cider_each([("b b", ["b"]), ("x", ["y"])])[0] == pytest.approx(10 / 4 * 1 / 2 * math.exp(-1 / 72))
    # an unknown word lengthens the vector with the rarity log 2: 1 / sqrt 2
    assert cider_each([("b q", ["b r"]), ("x", ["y"])])[0] == pytest.approx(10 / 4 * (1 / 2))
    # the mean over references
    assert cider_each([("dog eats", ["dog eats", "cat"]), ("x", ["y"])])[0] == pytest.approx(2.5)
    # "b" in one of three references: log 3, in two: log 3/2
    weights = math.log(3), math.log(3 / 2)
    expected = 10 / 4 * weights[1] ** 2 / (math.hypot(*weights) * math.hypot(*weights))
    assert cider_each([("b c", ["b d"]), ("x", ["b"]), ("x", ["y"])])[0] == pytest.approx(expected)


def test_a_single_pair_has_no_idf_and_no_cider() -> None:
    assert cider([("dog eats", ["dog eats"])]) == 0.0


def test_distinct_ngrams_by_hand() -> None:
    pairs: list[Pair] = [("i am here", []), ("i am there", [])]
    assert distinct_n(pairs, 1) == pytest.approx(4 / 6)
    assert distinct_n(pairs, 2) == pytest.approx(3 / 4)
    assert math.isnan(distinct_n([("a", [])], 2))


@given(PAIRS)
def test_measures_are_in_range_and_highest_for_a_copy(pairs: list[Pair]) -> None:
    for metric in (bleu, rouge_l, meteor):
        assert 0 <= metric(pairs) <= 1
    for text, references in pairs:  # the best copy, since a reference without a word has 0 beside itself
        assert rouge_l([(text, references)]) <= max(rouge_l([(reference, references)]) for reference in references)
    values = cider_each(pairs)
    assert ((values >= 0) & (values <= 10 + 1e-9)).all()
    assert Counter(cider_each(pairs[::-1]).round(9).tolist()) == Counter(values.round(9).tolist())


def test_all_measures_are_named_with_the_encoder(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    from tacit.reasoning.models.encoder import open_encoder

    from tests.reasoning.models.tiny_encoder import save_tiny_encoder

    encoder = open_encoder(save_tiny_encoder(tmp_path / "encoder", modes=("mean",)))
    pairs: list[Pair] = [("i have a dog", ["we went to the beach", "i have a dog"]), ("", ["i have a dog"])]
    assert similarity(pairs, encoder) == pytest.approx(0.5, abs=1e-6)
    values = measure(pairs, encoder)
    assert list(values.values) == [
        "bleu-1", "bleu-2", "meteor", "rouge-l", "cider", "similarity", "distinct-1", "distinct-2", "words",
    ]  # fmt: skip
    assert encoder.signature in values.signature
    assert values.values["words"] == 2.0
    assert "similarity" not in measure(pairs).values


def test_invalid_input_is_refused() -> None:
    for metric in (bleu, meteor, rouge_l, cider):
        with pytest.raises(InputError, match="there is no generated text"):
            metric([])
        with pytest.raises(InputError, match=r"text 2 \('b'\) has no reference"):
            metric([("a", ["a"]), ("b", [" "])])
    with pytest.raises(InputError, match="must be >= 1, not 0"):
        bleu([("a", ["a"])], 0)
    with pytest.raises(InputError, match="must be >= 1, not 0"):
        distinct_n([("a", ["a"])], 0)
