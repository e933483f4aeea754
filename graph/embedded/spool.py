"""Temporary Arrow files of the rows of a load, one per table, and their parts as Parquet files that the engine copies.

The engine copies a whole table many times faster than pieces of it, so all rows of a load are collected first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..loading import Numbered
from ..names import LABELS, Label, language_of, text_of
from .database_file import writing
from .engine import key_of, release_memory, table_of

_ROW_GROUP = 20_000
"""Rows of a row group of a Parquet file."""

_REPEATING = pa.dictionary(pa.int32(), pa.string())  # texts that are stored once per batch

EDGES = pa.schema(
    [
        ("from", pa.string()),
        ("to", pa.string()),
        ("relation", _REPEATING),
        ("weight", pa.float64()),
        *((name, _REPEATING) for name in ("source", "dataset", "license", "contributors", "head_sense", "tail_sense")),
        ("rank", pa.int64()),
        ("score", pa.float64()),
        ("id", pa.int64()),
    ]
)
NODES = {
    "Concept": pa.schema([("uri", pa.string()), ("text", pa.string()), ("language", _REPEATING)]),
    "Event": pa.schema([("uri", pa.string()), ("text", pa.string())]),
}

Key = tuple[str, Label]


class Part(NamedTuple):
    """Rows to be copied into one table."""

    file: Path  # a Parquet file
    rows: int  # their number
    bytes: int  # what they take in memory


class Spool:
    """Temporary Arrow files of new nodes and assertions, one per table; a context manager that closes the files."""

    def __init__(self, folder: Path, graph: Path) -> None:
        with writing(graph):
            folder.mkdir()
        self._folder, self._graph = folder, graph
        self._writers: dict[Path, pa.RecordBatchStreamWriter] = {}
        self._edges: dict[Key, Path] = {}
        self._tables: dict[str, str] = {}

    def add_nodes(self, label: Label, uris: list[str]) -> None:
        """Add new nodes of one label."""
        if not uris:
            return
        columns = [uris, [text_of(uri) for uri in uris]]
        if label == "Concept":
            columns.append([language_of(uri) for uri in uris])
        columns_schema = NODES[label]
        rows = pa.record_batch([_array(*pair) for pair in zip(columns, columns_schema, strict=True)], schema=columns_schema)
        self._write(self._folder / f"nodes-{label}.arrow", rows)

    def add_assertions(self, batch: Numbered) -> None:
        """Add new assertions, at least one."""
        heads, relations, tails, *other_columns = zip(*batch.rows, strict=True)
        columns = [heads, tails, relations, *other_columns, batch.ids]
        rows = pa.record_batch([_array(*pair) for pair in zip(columns, EDGES, strict=True)], schema=EDGES)
        codes = rows.column("relation").indices.to_numpy() * len(LABELS)
        codes += pc.starts_with(rows.column("from"), "/e/").to_numpy(zero_copy_only=False)
        names = rows.column("relation").dictionary.to_pylist()
        for code in np.unique(codes).tolist():
            relation, label = names[code // len(LABELS)], LABELS[code % len(LABELS)]
            key = key_of(relation), label
            self._tables.setdefault(key[0], table_of(relation))
            path = self._edges.setdefault(key, self._folder / f"edges-{key[0]}-{label}.arrow")
            self._write(path, rows.take(pa.array(np.flatnonzero(codes == code))))

    def _write(self, path: Path, rows: pa.RecordBatch) -> None:
        with writing(self._graph):
            if path not in self._writers:
                self._writers[path] = pa.ipc.new_stream(str(path), rows.schema)
            self._writers[path].write_batch(rows)

    def tables(self) -> list[Key]:
        """Return the tables that have new assertions."""
        return list(self._edges)

    def finish(self) -> None:
        """Close the files for writing."""
        with writing(self._graph):
            for writer in self._writers.values():
                writer.close()

    def nodes(self, size: int) -> Iterator[tuple[Label, Part]]:
        """Yield each label's new nodes, about ``size`` at a time."""
        for label in LABELS:
            path = self._folder / f"nodes-{label}.arrow"
            if path in self._writers:
                yield from ((label, part) for part in parts(path, size))

    def assertions(self, size: Callable[[Label], int]) -> Iterator[tuple[str, Label, Part]]:
        """Yield the name for each table if it has to be created, and its new assertions, about ``size(label)`` at a time."""
        for (key, label), path in sorted(self._edges.items()):
            yield from ((self._tables[key], label, part) for part in parts(path, size(label)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.finish()
            return
        with suppress(OSError):  # the first error is the one to report
            for writer in self._writers.values():
                writer.close()


def _array(values: Sequence[Any], field: pa.Field) -> pa.Array:
    """Return a column; repeating texts are dictionary-encoded, with null for empty ones."""
    if field.type != _REPEATING:
        return pa.array(values, field.type)
    texts = pa.array(values, pa.string())
    return pc.if_else(pc.equal(texts, ""), None, texts).dictionary_encode()


def parts(path: Path, size: int) -> Iterator[Part]:
    """Yield the rows of a spool's file, about ``size`` at a time; each part's file replaces that of the part before.

    The engine reads a Parquet file piece by piece, whereas a table that is passed to it stays in memory until all is copied.
    """
    with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as batches:
        pending: list[pa.RecordBatch] = []
        for batch in batches:
            if pending and sum(map(len, pending)) + len(batch) > size:
                yield _part(path, pending)
            pending.append(batch)
        yield _part(path, pending)


def _part(path: Path, batches: list[pa.RecordBatch]) -> Part:
    """Move the batches from the list to a Parquet file beside ``path``, and return their memory to the system."""
    import pyarrow.parquet as pq

    rows = pa.Table.from_batches(batches)
    batches.clear()
    part = Part(path.with_suffix(".parquet"), len(rows), rows.nbytes)
    with pa.OSFile(str(part.file), "wb") as file:  # pyarrow would take a path such as "a:b" as a URI
        pq.write_table(rows, file, row_group_size=_ROW_GROUP, compression="none", write_statistics=False)
    del rows
    release_memory()
    return part
