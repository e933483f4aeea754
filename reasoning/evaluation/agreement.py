"""Agreement of metrics with human ratings: by data set, by system, over the systems' means, and compared with another metric.

Responses that a metric cannot judge (its score is not finite) are left out of its correlations and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError
from ...graph.schema import Json, shape
from .correlation import (
    FEW_CONVERSATIONS,
    KINDS,
    LEAST_CONVERSATIONS,
    LEAST_ITEMS,
    Correlation,
    Floats,
    correlate,
    interval,
    p_of_difference,
    undefined,
    with_intervals,
)

# Input and output of an evaluation: rated responses, and rows of agreement.

NONE = Correlation()


@dataclass(frozen=True, slots=True)
class Judged:
    """A response with a human rating and the scores of metrics.

    Attributes:
        dataset: its data set; system: the system that gave it, None when unknown.
        rating: human rating, finite, on one scale within the data set.
        scores: by metric; a missing or non-finite score means that the metric cannot judge it.
        conversation: number of its conversation within the data set (:func:`conversations`); None for one of its own.
    """

    dataset: str
    system: str | None
    rating: float
    scores: Mapping[str, float]
    conversation: int | None = None


_OPENING_TURNS = 2


def conversations(items: Sequence[tuple[Sequence[str], str]], *, share_openings: bool = False) -> NDArray[np.int64]:
    """Return the number of each item's conversation within its data set, shape (n,), in order of first appearance.

    Items share a conversation when their histories are equal or one begins with the other; an item without a history begins with
    its response. Many conversations open alike: a single turn is joined only to histories that go on with its rated response,
    and one or two turns that histories continue in different ways are joined to none.

    Args:
        share_openings: such openings join like any other beginning. For a split into training and test parts, which should have
            no turns in common; intervals over such groups would be too wide.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not items:
        return np.zeros(0, np.int64)
    first: dict[tuple[str, ...], int] = {}  # by beginning, the first such item
    joined = [(index, first.setdefault(tuple(history) or (response,), index)) for index, (history, response) in enumerate(items)]
    next_turns: dict[tuple[str, ...], set[str]] = {}
    for turns in first:
        for length in range(1, min(_OPENING_TURNS + 1, len(turns))):
            next_turns.setdefault(turns[:length], set()).add(turns[length])
    openings = {turns for turns, following in next_turns.items() if len(following) > 1 and not share_openings}
    ends = {(*history, response) for history, response in items}
    for turns, index in first.items():
        shortest = 1 if share_openings or turns[:1] in ends or turns[:2] in ends else 2
        beginnings = (turns[:length] for length in range(shortest, len(turns)))
        joined += [(index, first[part]) for part in beginnings if part in first and part not in openings]
    ones, shape = np.ones(len(joined), bool), (len(items), len(items))
    _, labels = connected_components(coo_array((ones, np.array(joined).T), shape), directed=False)
    return np.asarray(labels, np.int64)  # scipy numbers components in order of their first node


@dataclass(frozen=True, slots=True)
class SystemMean:
    """Means of one system: of the metric's scores over the ``n`` responses that it judges, and of all its ratings."""

    system: str
    n: int
    metric: float
    human: float


@dataclass(frozen=True, slots=True)
class Ranking(Json):
    """The systems of a data set, by mean human rating, best first, and the correlations of the two means over the systems.

    The correlations are None below three systems, and have no interval, since so few systems are not a sample.
    """

    systems: tuple[SystemMean, ...]
    pearson: Correlation = NONE
    spearman: Correlation = NONE
    kendall: Correlation = NONE
    note: str = ""

    @property
    def correlations(self) -> tuple[Correlation, Correlation, Correlation]:
        """The three correlations, in the order of ``KINDS``."""
        return self.pearson, self.spearman, self.kendall


@dataclass(frozen=True, slots=True)
class Comparison(Json):
    """A metric compared with the first one, over the responses that both can judge; positive numbers mean a higher correlation.

    Attributes:
        metric: the first one; n: responses that both can judge.
        difference: of the two correlations, by kind, with its bootstrap interval and p-value over conversations.
    """

    metric: str
    n: int
    difference: Mapping[str, Correlation]


@shape(
    "metric", "dataset", "system", "n", "conversations", *KINDS, "left_out", "note", "ranking", "against",
    optional=("ranking", "against"),
)  # fmt: skip
@dataclass(frozen=True, slots=True)
class Agreement(Json):
    """Agreement of one metric with human ratings on one data set, or on one system's part of it.

    Attributes:
        system: None for the whole data set.
        n: responses with a rating and a score; conversations: that they belong to; unscored: those that the metric cannot judge.
        note: why a correlation is undefined, or for how many resamples it was; else empty.
        ranking: only for a whole data set with named systems; against: only for a whole data set, from the second metric on.
    """

    metric: str
    dataset: str
    system: str | None
    n: int
    pearson: Correlation = NONE
    spearman: Correlation = NONE
    kendall: Correlation = NONE
    conversations: int = 0
    unscored: int = 0
    note: str = ""
    ranking: Ranking | None = None
    against: Comparison | None = None

    @property
    def correlations(self) -> tuple[Correlation, Correlation, Correlation]:
        """The three correlations, in the order of ``KINDS``."""
        return self.pearson, self.spearman, self.kendall

    def left_out(self) -> dict[str, int]:
        """Return the numbers of responses without a rating or a score, by reason."""
        return {"unscored": self.unscored}


