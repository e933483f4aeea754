"""Event tuples annotated by people: those found in dialogues, as in DECO, and those judged plausible or not, as in CSKB.

A row of DECO (Ghazarian et al., ACL 2023; JSON list or JSON lines) has ``history`` (turns that end with ``</UTT>``, or a list),
``response`` and its tuples: ``tuples_single`` and ``tuples_pair``, lists of ``[head, relation, tail]``, as in the training set;
or ``tuples``, lists of ``[head, relation, tail, "single" or "pair"]`` by relation, as in the test set.

A row of the CSKB population benchmark (Fang et al., EMNLP 2021; CSV or JSON lines) has ``head``, ``relation``, ``tail`` and
``label``, 1 or 0; other columns are ignored.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import orjson

from ..graph.errors import InputError
from ..graph.relations import ATOMIC_RELATIONS
from .io import ByteSource, decode, lines

LARGEST_FILE = 1 << 30
"""Most bytes of a DECO file, which is read whole."""
TURN_END = "</UTT>"

_KINDS = ("single", "pair")
_EXPECTED = "expected rows with history, response and tuples_single, tuples_pair or tuples, as in DECO"
_COLUMNS = ("head", "relation", "tail", "label")
_LABELS = {"1": True, "0": False, "1.0": True, "0.0": False, "true": True, "false": False}


class HumanTuple(NamedTuple):
    """A tuple as annotated; ``kind`` is ``single`` or ``pair``."""

    head: str
    relation: str
    tail: str
    kind: str


@dataclass(frozen=True, slots=True)
class TupleRow:
    """A response in its context, with the tuples that annotators found in it, if any.

    Attributes:
        id: the row's ``GUID`` or ``id``, or its number in the file.
        history: the turns before the response, oldest first.
        response: the text of the response.
        tuples: the tuples, in the row's order.
    """

    id: str
    history: tuple[str, ...]
    response: str
    tuples: tuple[HumanTuple, ...]


def read_event_tuples(path: str | os.PathLike[str]) -> list[TupleRow]:
    """Return the rows of a file of human event tuples (gzip or plain; ``-`` reads standard input), in its order.

    Raises:
        InputError: the file cannot be opened, has more than 1 GiB, is empty, or has an invalid row, whose number is given.
    """
    source = ByteSource(path)
    try:
        data = b"".join(_limited(source))
        if source.damage is not None:
            raise InputError(f"{source.path} is damaged ({source.damage}); download or copy it again")
    finally:
        source.close()
    rows = [_row(source.path, number, value) for number, value in enumerate(_values(source.path, data), 1)]
    if not rows:
        raise InputError(f"{source.path} holds no row; {_EXPECTED}")
    return rows


def _limited(source: ByteSource) -> Iterator[bytes]:
    size = 0
    for chunk in source.chunks():
        size += len(chunk)
        if size > LARGEST_FILE:
            raise InputError(f"{source.path} holds more than {LARGEST_FILE:,} bytes; give it in parts")
        yield chunk


def _values(path: str, data: bytes) -> list[Any]:
    """Return the elements of a JSON list, or the objects of JSON lines."""
    data = data.removeprefix(b"\xef\xbb\xbf").strip()
    whole = data.startswith(b"[")
    lines = [data] if whole else data.splitlines()
    values = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            values.append(orjson.loads(line))
        except orjson.JSONDecodeError as error:
            where = "" if whole else f", line {number},"
            raise InputError(f"{path}{where} is not JSON ({error.msg}); {_EXPECTED}") from error
    return values[0] if whole else values


def _row(path: str, number: int, value: Any) -> TupleRow:
    """Return one row; errors give its number."""

    def wrong(what: str) -> InputError:
        return InputError(f"{path}, row {number}: {what}; {_EXPECTED}")

    if not isinstance(value, dict):
        raise wrong("not a JSON object")
    history, response = value.get("history"), value.get("response")
    if isinstance(history, str):
        history = [turn.strip() for turn in history.split(TURN_END) if turn.strip()]
    if not isinstance(history, list) or not all(isinstance(turn, str) for turn in history):
        raise wrong("history is neither a text nor a list of texts")
    if not isinstance(response, str):
        raise wrong("response is not a text")
    if not any(key in value for key in ("tuples", "tuples_single", "tuples_pair")):
        raise wrong("there are no tuples")
    found = []
    for one, kind in _written(value):
        texts = one[:3] if isinstance(one, list) else []
        if len(texts) != 3 or not all(isinstance(text, str) and text.strip() for text in texts):
            raise wrong(f"{one!r} is not [head, relation, tail]")
        if kind not in _KINDS or texts[1] not in ATOMIC_RELATIONS:
            what = (
                f"{kind!r} is neither single nor pair" if kind not in _KINDS else f"there is no relation {texts[1]!r} in ATOMIC"
            )
            raise wrong(what)
        found.append(HumanTuple(texts[0], texts[1], texts[2], kind))
    name = next((str(value[key]) for key in ("GUID", "id") if value.get(key) not in (None, "")), str(number))
    return TupleRow(name, tuple(history), response.strip(), tuple(found))


def _written(value: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield every tuple of a row with its kind."""
    for kind in _KINDS:
        for one in value.get(f"tuples_{kind}") or ():
            yield one, kind
    by_relation = value.get("tuples") or {}
    lists = by_relation.values() if isinstance(by_relation, dict) else [by_relation]
    for tuples in lists:
        for one in tuples if isinstance(tuples, list) else [tuples]:
            yield one, one[3] if isinstance(one, list) and len(one) > 3 else "single"


