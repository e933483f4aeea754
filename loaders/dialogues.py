"""Dialogue files as items to score, or as whole dialogues: JSON lines, a JSON list, CSV or Parquet, plain or gzip.

A record has one of these forms:

* ``history`` (or ``context``) and ``response``: one item.
* ``turns``, a list of texts: every turn from the second on is an item with the turns before it as history.
* ``messages``, a list of ``{"role", "content"}`` as in chat APIs: every message with the role ``assistant`` from the second
  message on is an item; if no message has that role, every message from the second on is. Messages with the roles ``system``,
  ``developer``, ``tool`` and ``function``, and messages without text, are left out.

A history is a list of texts, or one text: with a list, with one of the marks of data sets between or after the turns
(``</UTT>`` of DECO, ``__eou__`` of DailyDialog, ``|||`` of GRADE, ``[SEP]``, ``</s>``), or with one turn per line. In CSV, lists
are JSON, or as Python or NumPy writes them, in their cells. Every record gives at least one row: a record without an item gives
an :class:`ItemError` in its place, with its ``id`` if it has one. So does an item whose texts cannot be scored.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

from ..graph.errors import DamagedInput, InputError
from ..graph.item import Item, ItemError
from .io import ByteSource, Line, decode
from .records import Columns, Damage, parsed_json, read_records

T = TypeVar("T")

TEXTS = "a list of texts"

_TURN_END = re.compile(r"</UTT>|__eou__|\|\|\||\[SEP\]|</s>")
_LINE_END = re.compile(r"\r?\n")
_ESCAPED_LINE_END = re.compile(r"(?:\\r)?\\n")
_PYTHON_TEXT = re.compile(r"""'(?:[^'\\\n]|\\[\\'"nrtxuU])*+'|"(?:[^"\\\n]|\\[\\'"nrtxuU])*+\"""")
_PYTHON_TEXTS = re.compile(rf"\s*+\[\s*+(?:(?:{_PYTHON_TEXT.pattern})[\s,]*+)++\]\s*+")
_IGNORED_ROLES = frozenset(("system", "developer", "tool", "function"))
_REPLY_ROLE = "assistant"
_FORMS = "history (or context) and response, or turns, or messages"
_WHOLE_FORMS = "turns, or messages"


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A whole dialogue: its record's number from 1, its turns, and all fields of the record, with these ``turns``."""

    line: int
    turns: tuple[str, ...]
    record: dict[str, Any]


class BrokenRecord(Exception):
    """A record that cannot be used, with the reason; raised by the functions here that parse records."""


def read_items(
    path: str | os.PathLike[str], *, strict: bool = False, columns: Mapping[str, str] | None = None
) -> Iterator[Item | ItemError]:
    """Yield the items of a dialogue file (``-`` for standard input, except Parquet) in its order.

    Blank lines are skipped. The file is opened at once and read in constant memory. A line, or an element of a JSON list, can
    have at most 1 MiB.

    Args:
        path: the file.
        strict: end at the first record without an item.
        columns: for fields of a record the columns (of JSON: the keys) that have them, where they have other names, e.g.
            ``{"history": "context", "response": "answer"}``.

    Raises:
        InputError: the file cannot be opened, has none of the forms, or is a table without the columns; under ``strict`` also,
            while iterating, for the first record without an item.
        DamagedInput: under ``strict``, the file ends early.
    """
    return _items(ByteSource(path), strict, columns)


def read_dialogues(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Dialogue | ItemError]:
    """Yield the dialogues of a file of records with ``turns`` or ``messages``, as :func:`read_items` yields items."""
    columns = Columns(lambda names: bool(names & {"turns", "messages"}), _WHOLE_FORMS, "dialogues")
    return parsed_rows(ByteSource(path), columns, _dialogue_in, strict=strict)


def item_records(source: ByteSource, columns: Mapping[str, str] | None = None) -> Iterator[Line]:
    """Yield the records of a dialogue file for :func:`items_of`, which may run on another machine."""
    return read_records(source, Columns(has_items, _FORMS, "dialogues", columns or {}))


def items_of(rows: Iterable[Line], path: str, *, strict: bool = False) -> Iterator[Item | ItemError]:
    """Yield the items of ``rows``, some records of the dialogue file at ``path``, as :func:`read_items` does for all."""
    records = parsed_records(rows, path, lambda value, line: items_in(json_object(value, _FORMS), line), strict=strict)
    for items in records:
        for item in [items] if isinstance(items, ItemError) else items:
            if strict and isinstance(item, ItemError):
                raise InputError(f"{path}:{item.line}: {item.reason}")
            yield item


def _items(source: ByteSource, strict: bool, columns: Mapping[str, str] | None) -> Iterator[Item | ItemError]:
    with closing(source):
        yield from items_of(item_records(source, columns), source.path, strict=strict)


def has_items(names: set[str]) -> bool:
    """Return whether a table with these columns has dialogues with responses."""
    return bool(names & {"turns", "messages"}) or ("response" in names and bool(names & {"history", "context"}))


def parsed_rows(
    source: ByteSource, columns: Columns, parse: Callable[[Any, int], T], *, strict: bool, id_field: str = "id"
) -> Iterator[T | ItemError]:
    """Yield what ``parse`` makes of each record of a file, as :func:`parsed_records`; close the file at the end.

    Raises:
        InputError: while iterating: the file has none of the forms; under ``strict`` also for a record that cannot be used.
        DamagedInput: under ``strict``, the file ends early.
    """
    with closing(source):
        yield from parsed_records(read_records(source, columns), source.path, parse, strict=strict, id_field=id_field)


def parsed_records(
    rows: Iterable[Line], path: str, parse: Callable[[Any, int], T], *, strict: bool, id_field: str = "id"
) -> Iterator[T | ItemError]:
    """Yield what ``parse`` makes of the JSON value and the number of each record of the file at ``path``; skip blank lines.

    A record that it refuses by BrokenRecord or InputError gives an :class:`ItemError` with the ID in ``id_field``; under
    ``strict`` it ends the reading by InputError, and a file that ends early by DamagedInput.
    """
    for line in rows:
        text, reason = decode(line)
        if reason is None and not text.strip():
            continue
        row: T | ItemError
        data: Any = None
        try:
            if reason is not None:
                raise BrokenRecord(reason)
            try:
                data = parsed_json(text)
            except ValueError as error:
                raise BrokenRecord(str(error)) from None
            row = parse(data, line.number)
        except (BrokenRecord, InputError) as error:
            record_id = own_id(data, id_field) if isinstance(data, dict) else None
            row = ItemError(line.number, str(error), id=record_id, damage=isinstance(line.flaw, Damage))
            if strict and row.damage:
                raise DamagedInput(f"{path} ends early, at record {line.number:,}: {error}; get the whole file") from None
            if strict:
                raise InputError(f"{path}:{line.number}: {error}") from None
        yield row


def json_object(value: Any, expected: str) -> dict[str, Any]:
    """Return a record's JSON object; ``expected`` says what it should hold."""
    if not isinstance(value, dict):
        raise BrokenRecord(f"not a JSON object; expected {expected}")
    return value


def items_in(data: Mapping[str, Any], line: int) -> list[Item | ItemError]:
    """Return the items in the record with this number, at least one, with an error for each that cannot be scored."""
    record_id = data.get("id")
    if not (record_id is None or isinstance(record_id, str)) and own_id(data) is None:
        raise BrokenRecord("id is neither a text nor a number")
    item_id = own_id(data) or str(line)
    if "response" in data or "history" in data:
        return [_item(line, item_id, history_of(data), response_of(data), references_of(data))]
    turns, replies = turns_of(data)
    return [_item(line, f"{item_id}/{number + 1}", turns[:number], turns[number]) for number in replies]


def _item(line: int, item_id: str, history: Sequence[str], response: str, references: Sequence[str] = ()) -> Item | ItemError:
    """Return an item, or an error when its texts are invalid."""
    try:
        return Item(history, response, references, item_id)
    except InputError as error:
        return ItemError(line, str(error), id=item_id)


def _dialogue_in(value: Any, line: int) -> Dialogue:
    data = json_object(value, _FORMS)
    if "turns" not in data and "messages" not in data:
        raise BrokenRecord(f"not a JSON object with {_WHOLE_FORMS}")
    turns = texts_of(data["turns"], "turns") if "turns" in data else _messages(data["messages"])[0]
    return Dialogue(line, tuple(turns), {**data, "turns": turns})


def turns_of(data: Mapping[str, Any]) -> tuple[list[str], list[int]]:
    """Return the turns of a dialogue, and the indices (>= 1) of those that are responses."""
    if data.get("turns") not in (None, "") or ("turns" in data and "messages" not in data):
        turns = texts_of(data["turns"], "turns")
        replies = list(range(1, len(turns)))
        if not replies:
            raise BrokenRecord(f"turns holds {'one text' if turns else 'nothing'}; a response needs a turn before it")
        return turns, replies
    if "messages" not in data:
        raise BrokenRecord(
            f"response is missing; expected {_FORMS}"
            if "context" in data
            else "neither history and response, nor turns, nor messages"
        )
    turns, roles = _messages(data["messages"])
    replies = [index for index in range(1, len(turns)) if roles[index] == _REPLY_ROLE or _REPLY_ROLE not in roles]
    if not replies:
        raise BrokenRecord("messages holds no reply of the assistant to a message before it")
    return turns, replies


def _messages(value: Any) -> tuple[list[str], list[str]]:
    """Return the texts and roles of the turns in ``messages``."""
    if isinstance(value, str):
        value = list_in(value)
    turns, roles = [], []
    if not isinstance(value, list):
        raise BrokenRecord("messages is not a list of objects with role and content")
    for message in value:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str) or "content" not in message:
            raise BrokenRecord("messages is not a list of objects with role and content")
        text = _content(message["content"])
        if text is not None and message["role"].lower() not in _IGNORED_ROLES:
            turns.append(text)
            roles.append(message["role"].lower())
    return turns, roles


