"""Reference distributions: percentiles worked out by hand, what may have one, and how references are made and kept."""

from __future__ import annotations

import json
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
from tacit.graph.errors import InputError, ModelError
from tacit.reasoning import Explanation, ItemScores, Score, load_metric, score_items
from tacit.reasoning.base import Evidence, Signature
from tacit.reasoning.explanation import explain
from tacit.reasoning.metrics.baselines.references import Length
from tacit.reasoning.reference import (
    QUANTILES,
    SAMPLE,
    Reference,
    find_reference,
    other_graph,
    own_folder,
    quantiles_of,
    references_of,
    with_graph,
    write_reference,
)
from tacit.reasoning.training.reference import _share_above, draw, make_reference, without_reference

LENGTH = "length|words:runs-with-letter-or-digit|v:1"
CORPUS = {"talk": [tuple(f"{name}{turn} " * (turn + 1) for turn in range(12)) for name in "abcdefghijkl"]}


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of references of the test's own, where scoring looks first."""
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path))
    return own_folder()


def reference(true: list[float], random: list[float], signature: str = LENGTH) -> Reference:
    return Reference("talk", signature, quantiles_of(true), quantiles_of(random), _share_above(true, random))


def test_percentiles_by_hand() -> None:
    first_reference = reference([4, 1, 3, 2], [1, 1, 2, 9])
    # a quarter of 1, 2, 3, 4 is at or below 1, half is at or below 2
    values = (0.5, 1, 1.5, 2, 2.5, 3.9, 4, 99)
    assert [first_reference.percentile(value) for value in values] == [0, 25, 25, 50, 50, 75, 100, 100]
    assert first_reference.percentile(nan) is None
    assert first_reference.random_median == 25  # the median of 1, 1, 2, 9 is taken to be 1


def test_equal_values_count_fully_in_percentiles() -> None:
    assert reference([0, 0, 0, 1], [0]).percentile(0) == 75
    third = 1 / 3
    assert reference([third, third, 2 / 3], [0]).percentile(third) == 66.5, "two thirds, in steps of half a per cent"


def test_quantiles_are_increasing_observed_values() -> None:
    quantiles = quantiles_of([0.3, 0.1, 0.2])
    assert len(quantiles) == QUANTILES
    assert (quantiles[0], quantiles[66], quantiles[67], quantiles[133], quantiles[134], quantiles[200]) == (
        0.1,
        0.1,
        0.2,
        0.2,
        0.3,
        0.3,
    )


def test_share_of_pairs_by_hand() -> None:
    assert _share_above([1, 2], [1, 0]) == 3.5 / 4  # 1 > 1 counts half, 1 > 0, 2 > 1, 2 > 0
    assert _share_above([1], [1]) == 0.5


def test_a_score_has_a_percentile_and_its_signature_names_the_reference(own: Path) -> None:
    first_reference = reference([1, 2, 3, 4], [1])
    write_reference(own, "length", first_reference)
    metric = load_metric("length")
    score = metric.score(["hi"], "two words")
    assert (score.value, score.percentile) == (2, 50)
    assert str(score.signature) == f"length|words:runs-with-letter-or-digit|reference:talk@{first_reference.digest}|v:1"
    assert score.signature == metric.signature
    assert without_reference(score.signature) == Signature.from_text(LENGTH)


class Newer(Length):
    """The metric with other rules."""

    def __init__(self) -> None:
        super().__init__()
        self.signature = replace(self.own_signature(), version=2)


@pytest.mark.parametrize("other", ["version", "options"])
def test_a_reference_applies_only_to_equal_score_settings(own: Path, other: str) -> None:
    write_reference(own, "length", reference([1, 2], [1]))
    write_reference(own, "rouge_l", reference([0, 1], [0], str(load_metric("rouge_l").signature)))
    assert load_metric("rouge_l").score(["hi"], "a", ["a"]).percentile == 100
    metric = Newer() if other == "version" else load_metric("rouge_l", stemmer=True)
    score = metric.score(["hi"], "a", ["a"])
    assert score.percentile is None
    assert "reference" not in str(score.signature)


def test_without_a_reference_of_its_graph_a_metric_takes_that_of_another_graph_and_names_it(own: Path) -> None:
    ours, theirs = (f"grounding|graph:{digest}|hops:2|v:3" for digest in ("0123", "4567"))
    write_reference(own, "grounding", other := reference([1, 2], [1], theirs))
    reference_found = find_reference(Signature.from_text(ours))
    assert reference_found == (other, f"{other.label} with the graph 4567")
    for changed in (ours.replace("hops:2", "hops:3"), ours.replace("v:3", "v:4")):
        assert find_reference(Signature.from_text(changed)) is None, "only the graph may differ"
    signature = Signature.from_text(ours.replace("|v:3", f"|reference:{reference_found[1]}|v:3"))
    assert other_graph(signature) == "4567"
    shown = explain(Score(1.0, Evidence(), signature, other.percentile(1.0)))
    assert shown.startswith("grounding 1.000, percentile 50 (reference made with another graph)\n")
    write_reference(own, "grounding", exact := reference([1, 2], [1], ours))
    assert find_reference(Signature.from_text(ours)) == (exact, exact.label)


