"""Output rows of scores: writing and reading JSON lines, Parquet, CSV and TSV.

A line of JSON is :meth:`tacit.reasoning.ItemScores.to_dict`. Columns of Parquet: ``id`` (text; null for a record without an item
and ID), ``line`` (record number; only for records without an item), for each metric ``score.<metric>`` (double; null if the
metric cannot judge the item), ``percentile.<metric>`` (double, 0..100; null without a reference distribution), ``note.<metric>``
(dictionary-encoded text; why the score is null) and ``signature.<metric>`` (dictionary-encoded text), ``error`` (text; null if
the item was scored), and with evidence ``evidence`` (JSON text, by metric). CSV and TSV have the same columns.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ...graph.errors import InputError
from ..terminal.screen import json_text

if TYPE_CHECKING:
    import pyarrow as pa

    from ...reasoning.scorer import ItemScores

GROUP_ROWS = 50_000
GROUP_BYTES = 64 << 20
_BATCH = 10_000


class OutputFormat(Enum):
    """Output format."""

    JSONL = "jsonl"
    GZIP = "jsonl.gz"
    PARQUET = "parquet"
    CSV = "csv"
    TSV = "tsv"

    @classmethod
    def of(cls, output: Path | None, named: OutputFormat | str | None = None) -> OutputFormat:
        """Return the format of an output: the one that is named, else that of its suffix, by default JSON lines.

        JSON lines are compressed where the name ends in ``.gz``. None is standard output.
        """
        is_gzip = output is not None and output.suffix.lower() == ".gz"
        name = "" if output is None else output.stem if is_gzip else output.name
        form = cls(named or _FORMATS.get(Path(name).suffix.lower(), cls.JSONL))
        if is_gzip and form not in (cls.JSONL, cls.GZIP):
            raise InputError(f"{output}: only JSON lines are compressed with gzip; leave .gz out, or write .jsonl.gz")
        return cls.GZIP if is_gzip else form

    @property
    def delimited(self) -> bool:
        """Whether it is CSV or TSV."""
        return self in (OutputFormat.CSV, OutputFormat.TSV)


_FORMATS = {".parquet": OutputFormat.PARQUET, ".csv": OutputFormat.CSV, ".tsv": OutputFormat.TSV}


def json_line(row: ItemScores, explain: bool) -> str:
    """Return a row as one line of JSON, with the evidence when ``explain``."""
    return json_text(row.to_dict(explain)) + "\n"


def schema_of(names: Sequence[str], explain: bool) -> pa.Schema:
    """Return the schema for the metrics ``names``."""
    import pyarrow as pa

    fields = [pa.field("id", pa.string()), pa.field("line", pa.int64())]
    for name in names:
        fields += [
            pa.field(f"score.{name}", pa.float64()),
            pa.field(f"percentile.{name}", pa.float64()),
            pa.field(f"note.{name}", pa.dictionary(pa.int32(), pa.string())),
            pa.field(f"signature.{name}", pa.dictionary(pa.int32(), pa.string())),
        ]
    fields.append(pa.field("error", pa.string()))
    return pa.schema([*fields, pa.field("evidence", pa.string())] if explain else fields)


def arrow_stream(rows: Iterable[ItemScores], names: Sequence[str], explain: bool) -> bytes:
    """Return ``rows`` as an Arrow IPC stream, the format of a shard of a Parquet output."""
    import pyarrow as pa

    schema = schema_of(names, explain)
    table = pa.Table.from_pylist([columns_of(row, explain) for row in rows], schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def write_parquet(parts: Iterable[Path], names: Sequence[str], explain: bool, file: BinaryIO) -> None:
    """Merge ``parts`` (files of :func:`arrow_stream`), in order, into one Parquet file.

    A row group has at most 50,000 rows, and ends earlier with the shard that makes it 64 MiB or larger, so memory is bounded.
    """
    import pyarrow.parquet as pq

    schema = schema_of(names, explain)
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in _groups(parts, schema):
            writer.write_table(group, row_group_size=GROUP_ROWS)


def _groups(parts: Iterable[Path], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield tables of at most a row group each."""
    import pyarrow as pa

    tables: list[pa.Table] = []
    rows = size = 0
    for part in parts:
        with pa.OSFile(str(part)) as file, pa.ipc.open_stream(file) as stream:
            table = stream.read_all()
        if tables and rows + table.num_rows > GROUP_ROWS:
            yield pa.concat_tables(tables).unify_dictionaries()
            tables, rows, size = [], 0, 0
        tables.append(table)
        rows += table.num_rows
        size += table.nbytes
        if size >= GROUP_BYTES:
            yield pa.concat_tables(tables).unify_dictionaries()
            tables, rows, size = [], 0, 0
    yield pa.concat_tables(tables).unify_dictionaries() if tables else schema.empty_table()


def columns_of(row: ItemScores, explain: bool) -> dict[str, Any]:
    """Return one row by column; missing columns are null."""
    if row.error is not None:
        return {"id": row.id, "line": row.line, "error": row.error}
    columns: dict[str, Any] = {"id": row.id}
    for name, score in row.scores.items():
        columns[f"score.{name}"] = None if isnan(score.value) else score.value
        columns[f"percentile.{name}"] = score.percentile
        columns[f"note.{name}"] = score.evidence.note if isnan(score.value) else None
        columns[f"signature.{name}"] = str(score.signature)
    if explain:
        columns["evidence"] = json_text({name: score.evidence.to_dict() for name, score in row.scores.items()})
    return columns


