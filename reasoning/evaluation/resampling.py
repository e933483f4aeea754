"""Resampling of groups of items: bootstrap, with correlations, regression lines and ratios in each resample; cross-validation.

Resample ``b`` of ``n`` items under a seed is a function of these three numbers alone (SplitMix64, Steele et al., OOPSLA 2014),
so every metric gets the same resamples and none has to be stored. A resample is a weight for each item, and ranks within a
resample follow from the weights, since the order of the items by score is the same in all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.compiling import compiled
from ...graph.errors import InputError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Progress = Callable[[int], object]

#: Columns of the result of :func:`correlations`.
PEARSON, SPEARMAN, KENDALL = range(3)

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = (np.uint64(shift) for shift in (27, 30, 31, 32))
_BATCH = 500  # resamples between two calls of the progress callback
_DRAWN_AT_ONCE = 1 << 22  # groups drawn into memory by `ratios`


def correlations(
    scores: Floats,
    ratings: Floats,
    *,
    groups: NDArray[np.int64] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Floats:
    """Return Pearson's r, Spearman's rho and Kendall's tau-b within every resample, shape ``(resamples, 3)``.

    Ranks are computed within the resample. The row of a resample with all scores or ratings equal is NaN.

    Args:
        scores, ratings: finite, of one length ``n`` >= 1.
        groups: the index of each item's group, shape ``(n,)``, from 0 without gaps. Groups are resampled as a whole, as many as
            there are, so a resample may have more or fewer items than ``n``. By default each item is a group of its own.
        seed: resamples of the same length and seed have the same items.
        progress: called with the number of resamples finished since the last call.
    """
    x, x_groups = _prepared(scores)
    y, y_groups = _prepared(ratings)
    if x_groups.max() < y_groups.max():  # all three are symmetric, and distinct values cost more on the second side
        x, x_groups, y, y_groups = y, y_groups, x, x_groups
    order = np.argsort(x_groups, kind="stable")
    clusters = np.arange(len(order)) if groups is None else np.asarray(groups, np.int64)
    result = np.empty((resamples, 3))
    for first in range(0, resamples, _BATCH):
        part = result[first : first + _BATCH]
        _correlate(x[order], y[order], x_groups[order], y_groups[order], clusters[order], np.uint64(seed), np.uint64(first), part)
        if progress is not None:
            progress(len(part))
    return result


def lines(x: Floats, y: Floats, *, groups: NDArray[np.int64] | None = None, resamples: int = 10_000, seed: int = 0) -> Floats:
    """Return intercept and slope of the least-squares line of ``y`` over ``x`` within every resample, shape ``(resamples, 2)``.

    ``groups``, ``resamples`` and ``seed`` are those of :func:`correlations`, and so are the resamples. The row of a resample with
    all ``x`` equal is NaN.
    """
    result = np.empty((resamples, 2))
    middle, centre = x.mean(), y.mean()
    clusters = np.arange(len(x)) if groups is None else np.asarray(groups, np.int64)
    _fit(x - middle, y - centre, clusters, np.uint64(seed), result)
    result[:, 0] += centre - result[:, 1] * middle
    return result


def ratios(numerators: NDArray[Any], denominators: NDArray[Any], *, resamples: int = 10_000, seed: int = 0) -> Floats:
    """Return the sum of ``numerators`` by that of ``denominators`` within every resample of groups, shape ``(resamples,)``.

    With sums and sizes of groups these are means over the items. The resamples are those of numpy's default generator, not of
    :func:`counts`; where the denominators add up to 0 the ratio is NaN.

    Args:
        numerators, denominators: one number a group, of one length >= 1.
    """
    random, groups = np.random.default_rng(seed), len(numerators)
    result = np.empty(resamples)
    block = max(1, _DRAWN_AT_ONCE // groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        for first in range(0, resamples, block):
            drawn = random.integers(groups, size=(min(block, resamples - first), groups))
            result[first : first + block] = numerators[drawn].sum(axis=1) / denominators[drawn].sum(axis=1)
    return result


def counts(items: int, seed: int, number: int) -> NDArray[np.int64]:
    """Return how often each of ``items`` items, or groups, is in resample ``number`` (from 0); the sum is ``items``."""
    drawn = np.empty(items, np.int64)
    _draw(drawn, np.uint64(seed), np.uint64(number))
    return drawn


def _prepared(values: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return ``values`` scaled so that no square overflows, and the rank of each distinct value, from 0."""
    values = np.asarray(values, np.float64)
    _, groups = np.unique(values, return_inverse=True)
    return standardised(values), groups.astype(np.int64)


