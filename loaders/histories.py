"""Dialogue files as histories to respond to, with the human responses where a record has them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..graph.item import Item, ItemError
from .dialogues import BrokenRecord, history_of, json_object, own_id, parsed_rows, references_of, response_of, texts_of
from .io import ByteSource
from .records import Columns

_FORMS = "turns, messages, or history"
_NAMES = {"turns", "messages", "history", "context"}


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
    columns = Columns(lambda names: bool(names & _NAMES), _FORMS, "dialogues")
    return parsed_rows(ByteSource(path), columns, _history_in, strict=strict)


def _history_in(value: Any, line: int) -> History:
    """Return the history in a record.

    Raises:
        BrokenRecord: it has none, or an empty one. InputError: a text is invalid.
    """
    data = json_object(value, _FORMS)
    if data.get("turns") not in (None, ""):
        turns = texts_of(data["turns"], "turns")
    elif any(data.get(name) is not None for name in _NAMES):
        turns = list(history_of(data))
    else:
        raise BrokenRecord(f"no history; expected {_FORMS}")
    if not any(isinstance(turn, str) and turn.strip() for turn in turns):
        raise BrokenRecord("the history is empty, so there is nothing to respond to; give at least one turn")
    response = [response_of(data)] if data.get("response") is not None else []
    item = Item(turns, "", [*response, *references_of(data)])
    return History(line, own_id(data) or str(line), item.history, item.references)
