"""How well scores choose: exact match, F1 and pair AUC, with intervals clustered by dialogue; paired differences.

The measures of the papers: the *exact match* is the share of instances whose chosen choices are exactly the right ones, *F1* the
mean over instances, the *pair AUC* how often a right choice has a higher score than a wrong one of the same instance (ties count
one half). Instances of a dialogue are not independent, so dialogues are resampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError
from ...graph.questions import Instance

Floats = NDArray[np.float64]

MEASURES = ("single", "exact", "exact_unknown", "f1", "auc")
"""``single``: the best choice is right; ``exact``: the set, with the number of answers known; ``exact_unknown`` and ``f1``: with
half of the choices, rounded up, as :func:`chosen` takes them; ``auc``."""


class MeanInterval(NamedTuple):
    """A mean with its 95% bootstrap interval."""

    value: float
    low: float
    high: float


def chosen(scores: Sequence[float], number: int | None = None) -> tuple[int, ...]:
    """Return the indices of the best choices, ascending: ``number`` of them, by default half, rounded up, as usual in CICERO
    v2."""
    order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    return tuple(sorted(order[: number_chosen(len(scores), number)]))


def number_chosen(choices: int, number: int | None = None) -> int:
    """Return how many of some choices :func:`chosen` takes."""
    return (choices + 1) // 2 if number is None else min(number, choices)


def choice_measures(instances: Sequence[Instance], scores: Sequence[Sequence[float]]) -> Floats:
    """Return the measures of each instance, shape (instances, measures), in the order of :data:`MEASURES`."""
    rows = []
    for instance, values in zip(instances, scores, strict=True):
        right = set(instance.correct)
        if not 0 < len(right) < len(instance.choices) or len(values) != len(instance.choices):
            raise InputError(
                f"the instance {instance.id} has {len(right)} right of {len(instance.choices)} choices and {len(values)} scores"
            )
        known, usual = set(chosen(values, len(right))), set(chosen(values))
        wins = [
            float(values[good] > values[bad]) + 0.5 * float(values[good] == values[bad])
            for good in right
            for bad in range(len(values))
            if bad not in right
        ]
        f1 = 2 * len(usual & right) / (len(usual) + len(right))
        [best] = chosen(values, 1)
        rows.append((best in right, known == right, usual == right, f1, sum(wins) / len(wins)))
    return np.array(rows, dtype=np.float64)


def interval(values: Floats, dialogues: Sequence[str], *, resamples: int = 10_000, seed: int = 0) -> MeanInterval:
    """Return the mean of one finite number an instance, with its interval over ``dialogues``; of differences, the paired
    interval."""
    from ..evaluation.resampling import ratios  # imports numba, which clients do without

    names, groups = np.unique(np.asarray(dialogues), return_inverse=True)
    sums = np.bincount(groups, weights=values, minlength=len(names))
    sizes = np.bincount(groups, minlength=len(names))
    low, high = np.quantile(ratios(sums, sizes, resamples=resamples, seed=seed), (0.025, 0.975)).tolist()
    return MeanInterval(float(values.mean()), low, high)
