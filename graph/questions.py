"""The five questions of CICERO about a turn of a dialogue, and an instance: a question with a choice of answers.

Ghosal et al., "CICERO: A Dataset for Contextualized Commonsense Inference in Dialogues" (ACL 2022), table 1. Used by loaders,
inference, the service and its client. An :class:`Instance` is checked when it is created, and not again by code that receives
one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .errors import InputError, did_you_mean
from .item import Item


class Question(StrEnum):
    """A question about a target turn, by its short name; :attr:`text` has it word for word."""

    CAUSE = "cause"
    SUBSEQUENT = "subsequent"
    PREREQUISITE = "prerequisite"
    MOTIVATION = "motivation"
    REACTION = "reaction"

    @property
    def text(self) -> str:
        """The question as CICERO asks it."""
        return _TEXTS[self]


_TEXTS = {
    Question.CAUSE: "What is or could be the cause of target?",
    Question.SUBSEQUENT: "What subsequent event happens or could happen following the target?",
    Question.PREREQUISITE: "What is or could be the prerequisite of target?",
    Question.MOTIVATION: "What is or could be the motivation of target?",
    Question.REACTION: "What is the possible emotional reaction of the listener in response to target?",
}

QUESTIONS: tuple[Question, ...] = tuple(Question)
"""The questions in the paper's order."""

_SPEAKER = re.compile(r"[A-Z]\s?:\s*")
_WORD = re.compile(r"\w+")


def question_of(text: str) -> Question:
    """Return the question with this short name (``cause``) or this text, whatever its case and white space.

    Raises:
        InputError: there is none.
    """
    normalised = " ".join(text.lower().split())
    for question in QUESTIONS:
        if normalised in (question.value, question.text.lower()):
            return question
    advice = did_you_mean(normalised, [question.value for question in QUESTIONS], f"choose from {', '.join(QUESTIONS)}")
    raise InputError(f"unknown question {text!r}; {advice}")


def without_speaker(turn: str) -> str:
    """Return a turn without the letter of its speaker: ``A: Come in .`` -> ``Come in .``; other turns unchanged."""
    return _SPEAKER.sub("", turn, count=1) if _SPEAKER.match(turn) else turn


def target_index(dialogue: Sequence[str], target: str) -> int:
    """Return the index of the turn of ``dialogue`` that is ``target``.

    The last turn with the same words counts, since what follows a target is asked about; without one the turn that shares most
    words with it, the first of several. A few targets of CICERO are a turn with another punctuation, or a part of one.
    """
    words_of_turns = [_WORD.findall(without_speaker(turn).lower()) for turn in dialogue]
    target_words = _WORD.findall(target.lower())
    equal = [index for index, turn_words in enumerate(words_of_turns) if turn_words == target_words]
    if equal:
        return equal[-1]
    distinct_words = set(target_words)
    return max(range(len(words_of_turns)), key=lambda index: (len(distinct_words & set(words_of_turns[index])), -index))


@dataclass(frozen=True, slots=True, init=False)
class Instance:
    """A question about a turn of a dialogue, with possible answers.

    Attributes:
        id: of the instance's dialogue as CICERO gives it; several instances may share one.
        dialogue: the turns, oldest first, with or without the letter of their speaker (``A: …``); at least one.
        target: the turn that is asked about, without speaker.
        question: what is asked.
        choices: possible answers; at least two.
        correct: indices of the right choices, ascending; empty where they are unknown.
        human: indices of the choices that people wrote (CICERO v1); empty where they are unknown.
    """

    id: str
    dialogue: tuple[str, ...]
    target: str
    question: Question
    choices: tuple[str, ...]
    correct: tuple[int, ...] = ()
    human: tuple[int, ...] = ()

    def __init__(
        self,
        id: str,
        dialogue: Sequence[str],
        target: str,
        question: Question | str,
        choices: Sequence[str],
        correct: Sequence[int] = (),
        human: Sequence[int] = (),
    ) -> None:
        """Check and store the instance; ``question`` may be given as for :func:`question_of`.

        Raises:
            InputError: a text is not a string, or blank; the question is unknown; there is no turn, or fewer than two choices; an
                index is not that of a choice.
        """
        set_field = object.__setattr__
        set_field(self, "id", _text(id, "the ID"))
        set_field(self, "dialogue", _texts(dialogue, "the dialogue", "turn {} of the dialogue", 1))
        set_field(self, "target", _text(target, "the target"))
        set_field(self, "question", question_of(_text(question, "the question")))
        set_field(self, "choices", _texts(choices, "the choices", "choice {}", 2))
        set_field(self, "correct", _choice_indices(correct, "the correct answers", len(self.choices)))
        set_field(self, "human", _choice_indices(human, "the human written answers", len(self.choices)))

    @property
    def target_index(self) -> int:
        """Index of the target among the turns."""
        return target_index(self.dialogue, self.target)