Mask = NDArray[np.bool_]

#: Progress callback: called with the number of finished resamples and the total.
Progress = Callable[[int, int], object]


@dataclass
class _Group:
    """The rated responses of one data set, as columns."""

    dataset: str
    ratings: Floats
    systems: list[str | None]
    scores: dict[str, Floats]
    clusters: NDArray[np.int64]
    names: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = sorted({system for system in self.systems if system is not None})

    def chosen(self, metric: str, system: str | None = None) -> Mask:
        """Return a mask of the responses with a score, of ``system`` when one is given."""
        mask = np.isfinite(self.scores[metric])
        return mask if system is None else mask & self.of_system(system)

    def of_system(self, system: str) -> Mask:
        """Return a mask of the system's responses."""
        return np.array([name == system for name in self.systems], bool)


def evaluate(
    items: Sequence[Judged],
    metrics: Sequence[str],
    *,
    resamples: int = 10_000,
    seed: int = 0,
    by_system: bool = True,
    progress: Progress | None = None,
) -> list[Agreement]:
    """Return the agreement of each metric with human ratings: a row for each data set and metric, and for each of its systems.

    Data sets come in the order of ``items``, metrics in that of ``metrics``, systems by name. Intervals are 95% percentile
    bootstrap intervals (Efron 1979) over conversations: responses of one conversation are resampled together, the same ones for
    every metric that judges the same responses. Every metric but the first is compared with the first. Of fewer than 10
    conversations there is neither an interval nor a p-value of the difference, since the bootstrap of so few is too narrow.

    Args:
        resamples: >= 1; with 10,000 an interval's bounds are accurate to about two decimals.
        seed: of the resamples, 0 <= seed < 2**64.
        by_system: also return rows for the systems.
        progress: called with the number of finished resamples and the total.

    Raises:
        InputError: ``resamples`` or ``seed`` is out of range, or no metric is given.
    """
    if resamples < 1 or not 0 <= seed < 1 << 64:
        raise InputError(f"resamples must be >= 1 and the seed from 0 to 2**64 - 1, not {resamples} and {seed}")
    if not metrics:
        raise InputError("no metric is given; name at least one")
    groups = _groups(items, metrics)
    parts = [(group, metric) for group in groups for metric in metrics]
    rows_each = {group.dataset: 1 + (len(group.names) if by_system else 0) for group in groups}
    bootstrap = _Bootstrap(resamples, seed, progress, sum(rows_each[group.dataset] for group, _ in parts))
    rows = []
    for group, metric in parts:
        row = _row(group, metric, None, bootstrap)
        if group.names:
            row = replace(row, ranking=rank(group, metric))
        if metric != metrics[0]:
            row = replace(row, against=_compare(group, metric, metrics[0], bootstrap))
        rows.append(row)
        if by_system:
            rows += [_row(group, metric, system, bootstrap) for system in group.names]
    return rows


class _Bootstrap:
    """Correlations within resamples; those of the current data set are cached for comparisons."""

    def __init__(self, resamples: int, seed: int, progress: Progress | None, parts: int) -> None:
        self.resamples, self.seed, self._progress = resamples, seed, progress
        self.finished, self.total = 0, parts * resamples
        self._known: dict[tuple[str, str, bytes], Floats] = {}
        self._dataset = ""

    def __call__(self, group: _Group, metric: str, mask: Mask, *, keep: bool = False) -> Floats:
        """Return the three correlations within every resample of the responses in ``mask``."""
        from .resampling import correlations

        if self._dataset != group.dataset:
            self._known.clear()
            self._dataset = group.dataset
        key = (group.dataset, metric, mask.tobytes())
        if key in self._known:
            return self._known[key]
        scores, ratings = group.scores[metric][mask], group.ratings[mask]
        drawn = correlations(
            scores,
            ratings,
            groups=numbered(group.clusters[mask]),
            resamples=self.resamples,
            seed=self.seed,
            progress=self.advance,
        )
        if keep:
            self._known[key] = drawn
        return drawn

    def advance(self, number: int) -> None:
        """Count finished resamples and call the progress callback."""
        self.finished += number
        self.total = max(self.total, self.finished)
        if self._progress is not None:
            self._progress(self.finished, self.total)


