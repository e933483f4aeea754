"""Building an index: one pass over a graph's assertions, then arrays, labels and names, in a folder that is created atomically.

Texts (nodes, relations, provenance) become codes during the pass, so memory grows with the number of distinct texts and a few
bytes per assertion. Codes are then renumbered in sorted order, so that comparing codes compares what they encode.

Nodes are numbered hubs first, then by number of arcs: nodes that searches visit most are close together in memory, and a node's
arcs to hubs come first in its list. Each assertion becomes two arcs, one in the list of either end, sorted by neighbour and then
by :attr:`~tacit.graph.model.Assertion.order` among those that join the same two nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..columns import record_batch
from ..errors import GraphError
from ..links import linked_digest, no_links
from ..loading import rare_cycle_search
from ..model import Assertion, Contents, GraphCounts, Manifest
from ..names import label_of
from ..protocol import KnowledgeGraph, LinksEvents, StreamsRecords
from ..storage import seal, whole_folder
from .graph import write_names
from .labels import build_labels, choose_hubs
from .layout import FORMAT, KIND, NAMES, Arrays, narrowest, write_arrays
from .open import manifests

Progress = Callable[[int], None]
Key = TypeVar("Key")
Codes = NDArray[np.int32]

_BATCH = 65_536
"""Assertions that are encoded at a time."""
_LABELLING = ((300_000, 8, 64), (5_000_000, 6, 64), (2**31, 1, 7))
"""(most nodes, groups of hubs, most pruned labels per node on average) for graphs of that size.

