"""The HTML report of a scoring run: collects statistics and extreme items in bounded memory, draws histograms, writes the page.

Counts, means and standard deviations are exact. Quantiles and histograms are exact up to 100,000 values per metric, beyond that
of a random sample of 100,000; the listed items are sampled in the same way. The samples depend only on the seed and the order of
the input.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import isnan, sqrt
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from ...graph.errors import InputError
from ..scoring.statistics import Tally
from ..terminal.output import check_output, write_file
from ..terminal.progress import Meter
from ..terminal.screen import note

if TYPE_CHECKING:
    from ...graph.item import Item
    from ...reasoning import Explanation
    from ...reasoning.scorer import ItemScores
    from ..scoring.plan import Plan

MAX_VALUES = 100_000
MAX_LISTED = 1_000
EXTREMES = 3
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)

_SHORT = 300


@dataclass(frozen=True, slots=True)
class Listed:
    """An item of the report's list: its index in the input, its last turn and response, shortened, and its scores."""

    index: int
    id: str
    last: str
    response: str
    values: dict[str, float]
    percentiles: dict[str, float]


@dataclass(slots=True)
class Column:
    """Statistics of one metric's values.

    ``worst`` and ``best`` are the items with the lowest and the highest values, most extreme first, ties by index: value, index,
    item.
    """

    number: int = 0
    mean: float = 0.0
    squares: float = 0.0
    values: array[float] = field(default_factory=lambda: array("d"))
    worst: list[tuple[float, int, Item]] = field(default_factory=list)
    best: list[tuple[float, int, Item]] = field(default_factory=list)

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation (n - 1); None for fewer than two values."""
        return sqrt(self.squares / (self.number - 1)) if self.number > 1 else None

    def quantiles(self) -> list[float]:
        """The values at :data:`QUANTILES`, with linear interpolation."""
        quantiles: list[float] = np.quantile(self.values, QUANTILES).tolist() if self.values else []
        return quantiles

    def add(self, value: float, index: int, item: Item, random: Random) -> None:
        """Add one value."""
        self.number += 1
        step = value - self.mean
        self.mean += step / self.number
        self.squares += step * (value - self.mean)
        if len(self.values) < MAX_VALUES:
            self.values.append(value)
        elif (slot := random.randrange(self.number)) < MAX_VALUES:
            self.values[slot] = value
        entry = (value, index, item)
        self.worst = sorted([*self.worst, entry], key=lambda row: (row[0], row[1]))[:EXTREMES]
        self.best = sorted([*self.best, entry], key=lambda row: (-row[0], row[1]))[:EXTREMES]


class Collected:
    """Statistics, extremes and a sample of the rows of a run; see the module's docstring."""

    def __init__(self, names: list[str], seed: int = 0) -> None:
        """Collect values of the metrics ``names``."""
        self.columns = {name: Column() for name in names}
        self.tally = Tally()
        self.listed: list[Listed] = []
        self._random = Random(seed)
        self._rows = 0

    def add(self, row: ItemScores) -> None:
        """Add one row."""
        self.tally.add(row)
        index, self._rows = self._rows, self._rows + 1
        item, scores = row.item, row.scores
        if item is None or not scores:
            return
        values = {name: score.value for name, score in scores.items()}
        for name, value in values.items():
            if not isnan(value):
                self.columns[name].add(value, index, item, self._random)
        slot = len(self.listed)
        if slot >= MAX_LISTED:
            slot = self._random.randrange(self.tally.scored)
            if slot >= MAX_LISTED:
                return
        last = item.history[-1] if item.history else ""
        percentiles = {name: score.percentile for name, score in scores.items() if score.percentile is not None}
        listed = Listed(index, str(item.id), _cut(last), _cut(item.response), values, percentiles)
        self.listed[slot : slot + 1] = [listed]


