"""The folder that ``tacit train coherence`` writes: a graph of associations, a selection head, and how the parts are weighed.

``coherence.json`` says what is in it, with the sha256 of every other file; its own digest stands for the whole in signatures.
Nothing in the folder can run code. What is broken, cut off or of another format is named in one sentence.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...graph.errors import InputError, ModelError
from ..encoder import TextEncoder, open_encoder
from ..likelihood import CausalModel
from ..modelfile import recover
from .expectation import open_language_model
from .graph import COUNTS, AssociationGraph, graph_files
from .head import SelectionHead, load_head

FORMAT = "tacit coherence"
VERSION = 1
HEADER = "coherence.json"
HEAD = "selection.safetensors"
ASSOCIATIONS = "associations"
SHIPPED = Path(__file__).parent / "model"
PARTS = ("similarity", "association", "selection", "repetition")
EXPECTATION = "expectation"  # a part of checkpoints that were weighed with a language model

DIGITS = 12


@dataclass(frozen=True)
class Weights:
    """A logistic regression over some parts: the log-odds are ``bias`` and the sum of weight times value of each part."""

    parts: tuple[str, ...]
    bias: float
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Checkpoint:
    """An opened folder; its arrays are read when first asked for.

    Attributes:
        folder: where it lies.
        header: what ``coherence.json`` says.
        digest: 12 hex digits for all of it.
    """

    folder: Path
    header: Mapping[str, Any]
    digest: str

    @cached_property
    def associations(self) -> AssociationGraph:
        """The graph of associations."""
        for name in self._association_files:
            self._check(name)
        return AssociationGraph(self.folder / ASSOCIATIONS, counted=self._counted)

    @cached_property
    def head(self) -> SelectionHead:
        """The selection head."""
        self._check(HEAD)
        return load_head(self.folder / HEAD)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that it weighs."""
        return parts_of(self.header)

    @property
    def associations_digest(self) -> str:
        """12 hex digits for the graph of associations."""
        sums = "".join(str(self.header["files"].get(name)) for name in self._association_files)
        return hashlib.sha256(sums.encode()).hexdigest()[:DIGITS]

    @property
    def _counted(self) -> bool:
        return f"{ASSOCIATIONS}/{COUNTS}" in self.header["files"]

    @property
    def _association_files(self) -> list[str]:
        return [f"{ASSOCIATIONS}/{name}" for name in graph_files(self._counted)]

    @property
    def head_digest(self) -> str:
        """12 hex digits for the head."""
        return str(self.header["files"].get(HEAD))[:DIGITS]

    def weights(self, parts: Sequence[str]) -> Weights:
        """Return how ``parts`` are weighed when they are the ones that count.

        Raises:
            InputError: there is no such part, or none is named.
        """
        chosen = tuple(part for part in self.parts if part in parts)
        unknown = [part for part in parts if part not in self.parts]
        if EXPECTATION in unknown:
            raise InputError(
                f"the checkpoint {str(self.folder)!r} was made without a language model, so it does not weigh {EXPECTATION};"
                f" make one with: tacit train coherence --language-model"
            )
        if unknown or not chosen:
            what = f"has no part {unknown[0]!r}" if unknown else "needs a part"
            raise InputError(f"coherence {what}; choose from {', '.join(self.parts)}")
        found = self.header["weights"]["+".join(chosen)]
        return Weights(chosen, found["bias"], tuple(found[part] for part in chosen))

    def _check(self, name: str) -> None:
        """Raise :class:`ModelError` when a file is not the one that the header speaks of."""
        path = self.folder / name
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelError(f"the coherence checkpoint {str(self.folder)!r} has no {name}; train or fetch it again") from error
        if digest != self.header["files"].get(name):
            raise ModelError(f"{name} of the coherence checkpoint {str(self.folder)!r} is damaged; train or fetch it again")


def open_checkpoint(checkpoint: Checkpoint | str | Path | None = None) -> Checkpoint:
    """Open a checkpoint, by default the one that ships with tacit.

    Raises:
        ModelError: there is none, or its header is broken.
    """
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
        reason = str(error) or type(error).__name__
        raise ModelError(
            f"{folder / HEADER} is no coherence checkpoint ({reason}); give one that tacit train coherence wrote"
        ) from error
    return Checkpoint(folder, header, hashlib.sha256(data).hexdigest()[:DIGITS])


def _check_header(header: Any) -> None:
    """Raise ValueError, KeyError or TypeError when a header is not whole."""
    if header["format"] != FORMAT or header["version"] != VERSION:
        raise ValueError(f"its format is {header['format']!r}, version {header['version']}, not {FORMAT!r}, version {VERSION}")
    if not isinstance(header["files"], dict) or not isinstance(header["encoder"]["signature"], str):
        raise ValueError("its files or its encoder are not told")
    if "encoder.safetensors" in header["files"]:
        raise ValueError("it was made with --tune, which is no longer supported")
    if "language_model" in header and not isinstance(header["language_model"]["digest"], str):
        raise ValueError("its language model is not told")
    parts = parts_of(header)
    for number in range(1, 2 ** len(parts)):
        chosen = [part for place, part in enumerate(parts) if number >> place & 1]
        weights = header["weights"]["+".join(chosen)]
        if not all(math.isfinite(weights[name]) for name in ("bias", *chosen)):
            raise ValueError("a weight is no finite number")


def parts_of(header: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parts that the checkpoint with this header weighs."""
    return (*PARTS, EXPECTATION) if "language_model" in header else PARTS


def open_encoder_of(
    checkpoint: Checkpoint, encoder: str | Path | None, *, device: str | None = None, cache_size: int
) -> TextEncoder:
    """Open the encoder that a checkpoint was trained over.

    Args:
        encoder: where it is, when that is not where the checkpoint says.

    Raises:
        ModelError: it cannot be opened, or is another one.
        MissingExtra: torch or transformers is not installed.
    """
    wanted = checkpoint.header["encoder"]
    opened = open_encoder(wanted.get("id") if encoder is None else encoder, device=device, cache_size=cache_size)
    if opened.signature != wanted["signature"]:
        raise ModelError(
            f"the checkpoint {str(checkpoint.folder)!r} was trained over the encoder {wanted['signature']}, and"
            f" {opened.files.given!r} is {opened.signature}; give the encoder that it was trained over"
        )
    return opened


def open_language_model_of(checkpoint: Checkpoint, model: str | Path | None, *, device: str | None = None) -> CausalModel:
    """Open the language model that a checkpoint was weighed with.

    Args:
        model: where it is, when that is not where the checkpoint says.

    Raises:
        ModelError: it cannot be opened, is another one, or the checkpoint does not say where it is.
        MissingExtra: torch or transformers is not installed, or what a GGUF file needs.
    """
    wanted = checkpoint.header["language_model"]
    place = wanted.get("id") if model is None else model
    if place is None:
        raise ModelError(
            f"the checkpoint {str(checkpoint.folder)!r} was weighed with a language model in a file or folder,"
            f" {wanted.get('name', wanted['digest'])}; name it with the option language_model"
        )
    opened = open_language_model(place, device=device)
    if opened.files.digest != wanted["digest"]:
        raise ModelError(
            f"the checkpoint {str(checkpoint.folder)!r} was weighed with the language model {wanted['digest']}, and"
            f" {opened.files.given!r} is {opened.files.digest}; give the language model that it was weighed with"
        )
    return opened
