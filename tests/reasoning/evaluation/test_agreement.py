"""Agreement of metrics with people: the rows for data sets, systems, rankings and comparisons, and what is left out of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from tacit.graph.errors import InputError
from tacit.reasoning.evaluation import Agreement, Judged, evaluate
from tacit.reasoning.evaluation.agreement import conversations
from tacit.reasoning.evaluation.correlation import SAME_RATINGS, SAME_SCORES, TOO_FEW
from tacit.reasoning.evaluation.resampling import correlations

NAN = math.nan


def world(items: int = 60, dataset: str = "d", seed: int = 0) -> list[Judged]:
    """Responses of three systems under two metrics, of which the second sees more of the rating."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(items):
        rating = float(rng.integers(2, 11)) / 2
        scores = {"weak": float(rng.normal() + 0.2 * rating), "strong": float(rng.normal() + rating)}
        rows.append(Judged(dataset, "abc"[number % 3], rating, scores))
    return rows


def columns(items: Sequence[Judged], metric: str) -> tuple[np.ndarray, np.ndarray]:
    return np.array([item.scores[metric] for item in items]), np.array([item.rating for item in items])


def test_rows_are_ordered_by_data_set_metric_and_system() -> None:
    items = [*world(30, "second", 1), *world(30, "first", 2)]
    rows = evaluate(items, ["weak", "strong"], resamples=20)
    assert [(row.dataset, row.metric, row.system, row.n) for row in rows] == [
        (dataset, metric, system, 30 if system is None else 10)
        for dataset in ("second", "first")
        for metric in ("weak", "strong")
        for system in (None, "a", "b", "c")
    ]
    assert rows[0:16:4] == evaluate(items, ["weak", "strong"], resamples=20, by_system=False)


def test_values_equal_scipy_and_intervals_the_resamples() -> None:
    items = world()
    for row in evaluate(items, ["weak"], resamples=400, seed=3):
        part = [item for item in items if row.system in (None, item.system)]
        scores, ratings = columns(part, "weak")
        expected = stats.spearmanr(scores, ratings)
        assert (row.spearman.value, row.spearman.p) == pytest.approx((expected.statistic, expected.pvalue))
        assert row.kendall.value == pytest.approx(stats.kendalltau(scores, ratings).statistic)
        drawn = correlations(scores, ratings, resamples=400, seed=3)
        low, high = np.quantile(drawn[:, 0], [0.025, 0.975])
        assert (row.pearson.low, row.pearson.high) == pytest.approx((low, high))
        assert row.note == ""


def test_unjudged_items_are_left_out_and_counted() -> None:
    items = world()
    holes = [
        replace(item, scores={**item.scores, "weak": value})
        for item, value in zip(items, (NAN, NAN, math.inf, NAN, 1.0), strict=False)
    ]
    holes[4] = replace(holes[4], scores={"strong": 1.0})
    [row] = evaluate([*holes, *items[5:]], ["weak"], resamples=50, by_system=False)
    [alone] = evaluate(items[5:], ["weak"], resamples=50, by_system=False)
    assert (row.n, row.unscored) == (55, 5)
    assert row.pearson == alone.pearson
    parts = evaluate([*holes, *items[5:]], ["weak"], resamples=50)
    assert sum(part.unscored for part in parts if part.system is not None) == 5


