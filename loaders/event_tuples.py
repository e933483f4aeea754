"""Event tuples that people found in dialogues, in the form of DECO (Ghazarian et al., ACL 2023): JSON list or JSON lines.

A row has ``history`` (turns closed by ``</UTT>``, or a list), ``response`` and its tuples: ``tuples_single`` and ``tuples_pair``,
lists of ``[head, relation, tail]``, as the training set has them, or ``tuples``, by relation lists of
``[head, relation, tail, "single" or "pair"]``, as the test set has them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from ..graph.errors import InputError
from ..graph.relations import ATOMIC_RELATIONS
from .source import ByteSource

LARGEST_FILE = 1 << 30
TURN_END = "</UTT>"

_KINDS = ("single", "pair")
_EXPECTED = "expected rows with history, response and tuples_single, tuples_pair or tuples, as DECO has them"


class HumanTuple(NamedTuple):
    """A tuple as it was written down; ``kind`` is ``single`` or ``pair``."""

    head: str
    relation: str
    tail: str
    kind: str


@dataclass(frozen=True, slots=True)
class TupleRow:
    """A response in its context, with the tuples that people found in it; they may be none.

    Attributes:
        id: the row's ``GUID`` or ``id``, else its number in the file.
        history: the utterances before the response, oldest first.
    """

    id: str
    history: tuple[str, ...]
    response: str
    tuples: tuple[HumanTuple, ...]


def read_event_tuples(path: str | os.PathLike[str]) -> list[TupleRow]:
    """Return the rows of a file of human event tuples (gzip or plain; ``-`` reads standard input), in its order.

    Raises:
        InputError: the file cannot be opened, is larger than 1 GiB, is empty, or a row is none; the row is named.
    """
    source = ByteSource(path)
    try:
        data = b"".join(_limited(source))
        if source.damage is not None:
            raise InputError(f"{source.path} is damaged ({source.damage}); get it again")
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
    """The elements of a JSON list, or the objects of JSON lines."""
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
    """One row; what is wrong with it is named by its number."""

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
        raise wrong("response is no text")
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
    """Every tuple of a row with its kind."""
    for kind in _KINDS:
        for one in value.get(f"tuples_{kind}") or ():
            yield one, kind
    by_relation = value.get("tuples") or {}
    lists = by_relation.values() if isinstance(by_relation, dict) else [by_relation]
    for tuples in lists:
        for one in tuples if isinstance(tuples, list) else [tuples]:
            yield one, one[3] if isinstance(one, list) and len(one) > 3 else "single"
