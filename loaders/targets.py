"""Dialogues whose turns are asked about: dialogue files in every form, and CICERO's files, where the record names the target."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..graph.item import Item, ItemError
from ..graph.questions import Question, question_of, target_place
from .dialogues import BrokenRecord, has_items, history_of, json_object, own_id, parsed_rows, response_of, turns_of
from .io import ByteSource
from .records import Columns

_FORMS = "turns, messages, history and response, or CICERO's Dialogue, Target and Question"


@dataclass(frozen=True, slots=True)
class Targets:
    """A dialogue, and what a record asks about it.

    Attributes:
        line: the record's number, from 1; id: its ID, or this number.
        turns: at least one.
        target: index of the turn that the record asks about; None where it names none.
        question: that the record asks; None where it names none.
    """

    line: int
    id: str
    turns: tuple[str, ...]
    target: int | None = None
    question: Question | None = None


def read_targets(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Targets | ItemError]:
    """Yield the dialogues of a file (gzip or plain; ``-`` reads standard input) in its order, in constant memory.

    A record has one of the forms of :func:`tacit.loaders.read_items`, of which the response is the last turn, or is an instance
    of CICERO, with or without choices. A record without a dialogue gives an :class:`ItemError`.

    Raises:
        InputError: the file cannot be opened, or has none of the forms; under ``strict`` also, while iterating, for the first
            record without a dialogue.
        DamagedInput: under ``strict``, the file ends early.
    """
    return parsed_rows(ByteSource(path), Columns(has_items, _FORMS, "dialogues"), _targets_in, strict=strict)


def _targets_in(value: Any, line: int) -> Targets:
    """Return the dialogue in a record.

    Raises:
        BrokenRecord: it has none. InputError: a text is invalid, or the question unknown.
    """
    data = json_object(value, _FORMS)
    if "Dialogue" in data:
        turns, target, question = data["Dialogue"], data.get("Target"), data.get("Question")
        name = own_id(data, "ID") or str(line)
        checked = _checked(turns)
        if target is not None and not isinstance(target, str):
            raise BrokenRecord("Target is not a text")
        if question is not None and not isinstance(question, str):
            raise BrokenRecord("Question is not a text")
        return Targets(
            line, name, checked, None if target is None else target_place(checked, target),
            None if question is None else question_of(question),
        )  # fmt: skip
    name = own_id(data) or str(line)
    if "response" in data or "history" in data:
        return Targets(line, name, _checked([*history_of(data), response_of(data)]))
    return Targets(line, name, _checked(turns_of(data)[0]))


def _checked(turns: Any) -> tuple[str, ...]:
    found = Item(turns, "").history
    if not found:
        raise BrokenRecord("the dialogue has no turn")
    return found
