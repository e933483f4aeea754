"""How far scores go along with people's ratings: three correlations with p-values, and whether one metric's is the greater."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Names of the correlations, in the order in which they are given everywhere.
KINDS = ("pearson", "spearman", "kendall")

LEAST_ITEMS = 3
TOO_FEW = f"fewer than {LEAST_ITEMS} judged responses"
SAME_SCORES = "every response has the same score"
SAME_RATINGS = "every response has the same rating"

_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Correlation:
    """One correlation: -1 to 1, the bounds of its 95% bootstrap interval, and its two-sided p-value; None where undefined."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None

    def to_dict(self) -> dict[str, float | None]:
        """Plain values for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high, "p": self.p}


class Williams(NamedTuple):
    """Williams' test: ``t`` with n - 3 degrees of freedom, and its two-sided p-value."""

    t: float
    p: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return self._asdict()


def undefined(scores: Floats, ratings: Floats) -> str:
    """Return why ``scores`` and ``ratings`` have no correlation, an empty text when they have one."""
    from .resampling import standardised

    if len(scores) < LEAST_ITEMS:
        return TOO_FEW
    if not standardised(scores).any():
        return SAME_SCORES
    return "" if standardised(ratings).any() else SAME_RATINGS


def correlate(scores: Floats, ratings: Floats) -> tuple[Correlation, Correlation, Correlation]:
    """Return Pearson's r, Spearman's rho and Kendall's tau-b with p-values as scipy computes them, without intervals.

    Args:
        scores, ratings: finite, of one length; all three are without a value where :func:`undefined` says why.
    """
    if undefined(scores, ratings):
        return Correlation(), Correlation(), Correlation()
    from scipy import stats

    from .resampling import standardised

    with np.errstate(all="ignore"):
        found = (
            stats.pearsonr(standardised(scores), standardised(ratings)),
            stats.spearmanr(scores, ratings),
            stats.kendalltau(scores, ratings),
        )
    pearson, spearman, kendall = (Correlation(_number(one.statistic), None, None, _number(one.pvalue)) for one in found)
    return pearson, spearman, kendall


def with_intervals(values: Sequence[Correlation], drawn: Floats) -> tuple[Correlation, ...]:
    """Return ``values`` with the percentile intervals of their resamples, the columns of ``drawn``; rows of NaN are left out."""
    intervals = [interval(drawn[:, column]) for column in range(len(values))]
    return tuple(Correlation(one.value, *bounds, one.p) for one, bounds in zip(values, intervals, strict=True))


def interval(drawn: Floats) -> tuple[float | None, float | None]:
    """Return the bounds between which the middle 95% of ``drawn`` lie, NaN left out; None, None when nothing is left."""
    defined = drawn[~np.isnan(drawn)]
    if not len(defined):
        return None, None
    low, high = np.quantile(defined, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(low), float(high)


def williams(first: float, second: float, between: float, items: int) -> Williams | None:
    """Test whether two correlations with the same human ratings differ, by the metrics' correlation with each other.

    Williams' T2 as Steiger (1980), "Tests for comparing elements of a correlation matrix", equation 7, gives it. ``t`` is
    positive when ``first`` is the greater.

    Args:
        first, second: correlation of either metric with the ratings; between: of the two metrics; all over the same ``items``.

    Returns:
        None when it is undefined: fewer than 4 items, or a metric that another one, or the ratings, determine.
    """
    if items <= LEAST_ITEMS:
        return None
    determinant = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    freedom = items - 3
    mean = (first + second) / 2
    below = 2 * (items - 1) / freedom * max(determinant, 0.0) + mean**2 * (1 - between) ** 3
    if below <= 1e-12:
        return None
    from scipy.stats import t as student

    t = (first - second) * math.sqrt((items - 1) * (1 + between) / below)
    return Williams(t, float(2 * student.sf(abs(t), freedom)))


def spelt(correlation: Correlation, digits: int = 3) -> str:
    """Return a correlation as papers print it, without the idle zero: ``.123 [.021, .224]``; empty where it has no value."""
    if correlation.value is None:
        return ""
    text = decimal(correlation.value, digits)
    if correlation.low is None or correlation.high is None:
        return text
    return f"{text} [{decimal(correlation.low, digits)}, {decimal(correlation.high, digits)}]"


def decimal(value: float, digits: int = 3) -> str:
    """Return a number between -1 and 1 without the zero before its point."""
    text = f"{value:.{digits}f}"
    if not float(text):
        text = text.removeprefix("-")
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def _number(value: Any) -> float | None:
    """A finite number, else None."""
    number = float(value)
    return number if math.isfinite(number) else None


# How well each metric agrees with people: figures that ship, measured by ``benchmarks/agreement.py`` with default options.
#
# A set is the responses of one judgement file, or of one data set that the file names. Intervals are 95% percentile bootstrap
# intervals over conversations: responses to one history, and turns of one conversation, are drawn together.

FILE = Path(__file__).with_name("figures.json")


@dataclass(frozen=True, slots=True)
class SetFigures:
    """The agreement of one metric with people on one set.

    Attributes:
        name: of the set; n: responses with a rating and a value; not_judged: with a rating alone; conversations: that were drawn.
        signature: of the scores.
    """

    name: str
    n: int
    not_judged: int
    conversations: int
    pearson: Correlation
    spearman: Correlation
    signature: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        counts = {"set": self.name, "n": self.n, "not_judged": self.not_judged, "conversations": self.conversations}
        return {**counts, "pearson": _plain(self.pearson), "spearman": _plain(self.spearman), "signature": self.signature}


@dataclass(frozen=True, slots=True)
class Figures:
    """The agreement of one metric with people: on each set, and the mean over the sets, each of which counts the same."""

    pearson: Correlation
    spearman: Correlation
    sets: tuple[SetFigures, ...]

    @property
    def mean(self) -> float:
        """The mean of both correlations."""
        return ((self.pearson.value or 0.0) + (self.spearman.value or 0.0)) / 2

    @property
    def ratings(self) -> int:
        """Judged responses in all sets."""
        return sum(one.n for one in self.sets)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        means = {"pearson": _plain(self.pearson), "spearman": _plain(self.spearman), "ratings": self.ratings}
        return {**means, "sets": [one.to_dict() for one in self.sets]}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Figures:
        """Take back what :meth:`to_dict` gave."""
        sets = tuple(
            SetFigures(
                one["set"], one["n"], one["not_judged"], one["conversations"],
                Correlation(**one["pearson"]), Correlation(**one["spearman"]), one["signature"],
            )
            for one in row["sets"]
        )  # fmt: skip
        return cls(Correlation(**row["pearson"]), Correlation(**row["spearman"]), sets)


@cache
def shipped_figures() -> Mapping[str, Figures]:
    """Return the figures that ship, by metric; none where the file is missing."""
    if not FILE.is_file():
        return {}
    rows = json.loads(FILE.read_text(encoding="utf-8"))["metrics"]
    return {name: Figures.from_dict(row) for name, row in rows.items()}


def _plain(one: Correlation) -> dict[str, float | None]:
    """A correlation and its interval with four decimals; they have no p-value."""
    return {key: None if value is None else round(value, 4) for key, value in one.to_dict().items() if key != "p"}
