"""A linear probe (Alain and Bengio, ICLR 2017, workshop track): a direction in what a layer of a language model makes of a tuple,
along which those that people call plausible lie apart from the others. It is kept in one small file, of numbers and text alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ....graph.errors import ModelError
from ...modelfile import digest_of, pack, read_model, unpack

FILE = "probe.safetensors"
FORMAT = "tacit probe"
VERSION = 1
SHIPPED = Path(__file__).parents[1] / "probe"
"""The probe that ships with tacit."""

_LARGEST = 2**20


@dataclass(frozen=True, eq=False)
class Probe:
    """A trained probe.

    Attributes:
        layer: whose states it reads, from 1, the one nearest to the input.
        weights: of the states, shape (width,); bias: added to what they come to.
        model: signature of the language model that it was trained on, and fits alone.
        facts: what else is known of it (data, agreement with people), plain values for JSON.
        digest: of its file, empty before there is one.
    """

    layer: int
    weights: NDArray[np.float32]
    bias: float
    model: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    def chances(self, states: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return how likely people are to call each tuple plausible, in 0..1, shape (n,), by states of shape (n, width)."""
        found: NDArray[np.float64] = expit(states.astype(np.float64) @ self.weights.astype(np.float64) + self.bias)
        return found


def to_bytes(probe: Probe) -> bytes:
    """Return the file of a probe; equal ones give equal bytes."""
    description = {
        "format": FORMAT, "version": VERSION, "layer": probe.layer, "bias": probe.bias, "model": probe.model,
        "facts": dict(probe.facts),
    }  # fmt: skip
    return pack({"weights": probe.weights.astype(np.float32)}, description)


def open_probe(path: Path | str | None = None) -> Probe:
    """Open a probe's file, or the folder that holds one; by default the one that ships with tacit.

    Raises:
        ModelError: there is none, or it is no whole probe.
    """
    place = SHIPPED if path is None else Path(path)
    return from_bytes(*read_model(place, FILE, "probe", "tacit train llm-probe", _LARGEST))


def from_bytes(data: bytes, name: str) -> Probe:
    """Return the probe in a file's bytes; ``name`` is for errors.

    Raises:
        ModelError: it is no whole probe.
    """
    try:
        head, arrays = unpack(data, FORMAT, VERSION)
        weights, layer, bias, facts = arrays["weights"], head["layer"], float(head["bias"]), dict(head["facts"])
        sound = weights.dtype == np.float32 and weights.ndim == 1 and weights.size
        if not (sound and np.isfinite(bias) and type(layer) is int and layer >= 1):
            raise ValueError("its weights, bias or layer are invalid")
        return Probe(layer, weights, bias, str(head["model"]), facts, digest_of(data))
    except (ValueError, KeyError, TypeError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(f"{name} is no probe ({reason}); give one that tacit train llm-probe wrote") from error
