"""The metrics of others: values worked out by hand or by the libraries in another way, and what holds for all of them."""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.api.main import run
from tacit.graph.errors import InputError, MissingExtra
from tacit.reasoning import load_metric, metric_options, score_items
from tacit.reasoning.base import Metric
from tacit.reasoning.explanation import explain
from tacit.reasoning.metrics.baselines.references import NO_REFERENCE, NO_RESPONSE
from tacit.reasoning.registry import metric_kind
from tacit.reasoning.text.turns import count_words

pytest.importorskip("sacrebleu")
pytest.importorskip("rouge_score")
pytest.importorskip("nltk")

OVERLAP = ("bleu", "chrf", "rouge_l", "meteor")
TOP = {"bleu": 100.0, "chrf": 100.0, "rouge_l": 1.0, "meteor": 1.0}
ODD = ("😀", "你 好 吗", "çok güzel bir gün", "...", "a", "don't !", "word " * 10_000, "x" * 10_000)
WORDS = st.lists(
    st.sampled_from(["the", "a", "dog", "dogs", "eats", "ate", "eating", "bone", "Bone", "now", "."]), min_size=1, max_size=9
).map(" ".join)


@pytest.fixture(scope="module", params=OVERLAP)
def metric(request: pytest.FixtureRequest) -> Metric:
    options = {"synonyms": False} if request.param == "meteor" else {}
    return load_metric(request.param, None, **options)


def value(metric: Metric, response: str, *references: str) -> float:
    """The value of a response that has these references."""
    return metric.score(["hi"], response, references).value


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), (" \n ", 0), ("don't !", 1), ("well - ok", 2), ("😀 ...", 0), ("你好 吗", 2), ("3.5 %", 1), ("a\u00a0b\tc", 3)],
)
def test_length_counts_words_with_a_letter_or_digit(text: str, words: int) -> None:
    assert count_words(text) == words
    score = load_metric("length").score(["anything at all"], text)
    assert score.value == words
    assert str(score.signature) == "length|words:runs-with-letter-or-digit|v:1"


def test_bleu_by_hand() -> None:
    metric = load_metric("bleu")
    # 4 of 5, 2 of 4; none of 3 and of 2, which exponential smoothing takes for 1/2 and 1/4
    assert value(metric, "the dog eats a bone", "the dog ate a bone") == pytest.approx(
        100 * (4 / 5 * 2 / 4 * (1 / 2) / 3 * (1 / 4) / 2) ** (1 / 4)
    )
    # two words have runs of one and two only, all of them right, and are too short by exp(1 - 5/2)
    assert value(metric, "the dog", "the dog sleeps all day") == pytest.approx(100 * math.exp(1 - 5 / 2))
    assert value(metric, "cats", "the dog sleeps") == 0
    assert value(metric, "The Dog", "the dog") == 0
    assert value(load_metric("bleu", lowercase=True), "The Dog", "the dog") == pytest.approx(100)
    assert str(metric.signature).startswith("bleu|case:mixed|eff:yes|tok:13a|smooth:exp|sacrebleu:")


def test_chrf_by_hand() -> None:
    # of ab and abc: runs of one 2 of 2 and 2 of 3, of two 1 of 1 and 1 of 2, longer ones ab has none
    precision, recall = 1.0, (2 / 3 + 1 / 2) / 2
    assert value(load_metric("chrf"), "ab", "abc") == pytest.approx(100 * 5 * precision * recall / (4 * precision + recall))
    assert str(load_metric("chrf").signature).startswith("chrf|case:mixed|eff:yes|nc:6|nw:0|space:no|sacrebleu:")


@settings(max_examples=60, deadline=None)
@given(response=WORDS, references=st.lists(WORDS, min_size=1, max_size=3), stemmer=st.booleans())
def test_rouge_equals_its_library(response: str, references: list[str], stemmer: bool) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=stemmer)
    expected = max(scorer.score(reference, response)["rougeL"].fmeasure for reference in references)
    score = load_metric("rouge_l", stemmer=stemmer).score([], response, references, explain=True)
    assert score.value == pytest.approx(expected, abs=1e-12)
    words = [piece.name.strip('"') for piece in score.evidence.pieces if piece.kind == "word"]
    assert sum(piece.share for piece in score.evidence.pieces) == pytest.approx(score.value)
    texts = [scorer._tokenizer.tokenize(text) for text in (response, *references)]
    assert is_subsequence(words, texts[0])
    assert any(is_subsequence(words, text) for text in texts[1:])


