"""A language model as a judge of choices: how much the dialogue makes a choice more likely, and whether it says yes to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...graph.questions import Instance
from ..models.causal_lm import CausalModel, Continuation

Matrix = NDArray[np.float64]

_TASK = "You read a dialogue and judge whether an answer to a question about it is right. Answer Yes or No."
_ASK = "\nIs this answer right? Yes or No:"
_ANSWERS = (" Yes", " No")
_EPSILON = 1e-6


class Likelihood:
    """Features by a causal language model.

    ``saved``: the share of the choice's surprisal that dialogue and target remove, compared with the question alone (Holtzman et
    al., EMNLP 2021, equation 2, as a share); ``likely``: minus the nats per token of the choice after the dialogue; ``yes``: log
    odds of Yes over No.
    """

    features: tuple[str, ...] = ("saved", "likely", "yes")

    def __init__(self, causal: CausalModel) -> None:
        """Measure by ``causal``."""
        self.causal = causal

    @property
    def signature(self) -> str:
        """The model's name and digest."""
        return f"likelihood-1({self.causal.signature})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the features of each choice; the dialogue is read once for all choices of an instance.

        Raises:
            ModelError: the model's context is too short, or its output is not finite.
        """
        return [self._measure(one) for one in instances]

    def _measure(self, one: Instance) -> Matrix:
        choices = self.causal.tokens([f" {choice}" for choice in one.choices])
        question = f"Question: {one.question.text}\nAnswer:"
        dialogue = "\n".join(one.dialogue)
        after, alone, [ask] = (
            self.causal.tokens([text])
            for text in (f"{_TASK}\n\n{dialogue}\n\nTarget: {one.target}\n{question}", f"{_TASK}\n\n{question}", _ASK)
        )
        reading = self._continuation(after[0])
        costs = reading.nats([[after[0][-1], *choice] for choice in choices], [1] * len(choices))
        bare = self._continuation(alone[0]).nats([[alone[0][-1], *choice] for choice in choices], [1] * len(choices))
        chances = reading.probabilities([[after[0][-1], *choice, *ask] for choice in choices], _ANSWERS)[:, 0]
        chances = np.clip(chances, _EPSILON, 1 - _EPSILON)
        sizes = np.array([max(1, len(choice)) for choice in choices], dtype=np.float64)
        saved = 1 - costs / np.maximum(bare, _EPSILON)
        return np.stack([np.maximum(saved, -1.0), -costs / sizes, np.log(chances / (1 - chances))], axis=1)

    def _continuation(self, prompt: Sequence[int]) -> Continuation:
        """Return the model after a prompt without its last token; a prompt that is too long loses its beginning."""
        room = self.causal.max_length // 2
        return Continuation(self.causal, [self.causal.begin, *prompt[:-1][-room:]])
