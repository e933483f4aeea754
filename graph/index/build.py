"""Building an index: one pass over a graph's assertions, then arrays, labels and names, moved into place as a whole.

Nodes are numbered hubs first, then by number of arcs: what searches touch most lies together, and a node's arcs towards hubs
come first in its list. Each assertion becomes two arcs, one in the list of either end, sorted by neighbour and then as
:attr:`~tacit.graph.model.Assertion.order` sorts what joins the same two nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checksums import seal
from ..collecting import rare_cycle_search
from ..errors import GraphError
from ..model import Assertion, Manifest
from ..protocol import KnowledgeGraph, StreamsRecords
from .encode import Encoded, Encoder, Provenance
from .folder import whole_folder
from .labels import build_labels, choose_hubs
from .layout import FORMAT, KIND, NAMES, Arrays, narrowest, write_arrays
from .names import write_names

Progress = Callable[[int], None]

_SMALL = 300_000
_SMALL_GROUPS, _SMALL_LABELS = 8, 64
_LARGE_GROUPS, _LARGE_LABELS = 1, 7


@rare_cycle_search()
def build_index(graph: KnowledgeGraph, directory: Path, progress: Progress | None = None) -> Path:
    """Build the index of ``graph`` into ``directory``, replacing what is there, and return ``directory``.

    Reads the graph once, as Arrow record batches where it is a :class:`~tacit.graph.protocol.StreamsRecords`. ``progress`` is
    called with the number of assertions since its last call.

    Raises:
        GraphError: the graph is damaged, changed meanwhile, or has more assertions than an index holds (about 10**9).
    """
    manifest = graph.manifest()
    encoder = Encoder(progress)
    if isinstance(graph, StreamsRecords):
        for batch in graph.scan():
            encoder.add_batch(batch)
    else:
        encoder.add_rows(graph.assertions())
    encoded = encoder.finish()
    if graph.manifest().digest != manifest.digest:
        raise GraphError(f"{graph.url} changed while its index was being built; build it again when nobody is loading into it")
    refuse_mismatch(graph.url, manifest, encoded.counts.assertions, encoder.checksum)
    return _write(encoded, directory, manifest)


def refuse_mismatch(url: str, manifest: Manifest, assertions: int, checksum: int) -> None:
    """Check the number and the checksum of the assertions of a graph against its manifest.

    Raises:
        GraphError: they differ.
    """
    if assertions != manifest.assertions:
        found = f"it holds {assertions:,} assertions, its manifest says {manifest.assertions:,}"
    elif checksum != manifest.checksum:
        found = "its assertions do not match the checksum in its manifest"
    else:
        return
    raise GraphError(f"{url} is damaged, or was changed by another program ({found}); load it again into a new place")


@rare_cycle_search()
def build_from_rows(rows: Iterable[Assertion], directory: Path, progress: Progress | None = None) -> Path:
    """Build the index of ``rows`` into ``directory``, as a graph that they were loaded into would have it; return ``directory``.

    Of assertions that are the same (:meth:`~tacit.graph.model.Assertion.fingerprint`) the first is kept.
    """
    identities: set[int] = set()

    def distinct() -> Iterator[Assertion]:
        for row in rows:
            identity, _ = row.fingerprint()
            if identity not in identities:
                identities.add(identity)
                yield row

    encoder = Encoder(progress)
    encoder.add_rows(distinct())
    return _write(encoder.finish(), directory, Manifest((), len(identities), encoder.checksum))


def _write(encoded: Encoded, directory: Path, manifest: Manifest) -> Path:
    with whole_folder(directory, KIND, FORMAT, manifest.digest) as folder:
        arrays = _arrays(encoded)
        arrays["node_of_key"], arrays["key_of_rank"] = write_names(folder / NAMES, encoded.uris, arrays["rank"])
        header: dict[str, Any] = {
            "manifest": {**asdict(manifest), "checksum": f"{manifest.checksum:032x}"},
            "counts": encoded.counts._asdict(),
            "relations": encoded.relations,
            "covered": int(arrays.pop("covered")[0]),
        }
        header["arrays"] = write_arrays(folder, arrays)
        seal(folder, KIND, FORMAT, manifest.digest, header)
    return directory


def _arrays(encoded: Encoded) -> Arrays:
    nodes, head, tail = len(encoded.uris), encoded.head, encoded.tail
    if 2 * len(head) >= 2**31:
        raise GraphError(f"{len(head)} assertions are more than an index holds; leave some out of the load by filters")
    degree = np.bincount(head, minlength=nodes) + np.bincount(tail, minlength=nodes)
    hubs = choose_hubs(head, tail, degree, _SMALL_GROUPS if nodes <= _SMALL else _LARGE_GROUPS)
    rest = np.ones(nodes, dtype=bool)
    for group in hubs:
        rest[group] = False
    ordinary = np.flatnonzero(rest)
    rank = np.concatenate([*hubs, ordinary[np.argsort(-degree[ordinary], kind="stable")]]).astype(np.int32)
    node = np.empty(nodes, dtype=np.int32)
    node[rank] = np.arange(nodes, dtype=np.int32)
    arrays = _arcs(encoded, node)
    budget = nodes * (_SMALL_LABELS if nodes <= _SMALL else _LARGE_LABELS)
    labels = build_labels(arrays["indptr"], arrays["neighbour"], [len(group) for group in hubs], budget)
    texts, codes = _text_table(encoded.provenances)
    blob = [text.encode() for text in texts]
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
        "text_start": np.cumsum([0, *map(len, blob)], dtype=np.int64),
        "text": np.frombuffer(b"".join(blob), dtype=np.uint8),
    }


def _arcs(encoded: Encoded, node: NDArray[np.int32]) -> Arrays:
    """Both arcs of every assertion, sorted; ``relation`` holds ``code << 1``, plus 1 where the list's owner is the tail."""
    head, tail = encoded.head, encoded.tail
    owner = np.concatenate([node[head], node[tail]])
    other = np.concatenate([node[tail], node[head]])
    relation = np.concatenate([encoded.relation << 1, (encoded.relation << 1) | 1])
    strength = np.tile(len(encoded.weights) - 1 - encoded.weight, 2)
    provenance = np.tile(encoded.provenance, 2)
    backwards = np.tile(head > tail, 2)
    ends = owner.astype(np.int64) * len(node) + other
    within = strength.astype(np.int64) << 1 | backwards
    order = np.lexsort((provenance, relation >> 1, within, ends))
    starts = np.zeros(len(node) + 1, dtype=np.int32)
    np.cumsum(np.bincount(owner, minlength=len(node)), out=starts[1:])
    weight = len(encoded.weights) - 1 - strength
    return {
        "indptr": starts,
        "neighbour": other[order],
        "relation": relation[order].astype(narrowest(2 * len(encoded.relations))),
        "weight": weight[order].astype(narrowest(len(encoded.weights))),
        "provenance": provenance[order].astype(narrowest(len(encoded.provenances))),
    }


def _text_table(provenances: list[Provenance]) -> tuple[list[str], NDArray[np.int32]]:
    """Return distinct texts and, shape (provenances, 8), which of them each provenance is made of."""
    table: dict[str, int] = {}
    rows = [[table.setdefault("" if field is None else str(field), len(table)) for field in row] for row in provenances]
    return list(table), np.array(rows, dtype=np.int32).reshape(len(rows), len(Provenance._fields))