def is_subsequence(words: list[str], text: list[str]) -> bool:
    """Whether ``words`` stand in ``text`` in this order."""
    remaining: Iterator[str] = iter(text)
    return all(word in remaining for word in words)


def test_meteor_by_hand() -> None:
    metric = load_metric("meteor", synonyms=False)
    # three of four words match one by stem, all of the three wanted, in two runs: "the dog", "bone"
    precision, recall = 3 / 4, 3 / 3
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    score = metric.score([], "The dogs , bone", ["the dog bone"], explain=True)
    assert score.value == pytest.approx(mean * (1 - 0.5 * (2 / 3) ** 3))
    assert [piece.name for piece in score.evidence.pieces] == [
        '"The"', '"dogs" for "dog"', '"bone"', "precision (3 of 4 words)", "recall (3 of 3 words)", "penalty (2 runs of 3 words)",
    ]  # fmt: skip
    assert "synonyms:none" in str(score.signature)


class SmallWordNet:
    """A WordNet of one set of synonyms, with the names that nltk gives things."""

    class Lemma(str):
        def name(self) -> str:
            return str(self)

    class Synset:
        def lemmas(self) -> list[SmallWordNet.Lemma]:
            return [SmallWordNet.Lemma("hound"), SmallWordNet.Lemma("dog")]

    def synsets(self, word: str) -> list[SmallWordNet.Synset]:
        return [self.Synset()] if word in ("hound", "dog") else []

    def get_version(self) -> str:
        return "0.1"


def test_meteor_uses_synonyms_if_wordnet_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.reasoning.metrics.baselines.references._wordnet", SmallWordNet)
    metric = load_metric("meteor")
    assert "synonyms:wordnet-0.1" in str(metric.signature)
    assert value(metric, "my hound", "my dog") == pytest.approx(1 - 0.5 / 2**3)
    assert value(load_metric("meteor", synonyms=False), "my hound", "my dog") < 0.5
    monkeypatch.setattr("tacit.reasoning.metrics.baselines.references._wordnet", lambda: None)
    assert "synonyms:none" in str(load_metric("meteor").signature)
    with pytest.raises(InputError, match="nltk has no WordNet"):
        load_metric("meteor", synonyms=True)


@settings(max_examples=40, deadline=None)
@given(response=WORDS, references=st.lists(WORDS, min_size=1, max_size=3))
def test_the_reference_itself_scores_highest(response: str, references: list[str]) -> None:
    for name in OVERLAP:
        metric = load_metric(name, None, **({"synonyms": False} if name == "meteor" else {}))
        score_of_copy = value(metric, response, *references)
        assert 0 <= score_of_copy <= TOP[name]
        for reference in references if name != "meteor" else ():
            counted = name != "rouge_l" or any(letter.isalnum() for letter in reference)  # ROUGE-L counts no punctuation
            assert value(metric, reference, *references) >= (score_of_copy - 1e-9 if counted else 0)
        single = [value(metric, response, reference) for reference in references]
        assert score_of_copy == pytest.approx(max(single)) or name == "bleu"


def test_the_reference_itself_has_the_top_value(metric: Metric) -> None:
    text = "the dog eats a bone now"
    top = 1 - 0.5 / 6**3 if metric.name == "meteor" else TOP[metric.name]
    assert value(metric, text, text) == pytest.approx(top)
    assert value(metric, text, "no such thing", text) == pytest.approx(top)