def read_lines(output: Path, form: OutputFormat) -> Iterator[ItemScores]:
    """Yield the rows of JSON lines, without their evidence."""
    import orjson

    with gzip.open(output) if form is OutputFormat.GZIP else output.open("rb") as file:
        for line in file:
            yield _row(orjson.loads(line))


def read_parquet(output: Path, names: tuple[str, ...]) -> Iterator[ItemScores]:
    """Yield the rows of a Parquet file, without their evidence, in constant memory."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(output) as file:
        for batch in file.iter_batches(_BATCH, columns=column_names(names, False)):
            for columns_of_row in batch.to_pylist():
                yield score_of_columns(columns_of_row, names)


def score_of_columns(sheet: Mapping[str, Any], names: Sequence[str]) -> ItemScores:
    """Return the row that has these columns (:func:`columns_of`), without its evidence."""
    row = {name: sheet[name] for name in ("id", "line", "error")}
    if row["error"] is None:
        row["scores"] = {name: sheet[f"score.{name}"] for name in names}
        row["percentiles"] = {name: sheet[f"percentile.{name}"] for name in names}
        row["notes"] = {name: note for name in names if (note := sheet[f"note.{name}"]) is not None}
        row["signature"] = {name: sheet[f"signature.{name}"] for name in names}
    return _row(row)


def has_evidence(output: Path, form: OutputFormat) -> bool | None:
    """Return whether the scores in a file of rows have their evidence; None without scores."""
    import orjson

    if form is OutputFormat.PARQUET:
        import pyarrow.parquet as pq

        return "evidence" in pq.read_schema(output).names
    if form.delimited:
        return "evidence" in columns_in(output, form)
    with gzip.open(output) if form is OutputFormat.GZIP else output.open("rb") as file:
        rows = (orjson.loads(line) for line in file)
        return next(("evidence" in row for row in rows if "scores" in row), None)


def _row(row: dict[str, Any]) -> ItemScores:
    """Return a row from JSON values."""
    from ...reasoning.scorer import ItemScores

    row.pop("evidence", None)
    return ItemScores.from_dict(row)


# CSV and TSV with a heading, in UTF-8 with "\n" at the end of a row. A cell with the delimiter, a quote or a line break stands in
# quotes, in TSV too (RFC 4180). Numbers are written so that reading gives the same float; null is an empty cell.
#
# A spreadsheet takes a cell that begins with "=", "+", "-", "@", a tab or a carriage return as a formula. Texts that begin so and
# are not numbers (an ID of the input, an error that quotes it) get a "'" before them, as OWASP advises; reading removes it.

DELIMITERS = {OutputFormat.CSV: ",", OutputFormat.TSV: "\t"}

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")
_KINDS = ("score", "percentile", "note", "signature")
_MAX_CELL = 1 << 30


def column_names(names: Sequence[str], explain: bool) -> list[str]:
    """Return the columns for the metrics ``names``, in order."""
    columns = ["id", "line", *(f"{kind}.{name}" for name in names for kind in _KINDS), "error"]
    return [*columns, "evidence"] if explain else columns


def heading(names: Sequence[str], explain: bool, form: OutputFormat) -> str:
    """Return the first line."""
    return _line(column_names(names, explain), form)


def delimited_line(row: ItemScores, names: Sequence[str], explain: bool, form: OutputFormat) -> str:
    """Return a row as one line, with the evidence when ``explain``."""
    columns = columns_of(row, explain)
    return _line([_cell(columns.get(name)) for name in column_names(names, explain)], form)


def read_delimited(output: Path, names: Sequence[str], form: OutputFormat) -> Iterator[ItemScores]:
    """Yield the rows of a file, without their evidence, in constant memory; LookupError or ValueError if it is another file."""
    for row in _rows(output, form):
        sheet: dict[str, Any] = {name: _unguarded(row[name]) or None for name in ("id", "error")}
        sheet["line"] = int(row["line"]) if row["line"] else None
        for name in names:
            for kind in ("score", "percentile"):
                cell = row[f"{kind}.{name}"]
                sheet[f"{kind}.{name}"] = float(cell) if cell else None
            for kind in ("note", "signature"):
                sheet[f"{kind}.{name}"] = _unguarded(row[f"{kind}.{name}"]) or None
        yield score_of_columns(sheet, names)


def columns_in(output: Path, form: OutputFormat) -> list[str]:
    """Return the heading of a file; empty if the file is empty."""
    with output.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file, delimiter=DELIMITERS[form]), [])


def _rows(output: Path, form: OutputFormat) -> Iterator[dict[str, str]]:
    csv.field_size_limit(max(csv.field_size_limit(), _MAX_CELL))  # a cell of evidence may be long
    with output.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter=DELIMITERS[form], restval="")


def _line(cells: Sequence[str], form: OutputFormat) -> str:
    """Return one line; unlike :mod:`csv`, which leaves a lone carriage return as it is, quote every cell with a line break."""
    special = re.compile(f'[{DELIMITERS[form]}"\r\n]')
    quoted = (f'"{cell.replace(chr(34), chr(34) * 2)}"' if special.search(cell) else cell for cell in cells)
    return DELIMITERS[form].join(quoted) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return str(value)
    text = str(value).encode(errors="backslashreplace").decode()  # a lone surrogate cannot be written
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _unguarded(cell: str) -> str:
    return cell[1:] if _GUARDED.match(cell) else cell
