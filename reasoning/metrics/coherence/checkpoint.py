"""Coherence checkpoints: the folder that ``tacit train coherence`` writes, with a graph of associations, a selection head and
weights.

``coherence.json`` lists the content with the SHA-256 of every other file; its own digest identifies the checkpoint in
signatures. No file in the folder can run code. A damaged checkpoint, or one of another format, raises an error that says what
is wrong.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....graph.atomic import recover
from ....graph.errors import ModelError, reason_of
from ....graph.storage import file_sha256
from ...models.encoder import TextEncoder, open_encoder
from ...models.modelfile import DIGITS, arrays_in, pack
from .associations import FILES, AssociationGraph

# Selection head: a dual encoder over the vectors of a sentence encoder.
#
# The pooled vectors of the last two turns, concatenated, and of the response are standardised and projected to a common space;
# their cosine is the value. Training is in :mod:`tacit.reasoning.training.selection_head`.

Floats = NDArray[np.float32]

TURNS = 2
_SHAPES = {"mean": "d", "scale": "d", "context": "cw", "context_bias": "w", "response": "dw", "response_bias": "w"}
_HALVES = ("context", "response")


@dataclass(frozen=True)
class SelectionHead:
    """The arrays of the head; d is the length of a pooled vector, w the dimension of the common space."""

    mean: Floats  # mean, scale: of pooled vectors, shape (d,)
    scale: Floats
    context: Floats  # shape (2 d, w), the last turn's rows first
    context_bias: Floats  # shape (w,)
    response: Floats  # shape (d, w)
    response_bias: Floats  # shape (w,)

    def fits(self, last: Floats, before: Floats, responses: Floats) -> tuple[Floats, Floats]:
        """Return the cosine of each response and its context, shape (n,), and its summands, shape (n, 3): of either turn and the
        bias.

        Arguments are pooled vectors, shape (n, d), of the last turn, of the one ``before`` it (NaN for none) and of the response.
        """
        size = len(self.mean)
        maps = (self.context[:size], self.context[size:], self.response)
        sides = [self._standard(texts) for texts in (last, before, responses)]
        sides[1][np.isnan(sides[1]).any(axis=1)] = 0
        summands = [side @ linear for side, linear in zip(sides, maps, strict=True)]
        answer = summands.pop()
        bias = np.broadcast_to(self.context_bias, answer.shape)
        context_vectors = summands[0] + summands[1] + bias
        response_vectors = answer + self.response_bias
        lengths = np.linalg.norm(context_vectors, axis=1) * np.linalg.norm(response_vectors, axis=1)
        parts = np.stack([(side * response_vectors).sum(axis=1) for side in (*summands, bias)], axis=1)
        shares: Floats = parts / np.maximum(lengths, 1e-9)[:, None]
        cosines: Floats = np.clip(shares.sum(axis=1), -1, 1)
        return cosines, shares

    def _standard(self, vectors: Floats) -> Floats:
        standard: Floats = (vectors - self.mean) / self.scale
        return standard

    def to_bytes(self) -> bytes:
        """Return the head as a safetensors file; equal heads give equal bytes."""
        return pack({name: getattr(self, name).astype(np.float16 if name in _HALVES else np.float32) for name in _SHAPES})


def load_head(path: Path) -> SelectionHead:
    """Open a head."""
    try:
        arrays = arrays_in(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(f"the selection head {str(path)!r} cannot be read ({error}); train or fetch it again") from error
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    if set(arrays) != set(_SHAPES) or any(array.ndim != len(_SHAPES[name]) for name, array in arrays.items()):
        raise ModelError(f"{str(path)!r} is not a selection head; give a folder that tacit train coherence wrote")
    sizes = {"d": len(arrays["mean"]), "c": TURNS * len(arrays["mean"]), "w": len(arrays["response_bias"])}
    for name, array in arrays.items():
        if array.shape != tuple(sizes[letter] for letter in _SHAPES[name]):
            raise ModelError(f"the array {name} of the selection head {str(path)!r} is broken; train or fetch it again")
    return SelectionHead(**arrays)


FORMAT = "tacit coherence"
VERSION = 1
HEADER = "coherence.json"
HEAD = "selection.safetensors"
ASSOCIATIONS = "associations"
SHIPPED = Path(__file__).parent / "model"
PARTS = ("similarity", "association", "selection", "repetition")


@dataclass(frozen=True)
class Weights:
    """A logistic regression: the log-odds are ``bias`` plus the sum of weight times value of each of :data:`PARTS`."""

    bias: float
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Checkpoint:
    """An opened checkpoint; its arrays are read on first use."""

    folder: Path  # its path
    header: Mapping[str, Any]  # the content of `coherence.json`
    digest: str  # 12 hex digits of the header's SHA-256

    @cached_property
    def associations(self) -> AssociationGraph:
        """The graph of associations."""
        for name in FILES:
            self._check(f"{ASSOCIATIONS}/{name}")
        return AssociationGraph(self.folder / ASSOCIATIONS)

    @cached_property
    def head(self) -> SelectionHead:
        """The selection head."""
        self._check(HEAD)
        return load_head(self.folder / HEAD)

    @property
    def associations_digest(self) -> str:
        """12 hex digits for the graph of associations."""
        sums = "".join(str(self.header["files"].get(f"{ASSOCIATIONS}/{name}")) for name in FILES)
        return hashlib.sha256(sums.encode()).hexdigest()[:DIGITS]

    @property
    def head_digest(self) -> str:
        """12 hex digits for the head."""
        return str(self.header["files"].get(HEAD))[:DIGITS]

    @property
    def weights(self) -> Weights:
        """The bias and the weights of the parts."""
        values = weights_in(self.header)
        return Weights(values["bias"], tuple(values[part] for part in PARTS))

    def _check(self, name: str) -> None:
        """Raise :class:`ModelError` when a file's checksum is not that of the header."""
        path = self.folder / name
        try:
            digest = file_sha256(path)
        except OSError as error:
            raise ModelError(f"the coherence checkpoint {str(self.folder)!r} has no {name}; train or fetch it again") from error
        if digest != self.header["files"].get(name):
            raise ModelError(f"{name} of the coherence checkpoint {str(self.folder)!r} is damaged; train or fetch it again")


