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
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from ..graph.errors import InputError
from .io import (
    BOM,
    MAX_LINE,
    NOT_UTF8,
    NUL_BYTE,
    TOO_LONG,
    ByteSource,
    Chunks,
    Line,
    blocks,
    decode,
    excerpt,
    finite,
    lines,
    split,
)

PARQUET = b"PAR1"
"""The first bytes of a Parquet file."""

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_HEAD_BYTES = 1 << 16
_DELIMITERS = ",\t;|"
_SEPARATOR_LINE = re.compile(rb'"?sep=[,;|\t]"?(?=\r?\n)', re.IGNORECASE)
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
    strict: bool = False  # whether every row of CSV with a misplaced quote has a flaw

    def fields(self, columns: Sequence[str]) -> list[str]:
        """Return the field that each of ``columns``, in lower case, has; an empty text where another column has that field."""
        field_of = {column.strip().lower(): field for field, column in self.named.items()}
        return [field_of.get(name, "" if name in self.named else name) for name in columns]

    def check(self, columns: Sequence[str], path: str) -> None:
        """Raise :class:`InputError` if a table with ``columns``, in lower case, lacks one that is named or has one twice."""
        for field, column in self.named.items():
            if column.strip().lower() not in columns:
                raise InputError(f"{path} has no column {column!r} for {field}; it has {_listed(columns)}")
        fields = self.fields(columns)
        for name, field in zip(columns, fields, strict=True):
            if fields.count(field) > 1 and self.enough(set(fields)) and not self.enough(set(fields) - {field}):
                raise InputError(f"{path} has two columns {name!r}; upper and lower case are the same, so rename one")


class Damage(str):
    """The flaw of a record at which its file ends early; the records before it are valid as far as can be known."""

    __slots__ = ()


def read_records(source: ByteSource, columns: Columns) -> Iterator[Line]:
    """Yield the records of ``source``, in its order; InputError, while iterating, for other formats and columns. Call once."""
    peeked = Peeked(source)
    if peeked.head.startswith(_UTF16):
        raise InputError(f"{source.path} is in UTF-16; save it as UTF-8")
    head = peeked.head.lstrip()
    if head.startswith(PARQUET):
        return _parquet(source.path, columns)
    if not head:
        return json_lines(peeked)
    if not head.startswith((b"{", b"[")):
        first_rows, has_objects = _first_rows(head), b"\n{" in head
        for delimiter, cells in first_rows:
            if columns.enough(set(columns.fields(cells))):
                columns.check(cells, source.path)
                return _table(peeked, delimiter, columns)
        is_table = source.path.lower().removesuffix(".gz").endswith(_TABLE_SUFFIXES)
        headings = (cells for _, cells in first_rows if is_table or _are_names(cells))
        heading: list[str] = max(headings, key=len, default=[])
        if heading and not has_objects:
            columns.check(heading, source.path)
        if heading and (is_table or not has_objects):
            raise InputError(f"{source.path} has the columns {_listed(heading)}; wanted are {columns.wanted}")
        if not has_objects:
            raise InputError(
                f"{source.path} has no {columns.holds} in a supported format; expected JSON lines, a JSON list, CSV or "
                f"Parquet with {columns.wanted}"
            )
    if _spans_lines(head):
        raise InputError(
            f"{source.path} has a JSON object of several lines; expected one object per line, or a JSON list of objects"
        )
    rows = json_elements(peeked) if head.startswith(b"[") and not _is_list_line(head) else json_lines(peeked)
    return _renamed(rows, columns.named, source.path) if columns.named else rows


def _renamed(rows: Iterator[Line], named: Mapping[str, str], path: str) -> Iterator[Line]:
    """Yield JSON records with the fields under their own names; raise :class:`InputError` at the end for a key of none."""
    missing = dict(named)
    keys: list[str] = []  # of the first record
    for line in rows:
        try:
            record = parsed_json(line.data.decode()) if line.flaw is None else None
        except ValueError:  # reported by whoever parses the line
            record = None
        if not isinstance(record, dict):
            yield line
            continue
        keys = keys or list(record)
        missing = {field: key for field, key in missing.items() if key not in record}
        renamed = {field: record[key] for field, key in named.items() if key in record}
        others = {key: value for key, value in record.items() if key not in named and key not in named.values()}
        yield Line(line.number, json.dumps(others | renamed, ensure_ascii=False, separators=(",", ":")).encode())
    for field, key in missing.items() if keys else ():
        raise InputError(f"{path} has no key {key!r} for {field}; its first record has {_listed(keys)}")


