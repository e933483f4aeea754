"""Files of rows with named values, in constant memory: CSV, TSV, JSON lines, JSON lists and objects, Parquet.

:func:`read_values` yields the values of chosen columns or fields only, which is why it is faster than
:mod:`tacit.loaders.records`, whose records keep everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import orjson

from .io import ByteSource, decode
from .mapping import FileForm, Format
from .records import PARQUET, Peeked, json_elements, json_lines, parquet_file, table_rows

_BATCH = 8_192
"""Rows of Parquet per batch."""
_NUMBERED = re.compile(r"\*([1-9])")

_Get = Callable[[Any], Any]


class Values(NamedTuple):
    """The values of a row."""

    number: int  # of its line (CSV, TSV, JSON lines), element (JSON) or row (Parquet), from 1
    values: Sequence[Any] = ()  # in the order of the columns asked for; None where the row has none
    flaw: str | None = None  # None, or why the row cannot be used
    data: bytes | str = b""  # the beginning of a row with a flaw


class NoColumn(Exception):
    """A file has no column or field of a wanted name, or has it twice.

    Attributes:
        name: the wanted name.
        names: those that the file has.
    """

    def __init__(self, name: str, names: Sequence[str]) -> None:
        super().__init__(name)
        self.name, self.names = name, names


def read_values(source: ByteSource, form: FileForm, columns: Sequence[str]) -> Iterator[Values]:
    """Yield the rows of ``source`` in the order of ``columns``, names of columns or fields without repetition; call once.

    Raises:
        NoColumn: while iterating; for JSON after the last row, since a field may be missing from some objects.
        InputError: while iterating: Parquet cannot be read.
    """
    peeked = Peeked(source)
    kind = form.format or _detected_format(peeked.head, source.path, form)
    if kind == "parquet":
        return _parquet(source, peeked, columns)
    if kind == "json":
        return _json(peeked, form, columns)
    if kind == "tsv":
        return _table(peeked, "\t", False, form.names, columns)
    return _table(peeked, form.delimiter or _delimiter(peeked.head), True, form.names, columns)


def _detected_format(head: bytes, path: str, form: FileForm) -> Format:
    if head.startswith(PARQUET):
        return "parquet"
    if form.rows or head.lstrip()[:1] in (b"{", b"["):
        return "json"
    if form.delimiter is None and (path.lower().removesuffix(".gz").endswith(".tsv") or _delimiter(head) == "\t"):
        return "tsv"
    return "csv"


def _delimiter(head: bytes) -> str:
    """Return the delimiter that is most frequent in the first line."""
    first = head.lstrip().split(b"\n", 1)[0].decode(errors="replace")
    return max(",", ";", "\t", "|", key=first.count)


def _table(source: Peeked, delimiter: str, quoted: bool, names: Sequence[str], columns: Sequence[str]) -> Iterator[Values]:
    indices = _indices(names, columns) if names else []
    width = len(names)
    for number, cells, data, flaw in table_rows(source, delimiter, quoted=quoted):
        if flaw is not None:
            yield Values(number, flaw=flaw, data=data)
        elif not width:
            heading = [cell.strip() for cell in cells]
            indices, width = _indices(heading, columns), len(heading)
        elif len(cells) > width:
            yield Values(number, flaw=f"{len(cells)} cells under {width} columns", data=delimiter.join(cells))
        else:
            if len(cells) < width:
                cells = [*cells, *[""] * (width - len(cells))]
            yield Values(number, [cells[index] for index in indices])


def _indices(names: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Return the index of each wanted name among the names of a table."""
    for name in columns:
        if names.count(name) != 1:
            raise NoColumn(name, names)
    return [names.index(name) for name in columns]


def _parquet(source: ByteSource, peeked: Peeked, columns: Sequence[str]) -> Iterator[Values]:
    with parquet_file(source.path) as file:
        for _ in peeked.chunks():  # for the checksum of the file
            pass
        _indices(file.schema_arrow.names, columns)
        batches = file.iter_batches(_BATCH, columns=list(columns))
        rows = chain.from_iterable(zip(*(batch[name].to_pylist() for name in columns), strict=True) for batch in batches)
        for number, values in enumerate(rows, 1):
            yield Values(number, values)


def _json(source: Peeked, form: FileForm, columns: Sequence[str]) -> Iterator[Values]:
    """Yield the rows of JSON lines, a JSON list, or the object that ``form.rows`` leads through."""
    path = form.rows.split(".") if form.rows else []
    has_elements = bool(path) or source.head.lstrip().startswith(b"[")
    getters = [_getter(name, form.names) for name in columns]
    missing = set(range(len(columns)))
    names: Sequence[str] | None = None
    for line in json_elements(source) if has_elements else json_lines(source):
        text, flaw = decode(line)
        if flaw is None and not text.strip():
            continue
        try:
            data = orjson.loads(f"{{{text}}}" if path else text) if flaw is None else None
        except orjson.JSONDecodeError as error:
            flaw = f"not JSON ({error.msg})"
        if flaw is not None:
            yield Values(line.number, flaw=flaw, data=text)
            continue
        for row in _within(data, path, ()):
            names = _names(row) if names is None else names
            if row.flaw is not None:
                yield Values(line.number, flaw=row.flaw, data=text)
                continue
            values = [value_of(row) for value_of in getters]
            if missing:
                missing = {index for index in missing if values[index] is None}
            yield Values(line.number, values)
    if missing and names is not None:
        raise NoColumn(columns[min(missing)], names)


class _Row(NamedTuple):
    """An element of JSON that is a row, the keys at the stars on the way to it, and why it is not a row."""

    data: Any
    keys: tuple[str, ...] = ()
    flaw: str | None = None


def _within(data: Any, path: Sequence[str], keys: tuple[str, ...]) -> Iterator[_Row]:
    """Yield the rows at the end of ``path`` in ``data``."""
    if not path:
        row = data.split("\t") if isinstance(data, str) else data
        yield _Row(row, keys, None if isinstance(row, (dict, list)) else _NO_ROW)
        return
    step, further_path = path[0], path[1:]
    if not isinstance(data, dict) or (step != "*" and step not in data):
        yield _Row(data, keys, f"no key {step!r}" if step != "*" else "not a JSON object")
    elif step == "*":
        for key, value in data.items():
            yield from _within(value, further_path, (*keys, key))
    else:
        yield from _within(data[step], further_path, keys)


_NO_ROW = "neither a JSON object nor a list"


def _names(row: _Row) -> list[str]:
    """Return the names of the values of a row, for an error message."""
    fields = list(row.data) if isinstance(row.data, dict) else []
    return [*(f"*{number}" for number in range(1, len(row.keys) + 1)), *fields]


def _getter(name: str, names: Sequence[str]) -> _Get:
    """Return a function from a row to its value of this name: a key at a star, a cell, a field, or a field within fields."""
    if match := _NUMBERED.fullmatch(name):
        index = int(match[1]) - 1
        return lambda row: row.keys[index] if index < len(row.keys) else None
    cell = names.index(name) if name in names else -1
    steps = name.split(".")

    def get(row: _Row) -> Any:
        data = row.data
        if data.__class__ is list:
            return data[cell] if 0 <= cell < len(data) else None
        if name in data:
            return data[name]
        for step in steps:
            if not isinstance(data, dict):
                return None
            data = data.get(step)
        return data

    return get
