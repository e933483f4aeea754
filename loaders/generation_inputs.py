"""Dialogue files as inputs of generation: histories to respond to, dialogues with turns to ask about, and contexts.

Every record gives one row, with its number in the file and its ID or this number; a record without what is looked for gives an
:class:`~tacit.graph.item.ItemError`. All files may be gzip or plain and are read in constant memory; ``-`` is standard input.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..graph.item import Item, ItemError
from ..graph.questions import Question, question_of, target_index
from .dialogues import (
    BrokenRecord,
    has_items,
    history_of,
    json_object,
    own_id,
    parsed_rows,
    references_of,
    response_of,
    texts_of,
    turns_of,
)
from .io import ByteSource
from .records import Columns

_HISTORIES = "turns, messages, or history"
_HISTORY_NAMES = {"turns", "messages", "history", "context"}
_TARGETS = "turns, messages, history and response, or CICERO's Dialogue, Target and Question"


# histories


@dataclass(frozen=True, slots=True)
class History:
    """A history to respond to.

    Attributes:
        line: the record's number, from 1; id: its ID, or this number.
        turns: oldest first, at least one that is not blank.
        references: human responses to it: the record's ``response`` and ``references``.
    """

    line: int
    id: str
    turns: tuple[str, ...]
    references: tuple[str, ...] = ()


def read_histories(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[History | ItemError]:
    """Yield the histories of a file (gzip or plain; ``-`` reads standard input) in its order, in constant memory.

    A record has ``history`` (or ``context``), with or without ``response``; or ``turns`` or ``messages``, all of which are the
    history. A record without a history gives an :class:`ItemError`.

    Raises:
        InputError: the file cannot be opened, or has none of the forms; under ``strict`` also, while iterating, for the first
            record without a history.
        DamagedInput: under ``strict``, the file ends early.
    """
    columns = Columns(lambda names: bool(names & _HISTORY_NAMES), _HISTORIES, "dialogues")
    return parsed_rows(ByteSource(path), columns, _history_in, strict=strict)


def _history_in(value: Any, line: int) -> History:
    data = json_object(value, _HISTORIES)
    if data.get("turns") not in (None, ""):
        turns = texts_of(data["turns"], "turns")
    elif any(data.get(name) is not None for name in _HISTORY_NAMES):
        turns = list(history_of(data))
    else:
        raise BrokenRecord(f"no history; expected {_HISTORIES}")
    if not any(isinstance(turn, str) and turn.strip() for turn in turns):
        raise BrokenRecord("the history is empty, so there is nothing to respond to; give at least one turn")
    response = [response_of(data)] if data.get("response") is not None else []
    item = Item(turns, "", [*response, *references_of(data)])
    return History(line, own_id(data) or str(line), item.history, item.references)


# dialogues with a turn that is asked about


@dataclass(frozen=True, slots=True)
class Targets:
    """A dialogue, and the questions that a record asks about it.

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
    return parsed_rows(ByteSource(path), Columns(has_items, _TARGETS, "dialogues"), _targets_in, strict=strict)


def _targets_in(value: Any, line: int) -> Targets:
    data = json_object(value, _TARGETS)
    if "Dialogue" in data:
        turns, target, question = data["Dialogue"], data.get("Target"), data.get("Question")
        record_id = own_id(data, "ID") or str(line)
        checked_turns = _checked_turns(turns)
        for key, text in (("Target", target), ("Question", question)):
            if text is not None and not isinstance(text, str):
                raise BrokenRecord(f"{key} is not a text")
        return Targets(
            line, record_id, checked_turns, None if target is None else target_index(checked_turns, target),
            None if question is None else question_of(question),
        )  # fmt: skip
    record_id = own_id(data) or str(line)
    if "response" in data or "history" in data:
        return Targets(line, record_id, _checked_turns([*history_of(data), response_of(data)]))
    return Targets(line, record_id, _checked_turns(turns_of(data)[0]))


def _checked_turns(turns: Any) -> tuple[str, ...]:
    history = Item(turns, "").history
    if not history:
        raise BrokenRecord("the dialogue has no turn")
    return history


# contexts


@dataclass(frozen=True, slots=True)
class Context:
    """A context: its record's number, from 1; the record's ID, or this number; the text."""

    line: int
    id: str
    text: str


def read_contexts(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Context | ItemError]:
    """Yield the contexts of a file (gzip or plain; ``-`` reads standard input) in its order, in constant memory.

    A record without a context gives an :class:`ItemError`.

    Raises:
        InputError: the file cannot be opened, or is a table without the column; under ``strict`` also, while iterating, for the
            first record without a context.
        DamagedInput: under ``strict``, the file ends early.
    """
    return parsed_rows(
        ByteSource(path), Columns(lambda names: "context" in names, "context", "contexts"), _context_in, strict=strict
    )


def _context_in(value: Any, line: int) -> Context:
    data = json_object(value, "context")
    text = data.get("context")
    if not isinstance(text, str):
        raise BrokenRecord("context is missing" if text is None else "context is not a text")
    return Context(line, own_id(data) or str(line), Item((), text).response)