def parsed_json(text: str) -> Any:
    """Return the value of a JSON text; NaN, which Python writes although JSON does not have it, is accepted.

    Raises:
        ValueError: with a message for the user; it is not JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        reason = f"not JSON ({error.msg})"
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # raises for half a surrogate pair
    except (ValueError, RecursionError):
        raise ValueError(reason) from None
    return value


class Peeked:
    """A source whose beginning (:attr:`head`, 64 KB) has been read, and is yielded again.

    Carriage returns become line feeds where the beginning has no line feed, as in files of old Macs and some spreadsheets.
    A first line ``sep=;``, by which Excel knows the delimiter, becomes empty.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._chunks = source.chunks()
        self._first_chunks: list[bytes] = []
        while sum(map(len, self._first_chunks)) < _HEAD_BYTES and (chunk := next(self._chunks, b"")):
            self._first_chunks.append(chunk)
        self.head = b"".join(self._first_chunks).removeprefix(BOM)
        if b"\n" not in self.head and b"\r" in self.head and not self.head.startswith(PARQUET):
            self.head = self.head.replace(b"\r", b"\n")
            self._first_chunks, rest = [self.head], self._chunks
            self._chunks = (chunk.replace(b"\r", b"\n") for chunk in rest)
        if separator := _SEPARATOR_LINE.match(self.head):
            self.head = self.head[separator.end() :]
            self._first_chunks = [self.head]

    @property
    def damage(self) -> str | None:
        return self._source.damage

    def chunks(self) -> Iterator[bytes]:
        first_chunks, self._first_chunks, self.head = self._first_chunks, [], b""
        return chain(first_chunks, self._chunks)


def _is_list_line(head: bytes) -> bool:
    """Return whether the first line is a complete JSON list and objects follow: JSON lines of which the first is invalid."""
    first, _, following = head.partition(b"\n")
    return following.lstrip().startswith(b"{") and _is_json(first)


def _spans_lines(head: bytes) -> bool:
    """Return whether the file begins with a JSON object that continues on the second line, not with a JSON line that is cut."""
    first, _, following = head.partition(b"\n")
    second = following.partition(b"\n")[0].strip()
    is_open = first.startswith(b"{") and first.rstrip().endswith((b"{", b"[", b",")) and not _is_json(first.rstrip(b", \r"))
    return is_open and (second.startswith(b'"') or (second.endswith(b",") and _is_json(second[:-1])))


def _is_json(data: bytes) -> bool:
    try:
        orjson.loads(data)
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


def _first_rows(head: bytes) -> list[tuple[str, list[str]]]:
    """Return the delimiters, each with the cells in lower case that the first line has with it."""
    line = head.split(b"\n", 1)[0].decode(errors="replace").strip()
    rows: list[tuple[str, list[str]]] = []
    for delimiter in _DELIMITERS if len(line) <= _LONGEST_HEADING else ():
        with suppress(csv.Error):
            rows.append((delimiter, [cell.strip().lower() for cell in next(csv.reader([line], delimiter=delimiter), [])]))
    return rows


def _are_names(cells: Sequence[str]) -> bool:
    """Return whether cells look like the names of two or more columns, not like prose."""
    names = [cell for cell in cells if cell]
    return len(names) > 1 and all(map(_NAME.fullmatch, names))


def _listed(names: Sequence[str]) -> str:
    named = [excerpt(name) for name in names if name]
    return ", ".join(named[:_SHOWN_COLUMNS]) + (" and more" if len(named) > _SHOWN_COLUMNS else "")


class TableRow(NamedTuple):
    """A row of a table: the number of its first line, its cells, the beginning of a line with a flaw, and the flaw."""

    number: int
    cells: list[str]
    data: bytes = b""
    flaw: str | None = None


def table_rows(source: Chunks, delimiter: str, *, quoted: bool = True, strict: bool = False) -> Iterator[TableRow]:
    """Yield the rows of a table, the heading included, without empty ones.

    Bytes that are not UTF-8 are surrogates in the cells. Where the file ends early, the last flaw is a :class:`Damage`. With
    ``quoted`` cells stand in double quotes where they need it, as in CSV. A line with a misplaced quote is read without quotes
    if it has as many cells as the first row then; otherwise, and with ``strict``, it has a flaw. The lines after it are read.
    """
    return _TableReader(source, delimiter, quoted, strict).rows()