@pytest.mark.parametrize(
    ("scores", "ratings", "note"),
    [
        ([1, 2], [1, 2], TOO_FEW), ([NAN] * 5, [1, 2, 3, 4, 5], TOO_FEW), ([NAN, NAN, 3, 4], [1, 2, 3, 4], TOO_FEW),
        ([0.5] * 4, [1, 2, 3, 4], SAME_SCORES), ([1, 2, 3, 4], [5] * 4, SAME_RATINGS), ([0.5] * 4, [5] * 4, SAME_SCORES),
    ],
)  # fmt: skip
def test_undefined_correlations_are_null_with_a_note(scores: list[float], ratings: list[float], note: str) -> None:
    items = [
        Judged("d", None, rating, {"m": score, "n": float(index)})
        for index, (rating, score) in enumerate(zip(ratings, scores, strict=True))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [row, other] = evaluate(items, ["m", "n"], resamples=50)
    assert row.note == note
    for correlation in row.correlations:
        assert correlation.to_dict() == {"value": None, "low": None, "high": None, "p": None}
    assert other.against is not None
    assert other.against.to_dict()["difference"]["kendall"] == {"value": None, "low": None, "high": None, "p": None}


def test_a_conversation_is_resampled_as_a_whole() -> None:
    alone = world(30)
    copies = [replace(item, conversation=index) for index, item in enumerate(alone) for _ in range(4)]
    expected = evaluate(alone, ["weak", "strong"], resamples=300)
    agreements = evaluate(copies, ["weak", "strong"], resamples=300)
    wider = evaluate([replace(item, conversation=None) for item in copies], ["weak", "strong"], resamples=300)
    for first, four, apart in zip(expected, agreements, wider, strict=True):
        assert (four.n, four.conversations, apart.conversations) == (4 * first.n, first.n, 4 * first.n)
        # Pearson's r and tau-b do not change when every response counts four times; nor do their resamples
        assert (four.pearson.low, four.pearson.high) == pytest.approx((first.pearson.low, first.pearson.high))
        if first.system is None:
            assert (apart.pearson.high or 0) - (apart.pearson.low or 0) < 0.7 * (
                (four.pearson.high or 0) - (four.pearson.low or 0)
            )
    assert agreements[4].against is not None
    assert expected[4].against is not None
    assert agreements[4].against.difference["pearson"].p == pytest.approx(expected[4].against.difference["pearson"].p)


def test_the_paired_test_rejects_as_often_as_it_should() -> None:
    # two scores that see the rating equally well, in conversations of three; at 5% about 5 in 100 tests reject
    rng = np.random.default_rng(0)
    rejected = {"together": 0, "apart": 0}
    for _ in range(300):
        shared = np.repeat(rng.normal(size=(3, 40)), 3, axis=1)
        ratings = shared[0]
        scores = ratings + shared[1] + 0.1 * rng.normal(size=120), ratings + shared[2] + 0.1 * rng.normal(size=120)
        for way in rejected:
            items = [
                Judged("d", None, float(ratings[index]), {"a": float(scores[0][index]), "b": float(scores[1][index])},
                       index // 3 if way == "together" else None)
                for index in range(120)
            ]  # fmt: skip
            against = evaluate(items, ["a", "b"], resamples=200, by_system=False)[1].against
            assert against is not None
            p = against.difference["pearson"].p
            assert p is not None
            rejected[way] += p < 0.05
    assert 0.02 < rejected["together"] / 300 < 0.10
    assert rejected["apart"] / 300 > 0.15


def test_conversations_are_found_by_history() -> None:
    items = [(("a",), "b"), (("a",), "c"), (("x",), "y"), (("a", "b"), "d"), ((), "a")]
    assert conversations(items).tolist() == [0, 0, 1, 0, 0]


def test_an_opening_that_goes_on_in_different_ways_joins_nothing() -> None:
    talks = [("Hi!", f"Hello {number}.", f"Any news {number}?", f"No {number}.") for number in range(3)]
    items = [(talk[:length], talk[length]) for talk in talks for length in range(4)]
    # the items with nothing but the opening, and by talk the others
    assert conversations(items).tolist() == [0, 0, 1, 1, 0, 0, 2, 2, 0, 0, 3, 3]
    assert set(conversations(items, share_openings=True).tolist()) == {0}
    assert conversations([((), "Hi!"), ((), "Yes."), ((), "Hi!")]).tolist() == [0, 1, 0]


@pytest.mark.parametrize(("talks", "bounded"), [(9, False), (10, True)])
def test_few_conversations_have_no_interval(talks: int, bounded: bool) -> None:
    rng = np.random.default_rng(0)
    items = [Judged("d", None, float(rng.normal()), {"a": float(rng.normal()), "b": float(rng.normal())}, number % talks)
             for number in range(60)]  # fmt: skip
    _, row = evaluate(items, ["a", "b"], resamples=100)
    assert row.against is not None
    difference = row.against.difference["pearson"]
    assert None not in (row.pearson.value, row.pearson.p, difference.value)
    assert [number is not None for number in (row.pearson.low, row.pearson.high, difference.low, difference.p)] == [bounded] * 4
    assert row.note == ("" if bounded else "no interval, since there are fewer than 10 conversations")


def test_constant_resamples_are_reported() -> None:
    items = [Judged("d", None, rating, {"m": rating}) for rating in (*[1.0] * 9, 2.0)]
    [row] = evaluate(items, ["m"], resamples=1000)
    # a resample of ten misses the one that differs with probability (9/10)^10 = 0.349
    assert 0.28 < int(row.note.split(" ")[0]) / 1000 < 0.42
    assert "of 1,000 resamples" in row.note
    assert (row.pearson.value, row.pearson.low, row.pearson.high) == pytest.approx((1.0, 1.0, 1.0))


def test_systems_are_ranked_by_their_means() -> None:
    items = [
        Judged("d", system, rating, {"m": score})
        for system, rating, score in [
            ("x", 1, 0.1), ("x", 2, 0.3), ("y", 4, 0.9), ("y", 5, 0.7), ("z", 3, 0.5), ("z", 3, 0.2), ("z", 3, NAN),
            (None, 9, 9.0),
        ]
    ]  # fmt: skip
    ranking = evaluate(items, ["m"], resamples=10)[0].ranking
    assert ranking is not None
    means = [(system_mean.system, system_mean.n, system_mean.human, system_mean.metric) for system_mean in ranking.systems]
    assert [name for name, *_ in means] == ["y", "z", "x"]
    np.testing.assert_allclose([row[1:] for row in means], [(2, 4.5, 0.8), (2, 3.0, 0.35), (2, 1.5, 0.2)])
    assert ranking.pearson.value == pytest.approx(stats.pearsonr([0.8, 0.35, 0.2], [4.5, 3, 1.5]).statistic)
    assert ranking.kendall.value == pytest.approx(1.0)
    assert ranking.pearson.low is None
    two = evaluate([item for item in items if item.system != "z"], ["m"], resamples=10)[0].ranking
    assert two is not None
    assert (len(two.systems), two.pearson.value, two.note) == (2, None, "fewer than 3 systems")
    assert evaluate([item for item in items if item.system is None], ["m"], resamples=10)[0].ranking is None


def test_metrics_are_compared_with_the_first() -> None:
    items = world(80)
    weak, strong = evaluate(items, ["weak", "strong"], resamples=500, seed=9, by_system=False)
    assert weak.against is None
    assert strong.against is not None
    assert (strong.against.metric, strong.against.n) == ("weak", 80)
    (a, ratings), (b, _) = columns(items, "strong"), columns(items, "weak")
    drawn = correlations(a, ratings, resamples=500, seed=9) - correlations(b, ratings, resamples=500, seed=9)
    difference = strong.against.difference["kendall"]
    assert difference.value == pytest.approx((strong.kendall.value or 0) - (weak.kendall.value or 0))
    assert (difference.low, difference.high) == pytest.approx(tuple(np.quantile(drawn[:, 2], [0.025, 0.975])))
    beyond = min((drawn[:, 2] <= 0).sum(), (drawn[:, 2] >= 0).sum())
    assert difference.p == pytest.approx(2 * (beyond + 1) / 501)


def test_comparisons_use_items_that_both_metrics_judge() -> None:
    items = world(40)
    items[0] = replace(items[0], scores={"weak": NAN, "strong": 1.0})
    items[1] = replace(items[1], scores={"weak": 1.0, "strong": NAN})
    strong = evaluate(items, ["weak", "strong"], resamples=100, by_system=False)[1]
    common = evaluate(items[2:], ["weak", "strong"], resamples=100, by_system=False)[1]
    assert strong.against is not None
    assert strong.against.n == 38
    assert (strong.n, strong.unscored) == (39, 1)
    assert strong.against == common.against


def test_a_rescaled_metric_does_not_differ() -> None:
    items = [replace(item, scores={"a": item.scores["weak"], "b": 3 * item.scores["weak"] + 1}) for item in world()]
    against = evaluate(items, ["a", "b"], resamples=100, by_system=False)[1].against
    assert against is not None
    assert [against.difference[kind].value for kind in ("pearson", "spearman", "kendall")] == pytest.approx([0, 0, 0], abs=1e-12)
    assert against.difference["spearman"].p == 1


def test_seeds_and_order() -> None:
    items = world()
    first = evaluate(items, ["weak", "strong"], resamples=300, seed=1)
    assert first == evaluate(items, ["weak", "strong"], resamples=300, seed=1)
    second = evaluate(items, ["weak", "strong"], resamples=300, seed=2)
    assert first[0].pearson.value == second[0].pearson.value
    assert first[0].pearson.low != second[0].pearson.low
    for left, mixed in zip(first, evaluate(items[::-1], ["weak", "strong"], resamples=300, seed=1), strict=True):
        assert [c.value for c in left.correlations] == pytest.approx([c.value for c in mixed.correlations])


def test_progress_reaches_its_total() -> None:
    seen: list[tuple[int, int]] = []
    items = [*world(30), Judged("one", None, 1.0, {"weak": 1.0, "strong": NAN})]
    items[3] = replace(items[3], scores={"weak": NAN, "strong": 1.0})
    evaluate(items, ["weak", "strong"], resamples=700, progress=lambda finished, total: seen.append((finished, total)))
    assert seen[-1][0] == seen[-1][1]
    assert all(before[0] < after[0] <= after[1] for before, after in pairwise(seen))


def test_rows_hold_plain_python_values() -> None:
    rows = evaluate(world(), ["weak", "strong"], resamples=20)
    whole, part = rows[4].to_dict(), rows[5].to_dict()
    assert list(whole)[:7] == ["metric", "dataset", "system", "n", "conversations", "pearson", "spearman"]
    assert list(whole["pearson"]) == ["value", "low", "high", "p"]
    assert whole["left_out"] == {"unscored": 0}
    assert whole["conversations"] == 60
    assert list(whole["against"]) == ["metric", "n", "difference"]
    assert {"ranking", "against"} & set(part) == set()


def test_wrong_arguments() -> None:
    for resamples, seed in ((0, 0), (1, -1), (1, 1 << 64)):
        with pytest.raises(InputError, match="must be >= 1 and the seed"):
            evaluate(world(), ["weak"], resamples=resamples, seed=seed)
    with pytest.raises(InputError, match="name at least one"):
        evaluate(world(), [])
    assert evaluate([], ["weak"]) == []
    assert isinstance(evaluate(world(), ["no such score"], resamples=5)[0], Agreement)
