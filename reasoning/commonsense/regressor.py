"""The regressor of the metric ``commonsense``: from feature values to a rating, in plain numpy.

A few small networks see the same standardised features, and their mean is the score. Training is elsewhere
(:mod:`tacit.reasoning.training.commonsense`, scikit-learn); what it learnt is kept here as arrays, so that scoring needs neither
scikit-learn nor a file that could run code. A network without a hidden layer is a weighted sum, which is what a documented
default that nobody trained looks like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError

Matrix = NDArray[np.float64]

FEATURES = ("one_hop", "two_hop", "length", "response_loss", "dialogue_loss")
TRANSFORMS: Mapping[str, str] = {
    "one_hop": "log1p", "two_hop": "log1p", "length": "log1p", "response_loss": "identity", "dialogue_loss": "identity",
}  # fmt: skip
VARIANTS: Mapping[str, tuple[str, ...]] = {
    "symbolic": FEATURES[:3],
    "neural": FEATURES[3:],
    "all": FEATURES,
}


def variant_features(variant: str) -> tuple[str, ...]:
    """Return the features of a variant.

    Raises:
        InputError: there is no such variant.
    """
    if variant not in VARIANTS:
        raise InputError(f"there is no variant {variant!r} of the metric commonsense; choose from {', '.join(VARIANTS)}")
    return VARIANTS[variant]


def variant_of(features: Sequence[str]) -> str:
    """Return the variant with these features, their names joined when there is none."""
    return next((name for name, known in VARIANTS.items() if known == tuple(features)), "+".join(features))


def transform(values: Matrix, features: Sequence[str]) -> Matrix:
    """Return feature values as the networks see them before standardisation: ``log1p`` of counts and lengths, losses as they are.

    Args:
        values: shape (n, k), one column for each of ``features``; counts and lengths >= 0.
    """
    counted = np.array([TRANSFORMS[name] == "log1p" for name in features], dtype=bool)
    result = np.array(values, dtype=np.float64)
    result[:, counted] = np.log1p(result[:, counted])
    return result


@dataclass(frozen=True, eq=False)
class Regressor:
    """A trained model; ``m`` networks over ``k`` features.

    Attributes:
        features: their names, in the order of the columns.
        low, high: the range that training saw of each transformed feature, shape (k,); what lies outside counts as its edge,
            since nothing is known there.
        mean, scale: of the transformed features, shape (k,); scale is never 0.
        weights: of each layer of all networks, shapes (m, inputs, outputs), the last with one output.
        biases: shapes (m, outputs).
        activation: of the hidden layers: ``relu`` or ``tanh``.
        background: feature values (untransformed) of items that stand for all others in explanations, shape (b, k).
        lowest, highest: of the ratings learnt from; scores are kept within them.
        facts: what else is known of it (data, scores, versions), plain values for JSON.
        digest: of its file, empty before there is one.
    """

    features: tuple[str, ...]
    low: Matrix
    high: Matrix
    mean: Matrix
    scale: Matrix
    weights: tuple[Matrix, ...]
    biases: tuple[Matrix, ...]
    activation: str
    background: Matrix
    lowest: float
    highest: float
    facts: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    @property
    def variant(self) -> str:
        """Name of its set of features."""
        return variant_of(self.features)

    def predict(self, values: Matrix) -> Matrix:
        """Return the score of each row, shape (n,), in ``lowest`` .. ``highest``; NaN where a feature is NaN.

        Args:
            values: untransformed feature values, shape (n, k), in the order of :attr:`features`.
        """
        return np.clip(self.predict_unbounded(values), self.lowest, self.highest)

    def predict_unbounded(self, values: Matrix) -> Matrix:
        """Return what the networks say in the mean, which may lie a little outside the ratings' range."""
        seen = np.clip(transform(values, self.features), self.low, self.high)
        layer = np.broadcast_to((seen - self.mean) / self.scale, (len(self.weights[0]), *values.shape))
        for number, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True), 1):
            layer = layer @ weights + biases[:, None, :]
            if number < len(self.weights):
                layer = np.maximum(layer, 0.0) if self.activation == "relu" else np.tanh(layer)
        found: Matrix = layer[:, :, 0].mean(axis=0)
        return found