def _cut(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"


# The report of ``tacit score --html``.


class Reporting:
    """Collects a run for its report, row by row in ``collected``, and writes it."""

    def __init__(self, target: Path, plan_names: list[str], file: str, output: Path | None = None) -> None:
        """Prepare a report at ``target``, which must be neither the input ``file`` nor the ``output``, with some metrics."""
        if check_output(target, file) == (output and output.resolve()):
            raise InputError(f"{target} is the output of the scores; write the report to another file")
        self.target = target
        self.collected = Collected(plan_names)

    def read(self, plan: Plan, output: Path, *, quiet: bool) -> None:
        """Add every row of a finished output, for a run that was resumed or scored on a cluster."""
        from ..scoring.running import read_scores

        with Meter("reading the scores", noun="items", quiet=quiet) as meter:
            for row in read_scores(plan, output):
                self.collected.add(row)
                meter.add(1)

    def finish(self, plan: Plan, signatures: Mapping[str, str], *, quiet: bool) -> None:
        """Explain the worst and the best items, for which the metrics are opened again, and write the report."""
        from ...reasoning.registry import METRIC_REGISTRY
        from .pages import report_page

        facts, explanations = self._explained(plan)
        summaries = {name: summary for name in plan.names if (summary := METRIC_REGISTRY.summary(name))}
        name = "standard input" if plan.file == "-" else Path(plan.file).name
        text = report_page(f"Scores of {name}", self.collected, facts, signatures, summaries, explanations)
        write_file(self.target, text.encode())
        if not quiet:
            note(f"report written to {self.target}")

    def _explained(self, plan: Plan) -> tuple[list[tuple[str, str]], dict[tuple[str, int], Explanation]]:
        """Return the facts at the top of the report, and the explanations of the extremes by metric and index."""
        from importlib.metadata import version

        from ...reasoning import Explanation

        tally = self.collected.tally
        facts = [("scored", f"{tally.scored:,}"), ("not scored", f"{tally.errors:,}"), ("tacit", version("tacit-kg"))]
        explanations: dict[tuple[str, int], Explanation] = {}
        with plan.open(quiet=True) as reasoner:
            if reasoner.graph is not None:
                manifest = reasoner.graph.manifest()
                facts.insert(0, ("graph", f"{manifest.digest}, {manifest.assertions:,} assertions"))
            metrics = {metric.name: metric for metric in reasoner.metrics}
            for name, column in self.collected.columns.items():
                rows = {index: item for _, index, item in [*column.worst, *column.best]}
                for index, item in rows.items():
                    score = metrics[name].score_batch([item], explain=True)[0]
                    explanations[name, index] = Explanation(item.history, item.response, score)
        return facts, explanations


# Histograms as SVG.

_WIDTH, _HEIGHT = 640, 150
_LEFT, _BOTTOM, _TOP = 8, 22, 18
_MAX_BINS = 40


def counted(values: Sequence[float]) -> tuple[list[int], float, float]:
    """Return the counts of values in bins of equal width, the smallest and the largest value.

    The number of bins is the rounded square root of the number of values, 1..40; 1 if they are equal up to rounding.
    """
    smallest, largest = min(values), max(values)
    bins = min(_MAX_BINS, max(1, round(len(values) ** 0.5)))
    if largest - smallest <= 2 * bins * np.spacing(max(-smallest, largest)):
        bins = 1
    counts: list[int] = np.histogram(values, bins)[0].tolist()
    return counts, smallest, largest


def histogram(values: Sequence[float], name: str) -> str:
    """Return the histogram of ``values`` (at least one) of the metric ``name`` as SVG."""
    counts, smallest, largest = counted(values)
    highest = max(counts)
    width = (_WIDTH - 2 * _LEFT) / len(counts)
    plot_height = _HEIGHT - _BOTTOM - _TOP
    bars = []
    for index, number in enumerate(counts):
        height = plot_height * number / highest
        start, end = (smallest + (largest - smallest) * edge / len(counts) for edge in (index, index + 1))
        bars.append(
            f'<rect x="{_LEFT + index * width + 0.5:.1f}" y="{_TOP + plot_height - height:.1f}" '
            f'width="{max(width - 1, 0.5):.1f}" height="{height:.1f}" fill="#0072b2">'
            f"<title>{start:.3f} to {end:.3f}: {number:,}</title></rect>"
        )
    baseline = _HEIGHT - _BOTTOM
    title = escape(f"Histogram of {name}, {smallest:.3f} to {largest:.3f}, at most {highest:,} values in a bin")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'role="img" aria-label="{title}" font-family="Helvetica, Arial, sans-serif" font-size="11" fill="#57606a">'
        f'<title>{title}</title><rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>{"".join(bars)}'
        f'<path d="M{_LEFT} {baseline}H{_WIDTH - _LEFT}" stroke="#8a94a0"/><text x="{_LEFT}" y="{baseline + 15}">'
        f'{smallest:.3f}</text><text x="{_WIDTH - _LEFT}" y="{baseline + 15}" text-anchor="end">{largest:.3f}</text>'
        f'<text x="{_LEFT}" y="12">{highest:,}</text></svg>'
    )