def test_without_a_reference_there_is_no_number(metric: Metric) -> None:
    assert metric_kind(metric.name).reference
    for references in ((), ("",), (" ", "\n")):
        score = metric.score(["hi"], "hello", references)
        assert math.isnan(score.value)
        assert score.evidence.note == NO_REFERENCE
    (row,) = score_items([(1, ["hi"], "hello")], [metric], explain=True)
    assert json.loads(json.dumps(row.to_dict(), allow_nan=False))["scores"] == {metric.name: None}
    blank = metric.score(["hi"], "  ", ["hello"])
    assert (blank.value, blank.evidence.note) == (0.0, NO_RESPONSE)


def test_odd_texts_have_values_in_range(metric: Metric) -> None:
    for text in ODD:
        for response, reference in ((text, "a dog"), ("a dog", text), (text, text)):
            score = metric.score([], response, [reference], explain=len(text) < 100)
            assert 0 <= score.value <= TOP[metric.name]
            explain(score)


def test_values_do_not_depend_on_batch_or_order(metric: Metric) -> None:
    words = ["the", "a", "dog", "dogs", "eats", "ate", "bone", "now"]
    draw = random.Random(3)
    texts = [" ".join(draw.choices(words, k=draw.randint(0, 7))) for _ in range(60)]
    items = [([], texts[at], texts[at + 1 : at + 1 + at % 3]) for at in range(50)]
    values = [metric.score(*item).value for item in items]
    assert [str(score.value) for score in metric.score_batch(items)] == list(map(str, values))
    assert [str(score.value) for score in metric.score_batch(items[::-1])] == list(map(str, values[::-1]))
    assert metric.score_batch([]) == []


def test_evidence_shows_the_components_of_the_value(metric: Metric) -> None:
    explanation = explain(metric.score([], "the dog eats bones", ["a dog eats a bone", "the dogs eat bones"], explain=True))
    expected = {
        "bleu": "1-gram precision in percent (4 of 4) 100",
        "chrf": "character 1-gram F2 in percent (11 of 15 are right, of 13 wanted) 82.0896",
        "rouge_l": '+0.250 "the"',
        "meteor": '+0.248 "dog" for "dogs"',
    }
    assert f"\n  {expected[metric.name]}\n" in explanation
    nearest = {"chrf": "\n  nearest reference, number 1\n", "bleu": ""}
    assert nearest.get(metric.name, "\n  nearest reference, number 2\n") in explanation
    assert not metric.score([], "the dog eats bones", ["a dog eats a bone"]).evidence.pieces


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("bleu", {"lowercase": "no"}, "lowercase of bleu must be true or false, not 'no'"),
        ("chrf", {"word_order": 2}, "the metric chrf has no option 'word_order'"),
        ("rouge_l", {"stemmer": 1}, "stemmer of rouge_l must be true or false, not 1"),
        ("length", {"unit": "signs"}, "no option 'unit'"),
        ("fed", {"quality": "great"}, "quality of fed must be one of interesting, engaging, .*, not 'great'"),
    ],
)
def test_wrong_options_are_refused(name: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        load_metric(name, **options)


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("bleu", "sacrebleu.metrics", "baselines"),
        ("chrf", "sacrebleu.metrics", "baselines"),
        ("rouge_l", "rouge_score.tokenizers", "baselines"),
        ("meteor", "nltk.translate.meteor_score", "baselines"),
        ("bertscore", "torch", "neural"),
        ("fed", "torch", "neural"),
    ],
)
def test_a_missing_extra_is_named(name: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"is not installed; run: pip install 'tacit-kg\[{extra}\]'"):
        load_metric(name)
    assert isinstance(metric_options(name), dict)


def test_the_command_line_scores_against_references(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "items.jsonl"
    rows = [{"history": ["hi"], "response": "a dog", "references": ["the dog", "a dog"]}, {"turns": ["hi", "a dog"]}]
    file.write_text("\n".join(map(json.dumps, rows)))
    assert run(["score", str(file), "--metrics", "length,rouge_l,bleu", "-O", "bleu.lowercase=true", "--quiet"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["scores"]["length"] for line in lines] == [2, 2]
    assert [line["scores"]["rouge_l"] for line in lines] == [1, None]
    assert lines[0]["signature"]["bleu"].startswith("bleu|case:lc|eff:yes|tok:13a|smooth:exp|sacrebleu:")
