"""Event tuples that people called plausible or not, as the CSKB population benchmark has them (Fang et al., EMNLP 2021): CSV, or
JSON lines, with ``head``, ``relation``, ``tail`` and ``label``, 1 or 0. Other columns are left alone.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any, NamedTuple

import orjson

from ..graph.errors import InputError
from ..graph.relations import ATOMIC_RELATIONS
from .lines import decode, lines
from .source import ByteSource

_COLUMNS = ("head", "relation", "tail", "label")
_LABELS = {"1": True, "0": False, "1.0": True, "0.0": False, "true": True, "false": False}


class JudgedTuple(NamedTuple):
    """A tuple, and whether people call it plausible."""

    head: str
    relation: str
    tail: str
    plausible: bool


class JudgedTupleError(NamedTuple):
    """A line that holds no judged tuple: its number from 1, and why."""

    line: int
    reason: str


def read_judged_tuples(
    path: str | os.PathLike[str], relations: Collection[str] = ATOMIC_RELATIONS
) -> Iterator[JudgedTuple | JudgedTupleError]:
    """Yield the judged tuples of a file (gzip or plain; ``-`` reads standard input) in its order, in constant memory.

    Args:
        relations: those that a tuple may have.

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
    """A row of CSV under its heading, or why there is none."""
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
    """The tuple in a row, or why there is none."""
    for name in _COLUMNS[:3]:
        value = row.get(name)
        if not isinstance(value, str) or not value.strip():
            return f"{name} is {'empty' if isinstance(value, str) else 'missing' if value is None else 'no text'}"
    if row["relation"] not in relations:
        return f"there is no relation {row['relation']!r} between events; choose from {', '.join(sorted(relations))}"
    label = row.get("label")
    plausible = _LABELS.get(str(label).strip().lower())
    if plausible is None:
        return f"label is {'missing' if label is None else repr(label)}; expected 1 or 0"
    return JudgedTuple(row["head"], row["relation"], row["tail"], plausible)