class JudgedTuple(NamedTuple):
    """A tuple, and whether annotators judged it plausible."""

    head: str
    relation: str
    tail: str
    plausible: bool


class JudgedTupleError(NamedTuple):
    """A line without a judged tuple: its number from 1, and the reason."""

    line: int
    reason: str


def read_judged_tuples(
    path: str | os.PathLike[str], relations: Collection[str] = ATOMIC_RELATIONS
) -> Iterator[JudgedTuple | JudgedTupleError]:
    """Yield the judged tuples of a file (gzip or plain; ``-`` reads standard input) in its order, in constant memory.

    Args:
        path: the file.
        relations: relations that a tuple can have.

    Raises:
        InputError: the file cannot be opened; while iterating, when it begins with neither an object nor a heading
            with these columns.
    """
    return _judged(ByteSource(path), frozenset(relations))


def _judged(source: ByteSource, relations: frozenset[str]) -> Iterator[JudgedTuple | JudgedTupleError]:
    row_of: Callable[[str], dict[str, Any] | str] | None = None
    try:
        for line in lines(source):
            text, flaw = decode(line)
            if flaw is None and not text.strip():
                continue
            if flaw is None and row_of is None:
                row_of = _object
                if not text.lstrip().startswith("{"):
                    row_of = partial(_cells, _heading(text, source.path))
                    continue
            row = flaw if flaw is not None or row_of is None else row_of(text)
            found = _tuple(row, relations) if isinstance(row, dict) else str(row)
            yield JudgedTupleError(line.number, found) if isinstance(found, str) else found
    finally:
        source.close()


def _heading(text: str, path: str) -> list[str]:
    found = [cell.strip().lower() for cell in next(csv.reader([text]))]
    if not set(_COLUMNS) <= set(found):
        raise InputError(f"{path} holds no judged tuples; expected JSON lines, or CSV with a heading, with {', '.join(_COLUMNS)}")
    return found


def _cells(heading: list[str], text: str) -> dict[str, Any] | str:
    """Return a row of CSV by its heading, or why it is invalid."""
    try:
        cells = next(csv.reader([text], strict=True))
    except csv.Error as error:
        return f"not CSV ({error})"
    if len(cells) > len(heading):
        return f"{len(cells)} cells under {len(heading)} columns"
    return dict(zip(heading, cells, strict=False))


def _object(text: str) -> dict[str, Any] | str:
    try:
        row = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return f"not JSON ({error.msg})"
    return row if isinstance(row, dict) else "not a JSON object"


def _tuple(row: dict[str, Any], relations: frozenset[str]) -> JudgedTuple | str:
    """Return the tuple in a row, or why it is invalid."""
    for name in _COLUMNS[:3]:
        value = row.get(name)
        if not isinstance(value, str) or not value.strip():
            return f"{name} is {'empty' if isinstance(value, str) else 'missing' if value is None else 'not a text'}"
    if row["relation"] not in relations:
        return f"there is no relation {row['relation']!r} between events; choose from {', '.join(sorted(relations))}"
    label = row.get("label")
    plausible = _LABELS.get(str(label).strip().lower())
    if plausible is None:
        return f"label is {'missing' if label is None else repr(label)}; expected 1 or 0"
    return JudgedTuple(row["head"], row["relation"], row["tail"], plausible)
