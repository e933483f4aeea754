"""How well each metric agrees with people: figures that ship, measured by ``benchmarks/agreement.py`` with default options.

A set is the responses of one judgement file, or of one data set that the file names. Intervals are 95% percentile bootstrap
intervals over conversations: responses to one history, and turns of one conversation, are drawn together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .correlation import Correlation

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
