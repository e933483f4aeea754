"""What a report keeps of a run while it goes by: bounded memory, whatever the number of items.

Counts, means and deviations are exact. Quantiles and the histogram are exact up to 100,000 values a metric, and of a random
sample of so many beyond; which items are listed is drawn in the same way. The draws depend on the seed and the order of the
input alone.
"""

from __future__ import annotations

import heapq
from array import array
from dataclasses import dataclass, field
from math import isnan, sqrt
from random import Random
from typing import TYPE_CHECKING

from ..tally import Tally

if TYPE_CHECKING:
    from ...graph.item import Item
    from ...reasoning.scoring import ItemScores

MOST_VALUES = 100_000
MOST_LISTED = 1_000
EXTREMES = 3
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)

_SHORT = 300


@dataclass(frozen=True, slots=True)
class Listed:
    """An item in the list: its place in the input from 0, its id, the last turn and the response (cut), its values by metric.

    ``percentiles`` holds the percentiles of the values that have one.
    """

    place: int
    id: str
    last: str
    response: str
    values: dict[str, float]
    percentiles: dict[str, float]


@dataclass(slots=True)
class Column:
    """What is kept of one metric's values."""

    number: int = 0
    mean: float = 0.0
    squares: float = 0.0
    values: array[float] = field(default_factory=lambda: array("d"))
    lowest: list[tuple[float, int, Item]] = field(default_factory=list)
    highest: list[tuple[float, int, Item]] = field(default_factory=list)

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation (n - 1), None of fewer than two values."""
        return sqrt(self.squares / (self.number - 1)) if self.number > 1 else None

    def quantiles(self) -> list[float]:
        """The values at :data:`QUANTILES`, between two values in proportion."""
        ordered = sorted(self.values)
        return [_quantile(ordered, at) for at in QUANTILES] if ordered else []

    def add(self, value: float, place: int, item: Item, random: Random) -> None:
        """Take in one value."""
        self.number += 1
        step = value - self.mean
        self.mean += step / self.number
        self.squares += step * (value - self.mean)
        if len(self.values) < MOST_VALUES:
            self.values.append(value)
        elif (slot := random.randrange(self.number)) < MOST_VALUES:
            self.values[slot] = value
        _keep(self.lowest, (-value, -place, item))
        _keep(self.highest, (value, -place, item))

    def worst(self) -> list[tuple[float, int, Item]]:
        """The items with the lowest values, lowest first, earlier ones before later ones: value, place, item."""
        return [(-value, -place, item) for value, place, item in sorted(self.lowest, key=_rank, reverse=True)]

    def best(self) -> list[tuple[float, int, Item]]:
        """The items with the highest values, highest first."""
        return [(value, -place, item) for value, place, item in sorted(self.highest, key=_rank, reverse=True)]


class Collected:
    """Told of every row of a run; see the head of this module."""

    def __init__(self, names: list[str], seed: int = 0) -> None:
        """Keep the values of the metrics ``names``."""
        self.columns = {name: Column() for name in names}
        self.tally = Tally()
        self.listed: list[Listed] = []
        self._random = Random(seed)
        self._rows = 0

    def add(self, row: ItemScores) -> None:
        """Take in one row."""
        self.tally.add(row)
        place, self._rows = self._rows, self._rows + 1
        item, scores = row.item, row.scores
        if item is None or not scores:
            return
        values = {name: score.value for name, score in scores.items()}
        for name, value in values.items():
            if not isnan(value):
                self.columns[name].add(value, place, item, self._random)
        slot = len(self.listed)
        if slot >= MOST_LISTED:
            slot = self._random.randrange(self.tally.scored)
            if slot >= MOST_LISTED:
                return
        last = item.history[-1] if item.history else ""
        percentiles = {name: score.percentile for name, score in scores.items() if score.percentile is not None}
        listed = Listed(place, str(item.id), _cut(last), _cut(item.response), values, percentiles)
        self.listed[slot : slot + 1] = [listed]


def _keep(heap: list[tuple[float, int, Item]], entry: tuple[float, int, Item]) -> None:
    """Keep the largest entries; no two have the same place, so items are never compared."""
    if len(heap) < EXTREMES:
        heapq.heappush(heap, entry)
    elif _rank(entry) > _rank(heap[0]):
        heapq.heapreplace(heap, entry)


def _rank(entry: tuple[float, int, Item]) -> tuple[float, int]:
    return entry[:2]


def _quantile(ordered: list[float], at: float) -> float:
    place = at * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _cut(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"
