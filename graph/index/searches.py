"""The searches on an index's node numbers, and the choice between their two implementations.

:mod:`.numpy_searches` answers at once; :mod:`.compiled_searches` is 10 to 100 times as fast once numba is imported and its
machine code is loaded (half a second) or compiled (tens of seconds, once in an environment). :class:`Searching` takes the NumPy
searches until they have cost about as much time as the compiled ones need to start. Both give the same answers.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..protocol import NodeIds
from .layout import Arrays

Chain = tuple[list[int], list[tuple[int, int]]]
"""Nodes along a path, and for each step the node in whose list the arc is, and the arc's position."""

Successors = Callable[[int, int, float], list[tuple[float, int]]]
"""The successor function of :func:`tacit.graph.path_search.best_chains`, over ranks and weight codes."""

LOADING_SECONDS = 0.5
"""NumPy searches for this long before compiled ones are loaded."""
COMPILING_SECONDS = 5.0
"""NumPy searches for this long before they are compiled, where no earlier process has left machine code."""
_SECONDS_PER_PAIR = 2e-6
"""Time of a NumPy search for the distance of one of many pairs."""
_SECONDS_PER_SOURCE = 1e-4
"""Time of a NumPy search for each source of distances or of counts."""
_SECONDS_PER_SURROUNDING = 2e-3
"""Time of a NumPy search for the nodes around one."""


class Searches(ABC):
    """The searches over one index's arrays; ``covered`` is that of :class:`tacit.graph.index.labels.Labels`."""

    def __init__(self, arrays: Arrays, covered: int) -> None:
        self._arrays = arrays
        self._indptr, self._neighbour = arrays["indptr"], arrays["neighbour"]
        self._covered = covered
        self._strongest = len(arrays["weights"])

    @abstractmethod
    def matrix(self, sources: NodeIds, targets: NodeIds, max_hops: int) -> NDArray[np.int8]:
        """Return the distances of all pairs, shape (sources, targets); -1 for more than ``max_hops`` hops."""

    @abstractmethod
    def pairs(self, sources: NodeIds, targets: NodeIds, max_hops: int) -> NDArray[np.int8]:
        """Return the distances of ``sources[i]`` and ``targets[i]``, shape (sources,)."""

    @abstractmethod
    def best_at_hop(
        self, node: int, hop: int, limit: int | None, allowed: NDArray[np.bool_], all_relations: bool
    ) -> tuple[NDArray[np.int64], list[int]]:
        """Return weight codes and ranks of the best nodes at ``hop`` hops, best first; ``all_relations`` ignores ``allowed``."""

    @abstractmethod
    def ranks_at_hop(self, nodes: NodeIds, hop: int, limit: int) -> NDArray[np.int64]:
        """Return ranks of the best nodes at exactly ``hop`` from each node, best first, shape (nodes, limit), padded with -1."""

    @abstractmethod
    def count(self, sources: NodeIds, targets: NodeIds, starts: NDArray[np.int64], hops: int) -> NDArray[np.int64]:
        """Return connected pairs and distinct triples for each pair of sets, shape (sets, 2).

        Set ``s`` is ``sources[starts[s, 0]:starts[s + 1, 0]]`` and ``targets`` likewise, in any order; -1 means unknown, and a
        node that occurs twice in a set counts once. ``starts`` has the shape (sets + 1, 2).
        """

    @abstractmethod
    def successors(self, source: int, target: int, hops: int, limit: int) -> AbstractContextManager[Successors]:
        """Return a context with the successor function of shortest paths of ``hops`` hops."""

    @abstractmethod
    def _joined(self, sources: NodeIds, targets: NodeIds, hops: int) -> NDArray[np.int32]:
        """Return every path between two sets of distinct nodes, in any order, without those of two hops with equal ends.

        Shape (paths, 2 + hops): the indices in ``sources`` and ``targets``, then the arcs. The first arc is in the list of the
        source, a second one in that of the target.
        """

    def chains(self, sources: NodeIds, targets: NodeIds, hops: int) -> Iterator[Chain]:
        """Yield every path between two sets of distinct nodes, in the order of ``Path.order``."""
        swapped = hops == 2 and self._number_of_arcs(sources) > self._number_of_arcs(targets)
        sources, targets = (targets, sources) if swapped else (sources, targets)  # the set with fewer arcs first
        rows = self._joined(sources, targets, hops)
        weight, rank = self._arrays["weight"], self._arrays["rank"]
        starts, ends, first_arcs = sources[rows[:, 0]], targets[rows[:, 1]], rows[:, 2]
        if hops == 1:
            order = np.lexsort((first_arcs, rank[ends], rank[starts], -weight[first_arcs].astype(np.int64)))
            steps = zip(starts[order].tolist(), ends[order].tolist(), first_arcs[order].tolist(), strict=True)
            return (([source, target], [(source, arc)]) for source, target, arc in steps)
        second_arcs = rows[:, 3]
        if swapped:
            starts, ends, first_arcs, second_arcs = ends, starts, second_arcs, first_arcs
        middle = self._neighbour[first_arcs]
        strength = np.minimum(weight[first_arcs], weight[second_arcs]).astype(np.int64)
        order = np.lexsort((second_arcs, first_arcs, rank[ends], rank[middle], rank[starts], -strength))
        columns = (column[order].tolist() for column in (starts, middle, ends, first_arcs, second_arcs))
        paths = zip(*columns, strict=True)
        return (([start, node, end], [(start, arc), (end, other_arc)]) for start, node, end, arc, other_arc in paths)

    def strongest_arcs(self, nodes: Sequence[int]) -> list[tuple[int, int]]:
        """Return (owner, position) of the first arc between each two successive ``nodes``, which must be neighbours."""
        arcs = []
        for node, following in pairwise(nodes):
            first, last = int(self._indptr[node]), int(self._indptr[node + 1])
            arcs.append((node, first + int(np.searchsorted(self._neighbour[first:last], following))))
        return arcs

    def _number_of_arcs(self, nodes: NDArray[np.signedinteger]) -> int:
        return int((self._indptr[nodes + 1].astype(np.int64) - self._indptr[nodes]).sum())


