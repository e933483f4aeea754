"""The control of choices: a judge that reads the choices of an instance, and neither dialogue nor question.

Choices of CICERO differ in form: right ones are longer, wrong ones deny more and share more words with the others, and some words
are typical of right or of wrong ones. Whatever reads the dialogue is worth what it adds to this judge.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np
from numpy.typing import NDArray

from ...graph.questions import Instance

Matrix = NDArray[np.float64]

FORM = ("length", "denials", "opposing", "shared")
"""``length``: log of the number of characters; ``denials``: words of negation; ``opposing``: verbs that oppose, both at most 2;
``shared``: mean share of words in common with the other choices."""

DENIAL = re.compile(r"\b(?:not|no|never|nothing|none|nobody|cannot|neither|nor|without)\b|n't\b", re.IGNORECASE)
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
    for place, choice in enumerate(choices):
        others = [len(words[place] & other) / max(1, len(words[place] | other)) for n, other in enumerate(words) if n != place]
        denials, opposing = len(DENIAL.findall(choice)), len(OPPOSING.findall(choice))
        rows.append((log(1 + len(choice)), min(denials, 2), min(opposing, 2), sum(others) / len(others)))
    return np.array(rows, dtype=np.float64)


def words_in(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return _WORD.findall(text.lower())


def terms_of(choice: str) -> list[str]:
    """Return the distinct words and pairs of adjacent words of a choice, sorted."""
    words = words_in(choice)
    return sorted({*words, *(f"{one} {two}" for one, two in pairwise(words))})


@dataclass(frozen=True, eq=False)
class FormModel:
    """Weights of a logistic regression on what can be read of choices alone; :mod:`...training.choice_head` fits it."""

    form: Mapping[str, float]  # weights of FORM
    terms: Mapping[str, float]  # weights of words and pairs of adjacent words, where a choice has them
    digest: str = ""  # of both

    def log_odds(self, choices: Sequence[str]) -> Matrix:
        """Return the log-odds of each choice, to be compared with those of the others, shape (choices,)."""
        known = [sum(self.terms.get(term, 0.0) for term in terms_of(choice)) for choice in choices]
        found: Matrix = form_of(choices) @ np.array([self.form[name] for name in FORM]) + np.array(known)
        return found


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
        return [self.model.log_odds(one.choices)[:, None] for one in instances]
