"""Discriminators of adversarial filtering: models that learn to tell the right answers of some instances from wrong ones.

:class:`Lexical` is fast and needs no model: a linear ranker of what can be counted in an answer and the dialogue.
:class:`Encoder` fine-tunes an encoder of transformers as ``tacit train cicero --task choose`` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import ModelError
from ...graph.questions import Answered, Instance, target_index, without_speaker
from ..inference.judges import DENIAL, OPPOSING
from ..training.choice_head import fit_head
from ..training.recipe import CiceroRecipe
from .tfidf import TfIdf, cosine, words_of

Floats = NDArray[np.float64]
Scorer = Callable[[int, Sequence[int]], Floats]
"""Gives the scores of some texts of an instance, both by number; higher is more likely right."""
Chosen = Mapping[int, Sequence[int]]
"""For the number of an instance, those of the texts that are its choices."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Instances, and for each its texts: the right answers first, then the candidates for wrong ones, all distinct."""

    instances: tuple[Answered, ...]
    texts: tuple[tuple[str, ...], ...]

    def count_right(self, number: int) -> int:
        """Return the number of right answers of an instance."""
        return len(self.instances[number].right)


class Discriminator(Protocol):
    """Learns to tell right answers from wrong ones."""

    @property
    def signature(self) -> str:
        """Identifies it and its model."""

    def fit(self, chosen: Chosen) -> Scorer:
        """Return a scorer that learnt from these instances with these choices; equal ones give equal scores."""


class Lexical:
    """A linear ranker: logistic regression on differences of right and wrong choices, as in ``tacit train choice-head``.

    Features of an answer: log of its length in characters; its denials and verbs that oppose, at most 2 each; TF-IDF cosines with
    the target, the whole dialogue, the nearest turn and the turn after the target; and ``words``, the mean log odds of its words
    to be in a right answer, counted in the training instances without the answer's own.
    """

    features: tuple[str, ...] = (
        "length", "denials", "opposing", "target", "dialogue", "nearest turn", "next turn", "words",
    )  # fmt: skip
    signature = "lexical-1"

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._words = [[frozenset(words_of(text)) for text in texts] for texts in problem.texts]
        weights = TfIdf(words_of(without_speaker(turn)) for instance in problem.instances for turn in instance.dialogue)
        self._values = [
            _measured(instance, texts, weights) for instance, texts in zip(problem.instances, problem.texts, strict=True)
        ]

    def fit(self, chosen: Chosen) -> Scorer:
        right, wrong = Counter[str](), Counter[str]()
        for number, indices in chosen.items():
            for index in indices:
                (right if index < self._problem.count_right(number) else wrong).update(self._words[number][index])
        values, correct = [], []
        for number, indices in chosen.items():
            known = self._problem.count_right(number)
            own_right, own_wrong = Counter[str](), Counter[str]()
            for index in indices:
                (own_right if index < known else own_wrong).update(self._words[number][index])
            odds = [_odds(self._words[number][index], right, wrong, own_right, own_wrong) for index in indices]
            values.append(np.column_stack([self._values[number][list(indices)], odds]))
            correct.append([position for position, index in enumerate(indices) if index < known])
        none = Counter[str]()
        weights = fit_head(self.features, values, correct).weights

        def score(number: int, indices: Sequence[int]) -> Floats:
            odds = [_odds(self._words[number][index], right, wrong, none, none) for index in indices]
            result: Floats = np.column_stack([self._values[number][list(indices)], odds]) @ weights
            return result

        return score


def _odds(
    words: frozenset[str], right: Counter[str], wrong: Counter[str], own_right: Counter[str], own_wrong: Counter[str]
) -> float:
    """Return the mean log odds of words to be in a right answer, without an instance's own, each smoothed by one half."""
    odds = [log((right[word] - own_right[word] + 0.5) / (wrong[word] - own_wrong[word] + 0.5)) for word in sorted(words)]
    return sum(odds) / max(1, len(odds))


def _measured(instance: Answered, texts: Sequence[str], weights: TfIdf) -> Floats:
    """Return the features of texts except the last, shape (texts, features - 1)."""
    turns = [weights.vector(words_of(without_speaker(turn))) for turn in instance.dialogue]
    target = weights.vector(words_of(instance.target))
    dialogue = weights.vector([word for turn in instance.dialogue for word in words_of(without_speaker(turn))])
    after = turns[min(target_index(instance.dialogue, instance.target) + 1, len(turns) - 1)]
    rows = []
    for text in texts:
        vector = weights.vector(words_of(text))
        nearest = max(cosine(vector, turn) for turn in turns)
        denials, opposing = len(DENIAL.findall(text)), len(OPPOSING.findall(text))
        counted = (log(1 + len(text)), min(denials, 2), min(opposing, 2))
        rows.append((*counted, cosine(vector, target), cosine(vector, dialogue), nearest, cosine(vector, after)))
    return np.array(rows, dtype=np.float64)


class Encoder:
    """An encoder of transformers, fine-tuned anew for each fit as :func:`tacit.reasoning.training.cicero.train_cicero` does."""

    def __init__(
        self, problem: Problem, model: str | Path, recipe: CiceroRecipe | None = None, *, device: str | None = None
    ) -> None:
        from ..inference.trained import kind_of
        from ..models.hub import find_model, need

        need("torch", "neural")
        self._problem, self._model, self._device = problem, model, device
        self._recipe = recipe or CiceroRecipe()
        self._files = find_model(model)
        if (kind := kind_of(self._files)) != "encoder":
            raise ModelError(
                f"the model {self._files.requested!r} is a {kind} model; give an encoder, which scores each answer alone"
            )

    @property
    def signature(self) -> str:
        """Name and digest of the initial model, and the recipe's digest."""
        from ..training.loop import examples_digest

        return f"encoder-1({self._files.signature},{examples_digest([(self._recipe.to_toml(),)])[:8]})"

    def fit(self, chosen: Chosen) -> Scorer:
        from ..inference.trained import open_trained
        from ..training.cicero import train_cicero

        rows = [self._instance(number, indices) for number, indices in chosen.items()]
        with TemporaryDirectory(prefix="tacit-") as folder:
            output = Path(folder) / "model"
            train_cicero(rows, self._model, output, self._recipe, task="choose", device=self._device)
            trained = open_trained(output, device=self._device)

        def score(number: int, indices: Sequence[int]) -> Floats:
            if len(indices) == 1:  # an instance has two choices or more
                return score(number, [*indices, *indices])[:1]
            [values] = trained.measure([self._instance(number, indices)])
            result: Floats = values[:, 0]
            return result

        return score

    def _instance(self, number: int, indices: Sequence[int]) -> Instance:
        instance, texts, known = self._problem.instances[number], self._problem.texts[number], self._problem.count_right(number)
        correct = [position for position, index in enumerate(indices) if index < known]
        return Instance(
            instance.id, instance.dialogue, instance.target, instance.question, [texts[index] for index in indices], correct
        )