def standardised(values: Floats) -> Floats:
    """Return ``values`` minus their mean, scaled to -1..1; all 0 when they differ by no more than rounding."""
    largest = float(np.abs(values).max()) if len(values) else 0.0
    if not largest:
        return np.zeros_like(values)
    deviations = values / largest
    deviations -= deviations.mean()
    spread = float(np.abs(deviations).max())
    return np.zeros_like(values) if spread <= 1e-13 else deviations / spread


@compiled
def _mixed(state):  # type: ignore[no-untyped-def]
    """Return the output of SplitMix64 at ``state``."""
    state = (state ^ (state >> _S30)) * _FIRST
    state = (state ^ (state >> _S27)) * _SECOND
    return state ^ (state >> _S31)


@compiled
def _draw(drawn, seed, number):  # type: ignore[no-untyped-def]
    """Fill ``drawn`` with how often each item is in resample ``number``."""
    items = np.uint64(len(drawn))
    state = _mixed(_mixed(seed + _STEP) ^ ((number + np.uint64(1)) * _STEP))
    drawn[:] = 0
    for _ in range(len(drawn)):
        state += _STEP
        drawn[np.int64(((_mixed(state) >> _S32) * items) >> _S32)] += 1


@compiled
def _centred_ranks(weights, ranks):  # type: ignore[no-untyped-def]
    """Fill ``ranks`` with the mean rank of each group of ties, minus the overall mean; return the sum of their squares."""
    total = 0
    for group in range(len(weights)):
        total += weights[group]
    middle = (total + 1) / 2
    before = 0
    squares = 0.0
    for group in range(len(weights)):
        ranks[group] = before + (weights[group] + 1) / 2 - middle
        squares += weights[group] * ranks[group] ** 2
        before += weights[group]
    return squares


@compiled
def _pairs(weights):  # type: ignore[no-untyped-def]
    """Return the number of pairs within groups of these sizes."""
    number = 0
    for weight in weights:
        number += weight * (weight - 1) // 2
    return number


@compiled
def _agreement(weights, x_groups, y_groups, tree):  # type: ignore[no-untyped-def]
    """Return concordant minus discordant pairs; items are in the order of ``x_groups``, ``tree`` is memory for a Fenwick tree."""
    tree[:] = 0
    size = len(tree) - 1
    total = 0
    balance = 0
    start = 0
    while start < len(x_groups):
        end = start
        while end < len(x_groups) and x_groups[end] == x_groups[start]:
            weight = weights[end]
            if weight:
                below, upto = 0, 0
                index = y_groups[end]
                while index > 0:
                    below += tree[index]
                    index &= index - 1
                index = y_groups[end] + 1
                while index > 0:
                    upto += tree[index]
                    index &= index - 1
                balance += weight * (below - (total - upto))
            end += 1
        for item in range(start, end):
            weight = weights[item]
            if weight:
                total += weight
                index = y_groups[item] + 1
                while index <= size:
                    tree[index] += weight
                    index += index & -index
        start = end
    return balance


@compiled
def _correlate(x, y, x_groups, y_groups, clusters, seed, first, result):  # type: ignore[no-untyped-def]
    """Fill ``result`` with the correlations in the resamples from ``first`` on; all items are in the order of ``x_groups``."""
    items = len(x)
    drawn = np.empty(clusters.max() + 1, np.int64)
    weights = np.empty(items, np.int64)
    in_x = np.empty(x_groups.max() + 1, np.int64)
    in_y = np.empty(y_groups.max() + 1, np.int64)
    x_ranks, y_ranks = np.empty(len(in_x)), np.empty(len(in_y))
    tree = np.empty(len(in_y) + 1, np.int64)
    for row in range(len(result)):
        _draw(drawn, seed, first + np.uint64(row))
        in_x[:] = 0
        in_y[:] = 0
        sum_x, sum_y = 0.0, 0.0
        size = 0
        for item in range(items):
            weight = drawn[clusters[item]]
            weights[item] = weight
            size += weight
            in_x[x_groups[item]] += weight
            in_y[y_groups[item]] += weight
            sum_x += weight * x[item]
            sum_y += weight * y[item]
        pairs = size * (size - 1) // 2
        x_pairs, y_pairs = pairs - _pairs(in_x), pairs - _pairs(in_y)
        if x_pairs == 0 or y_pairs == 0:
            result[row] = np.nan
            continue
        rank_scale = np.sqrt(_centred_ranks(in_x, x_ranks)) * np.sqrt(_centred_ranks(in_y, y_ranks))
        mean_x, mean_y = sum_x / size, sum_y / size
        xx, yy, xy, ranks = 0.0, 0.0, 0.0, 0.0
        for item in range(items):
            weight = weights[item]
            if weight:
                a, b = x[item] - mean_x, y[item] - mean_y
                xx += weight * a * a
                yy += weight * b * b
                xy += weight * a * b
                ranks += weight * x_ranks[x_groups[item]] * y_ranks[y_groups[item]]
        scale = np.sqrt(xx) * np.sqrt(yy)
        result[row, PEARSON] = min(max(xy / scale, -1.0), 1.0) if scale > 0 else np.nan
        result[row, SPEARMAN] = min(max(ranks / rank_scale, -1.0), 1.0)
        balance = _agreement(weights, x_groups, y_groups, tree)
        result[row, KENDALL] = min(max(balance / (np.sqrt(x_pairs) * np.sqrt(y_pairs)), -1.0), 1.0)


