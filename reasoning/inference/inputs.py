"""The texts that models of CICERO read and write: eight subtasks of generation, and the choice of answers.

Ghosal et al., ACL 2022, section 4, and their code: parts are joined by a blank, a backslash, n and a blank; turns by ``<utt>``.
T5 has no backslash in its vocabulary, so its output is split at `` n `` too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from ...graph.errors import InputError, did_you_mean
from ...graph.questions import Instance, Question, target_index

SEPARATOR = r" \n "
TURNS = " <utt> "

_SPLIT = re.compile(r"\s*\\n\s*|\s*\n\s*|\s+n\s+")
_WORD = re.compile(r"\w+")

Fits = Callable[[str], bool]


class Subtask(StrEnum):
    """A subtask of generation: a question, and what is read beside target and context."""

    CAUSE = "cause"
    SUBSEQUENT = "subsequent"
    CLIPPED = "subsequent-clipped"
    CAUSE_GIVEN = "cause-given-subsequent"
    SUBSEQUENT_GIVEN = "subsequent-given-cause"
    PREREQUISITE = "prerequisite"
    MOTIVATION = "motivation"
    REACTION = "reaction"

    @property
    def question(self) -> Question:
        """The question that is asked."""
        return Question(self.value.partition("-")[0])

    @property
    def given(self) -> Question | None:
        """The question whose answer is read too."""
        return _GIVEN.get(self)


_GIVEN = {Subtask.CAUSE_GIVEN: Question.SUBSEQUENT, Subtask.SUBSEQUENT_GIVEN: Question.CAUSE}
_LABELS = {Question.SUBSEQUENT: "subsequent event", Question.CAUSE: "cause"}

SUBTASKS = tuple(Subtask)
"""The subtasks in the paper's order."""


class Example(NamedTuple):
    """A text to read with the answers that people gave, and the subtask and dialogue that it is of."""

    source: str
    answers: tuple[str, ...]
    subtask: str
    dialogue: str


def subtask_of(name: str) -> Subtask:
    """Return the subtask with this name."""
    if name in SUBTASKS:
        return Subtask(name)
    advice = did_you_mean(name, list(SUBTASKS), f"choose from {', '.join(SUBTASKS)}")
    raise InputError(f"unknown subtask {name!r}; {advice}")


def question_input(
    question: Question,
    target: str,
    dialogue: Sequence[str],
    *,
    given: tuple[Question, str] | None = None,
    fits: Fits | None = None,
) -> str:
    r"""Return ``Q \n target: T \n context: A: … <utt> B: …``; a context that does not fit loses its last turn after the
    target, then its first."""
    parts = [question.text, f"target: {target}"]
    if given is not None:
        parts.append(f"{_LABELS[given[0]]}: {given[1]}")
    return _with_context(parts, target, dialogue, fits)


def choice_input(instance: Instance, *, fits: Fits | None = None) -> str:
    r"""Return ``Q \n target: T \n (0) c0 (1) c1 … \n context: …``; ``fits`` is as for :func:`question_input`."""
    choices = " ".join(f"({index}) {choice}" for index, choice in enumerate(instance.choices))
    return _with_context(
        [instance.question.text, f"target: {instance.target}", choices], instance.target, instance.dialogue, fits
    )


def choice_output(texts: Iterable[str]) -> str:
    """Return what a model is to write: the texts of the right choices, joined by the separator."""
    return SEPARATOR.join(texts)


def written_choices(text: str, choices: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of the choices that a model wrote, ascending: equal ones, else those that share most words with a
    part."""
    indices: set[int] = set()
    for part in _SPLIT.split(text):
        index = _place(" ".join(part.split()), [" ".join(choice.split()) for choice in choices])
        if index is not None:
            indices.add(index)
    return tuple(sorted(indices))


def answers_of(instance: Instance) -> tuple[str, ...]:
    """Return the answers that people wrote, for version 2 those that are right."""
    return tuple(instance.choices[index] for index in instance.human or instance.correct)


def generation_examples(
    instances: Sequence[Instance], subtasks: Sequence[Subtask] = SUBTASKS, *, fits: Fits | None = None
) -> list[Example]:
    """Return the examples of some subtasks; a chained one reads the first answer to the other question about the same turn."""
    known: dict[tuple[str, str, Question], str] = {}
    for instance in instances:
        for answer in answers_of(instance)[:1]:
            known.setdefault((instance.id, instance.target, instance.question), answer)
    result = []
    for instance in instances:
        answers = answers_of(instance)
        for subtask in subtasks if answers else ():
            if subtask.question is not instance.question:
                continue
            dialogue, given = instance.dialogue, None
            if subtask is Subtask.CLIPPED:
                dialogue = dialogue[: instance.target_index + 1]
            if subtask.given is not None:
                answer_before = known.get((instance.id, instance.target, subtask.given))
                if answer_before is None:
                    continue
                given = (subtask.given, answer_before)
            source = question_input(instance.question, instance.target, dialogue, given=given, fits=fits)
            result.append(Example(source, answers, subtask.value, instance.id))
    return result


def _with_context(parts: Sequence[str], target: str, dialogue: Sequence[str], fits: Fits | None) -> str:
    turns = list(dialogue)
    while True:
        text = SEPARATOR.join([*parts, f"context: {TURNS.join(turns)}"])
        if fits is None or len(turns) == 1 or fits(text):
            return text
        turns.pop(-1 if target_index(turns, target) < len(turns) - 1 else 0)


def _place(part: str, choices: Sequence[str]) -> int | None:
    if not part:
        return None
    for clean in (str, _unquoted):
        text = clean(part)
        for index, choice in enumerate(choices):
            if clean(choice) == text:
                return index
    words = set(_WORD.findall(part.lower()))
    shared = [len(words.intersection(_WORD.findall(choice.lower()))) for choice in choices]
    return shared.index(max(shared)) if any(shared) else None


def _unquoted(text: str) -> str:
    return " ".join(re.sub("[\"'`’‘“”]", "", text).split())