def _content(value: Any) -> str | None:
    """Return the text of a message's content, which may be a list of parts; None when it has none, as in a tool call."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise BrokenRecord("the content of a message is neither a text nor a list of parts")
    texts = [part["text"] for part in value if isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts else None


def history_of(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the history: ``history``, or else ``context``, or else ``messages``."""
    key = next((key for key in ("history", "context", "messages") if data.get(key) is not None), "history")
    value = data.get(key)
    if key == "messages":
        return tuple(_messages(value)[0])
    if isinstance(value, str):
        turns = list_in(value)
        if turns is not None and _are_texts(turns):
            return tuple(turns)
        if _TURN_END.search(value):
            return tuple(turn.strip() for turn in _TURN_END.split(value) if turn.strip())
        line_end = _LINE_END if "\n" in value else _ESCAPED_LINE_END
        return tuple(turn for turn in line_end.split(value) if turn.strip())
    if value is None:
        raise BrokenRecord("history is missing")
    if not _are_texts(value):
        raise BrokenRecord(f"{key} is neither {TEXTS} nor one newline-separated text")
    return tuple(value)


def response_of(data: Mapping[str, Any]) -> str:
    response = data.get("response")
    if not isinstance(response, str):
        raise BrokenRecord("response is missing" if response is None else "response is not a text")
    return response