@compiled
def _fit(x, y, clusters, seed, result):  # type: ignore[no-untyped-def]
    """Fill ``result`` with intercept and slope in every resample."""
    drawn = np.empty(clusters.max() + 1, np.int64)
    for row in range(len(result)):
        _draw(drawn, seed, np.uint64(row))
        sum_x, sum_y, xx, xy = 0.0, 0.0, 0.0, 0.0
        size = 0
        for item in range(len(x)):
            weight = drawn[clusters[item]]
            size += weight
            sum_x += weight * x[item]
            sum_y += weight * y[item]
        mean_x, mean_y = sum_x / size, sum_y / size
        for item in range(len(x)):
            weight = drawn[clusters[item]]
            a = x[item] - mean_x
            xx += weight * a * a
            xy += weight * a * (y[item] - mean_y)
        slope = xy / xx if xx > 0 else np.nan
        result[row, 0] = mean_y - slope * mean_x
        result[row, 1] = slope


# Cross-validation: splits into a part to train on and one to test on, in whole groups.
#
# Files of ratings have several responses to one history, or every turn of a conversation. Such items share most of their text, so
# a conversation is a group (:func:`.agreement.conversations`).


class TrainTestSplit(NamedTuple):
    """Indices of the items to train on, and of those to test on."""

    train: Indices
    test: Indices


def k_folds(groups: Indices, folds: int, seed: int) -> list[TrainTestSplit]:
    """Return splits in which every group is tested once; the largest go first, in seeded order, to the fold with the fewest
    items."""
    sizes = np.bincount(groups) if len(groups) else np.zeros(0, dtype=np.int64)
    if folds < 2 or len(sizes) < folds:
        raise InputError(f"{len(sizes)} conversations cannot be divided into {folds} folds; give 2 or more folds, and more data")
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    items_of_fold = [0] * folds
    fold_of = np.zeros(len(sizes), dtype=np.int64)
    for group in sorted(shuffled.tolist(), key=lambda group: -sizes[group]):
        fold = min(range(folds), key=items_of_fold.__getitem__)
        fold_of[group] = fold
        items_of_fold[fold] += int(sizes[group])
    tested = fold_of[groups]
    return [TrainTestSplit(np.flatnonzero(tested != fold), np.flatnonzero(tested == fold)) for fold in range(folds)]


def random_splits(groups: Indices, test_share: float, rounds: int, seed: int) -> list[TrainTestSplit]:
    """Return ``rounds`` random splits whose test part has, in whole groups, a share of the items as near to ``test_share`` as
    the order drawn allows, but at least one group."""
    sizes = np.bincount(groups) if len(groups) else np.zeros(0, dtype=np.int64)
    result = []
    for number in range(rounds):
        order = np.random.default_rng([seed, number]).permutation(len(sizes))
        chosen = np.zeros(len(sizes), dtype=bool)
        if len(order):
            chosen[order[: 1 + int(np.abs(np.cumsum(sizes[order]) - test_share * len(groups)).argmin())]] = True
        tested = chosen[groups]
        if tested.all() or not tested.any():
            raise InputError(f"{len(sizes)} conversations cannot be divided into parts for training and testing; give more data")
        result.append(TrainTestSplit(np.flatnonzero(~tested), np.flatnonzero(tested)))
    return result
