"""The regressor of the metric ``commonsense`` in numpy: an ensemble of small networks, its model file, and exact Shapley
values.

A few small networks read the same standardised features, and the score is the mean of their outputs. They are trained with
scikit-learn (:mod:`tacit.reasoning.training.commonsense`) and stored as arrays, so that scoring needs neither scikit-learn nor
a file that could run code. A network without a hidden layer is a linear model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import InputError, ModelError
from ...models.modelfile import digest_of, pack, read_model, unpack

Matrix = NDArray[np.float64]

FEATURES = ("one_hop", "two_hop", "length", "response_loss", "dialogue_loss")
TRANSFORMS: Mapping[str, str] = {
    "one_hop": "log1p", "two_hop": "log1p", "length": "log1p", "response_loss": "identity", "dialogue_loss": "identity",
}  # fmt: skip
VARIANTS: Mapping[str, tuple[str, ...]] = {"symbolic": FEATURES[:3], "neural": FEATURES[3:], "all": FEATURES}


def variant_features(variant: str) -> tuple[str, ...]:
    """Return the features of a variant."""
    if variant not in VARIANTS:
        raise InputError(f"unknown variant {variant!r} of the metric commonsense; choose from {', '.join(VARIANTS)}")
    return VARIANTS[variant]


def variant_of(features: Sequence[str]) -> str:
    """Return the variant with these features, or their names joined when there is none."""
    return next((name for name, known in VARIANTS.items() if known == tuple(features)), "+".join(features))


def transform(values: Matrix, features: Sequence[str]) -> Matrix:
    """Return features, shape (n, k), before standardisation: ``log1p`` of counts and lengths, losses unchanged."""
    logarithmic = np.array([TRANSFORMS[name] == "log1p" for name in features], dtype=bool)
    result = np.array(values, dtype=np.float64)
    result[:, logarithmic] = np.log1p(result[:, logarithmic])
    return result


@dataclass(frozen=True, eq=False)
class Regressor:
    """A trained model: ``m`` networks over ``k`` features."""

    features: tuple[str, ...]  # their names, in the order of the columns
    low: Matrix  # low, high: range of each transformed feature in training, shape (k,); values are clipped to it
    high: Matrix
    mean: Matrix  # mean, scale: of the transformed features, shape (k,); scale is never 0
    scale: Matrix
    weights: tuple[Matrix, ...]  # of each layer of all networks, shapes (m, inputs, outputs), the last with one output
    biases: tuple[Matrix, ...]  # shapes (m, outputs)
    activation: str  # of the hidden layers: `relu` or `tanh`
    background: Matrix  # untransformed feature values of a sample of items, the baseline of explanations, shape (b, k)
    lowest: float  # lowest, highest: range of the ratings in training; scores are clipped to it
    highest: float
    facts: Mapping[str, Any] = field(default_factory=dict)  # further facts (data, scores, versions), plain values for JSON
    digest: str = ""  # of its file, empty before it is written

    @property
    def variant(self) -> str:
        """Name of its set of features."""
        return variant_of(self.features)

    def predict(self, values: Matrix) -> Matrix:
        """Return the score of each row of untransformed features, shape (n, k), in ``lowest`` .. ``highest``; NaN where one is
        NaN."""
        return np.clip(self.predict_unbounded(values), self.lowest, self.highest)

    def predict_unbounded(self, values: Matrix) -> Matrix:
        """Return the mean output of the networks, which may be slightly outside the ratings' range."""
        inputs = np.clip(transform(values, self.features), self.low, self.high)
        layer = np.broadcast_to((inputs - self.mean) / self.scale, (len(self.weights[0]), *values.shape))
        for number, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True), 1):
            layer = layer @ weights + biases[:, None, :]
            if number < len(self.weights):
                layer = np.maximum(layer, 0.0) if self.activation == "relu" else np.tanh(layer)
        result: Matrix = layer[:, :, 0].mean(axis=0)
        return result


# Model file: the arrays with a JSON description, validated when it is opened.

FILE = "regressor.safetensors"
FORMAT = "tacit commonsense regressor"
VERSION = 1

_LARGEST = 64 * 2**20
_ACTIVATIONS = ("relu", "tanh")


def to_bytes(model: Regressor) -> bytes:
    """Return the file of a model; equal models give equal bytes."""
    tensors = {name: getattr(model, name) for name in ("low", "high", "mean", "scale", "background")}
    for number, (weights, biases) in enumerate(zip(model.weights, model.biases, strict=True)):
        tensors |= {f"weights.{number}": weights, f"biases.{number}": biases}
    description = {
        "format": FORMAT, "version": VERSION, "features": list(model.features), "layers": len(model.weights),
        "activation": model.activation, "ratings": [model.lowest, model.highest], "facts": dict(model.facts),
    }  # fmt: skip
    return pack({name: array.astype(np.float64) for name, array in tensors.items()}, description)


def load_regressor(path: Path | str) -> Regressor:
    """Open a model file, or the folder that ``tacit train commonsense`` wrote it in."""
    return from_bytes(*read_model(Path(path), FILE, "commonsense regressor", "tacit train commonsense", _LARGEST))


