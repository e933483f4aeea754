"""Data frames: responses scored from pandas, polars, Arrow or datasets, all by way of Arrow, into an Arrow table.

Every library that offers its data by the Arrow PyCapsule interface (``__arrow_c_stream__``) can be read. A row has one of the
forms of :func:`tacit.loaders.read_items`. The result has a row for each item, with the columns of a Parquet output of ``tacit
score`` and the number of the frame's row; evidence is nested: a list of pieces for each metric.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...graph.errors import InputError
from ...graph.item import Item, ItemError
from ...loaders.dialogues import BrokenRecord, has_items, items_in
from ..terminal.progress import Meter
from .rows import columns_of, schema_of

if TYPE_CHECKING:
    from ...reasoning.base import Piece, Score
    from ...reasoning.scorer import ItemScores, Reasoner

_BATCH = 4_096

PIECE = pa.struct([
    ("depth", pa.int16()), ("kind", pa.string()), ("name", pa.string()), ("value", pa.float64()), ("share", pa.float64()),
    ("response", pa.string()), ("turn", pa.int32()), ("history", pa.string()), ("hops", pa.int32()), ("path", pa.string()),
])  # fmt: skip
"""A piece of evidence (:class:`tacit.reasoning.Piece`): the texts of its mentions, its path as text, and its depth: pieces that
rest on others are followed by these, one level deeper."""


def score_frame(
    frame: Any,
    reasoner: Reasoner | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    explain: bool = False,
    batch_size: int | None = None,
    quiet: bool = True,
) -> pa.Table:
    """Score the responses in a data frame.

    Args:
        frame: a pandas or polars data frame, an Arrow table, a ``datasets.Dataset``, a dict of columns, or any other object with
            ``__arrow_c_stream__``.
        reasoner: the open metrics; by default ``Reasoner()``, the default metric.
        columns: for fields of a record (``history``, ``response``, ``turns``, ``messages``, ``references``, ``id``) the columns
            that hold them, where they have other names, e.g. ``{"history": "context", "response": "answer"}``.
        explain: add ``evidence.<metric>``, lists of pieces.
        batch_size: items scored together; by default as each metric prefers.
        quiet: show no progress bar; in a notebook or on a terminal it is drawn on stderr.

    Returns:
        A table with a row for each item: ``row`` (of the frame, from 0), ``id``, ``score.<metric>``, ``percentile.<metric>``,
        ``note.<metric>``, ``signature.<metric>``, ``error`` and the evidence. Rows with a history and a response give one item
        each, so that the table has the rows of the frame in their order; a row without an item has an ``error``.
        ``to_pandas()`` and ``polars.from_arrow`` convert it.

    Raises:
        InputError: the frame cannot be read, or has no column for histories and responses.
    """
    from ...reasoning import Reasoner

    table = _table(frame)
    renamed = _renamed(table, columns or {})
    if not has_items(set(renamed.column_names)):
        raise InputError(
            f"the frame has the columns {', '.join(table.column_names) or '(none)'}; wanted are history and response, or turns, "
            'or messages, so name the columns that hold them, e.g. columns={"history": "context", "response": "answer"}'
        )
    scorer = reasoner or Reasoner()
    names = [metric.name for metric in scorer.metrics]
    row_numbers: list[int] = []
    parts: list[pa.Table] = []
    schema = _schema(names, explain)
    with Meter("scoring", None, noun="items", quiet=quiet) as meter:
        rows = scorer.stream(_items(renamed, row_numbers), batch_size=batch_size, explain=explain)
        while block := list(islice(rows, _BATCH)):
            parts.append(pa.Table.from_pylist([_row(row, names, explain) for row in block], schema))
            meter.add(len(block))
    scored = pa.concat_tables(parts).unify_dictionaries() if parts else schema.empty_table()
    return scored.add_column(0, "row", pa.array(row_numbers, pa.int64()))


def _table(frame: Any) -> pa.Table:
    """Return a frame as an Arrow table."""
    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "with_format") and hasattr(frame, "column_names"):  # datasets.Dataset, and others of that package
        if isinstance(frame.column_names, dict):  # datasets.DatasetDict
            raise InputError(f"the {type(frame).__name__} has several tables; give one of them: {', '.join(frame.column_names)}")
        if not hasattr(frame, "__len__"):  # datasets.IterableDataset
            raise InputError(
                f"the {type(frame).__name__} is read row by row; make a Dataset of it, with Dataset.from_list(list(rows))"
            )
        frame = frame.with_format("arrow")[:]
    try:
        return pa.table(frame)
    except (TypeError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"cannot read the {type(frame).__name__} as a table ({reason}); give a frame of pandas, polars, Arrow or datasets, "
            "or a dict of columns"
        ) from None


def _renamed(table: pa.Table, columns: Mapping[str, str]) -> pa.Table:
    """Return the table with the fields' own names for the columns that hold them, names in lower case."""
    for field, column in columns.items():
        if column not in table.column_names:
            raise InputError(f"the frame has no column {column!r} for {field}; it has {', '.join(table.column_names)}")
    field_of = {column: field for field, column in columns.items()}
    names = [name for name in table.column_names if name in field_of or name.strip().lower() not in columns]
    return table.select(names).rename_columns([field_of.get(name, name.strip().lower()) for name in names])


def _items(table: pa.Table, row_numbers: list[int]) -> Iterator[Item | ItemError]:
    """Yield the items of the rows; ``row_numbers`` gets the number of the row of each."""
    number = 0
    for batch in table.to_batches(_BATCH):
        for record in batch.to_pylist():
            items: Sequence[Item | ItemError]
            try:
                items = items_in({name: value for name, value in record.items() if value is not None}, number + 1)
            except BrokenRecord as broken:
                items = [ItemError(number + 1, str(broken))]
            for item in items:
                row_numbers.append(number)
                yield item
            number += 1


def _schema(names: Sequence[str], explain: bool) -> pa.Schema:
    plain = schema_of(names, False)
    return pa.schema([*plain, *(pa.field(f"evidence.{name}", pa.list_(PIECE)) for name in names)]) if explain else plain


def _row(row: ItemScores, names: Sequence[str], explain: bool) -> dict[str, Any]:
    columns = columns_of(row, False)
    if explain and row.error is None:
        columns |= {f"evidence.{name}": _pieces(row.scores[name]) for name in names}
    return columns


def _pieces(score: Score) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def add(pieces: Sequence[Piece], depth: int) -> None:
        for piece in pieces:
            rows.append(
                {
                    "depth": depth, "kind": piece.kind, "name": piece.name, "value": _finite(piece.value),
                    "share": _finite(piece.share), "response": piece.response and piece.response.text, "turn": piece.turn,
                    "history": piece.history and piece.history.text, "hops": piece.hops,
                    "path": piece.path and piece.path.text(),
                }
            )  # fmt: skip
            add(piece.rests_on, depth + 1)

    add(score.evidence.pieces, 0)
    return rows


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
