"""Judges of a choice, by a sentence encoder and by the choices alone; the protocol of all judges.

Each judge gives every choice of an instance some features. Other judges are in :mod:`.graph_judge` and :mod:`.language_judges`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ...graph.questions import Instance, without_speaker
from ..text.language import straight_apostrophes

if TYPE_CHECKING:
    from ..models.encoder import TextEncoder

Matrix = NDArray[np.float64]


class Judge(Protocol):
    """Measures choices; ``signature`` changes whenever the measurements may change."""

    features: tuple[str, ...]

    @property
    def signature(self) -> str:
        """Identifies the judge."""

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return for each instance the features of its choices, shape (choices, features)."""


class Similarity:
    """Cosines by a sentence encoder: of a choice with the target, the mean and the nearest of the turns, and the next turn."""

    features: tuple[str, ...] = ("target", "dialogue", "nearest turn", "next turn")

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder = encoder

    @property
    def signature(self) -> str:
        return f"similarity-1({self.encoder.signature})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the cosines of each choice; each distinct text is encoded once."""
        turns = [[without_speaker(turn) or turn for turn in instance.dialogue] for instance in instances]
        texts = sorted(
            {
                text
                for instance, turns_of in zip(instances, turns, strict=True)
                for text in (*turns_of, instance.target, *instance.choices)
            }
        )
        vectors = dict(zip(texts, self.encoder.encode(texts), strict=True))
        result = []
        for instance, turns_of in zip(instances, turns, strict=True):
            choices = np.array([vectors[choice] for choice in instance.choices])
            dialogue = choices @ np.array([vectors[turn] for turn in turns_of]).T
            following = dialogue[:, min(instance.target_index + 1, len(turns_of) - 1)]
            columns = (choices @ vectors[instance.target], dialogue.mean(1), dialogue.max(1), following)
            result.append(np.stack(columns, axis=1).astype(np.float64))
        return result


# The baseline: a judge that reads the choices of an instance, and neither dialogue nor question.
#
# Choices of CICERO differ in form: right ones are longer, wrong ones deny more and share more words with the others, and some
# words are typical of right or of wrong ones. So a judge that reads the dialogue is measured by what it adds to this one.

FORM = ("length", "denials", "opposing", "shared")
"""``length``: log of the number of characters; ``denials``: words of negation; ``opposing``: verbs that oppose, both at most 2;
``shared``: mean share of words in common with the other choices."""

DENIAL = re.compile(r"\b(?:not|no|never|nothing|none|nobody|cannot|neither|nor|without)\b|n['’]t\b", re.IGNORECASE)
OPPOSING = re.compile(
    r"\b(?:refus|den(?:y|ie)|hat(?:e[sd]?|ing)\b|dislik|fail|unable|avoid|stop|quit|against|instead|ignor|reject|cancel|forget|"
    r"forgot|un(?:happy|interested|willing|aware|able)|dis(?:agree|appoint|courag|miss))",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z']+")


def form_of(choices: Sequence[str]) -> Matrix:
    """Return the features of :data:`FORM` of an instance's choices, shape (choices, 4)."""
    words = [frozenset(words_in(choice)) for choice in choices]
    rows = []
    for index, choice in enumerate(choices):
        likenesses = [
            len(words[index] & words_of_other) / max(1, len(words[index] | words_of_other))
            for n, words_of_other in enumerate(words)
            if n != index
        ]
        denials, opposing = len(DENIAL.findall(choice)), len(OPPOSING.findall(choice))
        rows.append((log(1 + len(choice)), min(denials, 2), min(opposing, 2), sum(likenesses) / len(likenesses)))
    return np.array(rows, dtype=np.float64)


def words_in(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return _WORD.findall(straight_apostrophes(text.lower()))


def terms_of(choice: str) -> list[str]:
    """Return the distinct words and pairs of adjacent words of a choice, sorted."""
    words = words_in(choice)
    return sorted({*words, *(f"{first} {second}" for first, second in pairwise(words))})


@dataclass(frozen=True, eq=False)
class FormModel:
    """Weights of a logistic regression on what can be read of choices alone; ``tacit train choice-head`` fits it."""

    form: Mapping[str, float]  # weights of FORM
    terms: Mapping[str, float]  # weights of words and pairs of adjacent words, where a choice has them
    digest: str = ""  # of both

    def log_odds(self, choices: Sequence[str]) -> Matrix:
        """Return the log-odds of each choice, to be compared with those of the others, shape (choices,)."""
        known = [sum(self.terms.get(term, 0.0) for term in terms_of(choice)) for choice in choices]
        result: Matrix = form_of(choices) @ np.array([self.form[name] for name in FORM]) + np.array(known)
        return result


class AnswerOnly:
    """The judge ``answers``; its feature ``form`` is the log-odds of a :class:`FormModel`."""

    features: tuple[str, ...] = ("form",)

    def __init__(self, model: FormModel) -> None:
        self.model = model

    @property
    def signature(self) -> str:
        return f"answer-only-2({self.model.digest})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the log-odds of each choice, shape (choices, 1)."""
        return [self.model.log_odds(instance.choices)[:, None] for instance in instances]
