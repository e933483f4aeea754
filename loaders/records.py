"""Files of records as a stream of JSON objects: JSON lines, a JSON list, CSV and Parquet, in constant memory.

The format is recognised by the content, not by the name. Every record is a :class:`~tacit.loaders.io.Line` whose bytes are one
JSON object, so that code which stores or sends records handles a single format. A record's number is that of its line (JSON
lines, CSV), element (JSON list) or row (Parquet), from 1. A record that cannot be used has a flaw. Where a file ends early (a
truncated or corrupt gzip stream, a JSON list without its end) the last flaw is a :class:`Damage`.

:func:`json_rows` reads JSON lines only, as numbered objects.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from ..graph.errors import InputError
from .io import BOM, MAX_LINE, NOT_UTF8, NUL_BYTE, TOO_LONG, ByteSource, Chunks, Line, blocks, decode, lines, split

PARQUET = b"PAR1"
"""The first bytes of a Parquet file."""

_HEAD_BYTES = 1 << 16
_DELIMITERS = ",\t;"
_TABLE_SUFFIXES = (".csv", ".tsv")
_NAME = re.compile(r"[\w .:/()-]{1,64}")
_ROWS = 256  # rows of Parquet per batch
_SHOWN_COLUMNS = 12
_LONGEST_HEADING = 1 << 14
_NO_OBJECT = "not a JSON object"


class Columns(NamedTuple):
    """The columns that a table must have."""

    enough: Callable[[set[str]], bool]  # whether a set of names, in lower case, contains them
    wanted: str  # a description of them, for the error message
    holds: str  # what the file contains, e.g. `dialogues`
    # For fields the columns that have them, where they have other names; of JSON the keys.
    named: Mapping[str, str] = MappingProxyType({})
    strict: bool = False  # whether a row of CSV with a misplaced quote has a flaw; otherwise it is read as well as possible

    def fields(self, columns: Sequence[str]) -> list[str]:
        """Return the field that each of ``columns``, in lower case, has; an empty text where another column has that field."""
        field_of = {column.strip().lower(): field for field, column in self.named.items()}
        return [field_of.get(name, "" if name in self.named else name) for name in columns]

    def check(self, columns: Sequence[str], path: str) -> None:
        """Raise :class:`InputError` unless a table with ``columns``, in lower case, has those that are named."""
        for field, column in self.named.items():
            if column.strip().lower() not in columns:
                raise InputError(f"{path} has no column {column!r} for {field}; it has {_listed(columns)}")


class Damage(str):
    """The flaw of a record at which its file ends early; the records before it are valid as far as can be known."""

    __slots__ = ()


def read_records(source: ByteSource, columns: Columns) -> Iterator[Line]:
    """Yield the records of ``source``, in its order; InputError, while iterating, for other formats and columns. Call once."""
    peeked = Peeked(source)
    head = peeked.head.lstrip()
    if head.startswith(PARQUET):
        return _parquet(source.path, columns)
    if not head:
        return json_lines(peeked)
    if head.startswith(b"[") and not _is_list_line(head):
        return _renamed(json_elements(peeked), columns)
    if not head.startswith((b"{", b"[")):
        headings, has_objects = _headings(head), b"\n{" in head
        for delimiter, cells in headings:
            if columns.enough(set(columns.fields(cells))):
                columns.check(cells, source.path)
                return _table(peeked, delimiter, columns)
        if headings and not has_objects:
            columns.check(headings[0][1], source.path)
        is_table = source.path.lower().removesuffix(".gz").endswith(_TABLE_SUFFIXES)
        if headings and (is_table or not has_objects):
            raise InputError(f"{source.path} has the columns {_listed(headings[0][1])}; wanted are {columns.wanted}")
        if not has_objects:
            raise InputError(
                f"{source.path} has no {columns.holds} in a supported format; expected JSON lines, a JSON list, CSV or "
                f"Parquet with {columns.wanted}"
            )
    return _renamed(json_lines(peeked), columns)


def _renamed(lines: Iterator[Line], columns: Columns) -> Iterator[Line]:
    """Yield JSON records with the fields under their own names; other values stay unchanged."""
    if not columns.named:
        return lines
    return (_with_fields(line, columns.named) if line.flaw is None else line for line in lines)


def _with_fields(line: Line, named: Mapping[str, str]) -> Line:
    try:
        record = orjson.loads(line.data)
    except orjson.JSONDecodeError:
        return line
    if not isinstance(record, dict):
        return line
    renamed = {field: record[key] for field, key in named.items() if key in record}
    others = {key: value for key, value in record.items() if key not in named and key not in named.values()}
    return Line(line.number, orjson.dumps(others | renamed))


class Peeked:
    """A source whose beginning (:attr:`head`, 64 KB) has been read, and is yielded again."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._chunks = source.chunks()
        self._first_chunks: list[bytes] = []
        while sum(map(len, self._first_chunks)) < _HEAD_BYTES and (chunk := next(self._chunks, b"")):
            self._first_chunks.append(chunk)
        self.head = b"".join(self._first_chunks).removeprefix(BOM)

    @property
    def damage(self) -> str | None:
        return self._source.damage

    def chunks(self) -> Iterator[bytes]:
        first_chunks, self._first_chunks, self.head = self._first_chunks, [], b""
        return chain(first_chunks, self._chunks)


