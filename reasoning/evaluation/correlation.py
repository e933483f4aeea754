"""Correlations of scores with human ratings, their intervals and tests, and the shipped figures of agreement."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graph.schema import Json, shape

Floats = NDArray[np.float64]

#: Names of the correlations, in the order of every result.
KINDS = ("pearson", "spearman", "kendall")

LEAST_ITEMS = 3
_EXACT = 8
"""Most items for which the p-value of Spearman's rho is computed over all permutations; its t distribution is far off there."""
LEAST_CONVERSATIONS = 10
"""Fewest conversations from which an interval is computed; a bootstrap of fewer is too narrow."""
TOO_FEW = f"fewer than {LEAST_ITEMS} judged responses"
FEW_CONVERSATIONS = f"no interval, since there are fewer than {LEAST_CONVERSATIONS} conversations"
SAME_SCORES = "every response has the same score"
SAME_RATINGS = "every response has the same rating"

_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval(Json):
    """A number, and the bounds of its 95% bootstrap interval; None where undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Correlation(Interval):
    """A correlation, -1 to 1, with its interval and its two-sided p-value; None where undefined."""

    p: float | None = None


def undefined(scores: Floats, ratings: Floats) -> str:
    """Return why the correlations of ``scores`` and ``ratings`` are undefined, an empty text when they are not."""
    from .resampling import standardised

    if len(scores) < LEAST_ITEMS:
        return TOO_FEW
    if not standardised(scores).any():
        return SAME_SCORES
    return "" if standardised(ratings).any() else SAME_RATINGS


def correlate(scores: Floats, ratings: Floats) -> tuple[Correlation, Correlation, Correlation]:
    """Return Pearson's r, Spearman's rho and Kendall's tau-b with p-values; None where :func:`undefined` gives a reason."""
    if undefined(scores, ratings):
        return Correlation(), Correlation(), Correlation()
    from scipy import stats

    from .resampling import standardised

    with np.errstate(all="ignore"):
        results = (
            stats.pearsonr(standardised(scores), standardised(ratings)),
            stats.spearmanr(scores, ratings),
            stats.kendalltau(scores, ratings),
        )
    pearson, spearman, kendall = (
        Correlation(_number(result.statistic), None, None, _number(result.pvalue)) for result in results
    )
    if len(scores) <= _EXACT:
        spearman = replace(spearman, p=_exact_p(stats.rankdata(scores), stats.rankdata(ratings)))
    return pearson, spearman, kendall


def _exact_p(ranks: Floats, others: Floats) -> float:
    """Return the two-sided p-value of the correlation of ranks: the share of all permutations with one as far from 0."""
    from scipy import stats

    centred = others - others.mean()

    def covariance(permuted: Floats) -> Floats:
        result: Floats = permuted @ centred
        return result

    test = stats.permutation_test((ranks,), covariance, permutation_type="pairings", n_resamples=np.inf)
    return float(test.pvalue)


def with_intervals(
    values: tuple[Correlation, Correlation, Correlation], drawn: Floats
) -> tuple[Correlation, Correlation, Correlation]:
    """Return ``values`` with the percentile intervals of their resamples, the columns of ``drawn``; NaN rows are ignored."""
    pearson, spearman, kendall = (
        Correlation(value.value, *interval(drawn[:, column]), value.p) for column, value in enumerate(values)
    )
    return pearson, spearman, kendall


def interval(drawn: Floats) -> tuple[float | None, float | None]:
    """Return the bounds of the middle 95% of ``drawn``, ignoring NaN; (None, None) when nothing is left."""
    defined = drawn[~np.isnan(drawn)]
    if not len(defined):
        return None, None
    low, high = np.quantile(defined, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(low), float(high)


def p_of_difference(drawn: Floats) -> float | None:
    """Return the two-sided bootstrap p-value of a difference: twice the share of resamples on the other side of 0, at most 1.

    One is added to count and total (Davison & Hinkley, 1997, section 4.2), so that it is never 0. NaN is ignored; None when
    nothing is left.
    """
    defined = drawn[~np.isnan(drawn)]
    if not len(defined):
        return None
    beyond = min(int((defined <= 0).sum()), int((defined >= 0).sum()))
    return min(2 * (beyond + 1) / (len(defined) + 1), 1.0)


def formatted(correlation: Interval, digits: int = 3) -> str:
    """Return a correlation as papers print it, without the leading zero: ``.123 [.021, .224]``; empty when it is undefined."""
    if correlation.value is None:
        return ""
    text = decimal(correlation.value, digits)
    if correlation.low is None or correlation.high is None:
        return text
    return f"{text} [{decimal(correlation.low, digits)}, {decimal(correlation.high, digits)}]"


def decimal(value: float, digits: int = 3) -> str:
    """Return a number between -1 and 1 without the zero before its decimal point."""
    text = f"{value:.{digits}f}"
    if not float(text):
        text = text.removeprefix("-")
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def _number(value: Any) -> float | None:
    """Return a finite number, else None."""
    number = float(value)
    return number if math.isfinite(number) else None


# Shipped figures of agreement with human ratings, measured by ``benchmarks/agreement.py`` with default options.
#
# A set is the responses of one judgement file, or of one data set that the file names. Intervals are 95% percentile bootstrap
# intervals over conversations: responses to one history, and turns of one conversation, are resampled together.

FILE = Path(__file__).with_name("figures.json")


@shape("set=name", "n", "not_judged", "conversations", "pearson", "spearman", "signature")
@dataclass(frozen=True, slots=True)
class SetFigures:
    """The agreement of one metric with human ratings on one set.

    Attributes:
        name: of the set; n: responses with a rating and a score; not_judged: with a rating only; conversations: clusters of the
            bootstrap.
        signature: of the scores.
    """

    name: str
    n: int
    not_judged: int
    conversations: int
    pearson: Interval
    spearman: Interval
    signature: str


@shape("pearson", "spearman", "ratings", "sets")
@dataclass(frozen=True, slots=True)
class Figures(Json):
    """The agreement of one metric with human ratings: on each set, and the unweighted mean over the sets."""

    pearson: Interval
    spearman: Interval
    sets: tuple[SetFigures, ...]

    @property
    def mean(self) -> float:
        """The mean of both correlations."""
        return ((self.pearson.value or 0.0) + (self.spearman.value or 0.0)) / 2

    @property
    def ratings(self) -> int:
        """Rated responses in all sets."""
        return sum(dataset.n for dataset in self.sets)


@cache
def shipped_figures() -> Mapping[str, Figures]:
    """Return the shipped figures by metric; empty when the file is missing."""
    if not FILE.is_file():
        return {}
    rows = json.loads(FILE.read_text(encoding="utf-8"))["metrics"]
    return {name: Figures.from_dict(row) for name, row in rows.items()}
