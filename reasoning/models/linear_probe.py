"""Linear probes of a causal language model (Alain and Bengio, ICLR 2017, workshop track).

A probe is a layer, a weight for each of its hidden states, and the signature of the model that it was trained on, in one small
safetensors file. The metric ``judgement``, the tuple scorer ``llm-probe`` and the judge ``probe`` of choices each have a
:class:`ProbeKind`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError, ModelError, reason_of
from .causal_lm import CausalModel
from .layers import cut_above
from .modelfile import digest_of, pack, read_model, unpack

_VERSION = 1
_LARGEST = 2**20


@dataclass(frozen=True)
class ProbeKind:
    """What the probes of one use have in common."""

    what: str  # the kind in messages, e.g. `probe of judgement`
    command: str  # the command that trains one
    file: str  # name of the file in a folder
    format: str  # name of its format
    # Attributes of a probe that the file has beside layer, weights, model and facts.
    keys: tuple[Literal["yes", "bias", "dtype"], ...]
    shipped: Path | None = None  # folder of the probe that ships with tacit, if any

    def open(self, path: Path | str | None = None) -> Probe:
        """Open a probe's file, or the folder that holds one; by default the one that ships."""
        place = self.shipped if path is None else Path(path)
        if place is None:
            raise ModelError(f"no {self.what} ships with tacit; make one with: {self.command}")
        return self.from_bytes(*read_model(place, self.file, "probe", self.command, _LARGEST))

    def from_bytes(self, data: bytes, name: str) -> Probe:
        """Return the probe in a file's bytes; ``name`` names the file in errors."""
        try:
            head, arrays = unpack(data, self.format, _VERSION)
            weights, layer = arrays["weights"], head["layer"]
            parameters: dict[str, Any] = {key: str(head[key]) if key == "dtype" else float(head[key]) for key in self.keys}
            numbers = [value for key, value in parameters.items() if key != "dtype"]
            sound = weights.dtype == np.float32 and weights.ndim == 1 and weights.size and np.isfinite(numbers).all()
            if not (sound and type(layer) is int and layer >= 1):
                raise ValueError("its weights, bias or layer are invalid")
            return Probe(
                self, layer, weights, str(head["model"]), **parameters, facts=dict(head["facts"]), digest=digest_of(data)
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ModelError(f"{name} is not a {self.what} ({reason_of(error)}); give one that {self.command} wrote") from error


@dataclass(frozen=True, eq=False)
class Probe:
    """A trained probe: a linear function of hidden states that gives log-odds."""

    kind: ProbeKind
    layer: int  # the layer whose states it reads, from 1 for the one nearest to the input
    weights: NDArray[np.float32]  # of the states, float32, shape (width,)
    model: str  # signature of the language model that it was trained on and belongs to
    yes: float = 0.0  # weight of the model's log-odds of yes, 0 to leave them out
    bias: float = 0.0  # added to the sum
    dtype: str = ""  # number format of the model in training; empty where the kind does not record it
    facts: Mapping[str, Any] = field(default_factory=dict)  # training data and agreement with labels, plain values for JSON
    digest: str = ""  # of its file, empty before it is written

    def log_odds(self, hidden: NDArray[np.float32], margins: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Return log-odds, shape (n,), from states, shape (n, width), and, where the probe weighs it, the log-odds of yes,
        shape (n,)."""
        log_odds: NDArray[np.float64] = hidden.astype(np.float64) @ self.weights.astype(np.float64) + self.bias
        return log_odds + self.yes * margins if self.yes and margins is not None else log_odds

    def to_bytes(self) -> bytes:
        """Return the probe's file; equal probes give equal bytes."""
        description: dict[str, Any] = {
            "format": self.kind.format, "version": _VERSION, "layer": self.layer, "model": self.model, "facts": dict(self.facts),
            **{key: getattr(self, key) for key in self.kind.keys},
        }  # fmt: skip
        return pack({"weights": self.weights.astype(np.float32)}, description)

    def written(self) -> Probe:
        """Return the probe as it is read from its file, with the digest."""
        return self.kind.from_bytes(self.to_bytes(), self.kind.file)

    def attach(self, causal: CausalModel, *, cut: bool) -> None:
        """Check that the probe belongs to ``causal``, and with ``cut`` remove the layers above the probe's."""
        name = causal.files.requested
        if self.model.rpartition("@")[2] != causal.files.digest:
            raise ModelError(
                f"the {self.kind.what} was trained on {self.model}, and {name!r} is {causal.files.signature}; give that model, "
                f"or make a probe for this one with: {self.kind.command}"
            )
        if self.dtype and causal.dtype != self.dtype:
            raise ModelError(
                f"the {self.kind.what} was trained on a model in {self.dtype}, and {name!r} is open in {causal.dtype}; open it "
                f"in {self.dtype}"
            )
        if cut:
            try:
                cut_above(causal.model, self.layer)
            except InputError as error:
                raise ModelError(f"the {self.kind.what} does not fit the model {name!r}: {error}") from error
