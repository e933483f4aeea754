"""Judges of a choice by a causal language model: ``likelihood``, ``yes-no`` and ``probe``.

``likelihood`` is the likelihood of a choice after the dialogue. For the others the model reads the dialogue, the target, CICERO's
question and a proposed answer, and is asked whether the answer is right. ``yes-no`` is its log-odds of yes. Where its answer
would stand, the linear probe (Alain and Bengio, ICLR 2017, workshop track) of ``probe`` reads a layer's hidden states; it is
trained on right against wrong choices (``tacit train choice-probe``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...graph.questions import Instance
from ..models.asking import States, YesNoPrompt
from ..models.causal_lm import CausalModel
from ..models.linear_probe import Probe, ProbeKind
from ..models.packed import PackedReader
from .judges import Matrix

_TASK = "You read a dialogue and judge whether an answer to a question about it is right. Answer Yes or No."


class Likelihood:
    """The judge ``likelihood``; its feature ``likely`` is minus the nats per token of the choice after dialogue and question."""

    features: tuple[str, ...] = ("likely",)

    def __init__(self, causal: CausalModel) -> None:
        self.causal = causal
        self._reader = PackedReader(causal)

    @property
    def signature(self) -> str:
        return f"likelihood-4({self.causal.signature})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the feature of each choice, shape (choices, 1); the dialogue is read once for all choices of an instance."""
        return [self._measure(instance) for instance in instances]

    def _measure(self, instance: Instance) -> Matrix:
        half = self.causal.max_length // 2
        choices = [choice[: half - 2] for choice in self.causal.tokens([f" {choice}" for choice in instance.choices])]
        dialogue = "\n".join(instance.dialogue)
        [prompt] = self.causal.tokens(
            [f"{_TASK}\n\n{dialogue}\n\nTarget: {instance.target}\nQuestion: {instance.question.text}\nAnswer:"]
        )
        before = [self.causal.begin, *prompt[-half - 1 :]]  # of a prompt that is too long, the end
        rows = [(0, choice or [self.causal.end]) for choice in choices]
        losses = self._reader.ends((), [before], rows, [], targets=[len(choice) for choice in choices]).losses
        sizes = np.array([max(1, len(choice)) for choice in choices], dtype=np.float64)
        log_likelihoods: Matrix = (-losses / sizes)[:, None]
        return log_likelihoods


_QUESTION = "Is this answer right? Answer yes or no."
_TEXT_TOKENS = 512


class ChoicePrompt(YesNoPrompt):
    """The prompt for a causal language model."""

    def __init__(self, causal: CausalModel) -> None:
        super().__init__(causal, _QUESTION, _TEXT_TOKENS)

    def read(self, instances: Sequence[Instance], layers: Sequence[int], *, margins: bool = False) -> States:
        """Return the model's states for all choices, in order, as :meth:`YesNoPrompt.read_replies`."""
        replies = [(proposal(instance), f" {choice}") for instance in instances for choice in instance.choices]
        return self.read_replies(replies, layers, margins=margins)


def proposal(instance: Instance) -> str:
    """Return the text before a proposed answer: the dialogue, the target and the question."""
    turns = "\n".join(" ".join(turn.split()) for turn in instance.dialogue)
    return f"{turns}\n\nTarget: {' '.join(instance.target.split())}\nQuestion: {instance.question.text}\nProposed answer:"


class YesNo:
    """The judge ``yes-no``: the log-odds of yes over no, in nats."""

    features: tuple[str, ...] = ("yes",)

    def __init__(self, causal: CausalModel) -> None:
        self.causal = causal
        self._prompt = ChoicePrompt(causal)

    @property
    def signature(self) -> str:
        """The model's name, digest and number format."""
        return f"yes-no-2({self.causal.signature}:{self.causal.dtype})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the log-odds for each choice, shape (choices, 1); the dialogue is read once for all choices of an instance."""
        with self.causal.lock:  # hidden states are recorded on the model itself
            margins = self._prompt.read(instances, (), margins=True).margins
        return _by_instance(margins, instances)


PROBE = ProbeKind("probe for choices", "tacit train choice-probe", "choice-probe.safetensors", "tacit choice probe", ("dtype",))
"""The kind of probe; its log-odds of a choice are to be compared with those of the other choices of its instance."""


class ProbeJudge:
    """The judge ``probe``: the log-odds of a probe."""

    features: tuple[str, ...] = ("odds",)

    def __init__(self, causal: CausalModel, probe: Probe, *, cut: bool = False) -> None:
        """Read the states of ``causal``; with ``cut``, its layers above the probe's are removed, so that it runs faster."""
        probe.attach(causal, cut=cut)
        self.probe = probe
        self._prompt = ChoicePrompt(causal)

    @property
    def signature(self) -> str:
        """The model's name and digest, and the probe's."""
        return f"probe-2({self._prompt.causal.signature}:{self.probe.digest})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the log-odds of each choice, shape (choices, 1); the dialogue is read once for all choices of an instance."""
        with self._prompt.causal.lock:
            states = self._prompt.read(instances, [self.probe.layer])
        return _by_instance(self.probe.log_odds(states.hidden[:, 0]), instances)


def _by_instance(values: Matrix, instances: Sequence[Instance]) -> list[Matrix]:
    """Return the numbers of all choices as one column for each instance."""
    ends = np.cumsum([len(instance.choices) for instance in instances])
    return [part[:, None] for part in np.split(values, ends[:-1])] if len(instances) else []
