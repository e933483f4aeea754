"""Correlations, tests and resamples: the same numbers as scipy, the same signs and limits as the mathematics says."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from tacit.reasoning.evaluation import Correlation
from tacit.reasoning.evaluation.correlation import (
    SAME_RATINGS,
    SAME_SCORES,
    TOO_FEW,
    correlate,
    decimal,
    formatted,
    p_of_difference,
    undefined,
)
from tacit.reasoning.evaluation.resampling import correlations, counts, lines

Floats = NDArray[np.float64]


def rated(items: int, seed: int = 0, grid: float = 0.5) -> tuple[Floats, Floats]:
    """Scores and ratings that go along a little, with ties in both."""
    rng = np.random.default_rng(seed)
    ratings = rng.integers(2, 11, items) / 2
    scores = np.round((rng.normal(size=items) + 0.3 * ratings) / grid) * grid
    return scores, ratings


@pytest.mark.parametrize(("items", "p"), [(3, 1 / 3), (4, 1 / 12), (5, 1 / 60)])
def test_the_p_value_of_few_ranks_is_exact(items: int, p: float) -> None:
    scores = np.arange(float(items))
    for _, spearman, kendall in (correlate(scores, scores**2), correlate(scores, -(scores**2))):
        assert (spearman.p, kendall.p) == (pytest.approx(p), pytest.approx(p))  # 2 of n! permutations


def test_correlations_equal_scipy() -> None:
    scores, ratings = rated(80)
    for correlation, expected in zip(
        correlate(scores, ratings),
        (stats.pearsonr(scores, ratings), stats.spearmanr(scores, ratings), stats.kendalltau(scores, ratings)),
        strict=True,
    ):
        assert correlation.value == pytest.approx(expected.statistic, abs=1e-14)
        assert correlation.p == pytest.approx(expected.pvalue, rel=1e-12)
        assert (correlation.low, correlation.high) == (None, None)


def test_correlations_by_hand() -> None:
    # ranks 1 2 3 4 against 1 3 2 4: d² sums to 2, so rho = 1 - 6·2/(4·15) = 0.8; five of six pairs agree, so tau = 4/6
    pearson, spearman, kendall = correlate(np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 30.0, 20.0, 40.0]))
    assert pearson.value == pytest.approx(0.8)
    assert spearman.value == pytest.approx(0.8)
    assert kendall.value == pytest.approx(4 / 6)


@pytest.mark.parametrize("grid", [0.5, 1e-9])
@pytest.mark.parametrize("items", [3, 4, 17, 60])
def test_each_resample_equals_scipy_on_its_items(items: int, grid: float) -> None:
    scores, ratings = rated(items, items, grid)
    resampled = correlations(scores, ratings, resamples=25, seed=11)
    swapped = correlations(ratings, scores, resamples=25, seed=11)
    for number, row in enumerate(resampled):
        drawn = counts(items, 11, number)
        assert drawn.sum() == items
        x, y = np.repeat(scores, drawn), np.repeat(ratings, drawn)
        if len(set(x)) == 1 or len(set(y)) == 1:
            assert np.isnan(row).all()
            continue
        expected = [stats.pearsonr(x, y).statistic, stats.spearmanr(x, y).statistic, stats.kendalltau(x, y).statistic]
        np.testing.assert_allclose(row, expected, atol=1e-12)
    np.testing.assert_allclose(resampled, swapped, atol=1e-12)


def test_groups_are_resampled_as_a_whole() -> None:
    scores, ratings = rated(20, 5, 0.5)
    groups = np.arange(20) % 6
    for number, row in enumerate(correlations(scores, ratings, groups=groups, resamples=25, seed=11)):
        drawn = counts(6, 11, number)[groups]
        x, y = np.repeat(scores, drawn), np.repeat(ratings, drawn)
        expected = [stats.pearsonr(x, y).statistic, stats.spearmanr(x, y).statistic, stats.kendalltau(x, y).statistic]
        np.testing.assert_allclose(row, expected, atol=1e-12)
    alone = correlations(scores, ratings, groups=np.arange(20), resamples=25, seed=11)
    np.testing.assert_array_equal(alone, correlations(scores, ratings, resamples=25, seed=11))


def test_clustered_items_widen_the_intervals() -> None:
    scores, ratings = rated(30)
    resampled = correlations(scores, ratings, resamples=2_000)
    thrice = correlations(
        np.tile(scores, 3), np.tile(ratings, 3), groups=np.tile(np.arange(30), 3), resamples=2_000
    )  # each item three times in its group is the same as once
    np.testing.assert_allclose(thrice[:, :2], resampled[:, :2], atol=1e-12)


def test_resamples_are_drawn_evenly_and_by_seed() -> None:
    times = np.array([counts(9, 3, number) for number in range(20_000)])
    # each count is binomial(9, 1/9), so the mean of 20,000 has a standard error of 0.0067
    assert np.abs(times.mean(axis=0) - 1).max() < 0.03
    assert np.abs(times.var(axis=0) - 8 / 9).max() < 0.05
    assert abs(np.corrcoef(times[:-1, 0], times[1:, 0])[0, 1]) < 0.03
    assert not np.array_equal(counts(9, 3, 0), counts(9, 4, 0))
    scores, ratings = rated(40)
    long = correlations(scores, ratings, resamples=1200, seed=5)
    np.testing.assert_array_equal(long[:700], correlations(scores, ratings, resamples=700, seed=5))
    assert not np.array_equal(long[:700], correlations(scores, ratings, resamples=700, seed=6))


def test_intervals_equal_the_bootstrap_of_scipy() -> None:
    scores, ratings = rated(60)
    drawn = correlations(scores, ratings, resamples=10_000, seed=0)
    for column, statistic in enumerate((stats.pearsonr, stats.spearmanr)):
        expected = stats.bootstrap(
            (scores, ratings),
            lambda x, y, of=statistic: of(x, y).statistic,
            paired=True, vectorized=False, n_resamples=1500, method="percentile", random_state=1,
        ).confidence_interval  # fmt: skip
        # 1,500 resamples leave a standard error of about 0.008 in either bound
        assert np.quantile(drawn[:, column], [0.025, 0.975]) == pytest.approx([expected.low, expected.high], abs=0.03)


def test_lines_are_least_squares_fits_of_the_resamples() -> None:
    scores, ratings = rated(30)
    fitted = lines(ratings, scores, resamples=20, seed=2)
    for number, (intercept, slope) in enumerate(fitted):
        drawn = counts(30, 2, number)
        expected = np.polyfit(np.repeat(ratings, drawn), np.repeat(scores, drawn), 1)
        assert (slope, intercept) == pytest.approx(tuple(expected), abs=1e-10)
    assert np.isnan(lines(np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0]), resamples=3)).all()


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 5)), min_size=3, max_size=40), st.randoms(use_true_random=False))
def test_correlations_ignore_order_and_increasing_rescaling(pairs: list[tuple[int, int]], chance: object) -> None:
    scores, ratings = np.array(pairs, np.float64).T
    before = correlate(scores, ratings)
    chance.shuffle(pairs)  # type: ignore[attr-defined]
    mixed_scores, mixed_ratings = np.array(pairs, np.float64).T
    for first, second in zip(before, correlate(mixed_scores, mixed_ratings), strict=True):
        assert (first.value is None) == (second.value is None)
        assert first.value is None or first.value == pytest.approx(second.value, abs=1e-12)
    for first, second in zip(before[1:], correlate(np.exp(scores / 10) + 3, ratings**3)[1:], strict=True):
        assert first.value is None or first.value == pytest.approx(second.value, abs=1e-12)
    for first, second in zip(before, correlate(-2.5 * scores + 7, ratings), strict=True):
        assert first.value is None or first.value == pytest.approx(-(second.value or 0.0), abs=1e-12)
    for first in before:
        assert first.value is None or -1 <= first.value <= 1


@pytest.mark.parametrize(
    ("scores", "ratings", "reason"),
    [
        ([], [], TOO_FEW), ([1, 2], [1, 2], TOO_FEW), ([1, 1, 1], [1, 2, 3], SAME_SCORES), ([1, 2, 3], [2, 2, 2], SAME_RATINGS),
        ([0, 0, 0], [0, 0, 0], SAME_SCORES), ([0.1 + 0.2, 0.3, 0.3], [1, 2, 3], SAME_SCORES),
    ],
)  # fmt: skip
def test_constant_values_have_no_correlation(scores: list[float], ratings: list[float], reason: str) -> None:
    x, y = np.array(scores, np.float64), np.array(ratings, np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert undefined(x, y) == reason
        assert correlate(x, y) == (Correlation(), Correlation(), Correlation())


def test_huge_and_tiny_scores() -> None:
    scores, ratings = rated(40)
    expected = correlations(scores, ratings, resamples=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for factor in (1e300, 1e-300):
            assert correlate(scores * factor, ratings)[0].value == pytest.approx(correlate(scores, ratings)[0].value)
            np.testing.assert_allclose(correlations(scores * factor, ratings, resamples=50), expected, atol=1e-9)
        assert correlate(np.array([1e308, -1e308, 1e308, 3.0]), np.array([1.0, 2.0, 3.0, 4.0]))[0].value is not None


def test_the_p_value_counts_differences_beyond_zero() -> None:
    assert p_of_difference(np.array([0.1, 0.2, -0.1, 0.3, np.nan, 0.2])) == pytest.approx(2 * (1 + 1) / (5 + 1))
    assert p_of_difference(np.full(99, 0.5)) == pytest.approx(2 / 100)
    assert p_of_difference(np.zeros(10)) == 1
    assert p_of_difference(np.full(3, np.nan)) is None


def test_correlations_are_formatted_without_a_leading_zero() -> None:
    assert [decimal(value) for value in (0.1234, -0.1, 0.0, -0.0001, 1.0, -1.0, 0.99999)] == [
        ".123", "-.100", ".000", ".000", "1.000", "-1.000", "1.000",
    ]  # fmt: skip
    assert formatted(Correlation(0.1234, -0.02, 0.3, 0.1), 2) == ".12 [-.02, .30]"
    assert formatted(Correlation(0.5)) == ".500"
    assert formatted(Correlation()) == ""
