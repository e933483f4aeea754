"""Linear probes of a causal language model (Alain and Bengio, ICLR 2017, workshop track): what their files and uses share.

A probe is a layer, a weight for each of its hidden states, and the signature of the model that it was trained on. The metric
``judgement``, the tuple scorer ``llm-probe`` and the judge ``probe`` of choices each have one of their own kind.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError, ModelError, reason_of
from .causal_lm import CausalModel
from .layers import cut_above
from .modelfile import digest_of, unpack


class ProbeFile(NamedTuple):
    """What is in a probe's file.

    Attributes:
        layer: from 1 for the one nearest to the input; weights: of its states, shape (width,), float32.
        numbers: further numbers, by name; description: all that the file says, the layer and the numbers included.
        digest: of the file.
    """

    layer: int
    weights: NDArray[np.float32]
    numbers: dict[str, float]
    description: dict[str, Any]
    digest: str


def unpack_probe(data: bytes, form: tuple[str, int], *numbers: str, name: str, what: str, command: str) -> ProbeFile:
    """Return the parts of a probe's file.

    Args:
        form: the format's name and version; numbers: names of the numbers beside the weights.
        name: of the file, what: kind of probe, e.g. ``probe of judgement``; command: the command that makes one; for messages.

    Raises:
        ModelError: the bytes are damaged or of another format, or a part is missing or invalid.
    """
    try:
        head, arrays = unpack(data, *form)
        weights, layer, found = arrays["weights"], head["layer"], {number: float(head[number]) for number in numbers}
        sound = weights.dtype == np.float32 and weights.ndim == 1 and weights.size and np.isfinite([*found.values()]).all()
        if not (sound and type(layer) is int and layer >= 1):
            raise ValueError("its weights, bias or layer are invalid")
        return ProbeFile(
            layer, weights, found, {**head, "model": str(head["model"]), "facts": dict(head["facts"])}, digest_of(data)
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{name} is not a {what} ({reason_of(error)}); give one that {command} wrote") from error


def attach(causal: CausalModel, model: str, layer: int, *, what: str, command: str, cut: bool) -> None:
    """Check that a probe belongs to ``causal``, and with ``cut`` remove the layers above the probe's.

    Args:
        model: signature of the model that the probe was trained on; layer: the probe's.
        what: kind of probe, e.g. ``probe of judgement``; command: the command that makes one; for messages.

    Raises:
        ModelError: it was trained on another model, or with ``cut`` the model has no such layer.
    """
    given = causal.files.given
    if model.rpartition("@")[2] != causal.files.digest:
        raise ModelError(
            f"the {what} was trained on {model}, and {given!r} is {causal.files.signature}; give that model, or make a probe for "
            f"this one with: {command}"
        )
    if cut:
        try:
            cut_above(causal.model, layer)
        except InputError as error:
            raise ModelError(f"the {what} does not fit the model {given!r}: {error}") from error
