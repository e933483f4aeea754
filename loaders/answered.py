"""Questions with right answers, and candidates of wrong ones: what ``tacit create choices`` reads; JSON lines or a JSON list.

Questions are CICERO's records (:mod:`.cicero`), which may have right choices only, or records without ``Choices`` and with
``"Answers": ["…"]``. Candidates are records ``{"ID", "Candidates": ["…"]}`` for the instances of a dialogue; ``Target`` and
``Question`` limit them to some of these.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..graph.item import ItemError
from ..graph.questions import Answered, Question, answered, question_of
from .dialogues import BrokenRecord, json_object, parsed_rows
from .io import ByteSource
from .records import Columns

_WANTED = "ID, Dialogue, Target, Question, and Choices with Correct Answers or a list Answers"
_CANDIDATES = "ID and Candidates"


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


def read_answered(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Answered | ItemError]:
    """Yield the questions with right answers of a file (gzip or plain; ``-`` reads standard input) in its order.

    A record without one gives an :class:`ItemError` with its number from 1.

    Raises:
        InputError: the file cannot be opened, or is a table; under ``strict`` also, while iterating, for the first record that
            cannot be used.
        DamagedInput: under ``strict``, the file ends early.
    """
    columns = Columns(lambda _: False, _WANTED + " as JSON", "questions with answers")
    return parsed_rows(
        ByteSource(path), columns, lambda value, line: answered(json_object(value, _WANTED), line), strict=strict, id_field="ID"
    )


def read_candidates(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Candidates | ItemError]:
    """Yield the candidates of a file, as :func:`read_answered` does."""
    columns = Columns(lambda _: False, _CANDIDATES + " as JSON", "candidates")
    return parsed_rows(ByteSource(path), columns, _candidates, strict=strict, id_field="ID")


def _candidates(value: Any, line: int) -> Candidates:
    """Return the candidates in a record.

    Raises:
        BrokenRecord: a field is missing or invalid. InputError: the question is unknown.
    """
    data = json_object(value, _CANDIDATES)
    name, target, question, texts = (data.get(field) for field in ("ID", "Target", "Question", "Candidates"))
    if not isinstance(name, str) or not name.strip():
        raise BrokenRecord(f"ID is missing or not a text; expected {_CANDIDATES}")
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise BrokenRecord("Candidates is not a list of texts")
    for field, given in (("Target", target), ("Question", question)):
        if given is not None and not isinstance(given, str):
            raise BrokenRecord(f"{field} is not a text")
    return Candidates(line, name, target, None if question is None else question_of(question), tuple(texts))