def references_of(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the texts of ``references`` (a list; in CSV in its cell) and ``reference`` (one text, or a list), without nulls."""
    references: tuple[str, ...] = ()
    for key in ("references", "reference"):
        value = data.get(key)
        texts = _without_nulls(list_in(value) if isinstance(value, str) else value)
        if isinstance(value, str) and not _are_texts(texts):
            texts = [value] if value.strip() else []
        if value is not None and not _are_texts(texts):
            raise BrokenRecord(f"{key} is neither a text nor {TEXTS}")
        references += tuple(texts or ())
    return references


def _without_nulls(value: Any) -> Any:
    return [entry for entry in value if entry is not None] if isinstance(value, list) else value


def texts_of(value: Any, key: str) -> list[str]:
    """Return a list of texts; in CSV it is in a text."""
    if isinstance(value, str):
        value = list_in(value)
    if not _are_texts(value):
        raise BrokenRecord(f"{key} is not {TEXTS}")
    return value


def own_id(data: Mapping[str, Any], field: str = "id") -> str | None:
    """Return the record's ID, None when it has none: a text that is not empty, or a finite number (``1`` for 1.0)."""
    value = data.get(field)
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value) if value.is_integer() else value)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip() else None


def list_in(value: str) -> list[Any] | None:
    """Return the list in a JSON text, or the list of texts in a text as Python or NumPy writes it; None for another text."""
    if not value.lstrip().startswith("["):
        return None
    try:
        parsed = json.loads(value, strict=False)
    except (ValueError, RecursionError):
        return _python_texts(value)
    return parsed if isinstance(parsed, list) else None


def _python_texts(value: str) -> list[Any] | None:
    """Return the texts in ``['a', "b"]`` or, as NumPy has them, ``['a' 'b']``."""
    if not _PYTHON_TEXTS.fullmatch(value):
        return None
    try:
        return [ast.literal_eval(text) for text in _PYTHON_TEXT.findall(value)]
    except (ValueError, SyntaxError):
        return None


def _are_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
