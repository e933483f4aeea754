"""Event tuples annotated by people: those found in dialogues, as in DECO, and those judged plausible or not, as in CSKB.

A row of DECO (Ghazarian et al., ACL 2023; JSON list or JSON lines) has ``history`` (turns that end with ``</UTT>``, or a list),
``response`` and its tuples: ``tuples_single`` and ``tuples_pair``, lists of ``[head, relation, tail]``, as in the training set;
or ``tuples``, lists of ``[head, relation, tail, "single" or "pair"]`` by relation, as in the test set.

A row of the CSKB population benchmark (Fang et al., EMNLP 2021; CSV, JSON or Parquet) has ``head``, ``relation``, ``tail`` and
``label``, 1 or 0; other columns are ignored.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..graph.errors import InputError
from ..graph.item import ItemError
from ..graph.relations import ATOMIC_RELATIONS
from .dialogues import BrokenRecord, json_object, parsed_rows
from .io import ByteSource
from .records import Columns

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
        InputError: the file cannot be opened, is damaged or empty, or has an invalid row, whose number is given.
    """
    columns = Columns(lambda _: False, "history, response and tuples_single, tuples_pair or tuples as JSON", "event tuples")
    rows = []
    for row in parsed_rows(ByteSource(path), columns, _row, strict=False):
        if not isinstance(row, ItemError):
            rows.append(row)
        elif row.damage:
            raise InputError(f"{os.fspath(path)} is damaged ({row.reason}); download or copy it again")
        else:
            raise InputError(f"{os.fspath(path)}, row {row.line}: {row.reason}; {_EXPECTED}")
    if not rows:
        raise InputError(f"{os.fspath(path)} contains no row; {_EXPECTED}")
    return rows


def _row(data: Any, number: int) -> TupleRow:
    value = json_object(data, "history, response and tuples")
    history, response = value.get("history"), value.get("response")
    if isinstance(history, str):
        history = [turn.strip() for turn in history.split(TURN_END) if turn.strip()]
    if not isinstance(history, list) or not all(isinstance(turn, str) for turn in history):
        raise BrokenRecord("history is neither a text nor a list of texts")
    if not isinstance(response, str):
        raise BrokenRecord("response is not a text")
    if not any(key in value for key in ("tuples", "tuples_single", "tuples_pair")):
        raise BrokenRecord("there are no tuples")
    tuples = []
    for annotated, kind in _annotated_tuples(value):
        texts = annotated[:3] if isinstance(annotated, list) else []
        if len(texts) != 3 or not all(isinstance(text, str) and text.strip() for text in texts):
            raise BrokenRecord(f"{annotated!r} is not [head, relation, tail]")
        if kind not in _KINDS:
            raise BrokenRecord(f"{kind!r} is neither single nor pair")
        if texts[1] not in ATOMIC_RELATIONS:
            raise BrokenRecord(f"there is no relation {texts[1]!r} in ATOMIC")
        tuples.append(HumanTuple(texts[0], texts[1], texts[2], kind))
    name = next((str(value[key]) for key in ("GUID", "id") if value.get(key) not in (None, "")), str(number))
    return TupleRow(name, tuple(history), response.strip(), tuple(tuples))


def _annotated_tuples(value: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield every tuple of a row with its kind."""
    for kind in _KINDS:
        for annotated in value.get(f"tuples_{kind}") or ():
            yield annotated, kind
    by_relation = value.get("tuples") or {}
    lists = by_relation.values() if isinstance(by_relation, dict) else [by_relation]
    for tuples in lists:
        for annotated in tuples if isinstance(tuples, list) else [tuples]:
            yield annotated, annotated[3] if isinstance(annotated, list) and len(annotated) > 3 else "single"


class JudgedTuple(NamedTuple):
    """A tuple, and whether annotators judged it plausible."""

    head: str
    relation: str
    tail: str
    plausible: bool


def read_judged_tuples(
    path: str | os.PathLike[str], relations: Collection[str] = ATOMIC_RELATIONS, *, strict: bool = False
) -> Iterator[JudgedTuple | ItemError]:
    """Yield the judged tuples of a file (gzip or plain; ``-`` reads standard input) in its order, in constant memory.

    A record without a judged tuple gives an :class:`ItemError`.

    Args:
        path: the file.
        relations: relations that a tuple can have.
        strict: raise at the first record without a judged tuple.

    Raises:
        InputError: the file cannot be opened; while iterating, when it has none of the forms, or is a table without these
            columns.
    """
    known = frozenset(relations)
    columns = Columns(lambda names: names >= set(_COLUMNS), ", ".join(_COLUMNS), "judged tuples", strict=True)
    return parsed_rows(ByteSource(path), columns, lambda row, _: _judged(row, known), strict=strict)


def _judged(value: Any, relations: frozenset[str]) -> JudgedTuple:
    row = json_object(value, ", ".join(_COLUMNS))
    for name in _COLUMNS[:3]:
        text = row.get(name)
        if not isinstance(text, str) or not text.strip():
            raise BrokenRecord(f"{name} is {'empty' if isinstance(text, str) else 'missing' if text is None else 'not a text'}")
    if row["relation"] not in relations:
        raise BrokenRecord(f"there is no relation {row['relation']!r} between events; choose from {', '.join(sorted(relations))}")
    label = row.get("label")
    plausible = _LABELS.get(str(label).strip().lower())
    if plausible is None:
        raise BrokenRecord(f"label is {'missing' if label in (None, '') else repr(label)}; expected 1 or 0")
    return JudgedTuple(row["head"], row["relation"], row["tail"], plausible)
