"""A language model that is asked whether a choice is right: its preference for yes, and a probe of its hidden states.

A causal language model reads the dialogue, the target, CICERO's question and a proposed answer, and is asked whether the answer
is right. The judge ``yes-no`` takes its log-odds of yes. Where its answer would stand, the linear probe (Alain and Bengio, ICLR
2017, workshop track) of the judge ``probe`` reads a layer's hidden states; it is learnt from right against wrong choices
(:mod:`tacit.reasoning.training.choice_probe`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import ModelError
from ...graph.questions import Instance
from ..models.asking import States, YesNoPrompt
from ..models.causal_lm import CausalModel
from ..models.linear_probe import attach, unpack_probe
from ..models.modelfile import pack, read_model

Matrix = NDArray[np.float64]

_QUESTION = "Is this answer right? Answer yes or no."
_TEXT_TOKENS = 512


class ChoicePrompt(YesNoPrompt):
    """The prompt for a causal language model."""

    def __init__(self, causal: CausalModel) -> None:
        """Make prompts for ``causal``."""
        super().__init__(causal, _QUESTION, _TEXT_TOKENS)

    def read(self, instances: Sequence[Instance], layers: Sequence[int], *, margins: bool = False) -> States:
        """Return the model's states for all choices, in order.

        In half precision texts are read one by one, so that no other text moves a result.

        Args:
            instances: of dialogue, target and question the last 512 tokens are read.
            layers, margins: as for :meth:`YesNoPrompt.read_replies`, which raises the errors.
        """
        replies = [(proposal(one), f" {choice}") for one in instances for choice in one.choices]
        return self.read_replies(replies, layers, margins=margins, alone=self.causal.dtype != "float32")


def proposal(one: Instance) -> str:
    """Return the text before a proposed answer: the dialogue, the target and the question."""
    turns = "\n".join(" ".join(turn.split()) for turn in one.dialogue)
    return f"{turns}\n\nTarget: {' '.join(one.target.split())}\nQuestion: {one.question.text}\nProposed answer:"


class YesNo:
    """The judge ``yes-no``: the log-odds of yes over no, in nats."""

    features: tuple[str, ...] = ("yes",)

    def __init__(self, causal: CausalModel) -> None:
        """Measure by ``causal``."""
        self.causal = causal
        self._prompt = ChoicePrompt(causal)
        self._reading = threading.Lock()

    @property
    def signature(self) -> str:
        """The model's name, digest and number format."""
        return f"yes-no-1({self.causal.signature}:{self.causal.dtype})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the log-odds for each choice, shape (choices, 1); the dialogue is read once for all choices of an instance.

        Raises:
            ModelError: the model's context is too short, its output is not finite, or its chat template cannot be used.
        """
        with self._reading:  # hidden states are recorded on the model itself
            margins = self._prompt.read(instances, (), margins=True).margins
        return _by_instance(margins, instances)


# The probe: one small safetensors file of numbers and text.

FILE = "choice-probe.safetensors"
FORMAT = "tacit choice probe"
VERSION = 1
TRAIN = "tacit train choice-probe"

_LARGEST = 2**20


@dataclass(frozen=True, eq=False)
class ChoiceProbe:
    """A trained probe: log-odds of a choice, to be compared with those of the other choices of its instance.

    Attributes:
        layer: the layer whose states it reads, from 1 for the one nearest to the input.
        weights: of the states, shape (width,).
        model: signature of the language model that it was trained on and belongs to; dtype: the model's number format.
        facts: training data and the share of pairs in order, plain values for JSON.
        digest: of its file, empty before it is written.
    """

    layer: int
    weights: NDArray[np.float32]
    model: str
    dtype: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    def log_odds(self, states: States) -> Matrix:
        """Return the log-odds of each choice, shape (n,), by states whose only layer is this probe's."""
        found: Matrix = states.hidden[:, 0].astype(np.float64) @ self.weights.astype(np.float64)
        return found


def to_bytes(probe: ChoiceProbe) -> bytes:
    """Return the file of a probe; equal probes give equal bytes."""
    description = {
        "format": FORMAT, "version": VERSION, "layer": probe.layer, "model": probe.model, "dtype": probe.dtype,
        "facts": dict(probe.facts),
    }  # fmt: skip
    return pack({"weights": probe.weights.astype(np.float32)}, description)


def open_choice_probe(path: Path | str) -> ChoiceProbe:
    """Open a probe's file, or the folder that holds one.

    Raises:
        ModelError: the file is missing, damaged, or not a probe for choices.
    """
    return from_bytes(*read_model(Path(path), FILE, "probe", TRAIN, _LARGEST))


def from_bytes(data: bytes, name: str) -> ChoiceProbe:
    """Return the probe in a file's bytes; ``name`` names it in errors.

    Raises:
        ModelError: the bytes are damaged or not a probe for choices.
    """
    read = unpack_probe(data, (FORMAT, VERSION), name=name, what="probe for choices", command=TRAIN)
    told = read.description
    return ChoiceProbe(read.layer, read.weights, told["model"], str(told.get("dtype")), told["facts"], read.digest)


class ProbeJudge:
    """The judge ``probe``: the log-odds of a :class:`ChoiceProbe`."""

    features: tuple[str, ...] = ("odds",)

    def __init__(self, causal: CausalModel, probe: ChoiceProbe, *, cut: bool = False) -> None:
        """Read the states of ``causal``; with ``cut``, its layers above the probe's are removed, so that it runs faster.

        Raises:
            ModelError: the probe was trained on another model, or with another number format.
        """
        attach(causal, probe.model, probe.layer, what="probe for choices", command=TRAIN, cut=cut)
        if causal.dtype != probe.dtype:
            raise ModelError(
                f"the probe for choices was trained on a model in {probe.dtype}, and {causal.files.given!r} is open in "
                f"{causal.dtype}; open it in {probe.dtype}"
            )
        self.probe = probe
        self._prompt = ChoicePrompt(causal)
        self._reading = threading.Lock()

    @property
    def signature(self) -> str:
        """The model's name and digest, and the probe's."""
        return f"probe-1({self._prompt.causal.signature}:{self.probe.digest})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the log-odds of each choice, shape (choices, 1); the dialogue is read once for all choices of an instance.

        Raises:
            ModelError: the model's context is too short, its output is not finite, or its chat template cannot be used.
        """
        with self._reading:
            states = self._prompt.read(instances, [self.probe.layer])
        return _by_instance(self.probe.log_odds(states), instances)


def _by_instance(values: Matrix, instances: Sequence[Instance]) -> list[Matrix]:
    """Return the numbers of all choices as one column for each instance."""
    ends = np.cumsum([len(one.choices) for one in instances])
    return [part[:, None] for part in np.split(values, ends[:-1])] if len(instances) else []
