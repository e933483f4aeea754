"""Selection of assertions by a :class:`~tacit.graph.model.Pattern`, page by page, in the fixed order of the protocol.

A pattern that names a concept goes through that concept's arcs only. Any other goes through all arcs, in blocks. Only the
assertions of the page that is asked for are sorted: the others are separated from them by a partition.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import arguments
from ..model import Assertion, Pattern
from ..names import dataset_uri
from ..protocol import NodeIds
from .layout import Arrays

if TYPE_CHECKING:
    from .graph import Names, Records

_BLOCK = 1 << 20
"""Arcs that are compared with a pattern at a time."""
_SORTED_AT_ONCE = 10_000
"""Most assertions that are sorted without a partition."""
_CACHED_MASKS = 16
_SOURCE, _DATASET, _HEAD_SENSE, _TAIL_SENSE, _CONTRIBUTORS = 0, 1, 2, 3, 5  # columns of provenance_texts

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int32]


class End(NamedTuple):
    """The concepts that one URI of a pattern matches."""

    node: int  # the concept with this URI, without a sense; -1 when there is none
    sense: str  # the sense in which it must occur; empty for any
    # first, last: ranks of the concepts below the URI, `first <= rank < last`
    first: int
    last: int

    @property
    def empty(self) -> bool:
        """Whether there is no such concept."""
        return self.node < 0 and self.first == self.last


class Arcs(NamedTuple):
    """Positions in the arc lists and the nodes in whose lists they are; each assertion occurs once."""

    owner: Numbers
    position: NDArray[np.int64]


class Selector:
    """Selects assertions of an index, of which ``relations`` are the names of the relations, sorted."""

    def __init__(self, arrays: Arrays, names: Names, records: Records, relations: list[str]) -> None:
        self._arrays = arrays
        self._names = names
        self._records = records
        self._relations = relations
        self._masks = lru_cache(_CACHED_MASKS)(self._provenance_mask)

    def select(self, pattern: Pattern, offset: int, limit: int) -> list[Assertion]:
        """Return the assertions ``offset`` to ``offset + limit`` of those that match ``pattern``."""
        if limit == 0:
            return []
        matching = self._matching(pattern)
        return [self._records.assertion(owner, arc) for owner, arc in self._page(matching, offset, limit)]

    def relations(self, pattern: Pattern) -> list[str]:
        """Return the relations of the assertions that match ``pattern``, sorted."""
        codes = np.unique(self._arrays["relation"][self._matching(pattern).position] >> 1)
        return [self._relations[code] for code in codes.tolist()]

    def below(self, uri: str) -> NodeIds:
        """Return the numbers of the concept ``uri`` and of those below it, in URI order."""
        end = self._end(uri)
        exact = [] if end.node < 0 or end.sense else [end.node]
        below = self._names.nodes_of_ranks(np.arange(end.first, end.last))
        return np.concatenate([np.array(exact, dtype=np.int32), below])

    # which arcs match

    def _matching(self, pattern: Pattern) -> Arcs:
        ends = {name: self._end(uri) for name, uri in pattern.ends().items()}
        no_arcs = Arcs(np.zeros(0, np.int32), np.zeros(0, np.int64))
        if any(end.empty for end in ends.values()):
            return no_arcs
        starts = self._arrays["indptr"]
        named_nodes = [end.node for end in ends.values() if end.first == end.last]
        if named_nodes:
            node = min(named_nodes, key=lambda node: int(starts[node + 1] - starts[node]))
            return self._filtered(pattern, ends, node, node + 1, both_directions=True)
        arcs_of_blocks = [self._filtered(pattern, ends, *block, both_directions=False) for block in self._blocks()]
        return Arcs(*map(np.concatenate, zip(*arcs_of_blocks, strict=True))) if arcs_of_blocks else no_arcs

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of nodes that have about ``_BLOCK`` arcs each."""
        starts = self._arrays["indptr"]
        first, nodes = 0, len(starts) - 1
        while first < nodes:
            last = int(np.searchsorted(starts, starts[first] + _BLOCK, "right")) - 1
            last = min(max(last, first + 1), nodes)
            yield first, last
            first = last

    def _filtered(self, pattern: Pattern, ends: dict[str, End], first: int, last: int, *, both_directions: bool) -> Arcs:
        """Return the matching arcs of the nodes ``first`` to ``last``; without ``both_directions`` those from head to tail."""
        starts = self._arrays["indptr"]
        begin, stop = int(starts[first]), int(starts[last])
        position = np.arange(begin, stop)
        owner = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(starts[first : last + 1]))
        code = self._arrays["relation"][begin:stop]
        selected = np.ones(stop - begin, dtype=bool) if both_directions else (code & 1) == 0
        if pattern.relations is not None:
            is_selected_relation = np.array([name in pattern.relations for name in self._relations], dtype=bool)
            selected &= is_selected_relation[code >> 1]
        position, owner = position[selected], owner[selected]
        head, tail = self._ends_of(owner, position)
        code = self._arrays["provenance"][position]
        selected = np.ones(len(position), dtype=bool)

        def is_head(name: str) -> Mask:
            return self._is_end(ends[name], head, code, _HEAD_SENSE) if name in ends else np.ones(len(position), dtype=bool)

        def is_tail(name: str) -> Mask:
            return self._is_end(ends[name], tail, code, _TAIL_SENSE) if name in ends else np.ones(len(position), dtype=bool)

        selected &= is_head("start") & is_tail("end")
        if "node" in ends or "other" in ends:
            selected &= (is_head("node") & is_tail("other")) | (is_tail("node") & is_head("other"))
        if pattern.dataset is not None:
            selected &= self._masks(_DATASET, pattern.dataset)[code]
        if pattern.contributor is not None:
            selected &= self._masks(_CONTRIBUTORS, pattern.contributor)[code]
        return Arcs(owner[selected], position[selected])

    def _ends_of(self, owner: Numbers, position: NDArray[np.int64]) -> tuple[Numbers, Numbers]:
        """Return the heads and the tails of arcs."""
        other = self._arrays["neighbour"][position]
        backwards = (self._arrays["relation"][position] & 1).astype(bool)
        return np.where(backwards, other, owner), np.where(backwards, owner, other)

    def _is_end(self, end: End, nodes: Numbers, provenance: Numbers, column: int) -> Mask:
        """Return which ``nodes``, in the senses that ``provenance`` has in ``column``, are ``end``."""
        mask: Mask = nodes == end.node
        if end.sense:
            mask &= self._masks(column, end.sense)[provenance]
        if end.first < end.last:
            rank = self._arrays["rank"][nodes]
            mask |= (rank >= end.first) & (rank < end.last)
        return mask

    def _end(self, uri: str) -> End:
        """Return the concepts that ``uri`` stands for."""
        if not uri:
            return End(-1, "", 0, 0)
        node, sense = self._node(uri), ""
        if node < 0 and uri.startswith("/c/") and uri.count("/") > 3:
            parts = uri.split("/", 4)
            node, sense = self._node("/".join(parts[:4])), parts[4]
        return End(node, sense, self._first_rank(f"{uri}/"), self._first_rank(f"{uri}0"))  # "0" is the next after "/"

    def _node(self, uri: str) -> int:
        return int(self._names.ids([uri])[0]) if arguments.is_uri(uri) else -1

    def _first_rank(self, beginning: str) -> int:
        """Return the number of concepts whose URIs are less than ``beginning``."""
        return bisect_left(range(len(self._arrays["rank"])), beginning, key=self._names.uri_of_rank)

    def _provenance_mask(self, column: int, uri: str) -> Mask:
        """Return which provenances have ``uri``, or a URI below it, in a column; shape (provenances,)."""
        columns = [_DATASET, _SOURCE] if column == _DATASET else [column]
        rows, inverse = np.unique(self._arrays["provenance_texts"][:, columns], axis=0, return_inverse=True)
        matches = []
        for row in rows.tolist():
            texts = [self._records.text(number) for number in row]
            uris = [dataset_uri(*texts)] if column == _DATASET else texts[0].split(" | ")
            matches.append(any(is_below(candidate, uri) for candidate in uris))
        mask: Mask = np.array(matches, dtype=bool)[inverse.reshape(-1)]
        return mask

    # the page

    def _page(self, arcs: Arcs, offset: int, limit: int) -> list[tuple[int, int]]:
        """Return the arcs ``offset`` to ``offset + limit`` in the order of :attr:`Assertion.order`."""
        if offset >= len(arcs.position):
            return []
        if len(arcs.position) > _SORTED_AT_ONCE:
            arcs, offset = self._page_candidates(arcs, offset, limit)
        head, tail = self._ends_of(*arcs)
        rank = self._arrays["rank"]
        order = np.lexsort(
            (
                self._arrays["provenance"][arcs.position],
                rank[tail],
                self._arrays["relation"][arcs.position] >> 1,
                rank[head],
                -self._arrays["weight"][arcs.position].astype(np.int64),
            )
        )[offset : offset + limit]
        return list(zip(arcs.owner[order].tolist(), arcs.position[order].tolist(), strict=True))

    def _page_candidates(self, arcs: Arcs, offset: int, limit: int) -> tuple[Arcs, int]:
        """Return the arcs that can be on the page, by weight and head, and the page's offset among them."""
        weight = self._arrays["weight"][arcs.position]
        head, _ = self._ends_of(*arcs)
        key = (len(self._arrays["weights"]) - 1 - weight.astype(np.int64)) << 32 | self._arrays["rank"][head]
        last = min(offset + limit, len(key)) - 1
        smallest, largest = np.partition(key, (offset, last))[[offset, last]]
        candidates = (key >= smallest) & (key <= largest)
        return Arcs(arcs.owner[candidates], arcs.position[candidates]), offset - int(np.count_nonzero(key < smallest))


def is_below(uri: str, prefix: str) -> bool:
    """Return whether ``uri`` is ``prefix``, which is not empty, or continues it after a slash."""
    return prefix != "" and (uri == prefix or uri.startswith(f"{prefix}/"))