class Searching:
    """NumPy searches at first, compiled ones when those have taken long or would; thread-safe.

    While one thread loads or compiles, the others go on with NumPy searches.
    """

    def __init__(self, arrays: Arrays, covered: int) -> None:
        from .numpy_searches import NumpySearches

        self._arrays, self._covered = arrays, covered
        self._numpy = NumpySearches(arrays, covered)
        self._compiled: Searches | None = None
        self._spent = 0.0  # seconds of NumPy searches
        self._switching = threading.Lock()

    def compile(self) -> None:
        """Load every compiled search, or compile and keep it where no earlier process has, and use them from now on."""
        from .compiled_searches import CompiledSearches

        with self._switching:
            kernels = CompiledSearches(self._arrays, self._covered)
            kernels.compile()
            self._compiled = kernels

    @contextmanager
    def using(self, *, pairs: int = 0, sources: int = 0, surroundings: int = 0) -> Iterator[Searches]:
        """Yield the searches for a query of this size, and add up the time of NumPy ones.

        Args:
            pairs: pairs of nodes in a table of distances.
            sources: other nodes from which distances or connections are searched.
            surroundings: nodes around which all nodes at a distance are searched.
        """
        seconds = pairs * _SECONDS_PER_PAIR + sources * _SECONDS_PER_SOURCE + surroundings * _SECONDS_PER_SURROUNDING
        if self._compiled is None and self._spent + seconds > LOADING_SECONDS and self._switching.acquire(blocking=False):
            try:
                from .compiled_searches import CompiledSearches, kept_on_disk

                if self._compiled is None and (self._spent + seconds > COMPILING_SECONDS or kept_on_disk()):
                    self._compiled = CompiledSearches(self._arrays, self._covered)
            finally:
                self._switching.release()
        if self._compiled is not None:
            yield self._compiled
            return
        started = time.perf_counter()
        yield self._numpy
        self._spent += time.perf_counter() - started
