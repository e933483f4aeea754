"""Dialogue files: JSON lines of ``{"history": …, "response": …}`` or ``{"turns": […]}`` as items to be scored, or whole.

A history may be a list or one newline-separated string. Of a dialogue's turns, every turn from the second on is an item whose
history is what was said before it. A line that is neither comes out as an :class:`ItemError` in its place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from ..graph.errors import InputError
from .lines import Line, decode, lines
from .source import ByteSource

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Item:
    """One response in its context.

    Attributes:
        id: the line's own ``id``, else its number; for turns with ``/<number of the turn, from 1>``
            after it, so that the first item of a dialogue is ``<id>/2``.
        history: the utterances before the response, oldest first.
        response: the utterance to score.
        references: responses that people gave at this place (``reference``, one text, or ``references``, a list); often none.
    """

    id: str
    history: tuple[str, ...]
    response: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemError:
    """A line that holds no item: its number from 1, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A whole dialogue: its line's number from 1, its turns, and everything that the line holds, ``turns`` included."""

    line: int
    turns: tuple[str, ...]
    record: dict[str, Any]


def read_items(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Item | ItemError]:
    """Yield the items of a dialogue file (gzip or plain; ``-`` reads standard input) in its order.

    Blank lines are skipped. The file is opened at once, read in constant memory.

    Raises:
        InputError: the file cannot be opened; under ``strict`` also, while iterating, for the first line that holds no item.
    """
    return _items(ByteSource(path), strict)


def read_dialogues(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Dialogue | ItemError]:
    """Yield the dialogues of a file of ``{"turns": […], …}`` lines, as :func:`read_items` yields items."""
    return _dialogues(ByteSource(path), strict)


def items_of(rows: Iterable[Line], path: str, *, strict: bool = False) -> Iterator[Item | ItemError]:
    """Yield the items of ``rows``, lines of the dialogue file at ``path``, as :func:`read_items` yields those of all its lines.

    Raises:
        InputError: under ``strict``, for the first line that holds no item.
    """
    for number, items in _parsed(rows, path, strict, parse_items):
        if isinstance(items, str):
            yield ItemError(number, items)
        else:
            yield from items


def _items(source: ByteSource, strict: bool) -> Iterator[Item | ItemError]:
    try:
        yield from items_of(lines(source), source.path, strict=strict)
    finally:
        source.close()


def _dialogues(source: ByteSource, strict: bool) -> Iterator[Dialogue | ItemError]:
    try:
        for number, record in _parsed(lines(source), source.path, strict, _parse_dialogue):
            if isinstance(record, str):
                yield ItemError(number, record)
            else:
                yield Dialogue(number, tuple(record["turns"]), record)
    finally:
        source.close()


def _parsed(rows: Iterable[Line], path: str, strict: bool, parse: Callable[[str, str], T | str]) -> Iterator[tuple[int, T | str]]:
    """Yield each line's number and what ``parse`` makes of it; of a line that cannot be used, why; blank lines are left out."""
    for line in rows:
        text, reason = decode(line)
        if reason is None and not text.strip():
            continue
        found = reason if reason is not None else parse(text, str(line.number))
        if strict and isinstance(found, str):
            raise InputError(f"{path}:{line.number}: {found}")
        yield line.number, found


def _parse_dialogue(text: str, _: str) -> dict[str, Any] | str:
    """Return the object in one JSON line, or why it is no dialogue."""
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return f"not JSON ({error.msg})"
    if not isinstance(data, dict) or "turns" not in data:
        return "not a JSON object with turns"
    return data if _texts(data["turns"]) else "turns is not a list of texts"


def parse_items(text: str, default_id: str) -> list[Item] | str:
    """Return the items in one JSON line, or why there is none."""
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return f"not JSON ({error.msg})"
    if not isinstance(data, dict):
        return "not a JSON object; expected history and response, or turns"
    name = data.get("id", default_id)
    if isinstance(name, bool) or not isinstance(name, str | int):
        return "id is neither text nor a whole number"
    if "response" in data or "history" in data:
        return _single(data, str(name))
    if "turns" in data:
        return _turns(data["turns"], str(name))
    return "neither history and response nor turns"


def _single(data: dict[str, Any], name: str) -> list[Item] | str:
    history: Any = data.get("history")
    response = data.get("response")
    if isinstance(history, str):
        history = [turn for turn in history.split("\n") if turn.strip()]
    if not _texts(history):
        return "history is neither a list of texts nor one newline-separated text"
    if not isinstance(response, str):
        return "response is not a text"
    references: Any = data.get("references", [])
    if isinstance(data.get("reference"), str):
        references = [data["reference"]]
    if not _texts(references):
        return "references is not a list of texts"
    return [Item(name, tuple(history), response, tuple(references))]


def _turns(turns: Any, name: str) -> list[Item] | str:
    if not _texts(turns):
        return "turns is not a list of texts"
    return [Item(f"{name}/{number + 1}", tuple(turns[:number]), turns[number]) for number in range(1, len(turns))]


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
