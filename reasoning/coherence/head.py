"""The head of response selection: two linear maps that bring a context and the response that follows it to one direction.

A dual encoder over a frozen sentence encoder: the pooled vectors of the last two turns side by side, and of the response, are
standardised and each mapped to a few numbers; their cosine is the value. In plain numpy; training is elsewhere
(:mod:`tacit.reasoning.training.coherence`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import ModelError

Floats = NDArray[np.float32]

TURNS = 2
_SHAPES = {"mean": "d", "scale": "d", "context": "cw", "context_bias": "w", "response": "dw", "response_bias": "w"}


@dataclass(frozen=True)
class SelectionHead:
    """The arrays, with d numbers in a text's pooled vector and w in the common space.

    Attributes:
        mean, scale: of pooled vectors, shape (d,).
        context: shape (2 d, w), the last turn's rows first; response: shape (d, w); the biases: shape (w,).
    """

    mean: Floats
    scale: Floats
    context: Floats
    context_bias: Floats
    response: Floats
    response_bias: Floats

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
        sides = [np.nan_to_num(self._standard(turns)) for turns in (last, before)]
        summands = [sides[0] @ self.context[:size], sides[1] @ self.context[size:]]
        bias = np.broadcast_to(self.context_bias, summands[0].shape)
        whole = summands[0] + summands[1] + bias
        wanted = self._standard(responses) @ self.response + self.response_bias
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

        halves = {name: np.ascontiguousarray(getattr(self, name), dtype=np.float16) for name in ("context", "response")}
        whole = {name: np.ascontiguousarray(getattr(self, name), dtype=np.float32) for name in _SHAPES if name not in halves}
        return bytes(save({**halves, **whole}))


def load_head(path: Path) -> SelectionHead:
    """Open a head.

    Raises:
        ModelError: there is none, or it is not whole.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(path.read_bytes())
    except (OSError, SafetensorError, ValueError) as error:
        raise ModelError(f"the selection head {str(path)!r} cannot be read ({error}); train or fetch it again") from error
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    if set(arrays) != set(_SHAPES) or any(array.ndim != len(_SHAPES[name]) for name, array in arrays.items()):
        raise ModelError(f"{str(path)!r} is no selection head; give a folder that tacit train coherence wrote")
    sizes = {"d": len(arrays["mean"]), "c": TURNS * len(arrays["mean"]), "w": len(arrays["response_bias"])}
    for name, array in arrays.items():
        if array.shape != tuple(sizes[letter] for letter in _SHAPES[name]) or not np.isfinite(array).all():
            raise ModelError(f"the array {name} of the selection head {str(path)!r} is broken; train or fetch it again")
    return SelectionHead(**arrays)
