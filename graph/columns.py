"""Arrow schema of assertions that are streamed from a store to an index or a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from .model import Assertion

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("head", "relation", "tail")),
        ("weight", pa.float64()),
        *((name, pa.string()) for name in Assertion._fields[4:10]),
        ("rank", pa.int64()),
        ("score", pa.float64()),
    ]
)


def record_batch(rows: Iterable[Assertion]) -> pa.RecordBatch:
    """Return ``rows`` as one batch with the columns of :data:`SCHEMA`."""
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    return pa.record_batch([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def assertions(batch: pa.RecordBatch) -> Iterator[Assertion]:
    """Yield the rows of a batch with the columns of :data:`SCHEMA`."""
    return map(Assertion._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def record_batches(table: pa.Table, size: int) -> Iterator[pa.RecordBatch]:
    """Yield ``table`` with the columns of :data:`SCHEMA`, ``size`` rows at a time, with empty texts for nulls."""
    columns = []
    for field in SCHEMA:
        column = table.column(field.name).cast(field.type)
        columns.append(column.fill_null("") if field.type == pa.string() else column)
    yield from pa.Table.from_arrays(columns, schema=SCHEMA).combine_chunks().to_batches(max_chunksize=size)