def from_bytes(data: bytes, name: str) -> Regressor:
    """Return the model in a file's bytes; ``name`` is for error messages."""
    try:
        head, arrays = unpack(data, FORMAT, VERSION)
        for array, values in arrays.items():
            if values.dtype != np.float64:
                raise ValueError(f"its array {array} is not of type float64")
        return _build(head, arrays, digest_of(data))
    except ValueError as error:
        raise ModelError(
            f"{name} is not a commonsense regressor ({error}); give one that tacit train commonsense wrote"
        ) from error


def _build(head: Mapping[str, Any], arrays: Mapping[str, Matrix], digest: str) -> Regressor:
    """Build a model from its description and arrays."""
    features, layers, facts = head.get("features"), head.get("layers"), head.get("facts")
    if not isinstance(features, list) or not features or features != [name for name in FEATURES if name in features]:
        raise ValueError(f"its features are {features}, not some of {', '.join(FEATURES)} in this order")
    if not isinstance(layers, int) or not 1 <= layers <= len(arrays) or head.get("activation") not in _ACTIVATIONS:
        raise ValueError("its header has no number of layers, or no known activation")
    lowest, highest = _range(head.get("ratings"))
    if not isinstance(facts, dict):
        raise ValueError("its header has no facts")
    width = len(features)
    row = {name: _shaped(arrays, name, (width,)) for name in ("low", "high", "mean", "scale")}
    if (row["scale"] <= 0).any() or (row["low"] > row["high"]).any():
        raise ValueError("the scale or the range of a feature is invalid")
    weights, biases = [], []
    members = None
    for number in range(layers):
        outputs = 1 if number == layers - 1 else None
        weights.append(_shaped(arrays, f"weights.{number}", (members, width, outputs)))
        members, _, width = weights[-1].shape
        biases.append(_shaped(arrays, f"biases.{number}", (members, width)))
    background = _shaped(arrays, "background", (None, len(features)))
    return Regressor(
        tuple(features), row["low"], row["high"], row["mean"], row["scale"], tuple(weights), tuple(biases),
        str(head["activation"]), background, lowest, highest, facts, digest,
    )  # fmt: skip


def _range(ratings: Any) -> tuple[float, float]:
    numbers = isinstance(ratings, list) and len(ratings) == 2 and all(type(rating) in (int, float) for rating in ratings)
    if not numbers or not np.isfinite(ratings).all() or ratings[0] > ratings[1]:
        raise ValueError(f"its range of ratings is {ratings}")
    return float(ratings[0]), float(ratings[1])


def _shaped(arrays: Mapping[str, Matrix], name: str, shape: tuple[int | None, ...]) -> Matrix:
    """Return a non-empty array of the given shape, in which None stands for any size."""
    if name not in arrays:
        raise ValueError(f"it has no array {name}")
    array = arrays[name]
    if array.ndim != len(shape) or not array.size or any(w not in (None, n) for w, n in zip(shape, array.shape, strict=True)):
        raise ValueError(f"its array {name} has the shape {array.shape}")
    return array


# Exact Shapley values: how much of a model's output is due to each of its few features.
#
# The value of a set of features is the model's mean output when these are the item's and the others come from a background row,
# over all background rows (interventional; Lundberg & Lee, NeurIPS 2017, with the expectation as in Janzing et al., AISTATS
# 2020). With five features all 32 sets are evaluated, without sampling: the Shapley values add up to the output minus its mean
# over the background, features with equal effects get equal values, and one without effect gets 0.

_ROWS = 100_000


def shapley_values(predict: Callable[[Matrix], Matrix], items: Matrix, background: Matrix) -> tuple[Matrix, float]:
    """Return the Shapley value of each feature for each item, shape (n, k), and the mean output over the background.

    Each row of the values plus the mean is the output for that item, up to rounding. ``predict`` maps shape (rows, k) to (rows,),
    each row independently; k is small, since 2**k sets are evaluated.
    """
    features = items.shape[1]
    sets = (np.arange(2**features)[:, None] >> np.arange(features)) & 1 == 1
    step = max(1, _ROWS // (len(sets) * len(background)))
    outputs = [_set_values(predict, items[start : start + step], background, sets) for start in range(0, len(items), step)]
    base = float(predict(background).mean())
    values: Matrix = np.concatenate([np.empty((0, len(sets))), *outputs]) @ _shares(sets)
    return values, base


def _set_values(predict: Callable[[Matrix], Matrix], items: Matrix, background: Matrix, sets: NDArray[np.bool_]) -> Matrix:
    """Return the value of every set of features for every item, shape (n, sets)."""
    rows = np.where(sets[None, :, None, :], items[:, None, None, :], background[None, None, :, :])
    shape = rows.shape[:3]
    values: Matrix = predict(np.ascontiguousarray(rows.reshape(-1, items.shape[1]))).reshape(shape).mean(axis=2)
    return values


def _shares(sets: NDArray[np.bool_]) -> Matrix:
    """Return the matrix that maps the values of all sets to the Shapley values, shape (sets, k)."""
    features = sets.shape[1]
    sizes = sets.sum(axis=1)
    weight = [factorial(size) * factorial(features - size - 1) / factorial(features) for size in range(features)]
    with_it = np.array([weight[size - 1] if size else 0.0 for size in sizes])
    without_it = np.array([weight[size] if size < features else 0.0 for size in sizes])
    shares: Matrix = np.where(sets, with_it[:, None], -without_it[:, None])
    return shares
