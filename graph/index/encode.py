"""From a stream of assertions to columns of small integers: the one pass over the graph that an index needs.

Texts (nodes, relations, provenance) become codes while they stream by, so memory grows with the number of distinct texts and
a few bytes a row, not with the rows themselves. Codes are then renumbered in sorted order, so that comparing codes compares
what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..model import Assertion, Contents, GraphCounts
from ..names import label_of

_BATCH = 65_536

Key = TypeVar("Key")
Codes = NDArray[np.int32]


class Provenance(NamedTuple):
    """What an assertion holds beside its ends, relation and weight, in the order in which assertions are sorted by it."""

    source: str
    dataset: str
    head_sense: str
    tail_sense: str
    license: str
    contributors: str
    rank: int | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Encoded:
    """Concept assertions as columns of codes, self-loops and events left out; every code is a position in a sorted table.

    Attributes:
        uris: every concept, self-loops' concepts included, in code point order.
        head, tail: positions in ``uris``; relation in ``relations``; weight in ``weights``; provenance in ``provenances``.
        counts: of the whole stream, events and self-loops included.
    """

    uris: list[str]
    relations: list[str]
    weights: NDArray[np.float64]
    provenances: list[Provenance]
    head: Codes
    tail: Codes
    relation: Codes
    weight: Codes
    provenance: Codes
    counts: GraphCounts


class _Table(dict[Key, int]):
    """Codes in the order of first sight."""

    def __missing__(self, key: Key) -> int:
        self[key] = code = len(self)
        return code

    def codes(self, values: Iterable[Key]) -> Codes:
        return np.fromiter(map(self.__getitem__, values), dtype=np.int32)

    def column(self, array: pa.Array) -> Codes:
        """Codes of an Arrow column; each distinct value is looked up once."""
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode("encode")
        codes: Codes = self.codes(encoded.dictionary.to_pylist())[encoded.indices.to_numpy(zero_copy_only=False)]
        return codes


class Encoder:
    """Takes rows or Arrow record batches, then gives them back as one :class:`Encoded`."""

    def __init__(self, progress: Callable[[int], None] | None = None) -> None:
        self._nodes: _Table[str] = _Table()
        self._relations: _Table[str] = _Table()
        self._weights: _Table[float] = _Table()
        self._provenances: _Table[Provenance] = _Table()
        self._columns: list[tuple[Codes, ...]] = []
        self._progress = progress
        self._contents = Contents()

    @property
    def checksum(self) -> int:
        """Checksum of all assertions taken, as :class:`~tacit.graph.model.Manifest` keeps it."""
        return self._contents.checksum

    def add_rows(self, rows: Iterable[Assertion]) -> None:
        """Take every row of a stream."""
        stream = iter(rows)
        while chunk := list(islice(stream, _BATCH)):
            self._contents.add(chunk)
            head, relation, tail, weight, source, dataset, license_, by, head_sense, tail_sense, rank, score = zip(
                *chunk, strict=True
            )
            provenance = map(Provenance, source, dataset, head_sense, tail_sense, license_, by, rank, score)
            self._keep(
                self._nodes.codes(head),
                self._nodes.codes(tail),
                self._relations.codes(relation),
                self._weights.codes(map(float, weight)),
                self._provenances.codes(provenance),
            )

    def add_batch(self, batch: pa.RecordBatch) -> None:
        """Take a record batch whose columns are the fields of :class:`Assertion`; absent columns hold their defaults."""
        self._contents.add(_rows(batch))
        self._keep(
            self._nodes.column(batch.column("head")),
            self._nodes.column(batch.column("tail")),
            self._relations.column(batch.column("relation")),
            self._weights.column(batch.column("weight").cast(pa.float64())),
            self._provenance_codes(batch),
        )

    def _provenance_codes(self, batch: pa.RecordBatch) -> Codes:
        """Codes of the distinct combinations of the provenance columns, each looked up once."""
        combined = np.zeros(batch.num_rows, dtype=np.int64)
        names = set(batch.schema.names)
        columns: list[pa.Array | None] = []
        for name in Provenance._fields:
            column = batch.column(name) if name in names else None
            columns.append(column)
            if column is not None and column.null_count < len(column):
                encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode("encode")
                codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
                combined = np.unique(combined * len(encoded.dictionary) + codes, return_inverse=True)[1]
        _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
        taken = [
            [Assertion._field_defaults[name]] * len(first) if column is None else pc.take(column, pa.array(first)).to_pylist()
            for name, column in zip(Provenance._fields, columns, strict=True)
        ]
        plain = [values if name in ("rank", "score") else [value or "" for value in values]
                 for name, values in zip(Provenance._fields, taken, strict=True)]  # fmt: skip
        return self._provenances.codes(map(Provenance, *plain))[inverse]

    def _keep(self, *columns: Codes) -> None:
        self._columns.append(columns)
        if self._progress:
            self._progress(len(columns[0]))

    def finish(self) -> Encoded:
        """Return everything taken so far, codes in sorted order."""
        head, tail, relation, weight, provenance = (
            [np.concatenate(parts) for parts in zip(*self._columns, strict=True)]
            if self._columns
            else [np.zeros(0, dtype=np.int32) for _ in range(5)]
        )
        self._columns = []
        names = list(self._relations)
        occurrences = np.bincount(relation, minlength=len(names)).tolist()
        by_size = sorted(zip(names, occurrences, strict=True), key=lambda item: (-item[1], item[0]))
        concepts = sorted(uri for uri in self._nodes if label_of(uri) == "Concept")
        counts = GraphCounts(len(concepts), len(self._nodes) - len(concepts), len(relation), dict(by_size))
        place = np.full(len(self._nodes) + 1, -1, dtype=np.int32)
        place[[self._nodes[uri] for uri in concepts]] = np.arange(len(concepts), dtype=np.int32)
        head, tail = place[head], place[tail]
        kept = np.flatnonzero((head >= 0) & (tail >= 0) & (head != tail))
        relations, relation = _sorted_used(names, relation[kept])
        weights, weight = _sorted_used(list(self._weights), weight[kept])
        provenances, provenance = _sorted_used(list(self._provenances), provenance[kept], key=_none_first)
        return Encoded(
            concepts, relations, np.array(weights, dtype=np.float64), provenances,
            head[kept], tail[kept], relation, weight, provenance, counts,
        )  # fmt: skip


def _rows(batch: pa.RecordBatch) -> Iterable[tuple[Any, ...]]:
    """Return the rows of a record batch, absent columns filled with the defaults of :class:`Assertion`."""
    names = set(batch.schema.names)
    columns = [
        batch.column(name).to_pylist() if name in names else [Assertion._field_defaults[name]] * batch.num_rows
        for name in Assertion._fields
    ]
    return zip(*columns, strict=True)


def _none_first(value: Provenance) -> tuple[Any, ...]:
    return (*value[:6], *((item is not None, item or 0) for item in value[6:]))


def _sorted_used(values: Sequence[Any], codes: Codes, key: Callable[[Any], Any] | None = None) -> tuple[list[Any], Codes]:
    """Return the values that ``codes`` use, sorted, and ``codes`` as positions among them."""
    used = np.unique(codes).tolist()
    order = sorted(used, key=(lambda code: key(values[code])) if key else values.__getitem__)
    place = np.zeros(len(values) + 1, dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return [values[code] for code in order], place[codes]