def _groups(items: Sequence[Judged], metrics: Sequence[str]) -> list[_Group]:
    """Return the data sets in order of their first response."""
    members: dict[str, list[Judged]] = {}
    for item in items:
        members.setdefault(item.dataset, []).append(item)
    return [
        _Group(
            dataset,
            np.array([item.rating for item in dataset_items], np.float64),
            [item.system for item in dataset_items],
            {metric: np.array([item.scores.get(metric, np.nan) for item in dataset_items], np.float64) for metric in metrics},
            clusters_of(dataset_items),
        )
        for dataset, dataset_items in members.items()
    ]


def clusters_of(items: Sequence[Judged]) -> NDArray[np.int64]:
    """Return a conversation number for each item, from 0 without gaps; an item without a conversation gets its own."""
    keys = [("alone", index) if item.conversation is None else ("in", item.conversation) for index, item in enumerate(items)]
    known: dict[tuple[str, int], int] = {}
    return np.array([known.setdefault(name, len(known)) for name in keys], np.int64)


def numbered(clusters: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``clusters`` with numbers from 0 without gaps."""
    return np.unique(clusters, return_inverse=True)[1].astype(np.int64)


def _row(group: _Group, metric: str, system: str | None, bootstrap: _Bootstrap) -> Agreement:
    """Return the agreement on a data set or on one system's part of it."""
    mask = group.chosen(metric, system)
    n = int(mask.sum())
    members = len(mask) if system is None else int(group.of_system(system).sum())
    row = Agreement(metric, group.dataset, system, n, conversations=len(np.unique(group.clusters[mask])), unscored=members - n)
    reason = undefined(group.scores[metric][mask], group.ratings[mask])
    if reason:
        bootstrap.advance(bootstrap.resamples)
        return replace(row, note=reason)
    correlations = correlate(group.scores[metric][mask], group.ratings[mask])
    if row.conversations < LEAST_CONVERSATIONS:
        bootstrap.advance(bootstrap.resamples)
        note = FEW_CONVERSATIONS
    else:
        drawn = bootstrap(group, metric, mask, keep=system is None)
        correlations, note = with_intervals(correlations, drawn), _note(drawn)
    pearson, spearman, kendall = correlations
    return replace(row, pearson=pearson, spearman=spearman, kendall=kendall, note=note)


def _note(drawn: Floats) -> str:
    """Return a note with the number of resamples without a correlation, empty for none."""
    without = int(np.isnan(drawn[:, 0]).sum())
    return f"{without:,} of {len(drawn):,} resamples with all scores or ratings equal are left out" if without else ""


def rank(group: _Group, metric: str) -> Ranking:
    """Return the systems with their means, and the correlations of the means when there are at least three systems."""
    means = []
    for system in group.names:
        mask = group.chosen(metric, system)
        if mask.any():
            means.append(
                SystemMean(
                    system,
                    int(mask.sum()),
                    float(group.scores[metric][mask].mean()),
                    float(group.ratings[group.of_system(system)].mean()),
                )
            )
    means.sort(key=lambda mean: (-mean.human, mean.system))
    scores, ratings = (np.array([getattr(mean, field_name) for mean in means], np.float64) for field_name in ("metric", "human"))
    if len(means) < LEAST_ITEMS:
        return Ranking(tuple(means), note=f"fewer than {LEAST_ITEMS} systems")
    reason = undefined(scores, ratings)
    if reason:
        return Ranking(tuple(means), note=reason.replace("response", "system"))
    return Ranking(tuple(means), *correlate(scores, ratings))


def _compare(group: _Group, metric: str, first: str, bootstrap: _Bootstrap) -> Comparison:
    """Return the comparison of ``metric`` with the metric ``first``, over the responses that both can judge."""
    mask = group.chosen(metric) & group.chosen(first)
    n = int(mask.sum())
    ours, theirs, ratings = group.scores[metric][mask], group.scores[first][mask], group.ratings[mask]
    if undefined(ours, ratings) or undefined(theirs, ratings):
        return Comparison(first, n, dict.fromkeys(KINDS, NONE))
    differences = {}
    drawn = np.full((1, len(KINDS)), np.nan)  # without an interval
    if len(np.unique(group.clusters[mask])) >= LEAST_CONVERSATIONS:
        drawn = bootstrap(group, metric, mask) - bootstrap(group, first, mask)
    for index, (our_correlation, their_correlation) in enumerate(
        zip(correlate(ours, ratings), correlate(theirs, ratings), strict=True)
    ):
        between = NONE
        if our_correlation.value is not None and their_correlation.value is not None:
            between = Correlation(
                our_correlation.value - their_correlation.value, *interval(drawn[:, index]), p_of_difference(drawn[:, index])
            )
        differences[KINDS[index]] = between
    return Comparison(first, n, differences)
