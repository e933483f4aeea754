"""Fitting the networks of a commonsense regressor with scikit-learn, and copying them into the arrays that score without it.

The pipeline of each network: a fixed transform (``log1p`` of counts and length), each feature kept within the range that was
seen, standardised, then an MLP that stops early. Several differ in their seed alone (first weights, order of the batches, the
part that early stopping watches); their mean is the model.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ...graph.errors import InputError
from ..commonsense.regressor import Matrix, Regressor, transform

BACKGROUND = 100
FEWEST = 10


@dataclass(frozen=True, slots=True)
class Recipe:
    """How networks are fitted.

    Attributes:
        hidden: neurons of each hidden layer.
        alpha: weight of the L2 penalty, which keeps a model of few judgements smooth.
        members: networks whose mean is the model.
        activation: ``tanh`` or ``relu``.
        learning_rate: of Adam; epochs: at most; patience: epochs without a better validation score that end the fit.
        validation: share of the training part that early stopping watches.
    """

    hidden: tuple[int, ...] = (4,)
    alpha: float = 1.0
    members: int = 5
    activation: str = "tanh"
    learning_rate: float = 0.01
    epochs: int = 500
    patience: int = 20
    validation: float = 0.1

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Fitted:
    """Pipelines that predict ``(rating - mean) / scale``."""

    pipelines: tuple[Any, ...]
    mean: float
    scale: float

    def predict(self, values: Matrix) -> Matrix:
        """Return what scikit-learn predicts, in ratings; shape (n,)."""
        found: Matrix = np.mean([pipeline.predict(values) for pipeline in self.pipelines], axis=0) * self.scale + self.mean
        return found


def fit(values: Matrix, ratings: Matrix, features: Sequence[str], seed: int, recipe: Recipe) -> Fitted:
    """Fit the networks to ratings.

    Args:
        values: untransformed features, shape (n, k); ratings: shape (n,), not all equal.

    Raises:
        InputError: there are fewer than ten items, a number is not finite, or all ratings are equal.
    """
    if len(ratings) < FEWEST:
        raise InputError(f"{len(ratings)} judgements are too few to learn from; give at least {FEWEST}, better hundreds")
    if not np.isfinite(ratings).all() or not np.isfinite(values).all():
        raise InputError("a rating or a feature is no finite number; leave such items out")
    if np.ptp(ratings) == 0:
        raise InputError(f"all ratings are {ratings[0]:g}, so there is nothing to learn; give judgements that differ")
    mean, scale = float(ratings.mean()), float(ratings.std())
    seen = transform(values, features)
    edges = {"a_min": seen.min(axis=0), "a_max": seen.max(axis=0)}
    validation = max(recipe.validation, 2 / len(ratings))
    pipelines = []
    for member in range(recipe.members):
        network = MLPRegressor(
            hidden_layer_sizes=recipe.hidden, activation=recipe.activation, alpha=recipe.alpha, early_stopping=True,
            learning_rate_init=recipe.learning_rate, max_iter=recipe.epochs, n_iter_no_change=recipe.patience,
            validation_fraction=validation, batch_size=_batch(len(ratings), validation),
            random_state=int(np.random.SeedSequence([seed, member]).generate_state(1)[0] >> 1),
        )  # fmt: skip
        pipeline = Pipeline([
            ("transform", FunctionTransformer(transform, kw_args={"features": tuple(features)})),
            ("edges", FunctionTransformer(np.clip, kw_args=edges)),
            ("scale", StandardScaler()),
            ("network", network),
        ])  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            pipelines.append(pipeline.fit(values, (ratings - mean) / scale))
    return Fitted(tuple(pipelines), mean, scale)


def to_regressor(fitted: Fitted, values: Matrix, ratings: Matrix, features: Sequence[str], seed: int) -> Regressor:
    """Copy fitted networks into arrays, with a background sample of ``values`` (all of them when they are few).

    The ratings' mean and scale go into the last layer.
    """
    first = fitted.pipelines[0].named_steps
    networks = [pipeline.named_steps["network"] for pipeline in fitted.pipelines]
    weights = [np.stack(layers) for layers in zip(*(network.coefs_ for network in networks), strict=True)]
    biases = [np.stack(layers) for layers in zip(*(network.intercepts_ for network in networks), strict=True)]
    weights[-1] = weights[-1] * fitted.scale
    biases[-1] = biases[-1] * fitted.scale + fitted.mean
    chosen = np.sort(np.random.default_rng(seed).permutation(len(values))[:BACKGROUND])
    edges = first["edges"].kw_args
    return Regressor(
        tuple(features), edges["a_min"], edges["a_max"], first["scale"].mean_, first["scale"].scale_, tuple(weights),
        tuple(biases), networks[0].activation, values[chosen], float(ratings.min()), float(ratings.max()),
    )  # fmt: skip


def _batch(items: int, validation: float) -> int:
    """Items in a batch: few for small files, so that there are steps enough; more for large ones, for speed."""
    return min(int(np.clip(items // 10, 16, 512)), items - math.ceil(items * validation))