class _TableReader:
    """The rows of :func:`table_rows`."""

    def __init__(self, source: Chunks, delimiter: str, quoted: bool, strict: bool) -> None:
        self._delimiter, self._quoted, self._strict = delimiter, quoted, strict
        self._unread = _texts(source)
        self._read_again: list[str | Line] = []  # the next one last
        self._taken: list[str] = []  # the lines of the row
        self._flawed: Line | None = None  # the line with a flaw after them
        self._width = 0  # cells of the first row

    def rows(self) -> Iterator[TableRow]:
        number, rows = 1, self._parsed()
        while True:
            self._taken.clear()
            cells: list[str] | None
            try:
                cells = next(rows, None)
                if cells and (len(cells) != self._width or len(self._taken) > 1) and self._are_rows(self._taken):
                    raise csv.Error("a quote that is not closed")
            except csv.Error as error:
                rows, cells = self._parsed(), self._without_quotes(error)
                if not cells and not self._is_cut():
                    yield TableRow(number, [], flaw=f"not {'CSV' if self._quoted else 'a table'} ({error})")
            if cells and (cells[0].strip() or any(cell.strip() for cell in cells)):
                self._width = self._width or len(cells)
                yield TableRow(number, cells)
            number += len(self._taken)
            if self._flawed is not None:
                yield TableRow(number, [], self._flawed.data, self._flawed.flaw)
                number, rows, self._flawed = number + 1, self._parsed(), None
            elif cells is None:
                return

    def _parsed(self) -> Iterator[list[str]]:
        if not self._quoted:
            return csv.reader(self._lines(), delimiter=self._delimiter, quoting=csv.QUOTE_NONE)
        return csv.reader(self._lines(), delimiter=self._delimiter, strict=True)

    def _lines(self) -> Iterator[str]:
        """Yield the lines up to the next one with a flaw."""
        while (line := self._read_again.pop() if self._read_again else next(self._unread, None)) is not None:
            if isinstance(line, Line):
                self._flawed = line
                return
            self._taken.append(line)
            yield line

    def _is_cut(self) -> bool:
        return self._flawed is not None and isinstance(self._flawed.flaw, Damage)

    def _are_rows(self, lines: Sequence[str]) -> bool:
        """Return whether lines between quotes are rows by themselves, so that the quotes are misplaced.

        Tabs tell, since they are rare in texts. With other delimiters, three lines or more tell that each have the cells of a row
        and a number in one and the same column.
        """
        if not self._quoted:
            return False
        if self._delimiter == "\t":
            return all(line.count("\t") == self._width - 1 for line in lines)
        if len(lines) < 3:
            return False
        rows = [self._alone(line) for line in lines]
        return all(len(row) == self._width for row in rows) and any(
            all(finite(cell.strip()) is not None for cell in column) for column in zip(*rows, strict=True)
        )

    def _alone(self, line: str) -> list[str]:
        """Return the cells of a line read by itself, without quotes where these are misplaced."""
        with suppress(csv.Error):
            return next(csv.reader([line], delimiter=self._delimiter, strict=True), [])
        return self._unquoted(line)

    def _without_quotes(self, error: csv.Error) -> list[str]:
        """Return the cells of the first line of a row with an error, if it is a row by itself, and let the others be read."""
        if self._is_cut():
            return []
        cells = self._unquoted(self._taken[0]) if self._quoted and not self._strict else []
        is_row = self._width in (0, len(cells))
        is_long = not is_row and str(error).startswith("field larger")
        if is_long and any(len(self._unquoted(line)) != self._width for line in self._taken[1:4]):
            self._skip_cell()
            return []
        self._read_again += [] if self._flawed is None else [self._flawed]
        self._read_again += self._taken[:0:-1]
        self._flawed = None
        del self._taken[1:]
        return cells if is_row else []

    def _unquoted(self, line: str) -> list[str]:
        """Return the cells of a line in which quotes are text; empty if one is too long."""
        with suppress(csv.Error):
            return next(csv.reader([line], delimiter=self._delimiter, quoting=csv.QUOTE_NONE), [])
        return []

    def _skip_cell(self) -> None:
        """Take the lines up to the end of a cell that is too long."""
        is_open = sum(line.count('"') for line in self._taken) % 2
        lines = self._lines()
        while is_open and (line := next(lines, None)) is not None:
            is_open ^= line.count('"') % 2
            self._taken[-1] = ""


def _texts(source: Chunks) -> Iterator[str | Line]:
    """Yield the texts of the lines, with their line ends; a line with a flaw as it is."""
    for block in blocks(source):
        if block.flaw is not None:
            yield Line(block.first, block.data, Damage(block.flaw) if block.flaw == source.damage else block.flaw)
        else:
            for data in io.BytesIO(block.data):
                yield data.decode(errors="surrogateescape")


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
        batches = (batch.columns for batch in file.iter_batches(_ROWS))
        rows = chain.from_iterable(zip(*(column.to_pylist() for column in columns), strict=True) for columns in batches)
        for number, row in enumerate(rows, 1):
            yield _row(number, dict(zip(fields, row, strict=True)))


def _row(number: int, row: dict[str, Any]) -> Line:
    try:
        data = orjson.dumps(row, default=_plain)
    except TypeError as error:
        return Line(number, b"", f"a value that JSON does not support ({error})")
    return Line(number, data) if len(data) <= MAX_LINE else Line(number, data[:_HEAD_BYTES], TOO_LONG)


def _plain(value: Any) -> Any:
    """Return a value of Parquet that JSON does not have as text; bytes that are not UTF-8 as an object, refused as any field."""
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {}


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
