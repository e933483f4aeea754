"""Speed of bootstrap intervals: resamples a second, three correlations in each, compared with scipy on the same resamples.

    python benchmarks/evaluation.py [--items N] [--resamples N] [--rounds N] [--json]

Ratings are quarters from 1 to 5, as means of four raters are; scores have no ties, the slowest case for Kendall's tau. The
alternative calls scipy.stats.pearsonr, spearmanr and kendalltau on every resample, on fewer of them since it is slow; both must
give equal numbers. Rounds of the two alternate; rates are medians, by processor time and by the wall clock.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from tacit.reasoning.evaluation.resampling import correlations, counts

Floats = NDArray[np.float64]


def judged(items: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Return scores and ratings that correlate weakly."""
    rng = np.random.default_rng(seed)
    ratings = rng.integers(4, 21, items) / 4
    return rng.normal(size=items) + 0.2 * ratings, ratings


def by_scipy(scores: Floats, ratings: Floats, resamples: int) -> Floats:
    """Return the three correlations of each resample by scipy."""
    values = []
    for number in range(resamples):
        weights = counts(len(scores), 0, number)
        x, y = np.repeat(scores, weights), np.repeat(ratings, weights)
        values.append([correlation(x, y).statistic for correlation in (stats.pearsonr, stats.spearmanr, stats.kendalltau)])
    return np.array(values)


def rates(work: Callable[[], object], resamples: int) -> tuple[float, float]:
    """Return the resamples a second, by processor time and by the wall clock."""
    processor, wall = time.process_time(), time.perf_counter()
    work()
    return resamples / (time.process_time() - processor), resamples / (time.perf_counter() - wall)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=900)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    scores, ratings = judged(arguments.items)
    few_resamples = max(arguments.resamples // 50, 10)
    np.testing.assert_allclose(
        correlations(scores, ratings, resamples=few_resamples), by_scipy(scores, ratings, few_resamples), atol=1e-12
    )
    ours, theirs = [], []
    for _ in range(arguments.rounds):
        ours.append(rates(lambda: correlations(scores, ratings, resamples=arguments.resamples), arguments.resamples))
        theirs.append(rates(lambda: by_scipy(scores, ratings, few_resamples), few_resamples))
    result = {}
    for index, clock in enumerate(("processor", "wall")):
        tacit_rate, scipy_rate = (statistics.median(pair[index] for pair in pairs) for pairs in (ours, theirs))
        result[clock] = {
            "tacit": tacit_rate,
            "scipy": scipy_rate,
            "ratio": tacit_rate / scipy_rate,
            "seconds": arguments.resamples / tacit_rate,
        }
    if arguments.json:
        print(json.dumps({"items": arguments.items, "resamples": arguments.resamples, **result}))
        return
    print(f"{arguments.items:,} judged responses, {arguments.resamples:,} resamples, Pearson, Spearman and Kendall in each")
    print(f"{'clock':<12}{'tacit/s':>12}{'scipy/s':>12}{'ratio':>9}{'tacit, all':>13}")
    for clock, row in result.items():
        print(f"{clock:<12}{row['tacit']:>12,.0f}{row['scipy']:>12,.0f}{row['ratio']:>8.0f}x{row['seconds']:>11.2f} s")


if __name__ == "__main__":
    main()
