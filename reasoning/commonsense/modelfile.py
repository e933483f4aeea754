"""The file of a trained regressor: its arrays and a background sample, described by JSON; checked when it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.errors import ModelError
from ..modelfile import digest_of, pack, read_model, unpack
from .regressor import FEATURES, Matrix, Regressor

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
    """Open a model file, or the folder that ``tacit train commonsense`` wrote it in.

    Raises:
        ModelError: there is none, or it is no whole model of this kind.
    """
    return from_bytes(*read_model(Path(path), FILE, "commonsense regressor", "tacit train commonsense", _LARGEST))


def from_bytes(data: bytes, name: str) -> Regressor:
    """Return the model in a file's bytes; ``name`` is for errors.

    Raises:
        ModelError: it is no whole model of this kind.
    """
    try:
        head, arrays = unpack(data, FORMAT, VERSION)
        for array, values in arrays.items():
            if values.dtype != np.float64:
                raise ValueError(f"its array {array} is not all double numbers")
        return _build(head, arrays, digest_of(data))
    except ValueError as error:
        raise ModelError(f"{name} is no commonsense regressor ({error}); give one that tacit train commonsense wrote") from error


def _build(head: Mapping[str, Any], arrays: Mapping[str, Matrix], digest: str) -> Regressor:
    """Put a model together, or say what does not fit."""
    features, layers, facts = head.get("features"), head.get("layers"), head.get("facts")
    if not isinstance(features, list) or not features or features != [name for name in FEATURES if name in features]:
        raise ValueError(f"its features are {features}, not some of {', '.join(FEATURES)} in this order")
    if not isinstance(layers, int) or not 1 <= layers <= len(arrays) or head.get("activation") not in _ACTIVATIONS:
        raise ValueError("its head tells no layers, or no activation that is known")
    lowest, highest = _range(head.get("ratings"))
    if not isinstance(facts, dict):
        raise ValueError("its head tells no facts")
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
    """Return the lowest and the highest rating."""
    numbers = isinstance(ratings, list) and len(ratings) == 2 and all(type(rating) in (int, float) for rating in ratings)
    if not numbers or not np.isfinite(ratings).all() or ratings[0] > ratings[1]:
        raise ValueError(f"its range of ratings is {ratings}")
    return float(ratings[0]), float(ratings[1])


def _shaped(arrays: Mapping[str, Matrix], name: str, shape: tuple[int | None, ...]) -> Matrix:
    """Return an array, whose shape is ``shape`` where that is known and not empty anywhere."""
    if name not in arrays:
        raise ValueError(f"it has no array {name}")
    array = arrays[name]
    if array.ndim != len(shape) or not array.size or any(w not in (None, n) for w, n in zip(shape, array.shape, strict=True)):
        raise ValueError(f"its array {name} has the shape {array.shape}")
    return array
