"""Judgement files: responses in their context with what people thought of them, in the forms that such data is published in.

Read are DECO (a JSON list), GRADE's human ratings, JSON lines or a JSON list of ``{"history", "response", "rating"}``, CSV with
these columns, and dialogues with ``turn_ratings`` as Topical-Chat has them; plain or gzip. What a file holds tells its form, not
its name. A row without a judgement comes out as a :class:`JudgementError` in its place.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import orjson

from ..graph.errors import InputError
from .dialogues import ItemError
from .judgement_rows import DECO_RATINGS, JudgementError, judgements_in
from .judgement_rows import Judgement as Judgement
from .lines import BOM, NOT_UTF8, Block, decode, split
from .source import ByteSource

LARGEST_FILE = 1 << 30

_EXTENSIONS = (".gz", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt")
_COLUMNS = {"history", "response", "rating"}
_EXPECTED = "expected JSON lines or a JSON list of objects with history, response and rating, or CSV with columns of these names"

Row = list[Judgement] | JudgementError


def read_judgements(
    path: str | os.PathLike[str], *, strict: bool = False, rating: str = "event_cs", dataset: str | None = None
) -> Iterator[Judgement | ItemError]:
    """Yield the judgements of a file (gzip or plain; ``-`` reads standard input) in its order.

    The forms, as their publishers describe them:

    * DECO (Ghazarian et al., ACL 2023): a JSON list; ``</UTT>`` after every turn of ``history``; ``event_cs`` and ``general_cs``
      from 1 to 5, the mean of three raters each. One data set, as in the paper,
      whatever corpora ``source`` names.
    * GRADE (Huang et al., EMNLP 2020): ``dataset``, ``model``, ``ratings`` of 8 to 11 people from 1 to 5, whose mean counts.
    * ``{"history", "response", "rating"}``; history a list, or a text with a turn a line; optionally ``id``, ``dataset``,
      ``system``, ``reference`` or ``references``, ``ratings``. CSV likewise; a list stands in its cell as JSON.
    * Topical-Chat (Gopalakrishnan et al., Interspeech 2019): ``turns`` and ``turn_ratings``. The rating at a place is the
      partner's, of the message at the same place; every rated turn from the second on is a judgement, Poor = 1 to
      Excellent = 5. Turns that nobody rated (an empty text) are no judgements.

    Args:
        strict: end at the first row without a judgement.
        rating: which rating of DECO counts, ``event_cs`` or ``general_cs``; other forms have one.
        dataset: the data set of rows that name none; by default the file's name without extensions.

    Raises:
        InputError: the file cannot be opened, or ``rating`` is none of the two; while iterating, when the file has none of these
            forms or is larger than 1 GiB, and under ``strict`` for the first row without a judgement.
    """
    if rating not in DECO_RATINGS:
        raise InputError(f"there is no rating {rating!r} in DECO; choose from {', '.join(DECO_RATINGS)}")
    return _judgements(ByteSource(path), strict, rating, dataset_name(path) if dataset is None else dataset)


def dataset_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a file without its folder and extensions, e.g. ``fed-turn`` for ``data/fed-turn.jsonl.gz``."""
    if os.fspath(path) == "-":
        return "stdin"
    name = os.path.basename(os.fspath(path))  # noqa: PTH119 (any text may be asked for)
    while (cut := next((end for end in _EXTENSIONS if name.lower().endswith(end) and len(name) > len(end)), None)) is not None:
        name = name[: -len(cut)]
    return name


def _judgements(source: ByteSource, strict: bool, rating: str, dataset: str) -> Iterator[Judgement | ItemError]:
    try:
        data, damage = _content(source)
    finally:
        source.close()
    for row in _rows(source.path, data, damage, rating, dataset):
        if not isinstance(row, JudgementError):
            yield from row
        elif strict:
            raise InputError(f"{source.path}, row {row.line}: {row.reason}")
        else:
            yield row


def _content(source: ByteSource) -> tuple[bytes, str | None]:
    """Return all that a file holds, and why that is not all it should hold."""
    parts, size = [], 0
    for chunk in source.chunks():
        size += len(chunk)
        if size > LARGEST_FILE:
            raise InputError(f"{source.path} holds more than {LARGEST_FILE:,} bytes of judgements; give it in parts")
        parts.append(chunk)
    return b"".join(parts).removeprefix(BOM), source.damage


