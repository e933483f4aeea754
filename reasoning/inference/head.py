"""The head that combines judges: a weighted sum of features, with exact shares, fixed or fitted.

A feature counts as far as it differs from the mean over the choices of its instance, so that only the comparison of choices
matters. The score of a choice is the sum over features of weight times difference, and the share of a judge is its part of this
sum: for a linear model with the instance's own choices as background these are the Shapley values (Lundberg and Lee, NeurIPS
2017, section 4.2), and shares add up to the score exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError

Matrix = NDArray[np.float64]

RIDGE = 1.0
"""Penalty of the squared weights, of standardised features."""


@dataclass(frozen=True, eq=False)
class Head:
    """Weights of features.

    Attributes:
        features: ``judge.feature``, in the order of the columns.
        weights: of differences from the mean over the choices, shape (features,).
        name: for signatures.
    """

    features: tuple[str, ...]
    weights: Matrix
    name: str

    def shares(self, values: Matrix) -> Matrix:
        """Return the share of each feature in the score of each choice, shape (choices, features); rows sum to the scores.

        Args:
            values: of the choices of one instance, shape (choices, features).
        """
        return centred(values) * self.weights

    def scores(self, values: Matrix) -> Matrix:
        """Return the score of each choice, shape (choices,); the scores of an instance have the mean 0."""
        found: Matrix = self.shares(values).sum(axis=1)
        return found


def centred(values: Matrix) -> Matrix:
    """Return features minus their mean over the choices of the instance."""
    found: Matrix = values - values.mean(axis=0)
    return found


FIXED: Mapping[str, float] = MappingProxyType(
    {
        "answers.length": 1.5, "answers.denials": -1.5, "answers.opposing": -1.5, "answers.shared": -5.0,
        "similarity.dialogue": 2.5,
        "graph.answered": 1.5, "graph.hindered": -0.5, "graph.denied": -0.5, "graph.feeling": 0.5,
        "likelihood.likely": 0.4, "yes-no.yes": 1.0, "probe.odds": 2.0,
        "trained.score": 1.0, "trained.likely": 1.0, "trained.written": 1.0,
    }
)  # fmt: skip
"""The weights that ship: signs by what a feature means, sizes in round numbers, set by hand with CICERO v2's validation set in
view. No fitted head ships, since the dialogues behind CICERO are for research, and DailyDialog's for non-commercial use."""


def fixed_head(features: Sequence[str]) -> Head:
    """Return the head with the weights that ship, for some judges' features."""
    return Head(tuple(features), np.array([FIXED.get(name, 0.0) for name in features]), "fixed-3")


def fit(features: Sequence[str], values: Sequence[Matrix], correct: Sequence[Sequence[int]], *, name: str = "fitted") -> Head:
    """Fit a head: logistic regression on the difference of each right choice and each wrong one of the same instance.

    Each instance has the same weight, whatever its number of pairs; the penalty is :data:`RIDGE` on standardised features.

    Args:
        values: for each instance, shape (choices, features); correct: the indices of its right choices.

    Raises:
        InputError: no instance has both right and wrong choices.
    """
    from scipy.optimize import minimize

    parts, weights = [], []
    for each, right in zip(values, correct, strict=True):
        good = np.zeros(len(each), dtype=bool)
        good[list(right)] = True
        if good.all() or not good.any():
            continue
        pairs = (each[good][:, None, :] - each[~good][None, :, :]).reshape(-1, each.shape[1])
        parts.append(pairs)
        weights.append(np.full(len(pairs), 1 / len(pairs)))
    if not parts:
        raise InputError("no instance has right and wrong choices; give instances with Correct Answers")
    pairs, importance = np.concatenate(parts), np.concatenate(weights)
    spread = np.concatenate([centred(each) for each in values]).std(axis=0)
    scale = np.where(spread > 1e-12, spread, 1.0)
    x = pairs / scale

    def loss(w: Matrix) -> tuple[float, Matrix]:
        margins = x @ w
        value = importance @ np.logaddexp(0.0, -margins) + RIDGE / 2 * w @ w
        slope = -importance / (1 + np.exp(np.clip(margins, -500, 500)))
        return float(value), x.T @ slope + RIDGE * w

    found = minimize(
        loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 1000, "ftol": 1e-13, "gtol": 1e-9}
    )
    return Head(tuple(features), np.asarray(found.x / scale, dtype=np.float64), name)