def _is_list_line(head: bytes) -> bool:
    """Return whether the first line is a complete JSON list and objects follow: JSON lines of which the first is invalid."""
    first, _, following = head.partition(b"\n")
    if not following.lstrip().startswith(b"{"):
        return False
    try:
        orjson.loads(first)
    except orjson.JSONDecodeError:
        return False
    return True


def json_lines(source: Peeked) -> Iterator[Line]:
    """Yield the lines; where the file ends early, the last flaw is a :class:`Damage`."""
    for block in blocks(source):
        if block.flaw is not None and block.flaw == source.damage:
            yield Line(block.first, block.data, Damage(block.flaw))
        else:
            yield from split(block)


_OUTSIDE = re.compile(rb'["{}\[\],]')
_INSIDE = re.compile(rb'["\\]')
_OPEN, _CLOSE = b"{[", b"}]"


def json_elements(source: Peeked) -> Iterator[Line]:
    """Yield the elements of a JSON list, or the members ``"key": value`` of an object, split at commas outside of strings."""
    number, depth, in_string, skip = 1, 0, False, 0
    element = bytearray()
    ended = False

    def complete_element() -> Line:
        data = bytes(element).strip()
        return Line(number, data) if len(data) <= MAX_LINE else Line(number, data[:_HEAD_BYTES], TOO_LONG)

    for chunk in source.chunks():
        position, begin, skip = skip, 0, 0
        while not ended:
            match = (_INSIDE if in_string else _OUTSIDE).search(chunk, position)
            if match is None:
                break
            position = match.end()
            byte = chunk[position - 1]
            if in_string:
                if byte == 0x5C:  # a backslash: the next byte does not end the string
                    position += 1
                else:
                    in_string = False
            elif byte == 0x22:
                in_string = True
            elif byte in _OPEN:
                depth += 1
                if depth == 1:
                    begin = position
            elif byte in _CLOSE:
                depth -= 1
                ended = depth <= 0
            if (byte == 0x2C and depth == 1 and not in_string) or ended:
                element += chunk[begin : position - 1]
                begin = position
                if not ended or element.strip():
                    yield complete_element()
                    number += 1
                element.clear()
        skip = max(0, position - len(chunk))
        if ended:
            if chunk[begin:].strip():
                yield Line(number, chunk[begin:][:_HEAD_BYTES], "text after the end of the JSON list")
                return
        elif len(element) <= MAX_LINE:  # of a longer one, only this much is kept
            element += chunk[begin:]
    if source.damage is not None or not ended:
        yield Line(number, b"", Damage(source.damage or "the JSON list has no end"))


def _headings(head: bytes) -> list[tuple[str, list[str]]]:
    """Return the delimiters with which the first line has two or more column names, with these names in lower case."""
    line = head.split(b"\n", 1)[0].decode(errors="replace").strip()
    headings: list[tuple[str, list[str]]] = []
    if len(line) > _LONGEST_HEADING:
        return headings
    for delimiter in _DELIMITERS:
        cells = [cell.strip().lower() for cell in next(csv.reader([line], delimiter=delimiter), [])]
        if all(_NAME.fullmatch(cell) for cell in cells if cell) and len([cell for cell in cells if cell]) > 1:
            headings.append((delimiter, cells))
    if not headings and line.lower() in ("turns", "messages"):
        headings.append((",", [line.lower()]))
    return headings


def _listed(names: Sequence[str]) -> str:
    first_names = [name for name in names if name][:_SHOWN_COLUMNS]
    return ", ".join(first_names) + (" and more" if len(names) > len(first_names) else "")


class TableRow(NamedTuple):
    """A row of a table: the number of its first line, its cells, the beginning of a line with a flaw, and the flaw."""

    number: int
    cells: list[str]
    data: bytes = b""
    flaw: str | None = None


