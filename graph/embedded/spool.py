"""Where new rows wait on disk until all are known: the engine takes a table at once many times faster than in pieces.

One Arrow file a table; texts that repeat are stored once a batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from ..intake import Numbered
from ..model import Assertion
from ..names import Label, label_of, language_of, text_of
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

Key = tuple[str, Label]


class Spool:
    """Files of new nodes and assertions by table in one folder; a context manager that closes the files."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
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
        self._write(self._folder / f"nodes-{label}.arrow", NODES[label], columns)

    def add_assertions(self, batch: Numbered) -> None:
        """Take new assertions."""
        groups: dict[Key, list[tuple[Assertion, int]]] = defaultdict(list)
        for row, number in zip(batch.rows, batch.ids, strict=True):
            groups[row.relation, label_of(row.head)].append((row, number))
        for (relation, label), members in groups.items():
            heads, relations, tails, *rest = zip(*(row for row, _ in members), strict=True)
            texts = [[text or None for text in column] for column in rest[1:-2]]
            columns = [heads, tails, relations, rest[0], *texts, *rest[-2:], [number for _, number in members]]
            key = key_of(relation), label
            self._tables.setdefault(key[0], table_of(relation))
            path = self._edges.setdefault(key, self._folder / f"edges-{key[0]}-{label}.arrow")
            self._write(path, EDGES, columns)

    def _write(self, path: Path, schema: pa.Schema, columns: Sequence[Any]) -> None:
        if path not in self._writers:
            self._writers[path] = pa.ipc.new_stream(str(path), schema)
        arrays = [pa.array(column, pa.string() if pa.types.is_dictionary(field.type) else field.type).cast(field.type)
                  for column, field in zip(columns, schema, strict=True)]  # fmt: skip
        self._writers[path].write_batch(pa.record_batch(arrays, schema=schema))

    def finish(self) -> None:
        """Close the files for writing."""
        for writer in self._writers.values():
            writer.close()

    def nodes(self) -> Iterator[tuple[Label, pa.Table]]:
        """Yield each label's new nodes."""
        labels: tuple[Label, ...] = ("Concept", "Event")
        for label in labels:
            path = self._folder / f"nodes-{label}.arrow"
            if path in self._writers:
                yield label, _read(path)

    def assertions(self) -> Iterator[tuple[str, Label, pa.Table]]:
        """Yield the name that each table would have if it were new, and its new assertions, label by label."""
        for (key, label), path in sorted(self._edges.items()):
            yield self._tables[key], label, _read(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.finish()


def _read(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_stream(source).read_all()
