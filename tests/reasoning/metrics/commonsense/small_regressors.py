"""Small commonsense regressors for tests: some fitted to made-up judgements, some with weights drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from tacit.reasoning.metrics.commonsense.regressor import FEATURES, Matrix, Regressor, transform


def feature_values(seed: int, rows: int, features: Sequence[str] = FEATURES) -> Matrix:
    """Return plausible feature values, shape (rows, k)."""
    rng = np.random.default_rng(seed)
    columns = {
        "one_hop": rng.poisson(2, rows), "two_hop": rng.poisson(30, rows), "length": rng.integers(0, 30, rows),
        "response_loss": rng.normal(4, 1, rows), "dialogue_loss": rng.normal(3, 0.5, rows),
    }  # fmt: skip
    return np.stack([columns[name].astype(np.float64) for name in features], axis=1)


def made_up_ratings(values: Matrix, seed: int, noise: float = 0.5) -> Matrix:
    """Return ratings in 1..5 that depend on the first and the last feature."""
    rng = np.random.default_rng(seed)
    clear = 2 + np.log1p(np.abs(values[:, 0])) - 0.2 * np.log1p(np.abs(values[:, -1]))
    return np.clip(clear + rng.normal(0, noise, len(values)), 1, 5)


def random_regressor(
    seed: int,
    features: Sequence[str] = FEATURES,
    hidden: int = 6,
    background: int = 12,
    activation: str = "tanh",
) -> Regressor:
    """Return a regressor whose weights are drawn at random."""
    rng = np.random.default_rng(seed)
    rows = feature_values(seed, max(background, 50), features)
    seen = transform(rows, features)
    sizes = [len(features), hidden, 1] if hidden else [len(features), 1]
    shapes = list(pairwise(sizes))
    return Regressor(
        tuple(features), seen.min(axis=0), seen.max(axis=0), seen.mean(axis=0), np.maximum(seen.std(axis=0), 1e-3),
        tuple(rng.normal(0, 1, (2, *shape)) for shape in shapes),
        tuple(rng.normal(0, 1, (2, shape[1])) for shape in shapes),
        activation, rows[:background], -2.0, 2.0,
    )  # fmt: skip
