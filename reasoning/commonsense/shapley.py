"""Exact Shapley values: how much of a model's output is due to each of its few features.

The worth of a set of features is the model's mean output when these are the item's and the others come from a background row,
over all background rows (interventional; Lundberg & Lee, NeurIPS 2017, with the expectation taken as in Janzing et al., AISTATS
2020). With five features all 32 sets are evaluated, so nothing is sampled: the values add up to the output less its mean over the
background, two features that do the same get the same, and one that does nothing gets 0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial

import numpy as np
from numpy.typing import NDArray

from .regressor import Matrix

_ROWS = 100_000


def shapley_values(predict: Callable[[Matrix], Matrix], items: Matrix, background: Matrix) -> tuple[Matrix, float]:
    """Return the Shapley value of each feature for each item, shape (n, k), and the mean output over the background.

    Each row of the values and the mean together add up to the output for that item, up to rounding.

    Args:
        predict: gives shape (rows,) for shape (rows, k), each row by itself.
        items: shape (n, k); k is small, since 2**k sets are evaluated.
        background: shape (b, k), at least one row.
    """
    features = items.shape[1]
    sets = (np.arange(2**features)[:, None] >> np.arange(features)) & 1 == 1
    step = max(1, _ROWS // (len(sets) * len(background)))
    worths = [_worths(predict, items[start : start + step], background, sets) for start in range(0, len(items), step)]
    base = float(predict(background).mean())
    values: Matrix = np.concatenate([np.empty((0, len(sets))), *worths]) @ _shares(sets)
    return values, base


def _worths(predict: Callable[[Matrix], Matrix], items: Matrix, background: Matrix, sets: NDArray[np.bool_]) -> Matrix:
    """Return the worth of every set for every item, shape (n, sets)."""
    rows = np.where(sets[None, :, None, :], items[:, None, None, :], background[None, None, :, :])
    shape = rows.shape[:3]
    worths: Matrix = predict(np.ascontiguousarray(rows.reshape(-1, items.shape[1]))).reshape(shape).mean(axis=2)
    return worths


def _shares(sets: NDArray[np.bool_]) -> Matrix:
    """Return the matrix that takes the worths of all sets to the Shapley values, shape (sets, k)."""
    features = sets.shape[1]
    sizes = sets.sum(axis=1)
    weight = [factorial(size) * factorial(features - size - 1) / factorial(features) for size in range(features)]
    with_it = np.array([weight[size - 1] if size else 0.0 for size in sizes])
    without_it = np.array([weight[size] if size < features else 0.0 for size in sizes])
    shares: Matrix = np.where(sets, with_it[:, None], -without_it[:, None])
    return shares
