"""Names of an index: URIs to node numbers and back, over a static trie that is memory-mapped.

Three numberings meet here: a *node* is numbered by connectedness, a *rank* by URI order, a *key* as the trie pleases.
Permutations translate. Keys come out in code point order, so the completions of a prefix need no sorting.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import marisa_trie
import numpy as np
from numpy.typing import NDArray

from ..answers import is_uri
from ..protocol import NodeIds

_REMEMBERED = 65_536


class TextGiven(LookupError):
    """A name is no URI."""


class _Nodes(dict[str, int]):
    """The nodes of the URIs asked for of late, so that the words of a conversation are looked up in the trie once."""

    def __init__(self, trie: Any, node_of_key: NodeIds) -> None:
        self._key = trie.get
        self._node_of_key = node_of_key

    def __missing__(self, uri: str) -> int:
        if len(self) >= _REMEMBERED:
            self.clear()
        key = self._key(uri, -1)
        if key < 0 and not is_uri(uri):
            raise TextGiven(uri)
        self[uri] = node = -1 if key < 0 else int(self._node_of_key[key])
        return node


class Names:
    """The URIs of an index.

    Args:
        path: the trie's file.
        node_of_key, key_of_rank, rank: permutations, each of shape (nodes,); ``rank`` is the rank of each node.
    """

    def __init__(self, path: Path, node_of_key: NodeIds, key_of_rank: NodeIds, rank: NodeIds) -> None:
        self._trie = marisa_trie.Trie()
        self._trie.mmap(str(path))
        self._node_of_key = node_of_key
        self._key_of_rank = key_of_rank
        self._rank = rank
        self._nodes = _Nodes(self._trie, node_of_key)

    def __contains__(self, uri: str) -> bool:
        return uri in self._trie

    def known(self, uris: Collection[str]) -> list[str]:
        """Return those of ``uris`` that are concepts here."""
        return [uri for uri in uris if uri in self._trie]

    def ids(self, uris: Sequence[str]) -> NodeIds:
        """Return the node of each URI, shape (len(uris),), -1 where unknown.

        Raises:
            TextGiven: one is no URI.
        """
        return np.fromiter(map(self._nodes.__getitem__, uris), dtype=np.int32, count=len(uris))

    def uri(self, node: int) -> str:
        """Return the URI of ``node``."""
        return str(self._trie.restore_key(int(self._key_of_rank[self._rank[node]])))

    def uri_of_rank(self, rank: int) -> str:
        """Return the URI that is number ``rank`` in URI order."""
        return str(self._trie.restore_key(int(self._key_of_rank[rank])))

    def node_of_rank(self, rank: int) -> int:
        """Return the node whose URI is number ``rank`` in URI order."""
        return int(self._node_of_key[self._key_of_rank[rank]])

    def nodes_of_ranks(self, ranks: NDArray[np.int64]) -> NodeIds:
        """Return :meth:`node_of_rank` of each rank, in their shape; -1 for those below 0."""
        nodes: NodeIds = np.full(ranks.shape, -1, dtype=np.int32)
        nodes[ranks >= 0] = self._node_of_key[self._key_of_rank[ranks[ranks >= 0]]]
        return nodes

    def all(self) -> list[str]:
        """Return every URI, by node."""
        in_order = list(self._trie.iterkeys())
        return [in_order[rank] for rank in self._rank.tolist()]

    def complete(self, prefix: str, limit: int) -> list[str]:
        """Return the first ``limit`` URIs that begin with ``prefix``, in code point order."""
        return list(islice(self._trie.iterkeys(prefix), limit))


def write_names(path: Path, uris: list[str], rank: NodeIds) -> tuple[NodeIds, NodeIds]:
    """Write the trie of ``uris`` (sorted); return ``(node_of_key, key_of_rank)`` for nodes whose ranks are ``rank``."""
    trie = marisa_trie.Trie(uris, order=marisa_trie.LABEL_ORDER)
    trie.save(str(path))
    key_of_rank = np.fromiter(map(trie.__getitem__, uris), dtype=np.int32, count=len(uris))
    node_of_key = np.empty(len(uris), dtype=np.int32)
    node_of_key[key_of_rank[rank]] = np.arange(len(uris), dtype=np.int32)
    return node_of_key, key_of_rank
