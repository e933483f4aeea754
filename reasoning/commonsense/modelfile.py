"""One file for a trained regressor: its arrays and a background sample as safetensors, all else as JSON in the file's head.

The format holds numbers and text only, so opening a stranger's file runs nothing. Everything is checked when it is opened: a
file that is cut off, is another model's, or says one shape and holds another is named in one sentence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.errors import ModelError
from ..smallfile import read_small
from .regressor import FEATURES, Matrix, Regressor

FILE = "regressor.safetensors"
FORMAT = "tacit commonsense regressor"
VERSION = 1

_KEY = "tacit"
_LARGEST = 64 * 2**20
_ACTIVATIONS = ("relu", "tanh")
_DIGITS = 12


def to_bytes(model: Regressor) -> bytes:
    """Return the file of a model; equal models give equal bytes."""
    from safetensors.numpy import save

    tensors = {name: getattr(model, name) for name in ("low", "high", "mean", "scale", "background")}
    for number, (weights, biases) in enumerate(zip(model.weights, model.biases, strict=True)):
        tensors |= {f"weights.{number}": weights, f"biases.{number}": biases}
    head = {
        "format": FORMAT, "version": VERSION, "features": list(model.features), "layers": len(model.weights),
        "activation": model.activation, "ratings": [model.lowest, model.highest], "facts": dict(model.facts),
    }  # fmt: skip
    arrays = {name: np.ascontiguousarray(array, dtype=np.float64) for name, array in tensors.items()}
    # One key alone: the library writes several in an order that differs from run to run.
    return bytes(save(arrays, {_KEY: json.dumps(head, sort_keys=True, allow_nan=False)}))


def load_regressor(path: Path | str) -> Regressor:
    """Open a model file, or the folder that ``tacit train commonsense`` wrote it in.

    Raises:
        ModelError: there is none, or it is no whole model of this kind.
    """
    return from_bytes(*read_small(Path(path), FILE, "commonsense regressor", "tacit train commonsense", _LARGEST))


def from_bytes(data: bytes, name: str) -> Regressor:
    """Return the model in a file's bytes; ``name`` is for errors.

    Raises:
        ModelError: it is no whole model of this kind.
    """
    try:
        head = _head(data)
        arrays = _arrays(data)
        return _build(head, arrays, hashlib.sha256(data).hexdigest()[:_DIGITS])
    except _NoModel as error:
        raise ModelError(f"{name} is no commonsense regressor ({error}); give one that tacit train commonsense wrote") from error


class _NoModel(Exception):
    """The bytes are no model; says why, as the part of a sentence."""


def _head(data: bytes) -> Mapping[str, Any]:
    """Return the description in the file's head."""
    try:
        size = int.from_bytes(data[:8], "little")
        head = json.loads(data[8 : 8 + size])["__metadata__"][_KEY] if 0 < size <= len(data) - 8 else None
        found = json.loads(head) if isinstance(head, str) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise _NoModel("its head does not say that it is one")
    if found.get("version") != VERSION:
        raise _NoModel(f"its format is version {found.get('version')}, and this tacit reads version {VERSION}")
    return found


def _arrays(data: bytes) -> dict[str, Matrix]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(data)
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _NoModel(f"its arrays cannot be read: {str(error).splitlines()[0] if str(error) else 'broken'}") from error
    for name, array in arrays.items():
        if array.dtype != np.float64 or not np.isfinite(array).all():
            raise _NoModel(f"its array {name} is not all finite double numbers")
    return arrays


def _build(head: Mapping[str, Any], arrays: Mapping[str, Matrix], digest: str) -> Regressor:
    """Put a model together, or say what does not fit."""
    features, layers, facts = head.get("features"), head.get("layers"), head.get("facts")
    if not isinstance(features, list) or not features or features != [name for name in FEATURES if name in features]:
        raise _NoModel(f"its features are {features}, not some of {', '.join(FEATURES)} in this order")
    if not isinstance(layers, int) or not 1 <= layers <= len(arrays) or head.get("activation") not in _ACTIVATIONS:
        raise _NoModel("its head tells no layers, or no activation that is known")
    lowest, highest = _range(head.get("ratings"))
    if not isinstance(facts, dict):
        raise _NoModel("its head tells no facts")
    width = len(features)
    row = {name: _shaped(arrays, name, (width,)) for name in ("low", "high", "mean", "scale")}
    if (row["scale"] <= 0).any() or (row["low"] > row["high"]).any():
        raise _NoModel("the scale or the range of a feature makes no sense")
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
        raise _NoModel(f"its range of ratings is {ratings}")
    return float(ratings[0]), float(ratings[1])


def _shaped(arrays: Mapping[str, Matrix], name: str, shape: tuple[int | None, ...]) -> Matrix:
    """Return an array, whose shape is ``shape`` where that is known and not empty anywhere."""
    if name not in arrays:
        raise _NoModel(f"it has no array {name}")
    array = arrays[name]
    if array.ndim != len(shape) or not array.size or any(w not in (None, n) for w, n in zip(shape, array.shape, strict=True)):
        raise _NoModel(f"its array {name} has the shape {array.shape}")
    return array