With six to eight groups, five to twenty-five pruned labels per node cover a whole graph of knowledge, so a distance needs no
search; the limit bounds memory for graphs without hubs. The largest graphs get what fits in 60 bytes per node.
"""


@rare_cycle_search()
def build_index(graph: KnowledgeGraph, directory: Path, progress: Progress | None = None, *, linked: bool = False) -> Path:
    """Build the index of ``graph`` in ``directory`` and return ``directory``; an index that was there is replaced atomically.

    Args:
        graph: read once, as Arrow record batches when it is a :class:`~tacit.graph.protocol.StreamsRecords`.
        directory: the index's folder.
        progress: called with the number of assertions read since its last call.
        linked: index the events, their assertions and the links too.

    Raises:
        GraphError: the graph is damaged, changed meanwhile, has more assertions than an index can hold (about 10**9), or has no
            links for a linked index.
    """
    manifest, links = manifests(graph, linked)
    if linked and not links.links:
        raise no_links(graph.url)
    encoder = Encoder(progress, events=linked)
    if isinstance(graph, StreamsRecords):
        for batch in graph.scan():
            encoder.add_batch(batch)
    else:
        encoder.add_rows(graph.assertions())
    checksum, link_count, link_contents = encoder.checksum, 0, 0

    def link_rows() -> Iterator[Assertion]:
        nonlocal link_count, link_contents
        for link in graph.links() if linked and isinstance(graph, LinksEvents) else ():
            link_count += 1
            link_contents += link.fingerprint()[1]
            yield link.assertion()

    encoder.add_rows(link_rows())
    encoded = encoder.finish()
    digest = linked_digest(manifest, links)
    if linked_digest(*manifests(graph, linked)) != digest:
        raise GraphError(f"{graph.url} changed while its index was being built; build it again after the load has ended")
    check_manifest(graph.url, manifest, encoded.counts.assertions - link_count, checksum)
    if (link_count, link_contents % 2**128) != (links.links, links.checksum):
        raise GraphError(f"{graph.url} is damaged, or was changed by another program (its links differ); run tacit link")
    return _write(encoded, directory, manifest, digest)


def check_manifest(url: str, manifest: Manifest, assertions: int, checksum: int) -> None:
    """Raise :class:`GraphError` unless number and checksum of the assertions of a graph are those of its manifest."""
    if assertions != manifest.assertions:
        difference = f"it holds {assertions:,} assertions, its manifest says {manifest.assertions:,}"
    elif checksum != manifest.checksum:
        difference = "its assertions do not match the checksum in its manifest"
    else:
        return
    raise GraphError(f"{url} is damaged, or was changed by another program ({difference}); load it again into a new place")


@rare_cycle_search()
def build_from_rows(rows: Iterable[Assertion], directory: Path) -> Path:
    """Build the index of ``rows`` in ``directory``, the same as that of a graph loaded from them; return ``directory``.

    Of equal assertions (:meth:`~tacit.graph.model.Assertion.fingerprint`) the first is kept.
    """
    identities: set[int] = set()

    def distinct() -> Iterator[Assertion]:
        for row in rows:
            identity, _ = row.fingerprint()
            if identity not in identities:
                identities.add(identity)
                yield row

    encoder = Encoder()
    encoder.add_rows(distinct())
    manifest = Manifest((), len(identities), encoder.checksum)
    return _write(encoder.finish(), directory, manifest, manifest.digest)


def _write(encoded: Encoded, directory: Path, manifest: Manifest, digest: str) -> Path:
    """Write the index of a graph with this manifest; ``digest`` is that of the indexed content."""
    with whole_folder(directory, KIND, FORMAT, digest) as folder:
        arrays = _arrays(encoded)
        arrays["node_of_key"], arrays["key_of_rank"] = write_names(folder / NAMES, encoded.uris, arrays["rank"])
        header: dict[str, Any] = {
            "manifest": {**asdict(manifest), "checksum": f"{manifest.checksum:032x}"},
            "counts": encoded.counts._asdict(),
            "relations": encoded.relations,
            "covered": int(arrays.pop("covered")[0]),
        }
        header["arrays"] = write_arrays(folder, arrays)
        seal(folder, KIND, FORMAT, digest, header)
    return directory


def _arrays(encoded: Encoded) -> Arrays:
    nodes, head, tail = len(encoded.uris), encoded.head, encoded.tail
    if 2 * len(head) >= 2**31:
        raise GraphError(f"{len(head)} assertions are more than an index can hold; load fewer, with filters")
    degree = np.bincount(head, minlength=nodes) + np.bincount(tail, minlength=nodes)
    groups, labels_per_node = next(row[1:] for row in _LABELLING if nodes <= row[0])
    hubs = choose_hubs(head, tail, degree, groups)
    is_ordinary = np.ones(nodes, dtype=bool)
    for group in hubs:
        is_ordinary[group] = False
    ordinary = np.flatnonzero(is_ordinary)
    rank = np.concatenate([*hubs, ordinary[np.argsort(-degree[ordinary], kind="stable")]]).astype(np.int32)
    node = np.empty(nodes, dtype=np.int32)
    node[rank] = np.arange(nodes, dtype=np.int32)
    arrays = _arcs(encoded, node)
    labels = build_labels(arrays["indptr"], arrays["neighbour"], [len(group) for group in hubs], nodes * labels_per_node)
    texts, codes = _text_table(encoded.provenances)
    encoded_texts = [text.encode() for text in texts]
    return {
        **arrays,
        "rank": rank,
        "root": labels.root,
        "near": labels.near,
        "label_start": labels.start,
        "label": labels.pruned,
        "covered": np.array([labels.covered]),
        "weights": encoded.weights,
        "provenance_texts": codes,
        "text_start": np.cumsum([0, *map(len, encoded_texts)], dtype=np.int64),
        "text": np.frombuffer(b"".join(encoded_texts), dtype=np.uint8),
    }


def _arcs(encoded: Encoded, node: NDArray[np.int32]) -> Arrays:
    """Return both arcs of every assertion, sorted; ``relation`` is ``code << 1``, plus 1 where the list's owner is the tail."""
    head, tail = encoded.head, encoded.tail
    owner = np.concatenate([node[head], node[tail]])
    neighbour = np.concatenate([node[tail], node[head]])
    relation = np.concatenate([encoded.relation << 1, (encoded.relation << 1) | 1])
    strength = np.tile(len(encoded.weights) - 1 - encoded.weight, 2)
    provenance = np.tile(encoded.provenance, 2)
    reversed_arcs = np.tile(head > tail, 2)
    node_pairs = owner.astype(np.int64) * len(node) + neighbour
    order_in_pair = strength.astype(np.int64) << 1 | reversed_arcs
    order = np.lexsort((provenance, relation >> 1, order_in_pair, node_pairs))
    starts = np.zeros(len(node) + 1, dtype=np.int32)
    np.cumsum(np.bincount(owner, minlength=len(node)), out=starts[1:])
    weight = len(encoded.weights) - 1 - strength
    return {
        "indptr": starts,
        "neighbour": neighbour[order],
        "relation": relation[order].astype(narrowest(2 * len(encoded.relations))),
        "weight": weight[order].astype(narrowest(len(encoded.weights))),
        "provenance": provenance[order].astype(narrowest(len(encoded.provenances))),
    }


def _text_table(provenances: list[Provenance]) -> tuple[list[str], NDArray[np.int32]]:
    """Return the distinct texts and, in shape (provenances, 8), the indices of each provenance's fields among them."""
    table: dict[str, int] = {}
    rows = [[table.setdefault("" if field is None else str(field), len(table)) for field in row] for row in provenances]
    return list(table), np.array(rows, dtype=np.int32).reshape(len(rows), len(Provenance._fields))


class Provenance(NamedTuple):
    """The fields of an assertion other than its ends, relation and weight, in the order in which assertions are sorted."""

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
    """Assertions as columns of codes, without self-loops; every code is an index into a sorted table."""

    # Every node (a concept, or also an event in a linked index), including those of self-loops, in code point order.
    uris: list[str]
    # relations, weights, provenances: the other tables
    relations: list[str]
    weights: NDArray[np.float64]
    provenances: list[Provenance]
    # head, tail: indices into `uris`
    head: Codes
    tail: Codes
    # relation, weight, provenance: indices into the tables of these names
    relation: Codes
    weight: Codes
    provenance: Codes
    counts: GraphCounts  # of the whole stream, including events and self-loops


