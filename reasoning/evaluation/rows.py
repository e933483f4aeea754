"""What an evaluation takes and gives: judged responses, and rows that say how far a metric agrees with people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .correlation import KINDS, Correlation, Williams

NONE = Correlation()


@dataclass(frozen=True, slots=True)
class Judged:
    """A response with what people and metrics say of it.

    Attributes:
        dataset: it belongs to; system: who gave it, None when nobody knows.
        rating: of people, finite, on any scale that is the same within the data set.
        scores: by metric; one that is no finite number, or not there, means that the metric cannot judge it.
    """

    dataset: str
    system: str | None
    rating: float
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SystemMean:
    """Means over one system's responses: of the metric's scores and of people's ratings."""

    system: str
    n: int
    metric: float
    human: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The systems of a data set, the one that people like best first, and how the two means correlate over them.

    The correlations are None below three systems, and have no interval: so few systems are no sample to draw from.
    """

    systems: tuple[SystemMean, ...]
    pearson: Correlation = NONE
    spearman: Correlation = NONE
    kendall: Correlation = NONE
    note: str = ""

    @property
    def correlations(self) -> tuple[Correlation, Correlation, Correlation]:
        """The three, in the order of ``KINDS``."""
        return self.pearson, self.spearman, self.kendall

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        systems = [{"system": one.system, "n": one.n, "metric": one.metric, "human": one.human} for one in self.systems]
        return {"systems": systems, **{kind: getattr(self, kind).to_dict() for kind in KINDS}, "note": self.note}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A metric beside the first one, over the responses that both can judge; positive numbers speak for the metric.

    Attributes:
        metric: the first one; n: responses that both can judge.
        williams: Williams' test by kind of correlation, ``pearson`` and ``spearman``; None where undefined.
        difference: of the two correlations, by kind, with its bootstrap interval.
    """

    metric: str
    n: int
    williams: Mapping[str, Williams | None]
    difference: Mapping[str, Correlation]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        tests = {kind: test.to_dict() if test else {"t": None, "p": None} for kind, test in self.williams.items()}
        differences = {kind: {"value": d.value, "low": d.low, "high": d.high} for kind, d in self.difference.items()}
        return {"metric": self.metric, "n": self.n, "williams": tests, "difference": differences}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far one metric agrees with people on one data set, or on one system's part of it.

    Attributes:
        system: None for the whole data set.
        n: responses with a rating and a score; unscored: those that the metric cannot judge.
        note: why a correlation has no value, or how many resamples had none; else empty.
        ranking: whole data set with named systems only; against: whole data set, from the second metric on.
    """

    metric: str
    dataset: str
    system: str | None
    n: int
    pearson: Correlation = NONE
    spearman: Correlation = NONE
    kendall: Correlation = NONE
    unscored: int = 0
    note: str = ""
    ranking: Ranking | None = None
    against: Comparison | None = None

    @property
    def correlations(self) -> tuple[Correlation, Correlation, Correlation]:
        """The three, in the order of ``KINDS``."""
        return self.pearson, self.spearman, self.kendall

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; ``ranking`` and ``against`` only where there is one."""
        row: dict[str, Any] = {"metric": self.metric, "dataset": self.dataset, "system": self.system, "n": self.n}
        row |= {kind: one.to_dict() for kind, one in zip(KINDS, self.correlations, strict=True)}
        row |= {"left_out": {"unscored": self.unscored}, "note": self.note}
        if self.ranking is not None:
            row["ranking"] = self.ranking.to_dict()
        if self.against is not None:
            row["against"] = self.against.to_dict()
        return row
