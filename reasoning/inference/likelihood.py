"""A language model as a judge of choices: how likely a choice is after the dialogue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...graph.questions import Instance
from ..models.causal_lm import CausalModel
from ..models.packed import PackedReader

Matrix = NDArray[np.float64]

_TASK = "You read a dialogue and judge whether an answer to a question about it is right. Answer Yes or No."


class Likelihood:
    """The judge ``likelihood``; its feature ``likely`` is minus the nats per token of the choice after dialogue and question."""

    features: tuple[str, ...] = ("likely",)

    def __init__(self, causal: CausalModel) -> None:
        self.causal = causal
        self._reader = PackedReader(causal)

    @property
    def signature(self) -> str:
        return f"likelihood-3({self.causal.signature})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the feature of each choice, shape (choices, 1); the dialogue is read once for all choices of an instance."""
        return [self._measure(one) for one in instances]

    def _measure(self, one: Instance) -> Matrix:
        half = self.causal.max_length // 2
        choices = [choice[: half - 2] for choice in self.causal.tokens([f" {choice}" for choice in one.choices])]
        dialogue = "\n".join(one.dialogue)
        [prompt] = self.causal.tokens([f"{_TASK}\n\n{dialogue}\n\nTarget: {one.target}\nQuestion: {one.question.text}\nAnswer:"])
        before = prompt[:-1][-half:]  # of a prompt that is too long, the end
        costs = self._reader.losses((), [[self.causal.begin, *before]], [(0, [prompt[-1], *choice]) for choice in choices])
        sizes = np.array([max(1, len(choice)) for choice in choices], dtype=np.float64)
        found: Matrix = (-costs / sizes)[:, None]
        return found
