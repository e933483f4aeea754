"""Output rows of scores as CSV and TSV: the columns of the Parquet output, with a heading, written and read.

UTF-8, ``\\n`` at the end of a row; a cell with the delimiter, a quote or a line break stands in quotes, in TSV too (RFC 4180).
Numbers are written so that reading gives the same float; null is an empty cell; evidence is JSON in its cell.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return as a formula. Texts that begin
so and are not numbers (an ID of the input, an error that quotes it) get a ``'`` before them, as OWASP advises; reading takes it
away.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .rows import Form, columns_of, score_of_columns

if TYPE_CHECKING:
    from ...reasoning.scorer import ItemScores

DELIMITERS = {Form.CSV: ",", Form.TSV: "\t"}

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")
_KINDS = ("score", "percentile", "note", "signature")
_LONGEST_CELL = 1 << 30


def column_names(names: Sequence[str], explain: bool) -> list[str]:
    """Return the columns for the metrics ``names``, in order."""
    found = ["id", "line", *(f"{kind}.{name}" for name in names for kind in _KINDS), "error"]
    return [*found, "evidence"] if explain else found


def heading(names: Sequence[str], explain: bool, form: Form) -> str:
    """Return the first line."""
    return _line(column_names(names, explain), form)


def delimited_line(row: ItemScores, names: Sequence[str], explain: bool, form: Form) -> str:
    """Return a row as one line, with the evidence when ``explain``."""
    columns = columns_of(row, explain)
    return _line([_cell(columns.get(name)) for name in column_names(names, explain)], form)


def read_delimited(output: Path, names: Sequence[str], form: Form) -> Iterator[ItemScores]:
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


def columns_in(output: Path, form: Form) -> list[str]:
    """Return the heading of a file; empty if the file is empty."""
    with output.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file, delimiter=DELIMITERS[form]), [])


def _rows(output: Path, form: Form) -> Iterator[dict[str, str]]:
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))  # a cell of evidence may be long
    with output.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter=DELIMITERS[form], restval="")


def _line(cells: Sequence[str], form: Form) -> str:
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
