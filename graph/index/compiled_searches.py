"""The compiled kernels bound to one index's arrays; the only part of reading that needs numba, imported for many queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..protocol import NodeIds
from . import connections, distances
from .labels import Labels
from .layout import Arrays
from .primitives import ScratchPool, run_parallel
from .searches import Searches, Successors


class CompiledSearches(Searches):
    """The compiled searches; thread-safe, since each call uses scratch memory of its own."""

    def __init__(self, arrays: Arrays, covered: int) -> None:
        super().__init__(arrays, covered)
        self._graph = self._indptr, self._neighbour
        self._labels = Labels(arrays["root"], arrays["near"], arrays["label_start"], arrays["label"], covered)
        self._pool = ScratchPool(len(self._indptr) - 1)

    def compile(self) -> None:
        """Run every kernel once, so that it is loaded, or compiled and kept."""
        if len(self._indptr) < 2:
            return
        node = np.zeros(1, dtype=np.int32)
        no_mask = np.zeros(0, dtype=bool)
        self.matrix(node, node, 1)
        self.pairs(node, node, 1)
        self.best_at_hop(0, 1, 1, no_mask, True)
        self.ranks_at_hop(node, 1, 1)
        for hops in (1, 2):
            self.count(node, node, np.array([[0, 0], [1, 1]], dtype=np.int64), hops)
            self._joined(node, node, hops)
        with self.successors(0, 0, 0, 1) as successors_of:
            successors_of(int(self._arrays["rank"][0]), 1, float(self._strongest))

    def matrix(self, sources: NodeIds, targets: NodeIds, max_hops: int) -> NDArray[np.int8]:
        out = np.empty((len(sources), len(targets)), dtype=np.int8)
        with self._pool.lend() as scratch:
            distances.matrix_distances(*self._graph, self._labels, sources, targets, max_hops, scratch, out)
        return out

    def pairs(self, sources: NodeIds, targets: NodeIds, max_hops: int) -> NDArray[np.int8]:
        out = np.empty(len(sources), dtype=np.int8)

        def fill(part: slice) -> None:
            with self._pool.lend() as scratch:
                distances.pair_distances(*self._graph, self._labels, sources[part], targets[part], max_hops, scratch, out[part])

        run_parallel(len(sources), fill)  # among the machine's cores
        return out

    def best_at_hop(
        self, node: int, hop: int, limit: int | None, allowed: NDArray[np.bool_], all_relations: bool
    ) -> tuple[NDArray[np.int64], list[int]]:
        arrays = self._arrays
        with self._pool.lend() as scratch:
            keys = distances.best_at_hop(
                *self._graph, arrays["weight"], arrays["relation"], arrays["rank"], allowed, all_relations,
                self._strongest, node, hop, -1 if limit is None else limit, scratch,
            )  # fmt: skip
        keys.sort()
        return self._strongest - (keys >> 32), (keys & 0xFFFFFFFF).tolist()

    def ranks_at_hop(self, nodes: NodeIds, hop: int, limit: int) -> NDArray[np.int64]:
        arrays, padding = self._arrays, np.iinfo(np.int64).max
        keys = np.full((len(nodes), limit), padding)
        with self._pool.lend() as scratch:
            distances.best_of_each(
                *self._graph, arrays["weight"], arrays["relation"], arrays["rank"], self._strongest, nodes, hop, scratch, keys
            )
        keys.sort(axis=1)
        return np.where(keys == padding, -1, keys & 0xFFFFFFFF)

    def count(self, sources: NodeIds, targets: NodeIds, starts: NDArray[np.int64], hops: int) -> NDArray[np.int64]:
        out = np.zeros((len(starts) - 1, 2), dtype=np.int64)
        with self._pool.lend() as scratch:
            connections.count_many(*self._graph, self._arrays["relation"], sources, targets, starts, hops, scratch, out)
        return out

    def _joined(self, sources: NodeIds, targets: NodeIds, hops: int) -> NDArray[np.int32]:
        if hops == 1:
            joints = connections.one_hop_joints(*self._graph, sources, targets)
        else:
            with self._pool.lend() as scratch:
                joints = connections.two_hop_joints(*self._graph, sources, targets, scratch)
        rows: NDArray[np.int32] = connections.expand_joints(*self._graph, sources, targets, joints)
        return rows

    @contextmanager
    def successors(self, source: int, target: int, hops: int, limit: int) -> Iterator[Successors]:
        arrays, weight, rank, strongest = self._arrays, self._arrays["weight"], self._arrays["rank"], self._strongest
        nodes = arrays["node_of_key"], arrays["key_of_rank"]
        with self._pool.lend() as scratch:
            base = distances.mark_shortest_paths(*self._graph, weight, strongest, source, target, hops, scratch)

            def successors_of(rank_of_node: int, remaining: int, bound: float) -> list[tuple[float, int]]:
                node = int(nodes[0][nodes[1][rank_of_node]])
                keys = distances.next_nodes(
                    *self._graph, weight, rank, strongest, node, base + remaining - 1, int(bound), limit, scratch
                )  # fmt: skip
                return [(strongest - (key >> 32), key & 0xFFFFFFFF) for key in keys.tolist()]

            yield successors_of


def kept_on_disk() -> bool:
    """Return whether an earlier process has kept machine code of the distances."""
    folder = distances.pair_distances.stats.cache_path
    return folder is not None and any(Path(folder).glob("distances.pair_distances-*.nbi"))
