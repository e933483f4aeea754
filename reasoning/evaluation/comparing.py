"""Two systems compared by what they answered to the same histories: paired differences of each metric, over conversations.

The interval of a difference is the 95% percentile interval of a bootstrap that draws whole conversations, since responses of
one conversation are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError
from ...graph.item import Item
from ...graph.schema import Json
from ..base import Score
from ..registry import METRIC_REGISTRY
from .agreement import conversations
from .correlation import LEAST_CONVERSATIONS, Floats, interval, p_of_difference
from .resampling import ratios

if TYPE_CHECKING:
    from ..scorer import Reasoner

Progress = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class PairedDifference(Json):
    """A metric's mean over the responses of two systems to the same histories.

    Attributes:
        metric: its name; better: ``higher`` or ``lower``, empty where neither is better.
        n: pairs that the metric can judge on both sides; left_out: the others; conversations: that the ``n`` belong to.
        first, second: the means; difference: second minus first. None without a pair.
        low, high: of the difference's 95% interval; p: two-sided bootstrap p-value of no difference. None below 10 conversations.
        wins, ties, losses: pairs in which the second system's response is better (higher, where neither is), equal, worse.
    """

    metric: str
    better: str
    n: int
    left_out: int
    conversations: int
    first: float | None
    second: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    wins: int
    ties: int
    losses: int

    @property
    def gain(self) -> float | None:
        """The difference in the direction of better: negative where the second system is worse."""
        return -self.difference if self.difference is not None and self.better == "lower" else self.difference


@dataclass(frozen=True, slots=True)
class ContrastedItem(Json):
    """A history with the responses of both systems, and their scores by one metric, with evidence."""

    metric: str
    history: tuple[str, ...]
    first: str
    second: str
    first_score: Score
    second_score: Score


@dataclass(frozen=True, slots=True)
class SystemComparison(Json):
    """Two systems compared.

    Attributes:
        metrics: a row a metric, in the order of the reasoner's.
        largest: of the first metric, the pairs that differ most in favour of either system, the largest difference first.
        unmatched: responses of the first and of the second system to a history that the other one has not answered.
        signatures: by metric.
    """

    metrics: tuple[PairedDifference, ...]
    largest: tuple[ContrastedItem, ...]
    unmatched: tuple[int, int]
    signatures: dict[str, str]


def match(first: Iterable[Item], second: Iterable[Item]) -> tuple[list[tuple[Item, Item]], tuple[int, int]]:
    """Return the pairs of items of two systems that have equal histories, in order, and how many items of each have no
    partner."""
    waiting: dict[tuple[str, ...], list[Item]] = {}
    in_second = 0
    for item in second:
        waiting.setdefault(item.history, []).append(item)
        in_second += 1
    for items in waiting.values():
        items.reverse()
    pairs, alone = [], 0
    for item in first:
        if partners := waiting.get(item.history):
            pairs.append((item, partners.pop()))
        else:
            alone += 1
    return pairs, (alone, in_second - len(pairs))


def compare_systems(
    first: Iterable[Item],
    second: Iterable[Item],
    reasoner: Reasoner,
    *,
    largest: int = 3,
    resamples: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> SystemComparison:
    """Compare two systems by the reasoner's metrics.

    Args:
        first, second: what the two systems answered, with equal histories.
        largest: of the pairs that differ most, how many to return in favour of each system, with the evidence of their scores.
        resamples: of the conversations, >= 1; seed: of the bootstrap.
        progress: called with the number of responses scored since the last call.

    Raises:
        InputError: no two items have the same history.
    """
    pairs, unmatched = match(first, second)
    if not pairs:
        raise InputError(
            "no history is in both inputs; give what two systems answered to the same histories, as history and response"
        )
    names = [metric.name for metric in reasoner.metrics]
    values = {name: np.full((len(pairs), 2), np.nan) for name in names}
    rows = reasoner.stream(item for pair in pairs for item in pair)
    for index, row in enumerate(rows):
        for name, score in row.scores.items():
            values[name][index // 2, index % 2] = score.value
        if progress is not None:
            progress(1)
    both = [(pair[side].history, pair[side].response) for side in range(2) for pair in pairs]
    groups = conversations(both)[: len(pairs)]  # the responses of both systems, so that their order does not matter
    differences = tuple(
        paired_difference(
            name, values[name][:, 0], values[name][:, 1], groups, better=METRIC_REGISTRY.kind(name).better,
            resamples=resamples, seed=seed,
        )
        for name in names
    )  # fmt: skip
    return SystemComparison(differences, _largest(pairs, values[names[0]], reasoner, largest), unmatched, reasoner.signatures)


def paired_difference(
    metric: str,
    first: Floats,
    second: Floats,
    groups: NDArray[np.int64],
    *,
    better: str = "higher",
    resamples: int = 10_000,
    seed: int = 0,
) -> PairedDifference:
    """Compare the scores of two systems, shape (pairs,), NaN where the metric cannot judge; ``groups``: the conversation of
    each."""
    known = np.isfinite(first) & np.isfinite(second)
    n, left_out = int(known.sum()), int((~known).sum())
    if not n:
        return PairedDifference(metric, better, 0, left_out, 0, None, None, None, None, None, None, 0, 0, 0)
    earlier, later = first[known], second[known]
    difference = later - earlier
    group = np.unique(groups[known], return_inverse=True)[1]
    sums = np.bincount(group, weights=difference)
    sizes = np.bincount(group)
    drawn = ratios(sums, sizes, resamples=resamples, seed=seed)
    low, high, p = (*interval(drawn), p_of_difference(drawn)) if len(sizes) >= LEAST_CONVERSATIONS else (None, None, None)
    ups = -difference if better == "lower" else difference
    return PairedDifference(
        metric, better, n, left_out, len(sizes), float(earlier.mean()), float(later.mean()), float(difference.mean()), low, high,
        p, int((ups > 0).sum()), int((ups == 0).sum()), int((ups < 0).sum()),
    )  # fmt: skip


def _largest(pairs: Sequence[tuple[Item, Item]], values: Floats, reasoner: Reasoner, number: int) -> tuple[ContrastedItem, ...]:
    """Return the pairs that differ most by the first metric in favour of either system, with evidence."""
    differences = values[:, 1] - values[:, 0]
    order = [index for index in np.argsort(-np.abs(differences), kind="stable").tolist() if np.isfinite(differences[index])]
    chosen = [
        *[index for index in order if differences[index] > 0][:number],
        *[index for index in order if differences[index] < 0][:number],
    ]
    chosen.sort(key=lambda index: (-abs(differences[index]), index))
    metric = reasoner.metrics[0]
    scores = metric.score_batch([item for index in chosen for item in pairs[index]], explain=True)
    return tuple(
        ContrastedItem(
            metric.name, pairs[index][0].history, pairs[index][0].response, pairs[index][1].response, *scores[2 * at : 2 * at + 2]
        )
        for at, index in enumerate(chosen)
    )