def open_checkpoint(checkpoint: Checkpoint | str | Path | None = None) -> Checkpoint:
    """Open a checkpoint, by default the one shipped with tacit."""
    if isinstance(checkpoint, Checkpoint):
        return checkpoint
    folder = SHIPPED if checkpoint is None else Path(checkpoint).expanduser()
    try:
        recover(folder)
        data = (folder / HEADER).read_bytes()
    except (OSError, ValueError) as error:
        raise ModelError(f"there is no coherence checkpoint at {str(folder)!r}; make one with: tacit train coherence") from error
    try:
        header = json.loads(data)
        _check_header(header)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(
            f"{folder / HEADER} is not a coherence checkpoint ({reason_of(error)}); give one that tacit train coherence wrote"
        ) from error
    return Checkpoint(folder, header, hashlib.sha256(data).hexdigest()[:DIGITS])


def _check_header(header: Any) -> None:
    """Raise ValueError, KeyError or TypeError when a header is incomplete."""
    if header["format"] != FORMAT or header["version"] != VERSION:
        raise ValueError(f"its format is {header['format']!r}, version {header['version']}, not {FORMAT!r}, version {VERSION}")
    if set(header["files"]) != {HEAD, *(f"{ASSOCIATIONS}/{name}" for name in FILES)}:
        raise ValueError(f"it consists of {', '.join(header['files'])}")
    if not isinstance(header["encoder"]["signature"], str):
        raise ValueError("its header lacks the encoder")
    if not all(math.isfinite(weights_in(header)[name]) for name in ("bias", *PARTS)):
        raise ValueError("a weight is not finite")


def weights_in(header: Mapping[str, Any]) -> Mapping[str, float]:
    """Return the bias and the weights of the parts in a header, by name."""
    result: Mapping[str, float] = header["weights"]["+".join(PARTS)]
    return result


def open_encoder_of(checkpoint: Checkpoint, encoder: str | Path | None, *, device: str | None = None) -> TextEncoder:
    """Open the encoder that a checkpoint was trained with, from ``encoder`` when it is not where the checkpoint says."""
    trained_over = checkpoint.header["encoder"]
    opened = open_encoder(trained_over.get("id") if encoder is None else encoder, device=device)
    if opened.signature != trained_over["signature"]:
        raise ModelError(
            f"the checkpoint {str(checkpoint.folder)!r} was trained over the encoder {trained_over['signature']}, and"
            f" {opened.files.requested!r} is {opened.signature}; give the encoder that it was trained over"
        )
    return opened