@dataclass(frozen=True, slots=True)
class Answered:
    """A question about a turn of a dialogue with its right answers, to which wrong ones are to be found."""

    line: int  # number of the record, from 1
    id: str  # of the dialogue; several questions may share one
    dialogue: tuple[str, ...]  # the turns, at least one
    target: str  # the turn that is asked about, without speaker
    question: Question
    right: tuple[str, ...]  # at least one
    human: tuple[str, ...] = ()  # right answers that people wrote, where the record says so
    wrong: tuple[str, ...] = ()


def answered(data: Mapping[str, Any], line: int) -> Answered:
    """Return the question and answers in a record of CICERO's fields.

    The right answers are the ``Choices`` that ``Correct Answers`` names, or else ``Human Written Answer``; the others are wrong.
    Without ``Choices``, right answers are the list ``Answers``.

    Raises:
        InputError: a field is missing or invalid, or there is no right answer.
    """
    for name in ("ID", "Dialogue", "Target", "Question"):
        if data.get(name) is None:
            raise InputError(f"{name} is missing")
    right: tuple[str, ...]
    human: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    if data.get("Choices") is not None:
        choices = _texts(data["Choices"], "the choices", "choice {}", 1)
        human_indices = _choice_indices(data.get("Human Written Answer") or (), "the human written answers", len(choices))
        right_indices = _choice_indices(data.get("Correct Answers") or (), "the correct answers", len(choices)) or human_indices
        right = tuple(choices[index] for index in right_indices)
        human = tuple(choices[index] for index in human_indices if index in right_indices)
        wrong = tuple(choice for index, choice in enumerate(choices) if index not in right_indices and index not in human_indices)
    else:
        right = _texts(data.get("Answers") or (), "the answers", "answer {}", 0)
    if not right:
        raise InputError("there is no right answer; give Choices with Correct Answers or Human Written Answer, or a list Answers")
    return Answered(
        line, _text(data["ID"], "the ID"), _texts(data["Dialogue"], "the dialogue", "turn {} of the dialogue", 1),
        _text(data["Target"], "the target"), question_of(_text(data["Question"], "the question")), right, human, wrong,
    )  # fmt: skip


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{what} is {'blank' if isinstance(value, str) else 'not a text'}")
    Item((), value)
    return value


def _texts(values: Any, what: str, numbered: str, minimum: int) -> tuple[str, ...]:
    """Return ``values``, a list of at least ``minimum`` texts, as a tuple."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise InputError(f"{what} {'are' if what.endswith('s') else 'is'} not a list of texts")
    if len(values) < minimum:
        raise InputError(f"{what} {'are' if what.endswith('s') else 'is'} {len(values)} in number; give at least {minimum}")
    return tuple(_text(value, numbered.format(number)) for number, value in enumerate(values, 1))


def _choice_indices(values: Any, what: str, choices: int) -> tuple[int, ...]:
    """Return ``values``, indices of choices, in ascending order; CICERO gives some twice."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise InputError(f"{what} are not a list of numbers of choices")
    for value in values:
        if type(value) is not int or not 0 <= value < choices:
            raise InputError(f"{what} have {value!r}, which is not the number of a choice, 0 to {choices - 1}")
    return tuple(sorted(set(values)))