def _rows(path: str, data: bytes, damage: str | None, rating: str, dataset: str) -> Iterator[Row]:
    """Yield every row, in the form that the file's content has."""
    start = data.lstrip()[:1]
    if not start:
        if damage is not None:
            yield JudgementError(1, damage, dataset)
    elif start == b"[":
        yield from _list(data, damage, rating, dataset)
    elif start != b"{" and (form := _csv_form(data)) is not None:
        yield from _table(data, damage, form, rating, dataset)
    elif start == b"{" or b"\n{" in data:
        yield from _lines(data, damage, rating, dataset)
    else:
        raise InputError(f"{path} holds no judgements in a form that is known; {_EXPECTED}")


def _list(data: bytes, damage: str | None, rating: str, dataset: str) -> Iterator[Row]:
    """The elements of a JSON list; the number of a row is its element's, from 1."""
    elements, reason = _parse(data)
    if damage is not None or reason is not None:
        yield JudgementError(1, damage or reason or "", dataset)
        return
    for number, element in enumerate(elements, 1):
        yield judgements_in(element, number, dataset, rating)


def _lines(data: bytes, damage: str | None, rating: str, dataset: str) -> Iterator[Row]:
    """One JSON object a line; the number of a row is its line's."""
    whole = _whole_lines(data, damage)
    parts = [Block(1, whole.count(b"\n"), whole)]
    if damage is not None:
        parts.append(Block(parts[0].size + 1, 1, data[len(whole) :], damage))
    for block in parts:
        for line in split(block):
            text, reason = decode(line)
            if reason is None and not text.strip():
                continue
            row = None
            if reason is None:
                row, reason = _parse(text)
            if reason is not None:
                yield JudgementError(line.number, reason, dataset)
            else:
                yield judgements_in(row, line.number, dataset, rating)


def _parse(text: str | bytes) -> tuple[Any, str | None]:
    """Return a JSON value and None, or None and why there is none; NaN, which JSON does not know, is read as such."""
    try:
        return orjson.loads(text), None
    except orjson.JSONDecodeError as error:
        reason = f"not JSON ({error.msg})"
    try:
        return json.loads(text), None
    except (ValueError, RecursionError):
        return None, reason


def _csv_form(data: bytes) -> str | None:
    """Return what stands between the cells when the first line is a heading with the columns of judgements."""
    heading = data.lstrip().split(b"\n", 1)[0].decode(errors="replace").strip()
    for delimiter in ",\t;":
        cells = next(csv.reader([heading], delimiter=delimiter), [])
        if {cell.strip().lower() for cell in cells} >= _COLUMNS:
            return delimiter
    return None


def _table(data: bytes, damage: str | None, delimiter: str, rating: str, dataset: str) -> Iterator[Row]:
    """Rows of CSV; the number of a row is that of the line on which it begins."""
    text = io.StringIO(_whole_lines(data, damage).decode(errors="surrogateescape"), newline="")
    reader = csv.reader(text, delimiter=delimiter)
    heading: list[str] = []
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield JudgementError(number, f"not CSV ({error})", dataset)
            continue
        if cells is None:
            break
        if not any(cell.strip() for cell in cells):
            continue
        if not heading:
            heading = [cell.strip().lower() for cell in cells]
        elif len(cells) > len(heading):
            yield JudgementError(number, f"{len(cells)} cells under {len(heading)} columns", dataset)
        elif any(not _is_text(cell) for cell in cells):
            yield JudgementError(number, NOT_UTF8, dataset)
        else:
            yield judgements_in(dict(zip_longest(heading, cells, fillvalue="")), number, dataset, rating)
    if damage is not None:
        yield JudgementError(reader.line_num + 1, damage, dataset)


def _whole_lines(data: bytes, damage: str | None) -> bytes:
    """``data`` without the line that damage has cut, which might pass for a whole one."""
    return data if damage is None else data[: data.rfind(b"\n") + 1]


def _is_text(cell: str) -> bool:
    try:
        cell.encode()
    except UnicodeEncodeError:
        return False
    return True