def table_rows(source: Chunks, delimiter: str, *, quoted: bool = True, strict: bool = False) -> Iterator[TableRow]:
    """Yield the rows of a table, the heading included, without empty ones.

    Bytes that are not UTF-8 are surrogates in the cells. Where the file ends early, the last flaw is a :class:`Damage`. With
    ``quoted`` cells stand in double quotes where they need it, as in CSV; with ``strict`` a row with a misplaced quote has a
    flaw.
    """
    flaws: list[Line] = []
    skipped_lines = 0  # lines that are too long
    truncated = False

    def texts() -> Iterator[str]:
        nonlocal skipped_lines, truncated
        for block in blocks(source):
            if block.flaw is None:
                for row in io.BytesIO(block.data):
                    yield row.decode(errors="surrogateescape")
                continue
            truncated = truncated or block.flaw == source.damage
            flaws.append(Line(block.first, block.data, Damage(block.flaw) if block.flaw == source.damage else block.flaw))
            skipped_lines += 1

    reader = csv.reader(texts(), delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=strict)
    while True:
        number = reader.line_num + skipped_lines + 1
        fault, cells = None, None
        try:
            cells = next(reader, None)
        except csv.Error as error:
            fault = f"not {'CSV' if quoted else 'a table'} ({error})"
        is_incomplete = truncated  # a row that began before the damage is incomplete
        if flaws and not is_incomplete:
            yield from (TableRow(flawed.number, [], flawed.data, flawed.flaw) for flawed in flaws)
        if fault is not None:
            yield TableRow(number, [], flaw=fault)
        elif cells is None or is_incomplete:
            yield from (TableRow(flawed.number, [], flawed.data, flawed.flaw) for flawed in flaws if is_incomplete)
            return
        elif cells and (cells[0].strip() or any(cell.strip() for cell in cells)):
            yield TableRow(number, cells)
        flaws.clear()


def _table(source: Peeked, delimiter: str, columns: Columns) -> Iterator[Line]:
    """Yield the rows of CSV under the names of their fields, numbered by their first line."""
    heading: list[str] = []
    for number, cells, data, flaw in table_rows(source, delimiter, strict=columns.strict):
        if flaw is not None:
            yield Line(number, data, flaw)
        elif not heading:
            heading = columns.fields([cell.strip().lower() for cell in cells])
        else:
            yield _cells(number, heading, cells)


def _cells(number: int, heading: Sequence[str], cells: Sequence[str]) -> Line:
    if len(cells) > len(heading):
        return Line(number, b"", f"{len(cells)} cells under {len(heading)} columns")
    if any("\0" in cell for cell in cells):
        return Line(number, b"", NUL_BYTE)
    try:
        return Line(number, orjson.dumps(dict.fromkeys(heading, "") | dict(zip(heading, cells, strict=False))))
    except TypeError:  # surrogates, which stand for bytes that are not UTF-8
        return Line(number, b"", NOT_UTF8)


@contextmanager
def parquet_file(path: str) -> Iterator[Any]:
    """Open a :class:`pyarrow.parquet.ParquetFile`; raise :class:`InputError` where it cannot be opened, or read in the block."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path == "-":
        raise InputError("Parquet cannot be read from standard input, since its index is at the end of the file; give a file")
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} cannot be read as Parquet: {' '.join(str(error).split())}") from None


def _parquet(path: str, columns: Columns) -> Iterator[Line]:
    """Yield the rows of Parquet."""
    with parquet_file(path) as file:
        names = [name.strip().lower() for name in file.schema_arrow.names]
        columns.check(names, path)
        fields = columns.fields(names)
        if not columns.enough(set(fields)):
            raise InputError(f"{path} has the columns {_listed(names)}; wanted are {columns.wanted}")
        rows = chain.from_iterable(batch.to_pylist() for batch in file.iter_batches(_ROWS))
        for number, row in enumerate(rows, 1):
            yield _row(number, dict(zip(fields, row.values(), strict=True)))


def _row(number: int, row: dict[str, Any]) -> Line:
    try:
        data = orjson.dumps(row, default=str)
    except TypeError as error:
        return Line(number, b"", f"a value that JSON does not support ({error})")
    return Line(number, data) if len(data) <= MAX_LINE else Line(number, data[:_HEAD_BYTES], TOO_LONG)


class JsonRow(NamedTuple):
    """A line of JSON lines: its number from 1, its object, and why it cannot be used (empty when it can)."""

    number: int
    data: dict[str, Any]
    fault: str = ""


def json_rows(path: str | os.PathLike[str]) -> Iterator[JsonRow]:
    """Yield the objects of a file of JSON lines (gzip or plain; ``-`` is standard input) in its order, without blank lines."""
    return _rows(ByteSource(path))


def _rows(source: ByteSource) -> Iterator[JsonRow]:
    with closing(source):
        for line in lines(source):
            text, flaw = decode(line)
            if flaw is None and not text.strip():
                continue
            try:
                data = orjson.loads(text) if flaw is None else {}
            except orjson.JSONDecodeError as error:
                data, flaw = {}, f"not JSON ({error.msg})"
            yield JsonRow(line.number, data, flaw or "") if isinstance(data, dict) else JsonRow(line.number, {}, _NO_OBJECT)
