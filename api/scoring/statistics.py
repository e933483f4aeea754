"""Statistics of a scoring run: items, errors, and for each metric the number of scores, their mean, and reasons for nulls."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING

from ...graph.schema import Json

if TYPE_CHECKING:
    from ...reasoning.scorer import ItemScores

SHOWN_ERRORS = 10
MAX_NOTES = 20


@dataclass
class Tally(Json):
    """Mergeable counts of a run."""

    scored: int = 0  # items with scores
    errors: int = 0  # items without scores
    faults: list[str] = field(default_factory=list)  # the first error messages
    judged: dict[str, int] = field(default_factory=dict)  # by metric, items with a score
    sums: dict[str, float] = field(default_factory=dict)  # of the scores
    percentiles: dict[str, float] = field(default_factory=dict)  # sum of the percentiles, if any
    unjudged: dict[str, dict[str, int]] = field(default_factory=dict)  # items without a score by note, at most 20 notes

    @property
    def rows(self) -> int:
        """Rows of the output: items and errors."""
        return self.scored + self.errors

    def mean(self, name: str) -> float | None:
        """Mean score of a metric; None if it could judge no item."""
        return self.sums[name] / self.judged[name] if self.judged.get(name) else None

    def mean_percentile(self, name: str) -> float | None:
        """Mean percentile of a metric's scores, rounded to one decimal; None without percentiles."""
        return round(self.percentiles[name] / self.judged[name], 1) if name in self.percentiles else None

    def not_judged(self, name: str) -> int:
        """Number of items that a metric could not judge."""
        return sum(self.unjudged.get(name, {}).values())

    def _note(self, name: str, note: str, number: int = 1) -> None:
        """Count ``number`` items that a metric could not judge."""
        notes = self.unjudged.setdefault(name, {})
        if note not in notes and len(notes) >= MAX_NOTES:
            note = "other reasons"
        notes[note] = notes.get(note, 0) + number

    def add(self, row: ItemScores) -> None:
        """Count one row."""
        fault = row.fault
        if fault is None:
            self.scored += 1
            for name, score in row.scores.items():
                if not isnan(score.value):
                    self.judged[name] = self.judged.get(name, 0) + 1
                    self.sums[name] = self.sums.get(name, 0.0) + score.value
                else:
                    self._note(name, score.evidence.note)
                if score.percentile is not None:
                    self.percentiles[name] = self.percentiles.get(name, 0.0) + score.percentile
            return
        self.errors += 1
        if len(self.faults) < SHOWN_ERRORS:
            self.faults.append(fault)

    def merge(self, other: Tally) -> None:
        """Add the counts of later items."""
        self.scored += other.scored
        self.errors += other.errors
        self.faults += other.faults[: SHOWN_ERRORS - len(self.faults)]
        for name, number in other.judged.items():
            self.judged[name] = self.judged.get(name, 0) + number
            self.sums[name] = self.sums.get(name, 0.0) + other.sums[name]
        for name, percentiles in other.percentiles.items():
            self.percentiles[name] = self.percentiles.get(name, 0.0) + percentiles
        for name, notes in other.unjudged.items():
            for note, number in notes.items():
                self._note(name, note, number)
