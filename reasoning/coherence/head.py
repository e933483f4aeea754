"""The head of response selection: maps that bring a context and the response that follows it to one direction.

A dual encoder over a sentence encoder: the pooled vectors of the last two turns side by side, and of the response, are
standardised and each mapped to a few numbers; their cosine is the value. The maps are linear; a head may add to them a network
with one hidden layer for each of the three texts, so that what a turn gives stays apart from what the other gives. In plain
numpy; training is elsewhere (:mod:`tacit.reasoning.training.coherence`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import ModelError
from ..modelfile import arrays_in

Floats = NDArray[np.float32]

TURNS = 2
_SHAPES = {"mean": "d", "scale": "d", "context": "cw", "context_bias": "w", "response": "dw", "response_bias": "w"}
_HIDDEN = {"inner": "tdh", "inner_bias": "th", "outer": "thw"}
_HALVES = ("context", "response", "inner", "outer")


@dataclass(frozen=True)
class Hidden:
    """What hidden layers of h rectified units add to the linear maps, for the last turn, the one before it, and the response.

    Attributes:
        inner: shape (3, d, h); inner_bias: shape (3, h); outer: shape (3, h, w).
    """

    inner: Floats
    inner_bias: Floats
    outer: Floats

    def of(self, text: int, standard: Floats) -> Floats:
        """Return what text 0, 1 or 2 has from its layer, for standardised vectors of shape (n, d); shape (n, w)."""
        found: Floats = np.maximum(standard @ self.inner[text] + self.inner_bias[text], 0) @ self.outer[text]
        return found


@dataclass(frozen=True)
class SelectionHead:
    """The arrays, with d numbers in a text's pooled vector and w in the common space.

    Attributes:
        mean, scale: of pooled vectors, shape (d,).
        context: shape (2 d, w), the last turn's rows first; response: shape (d, w); the biases: shape (w,).
        hidden: the hidden layers, where there are any.
    """

    mean: Floats
    scale: Floats
    context: Floats
    context_bias: Floats
    response: Floats
    response_bias: Floats
    hidden: Hidden | None = None

    def fits(self, last: Floats, before: Floats, responses: Floats) -> tuple[Floats, Floats]:
        """Return how well each response fits its context, and what of that each turn gives.

        Args:
            last, before: pooled vectors of the last turn and of the one before it, shape (n, d); rows of NaN in ``before`` where
                there is none.
            responses: pooled vectors of the responses, shape (n, d).

        Returns:
            Cosines in -1..1, shape (n,), and their summands, shape (n, 3): by the last turn, by the one before it, and by the
            bias, which is the same for every context.
        """
        size = len(self.mean)
        maps = (self.context[:size], self.context[size:], self.response)
        sides = [self._standard(texts) for texts in (last, before, responses)]
        absent = np.isnan(sides[1]).any(axis=1)
        sides[1][absent] = 0
        summands = [side @ linear for side, linear in zip(sides, maps, strict=True)]
        if self.hidden is not None:
            summands = [linear + self.hidden.of(text, sides[text]) for text, linear in enumerate(summands)]
            summands[1][absent] = 0
        answer = summands.pop()
        bias = np.broadcast_to(self.context_bias, answer.shape)
        whole = summands[0] + summands[1] + bias
        wanted = answer + self.response_bias
        lengths = np.linalg.norm(whole, axis=1) * np.linalg.norm(wanted, axis=1)
        parts = np.stack([(side * wanted).sum(axis=1) for side in (*summands, bias)], axis=1)
        found: Floats = parts / np.maximum(lengths, 1e-9)[:, None]
        cosines: Floats = np.clip(found.sum(axis=1), -1, 1)
        return cosines, found

    def _standard(self, vectors: Floats) -> Floats:
        standard: Floats = (vectors - self.mean) / self.scale
        return standard

    def to_bytes(self) -> bytes:
        """Return the head as a safetensors file; equal heads give equal bytes."""
        from safetensors.numpy import save

        arrays = {name: getattr(self, name) for name in _SHAPES}
        if self.hidden is not None:
            arrays |= vars(self.hidden)
        kinds = {name: np.float16 if name in _HALVES else np.float32 for name in arrays}
        return bytes(save({name: np.ascontiguousarray(array, dtype=kinds[name]) for name, array in arrays.items()}))


def load_head(path: Path) -> SelectionHead:
    """Open a head.

    Raises:
        ModelError: there is none, or it is not whole.
    """
    try:
        arrays = arrays_in(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(f"the selection head {str(path)!r} cannot be read ({error}); train or fetch it again") from error
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    shapes = _SHAPES | _HIDDEN if "inner" in arrays else _SHAPES
    if set(arrays) != set(shapes) or any(array.ndim != len(shapes[name]) for name, array in arrays.items()):
        raise ModelError(f"{str(path)!r} is no selection head; give a folder that tacit train coherence wrote")
    sizes = {"d": len(arrays["mean"]), "c": TURNS * len(arrays["mean"]), "w": len(arrays["response_bias"]), "t": TURNS + 1}
    if "inner" in arrays:
        sizes["h"] = arrays["inner"].shape[-1]
    for name, array in arrays.items():
        if array.shape != tuple(sizes[letter] for letter in shapes[name]) or not np.isfinite(array).all():
            raise ModelError(f"the array {name} of the selection head {str(path)!r} is broken; train or fetch it again")
    hidden = Hidden(*(arrays.pop(name) for name in _HIDDEN)) if "inner" in arrays else None
    return SelectionHead(**arrays, hidden=hidden)