def test_references_over_the_sample_graph_count_for_it_alone() -> None:
    files = sorted(SAMPLE.glob("*.json"))
    assert {path.name.partition(".")[0] for path in files} >= {"grounding", "commonsense"}
    for path in files:
        shipped = Reference.from_text(path.read_text(encoding="utf-8"))
        assert find_reference(shipped.own_signature) == (shipped, shipped.label)
        parts = shipped.own_signature.parts
        for digest in ("0123", *(dict(parts)["graph"][:-1] + end for end in "01")):
            other = replace(shipped.own_signature, parts=with_graph(shipped.own_signature, digest))
            reference_found = find_reference(other)
            assert reference_found is not None
            assert reference_found[0].signature != shipped.signature


def test_a_response_that_cannot_be_judged_has_no_percentile(own: Path) -> None:
    write_reference(own, "rouge_l", reference([0, 1], [0], str(load_metric("rouge_l").signature)))
    score = load_metric("rouge_l").score(["hi"], "a")
    assert score.value != score.value
    assert score.percentile is None
    assert "reference:talk@" in str(score.signature)


def test_percentiles_round_trip_in_rows_and_explanations(own: Path) -> None:
    write_reference(own, "length", reference([1, 2, 3, 4], [1]))
    [row] = score_items([(1, ["hi"], "one two three")], [load_metric("length")])
    row_as_json = json.loads(json.dumps(row.to_dict()))
    assert row_as_json["percentiles"] == {"length": 75}
    assert ItemScores.from_dict(row_as_json).scores["length"].percentile == 75
    assert Score.from_dict(row.scores["length"].to_dict()) == row.scores["length"]
    explanation = Explanation(("hi",), "one two three", row.scores["length"])
    assert explanation.text().startswith("length 3.000, percentile 75\n")
    assert Explanation.from_dict(explanation.to_dict()).score.percentile == 75
    del row_as_json["percentiles"], row_as_json["signature"]["length"]
    row_as_json["signature"]["length"] = LENGTH
    assert ItemScores.from_dict(row_as_json).scores["length"].percentile is None, "rows of an earlier version"


def test_references_are_replaced_atomically(own: Path) -> None:
    first, second = reference([1, 2], [1]), reference([5, 6], [1])
    path = write_reference(own, "length", first)
    assert find_reference(Signature.from_text(LENGTH)) == (first, first.label)
    assert write_reference(own, "length", second) == path
    assert find_reference(Signature.from_text(LENGTH)) == (second, second.label)
    assert references_of("length")[0] == second
    assert find_reference(Signature.from_text(LENGTH.replace("v:1", "v:9"))) is None
    assert [file.name for file in own.iterdir()] == [path.name]


def test_a_damaged_reference_is_reported_with_what_to_do(own: Path) -> None:
    path = write_reference(own, "length", reference([1, 2], [1]))
    path.write_text(path.read_text()[:200])
    with pytest.raises(ModelError, match=r"length\.[0-9a-f]+\.json cannot be read .*; delete it, or make it again"):
        load_metric("length").score(["hi"], "a")


def test_true_and_random_responses_are_drawn_by_the_seed() -> None:
    drawn = draw(CORPUS, 100, seed=7)
    assert drawn == draw(CORPUS, 100, seed=7)
    assert drawn != draw(CORPUS, 100, seed=8)
    assert len(set(drawn.true)) == 100
    lengths = set()
    for (history, response), (same, other) in zip(drawn.true, drawn.random, strict=True):
        turns = next(turns for turns in CORPUS["talk"] if response in turns)
        position = turns.index(response)
        assert history == turns[position - len(history) : position]
        assert same == history
        assert other not in turns
        lengths.add(len(history))
    assert lengths == set(range(1, 9))


def test_a_reference_has_the_scores_of_the_metric() -> None:
    metric = Length()
    drawn = draw(CORPUS, 132, seed=0)
    made_reference = make_reference(metric, drawn, "talk", {"seed": 0})
    assert (made_reference.true[0], made_reference.true[-1]) == (2, 12)
    # each of the eleven lengths has an eleventh of the responses; 6/11 have 7 words or fewer
    assert made_reference.percentile(7) == 54.5
    assert made_reference.facts["responses"] == {"true": 132, "random": 132}
    assert made_reference.digest == make_reference(Length(), drawn, "talk", {}).digest
    assert Reference.from_text(str(made_reference)) == made_reference


class Silent(Length):
    """A metric that judges nothing."""

    def score_checked(self, items: object, explain: bool) -> list[Score]:
        return [replace(score, value=nan) for score in super().score_checked(items, explain)]  # type: ignore[arg-type]


def test_a_metric_with_too_few_scores_gets_no_reference() -> None:
    with pytest.raises(InputError, match="length judges 0 of 120 true responses; a reference needs 100"):
        make_reference(Silent(), draw(CORPUS, 120, 0), "talk", {})
