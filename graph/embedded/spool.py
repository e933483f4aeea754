"""Where new rows wait on disk until all are known: the engine takes a table at once many times faster than in pieces.

One Arrow file a table; texts that repeat are stored once a batch.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import GraphError
from ..intake import Numbered
from ..names import Label, language_of, text_of
from .schema import key_of, table_of

_REPEATING = pa.dictionary(pa.int32(), pa.string())

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

_FULL = "No space left on device"
_NOTHING = 1 << 20  # bytes; who fails with less than this has met a full disk

Key = tuple[str, Label]
_LABELS: tuple[Label, ...] = ("Concept", "Event")


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn the failures of writing a graph in ``folder`` into one sentence that names it, also when the engine met a full disk.

    Raises:
        GraphError: something could not be written.
    """
    try:
        yield
    except (OSError, GraphError) as error:
        free = shutil.disk_usage(folder).free
        if isinstance(error, GraphError) and _FULL not in str(error) and free > _NOTHING:  # the engine does not always say why
            raise
        if isinstance(error, GraphError) or error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise GraphError(
                f"the disk of {folder} is full ({free / 1e6:,.0f} MB are free); free some space there and run the load again: "
                "it needs as much as the graph takes now and twice what is added; the graph is as it was"
            ) from error
        raise GraphError(f"{folder} cannot be written to ({error.strerror or error}); the graph is as it was") from error


class Spool:
    """Files of new nodes and assertions by table in one folder; a context manager that closes the files.

    Args:
        folder: where they stand, made by this; graph: the folder of the graph that they are for, as messages call it.
    """

    def __init__(self, folder: Path, graph: Path) -> None:
        with writing(graph):
            folder.mkdir()
        self._folder, self._graph = folder, graph
        self._writers: dict[Path, pa.RecordBatchStreamWriter] = {}
        self._edges: dict[Key, Path] = {}
        self._tables: dict[str, str] = {}

    def add_nodes(self, label: Label, uris: list[str]) -> None:
        """Take new nodes."""
        if not uris:
            return
        columns = [uris, [text_of(uri) for uri in uris]]
        if label == "Concept":
            columns.append([language_of(uri) for uri in uris])
        schema = NODES[label]
        rows = pa.record_batch([_array(*pair) for pair in zip(columns, schema, strict=True)], schema=schema)
        self._write(self._folder / f"nodes-{label}.arrow", rows)

    def add_assertions(self, batch: Numbered) -> None:
        """Take new assertions, at least one."""
        heads, relations, tails, *rest = zip(*batch.rows, strict=True)
        columns = [heads, tails, relations, *rest, batch.ids]
        rows = pa.record_batch([_array(*pair) for pair in zip(columns, EDGES, strict=True)], schema=EDGES)
        codes = rows.column("relation").indices.to_numpy() * len(_LABELS)
        codes += pc.starts_with(rows.column("from"), "/e/").to_numpy(zero_copy_only=False)
        names = rows.column("relation").dictionary.to_pylist()
        for code in np.unique(codes).tolist():
            relation, label = names[code // len(_LABELS)], _LABELS[code % len(_LABELS)]
            key = key_of(relation), label
            self._tables.setdefault(key[0], table_of(relation))
            path = self._edges.setdefault(key, self._folder / f"edges-{key[0]}-{label}.arrow")
            self._write(path, rows.take(pa.array(np.flatnonzero(codes == code))))

    def _write(self, path: Path, rows: pa.RecordBatch) -> None:
        with writing(self._graph):
            if path not in self._writers:
                self._writers[path] = pa.ipc.new_stream(str(path), rows.schema)
            self._writers[path].write_batch(rows)

    def finish(self) -> None:
        """Close the files for writing."""
        with writing(self._graph):
            for writer in self._writers.values():
                writer.close()

    def nodes(self, size: int) -> Iterator[tuple[Label, pa.Table]]:
        """Yield each label's new nodes, about ``size`` at a time."""
        for label in _LABELS:
            path = self._folder / f"nodes-{label}.arrow"
            if path in self._writers:
                yield from ((label, rows) for rows in _read(path, size))

    def assertions(self, size: int) -> Iterator[tuple[str, Label, pa.Table]]:
        """Yield the name that each table would have if it were new, and its new assertions, about ``size`` at a time."""
        for (key, label), path in sorted(self._edges.items()):
            yield from ((self._tables[key], label, rows) for rows in _read(path, size))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.finish()
            return
        with suppress(OSError):  # what went wrong first is what matters
            for writer in self._writers.values():
                writer.close()


def _array(values: Sequence[Any], field: pa.Field) -> pa.Array:
    """Return a column; texts that repeat are encoded, and absent where they are empty."""
    if field.type != _REPEATING:
        return pa.array(values, field.type)
    texts = pa.array(values, pa.string())
    return pc.if_else(pc.equal(texts, ""), None, texts).dictionary_encode()


def _read(path: Path, size: int) -> Iterator[pa.Table]:
    with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as batches:
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            if waiting and sum(map(len, waiting)) + len(batch) > size:
                yield pa.Table.from_batches(waiting)
                waiting = []
            waiting.append(batch)
        yield pa.Table.from_batches(waiting)
