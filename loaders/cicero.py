"""CICERO files: questions about a turn of a dialogue with choices, and what choices are made from; JSON lines or a JSON list.

A record is ``{"ID", "Dialogue": ["A: …", …], "Target", "Question", "Choices", "Correct Answers": [i, …]}``; version 1 has five
choices and ``"Human Written Answer": [i]`` too, version 2 four to eight choices, of which two or more are right. Ghosal et al.,
ACL 2022, and its second version; both in https://github.com/declare-lab/CICERO.

``tacit create choices`` also reads records without wrong choices: with right ``Choices`` only, or without ``Choices`` and with
``"Answers": ["…"]``. It takes candidates of wrong answers from records ``{"ID", "Candidates": ["…"]}`` for the instances of a
dialogue; ``Target`` and ``Question`` limit them to some of these.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from ..graph.item import ItemError
from ..graph.questions import Answered, Instance, Question, answered, question_of
from .dialogues import BrokenRecord, json_object, parsed_rows
from .io import ByteSource
from .records import Columns

T = TypeVar("T")

_NAMES = ("ID", "Dialogue", "Target", "Question", "Choices")
_INSTANCE = ", ".join(_NAMES)
_ANSWERED = "ID, Dialogue, Target, Question, and Choices with Correct Answers or a list Answers"
_CANDIDATES = "ID and Candidates"
_FIELDS = {"ID": "id", "Dialogue": "dialogue", "Target": "target", "Question": "question", "Choices": "choices"}
_OPTIONAL = {"Correct Answers": "correct", "Human Written Answer": "human"}


@dataclass(frozen=True, slots=True)
class Candidates:
    """Wrong answers for the instances with this ID; with a target or question for those that have these.

    Attributes:
        line: number of the record, from 1; id: of the dialogue.
        target, question: of the instances; None: any.
        texts: at least one.
    """

    line: int
    id: str
    target: str | None
    question: Question | None
    texts: tuple[str, ...]

    def are_for(self, instance: Answered) -> bool:
        """Return whether the candidates are for this instance."""
        return (
            self.id == instance.id
            and self.target in (None, instance.target)
            and self.question in (None, instance.question)
        )  # fmt: skip


def read_cicero(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Instance | ItemError]:
    """Yield the instances of a file (gzip or plain; ``-`` reads standard input) in its order, in constant memory.

    A record that is not an instance gives an :class:`ItemError` with its number from 1. Records without ``Correct Answers`` have
    none that is known.

    Args:
        path: the file.
        strict: end at the first record that is not an instance.

    Raises:
        InputError: the file cannot be opened, or is a table; under ``strict`` also, while iterating, for the first record that is
            not an instance.
        DamagedInput: under ``strict``, the file ends early.
    """
    return _records(path, _instance, _INSTANCE, "CICERO instances", strict)


def read_answered(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Answered | ItemError]:
    """Yield the questions with right answers of a file, as :func:`read_cicero` does."""
    return _records(
        path, lambda value, line: answered(json_object(value, _ANSWERED), line), _ANSWERED, "questions with answers", strict
    )


def read_candidates(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Candidates | ItemError]:
    """Yield the candidates of a file, as :func:`read_cicero` does."""
    return _records(path, _candidates, _CANDIDATES, "candidates", strict)


def _records(
    path: str | os.PathLike[str], parse: Callable[[Any, int], T], fields: str, content: str, strict: bool
) -> Iterator[T | ItemError]:
    columns = Columns(lambda _: False, f"{fields} as JSON", content)
    return parsed_rows(ByteSource(path), columns, parse, strict=strict, id_field="ID")


def _instance(value: Any, _: int) -> Instance:
    data = json_object(value, _INSTANCE)
    missing = [name for name in _NAMES if data.get(name) is None]
    if missing:
        raise BrokenRecord(f"{missing[0]} is missing; expected {_INSTANCE}")
    optional = {field: data[name] for name, field in _OPTIONAL.items() if data.get(name) is not None}
    return Instance(**{field: data[name] for name, field in _FIELDS.items()}, **optional)


def _candidates(value: Any, line: int) -> Candidates:
    data = json_object(value, _CANDIDATES)
    dialogue_id, target, question, texts = (data.get(key) for key in ("ID", "Target", "Question", "Candidates"))
    if not isinstance(dialogue_id, str) or not dialogue_id.strip():
        raise BrokenRecord(f"ID is missing or not a text; expected {_CANDIDATES}")
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise BrokenRecord("Candidates is not a list of texts")
    for key, text in (("Target", target), ("Question", question)):
        if text is not None and not isinstance(text, str):
            raise BrokenRecord(f"{key} is not a text")
    return Candidates(line, dialogue_id, target, None if question is None else question_of(question), tuple(texts))