class _Table(dict[Key, int]):
    """Codes for values, numbered by first occurrence."""

    def __missing__(self, key: Key) -> int:
        self[key] = code = len(self)
        return code

    def codes(self, values: Iterable[Key]) -> Codes:
        return np.fromiter(map(self.__getitem__, values), dtype=np.int32)

    def column(self, array: pa.Array) -> Codes:
        """Return the codes of an Arrow column; each distinct value is looked up once."""
        encoded = array.dictionary_encode("encode")
        codes: Codes = self.codes(encoded.dictionary.to_pylist())[encoded.indices.to_numpy()]
        return codes


class Encoder:
    """Encodes rows or Arrow record batches as one :class:`Encoded`."""

    def __init__(self, progress: Callable[[int], None] | None = None, *, events: bool = False) -> None:
        """Encode concepts and their assertions, and with ``events`` events and theirs."""
        self._nodes: _Table[str] = _Table()
        self._relations: _Table[str] = _Table()
        self._weights: _Table[float] = _Table()
        self._provenances: _Table[Provenance] = _Table()
        self._columns: list[tuple[Codes, ...]] = []
        self._progress = progress
        self._events = events
        self._contents = Contents()

    @property
    def checksum(self) -> int:
        """Checksum of all assertions added, as in :class:`~tacit.graph.model.Manifest`."""
        return self._contents.checksum

    def add_rows(self, rows: Iterable[Assertion]) -> None:
        """Add every row of a stream."""
        stream = iter(rows)
        while chunk := list(islice(stream, _BATCH)):
            self.add_batch(record_batch(chunk))

    def add_batch(self, batch: pa.RecordBatch) -> None:
        """Add a record batch with the columns of :data:`tacit.graph.columns.SCHEMA`."""
        self._contents.add(zip(*(column.to_pylist() for column in batch.columns), strict=True))
        tables: dict[str, _Table[Any]] = {
            "head": self._nodes,
            "tail": self._nodes,
            "relation": self._relations,
            "weight": self._weights,
        }
        codes = (table.column(batch.column(name)) for name, table in tables.items())
        self._columns.append((*codes, self._provenance_codes(batch)))
        if self._progress:
            self._progress(batch.num_rows)

    def _provenance_codes(self, batch: pa.RecordBatch) -> Codes:
        """Return the codes of the provenance columns; each distinct combination is looked up once."""
        combined = np.zeros(batch.num_rows, dtype=np.int64)
        columns = [batch.column(name) for name in Provenance._fields]
        for column in columns:
            encoded = column.dictionary_encode("encode")
            codes = encoded.indices.to_numpy().astype(np.int64)
            combined = np.unique(combined * len(encoded.dictionary) + codes, return_inverse=True)[1]
        _, first_rows, inverse = np.unique(combined, return_index=True, return_inverse=True)
        distinct_columns = (column.take(pa.array(first_rows)).to_pylist() for column in columns)
        return self._provenances.codes(map(Provenance, *distinct_columns))[inverse]

    def finish(self) -> Encoded:
        """Return everything added so far, with codes in sorted order."""
        head, tail, relation, weight, provenance = (
            [np.concatenate(parts) for parts in zip(*self._columns, strict=True)]
            if self._columns
            else [np.zeros(0, dtype=np.int32) for _ in range(5)]
        )
        self._columns = []
        names = list(self._relations)
        occurrences = np.bincount(relation, minlength=len(names)).tolist()
        by_size = sorted(zip(names, occurrences, strict=True), key=lambda item: (-item[1], item[0]))
        concepts = [uri for uri in self._nodes if label_of(uri) == "Concept"]
        counts = GraphCounts(len(concepts), len(self._nodes) - len(concepts), len(relation), dict(by_size))
        nodes = sorted(self._nodes if self._events else concepts)
        code_of = np.full(len(self._nodes) + 1, -1, dtype=np.int32)
        code_of[[self._nodes[uri] for uri in nodes]] = np.arange(len(nodes), dtype=np.int32)
        head, tail = code_of[head], code_of[tail]
        indexed = np.flatnonzero((head >= 0) & (tail >= 0) & (head != tail))
        relations, relation = _sorted_used(names, relation[indexed])
        weights, weight = _sorted_used(list(self._weights), weight[indexed])
        provenances, provenance = _sorted_used(list(self._provenances), provenance[indexed], key=_provenance_key)
        return Encoded(
            nodes, relations, np.array(weights, dtype=np.float64), provenances,
            head[indexed], tail[indexed], relation, weight, provenance, counts,
        )  # fmt: skip


def _provenance_key(value: Provenance) -> tuple[Any, ...]:
    return (*value[:6], *((item is not None, item or 0) for item in value[6:]))


def _sorted_used(values: Sequence[Any], codes: Codes, key: Callable[[Any], Any] | None = None) -> tuple[list[Any], Codes]:
    """Return the values that ``codes`` use, sorted, and ``codes`` as positions among them."""
    used = np.unique(codes).tolist()
    order = sorted(used, key=(lambda code: key(values[code])) if key else values.__getitem__)
    position = np.zeros(len(values) + 1, dtype=np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    return [values[code] for code in order], position[codes]
