"""The index as a graph: every concept query of the protocol, answered from memory-mapped arrays.

Opening reads one header and maps two files. Events, users' Cypher and the stream of all assertions are not in an index; the store
that it was built from answers these.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import marisa_trie
import numpy as np
from numpy.typing import NDArray

from .. import arguments
from ..arguments import is_uri
from ..errors import GraphError, InputError
from ..model import Assertion, GraphCounts, LoadEntry, Manifest, Neighbour, Path, Pattern, QueryResult, TripleCounts
from ..names import concept_uri, normalise_term, text_of
from ..path_search import best_chains
from ..protocol import MAX_HOPS, ConceptIndex, Count, KnowledgeGraph, NodeIds, Sets
from .layout import NAMES, Arrays, open_arrays
from .searches import Chain, Searching

if TYPE_CHECKING:
    from .patterns import Selector

_NEAR_CANDIDATES = 500
"""Most concepts with the same beginning that are compared with a text."""
_CACHED_NODES = 65_536
"""Most URIs whose node numbers are cached."""


class IndexGraph(ConceptIndex):
    """An index; thread-safe.

    Args:
        directory: the index's folder.
        store: the graph that it was built from, or a function that opens it, for what an index does not hold. The caller closes a
            store that it passed; one that was opened here is closed with the index.
        digest: digest of the graph that it must be the index of; None accepts any.

    Raises:
        GraphNotFound: there is no index.
        GraphError: the index is damaged, of another format, or of another graph.
    """

    def __init__(
        self,
        directory: FilePath,
        store: KnowledgeGraph | Callable[[], KnowledgeGraph] | None = None,
        *,
        digest: str | None = None,
    ) -> None:
        header, self._arrays = open_arrays(directory, digest=digest)
        self.directory = directory
        self._header = header
        self._names = Names(directory / NAMES, *(self._arrays[name] for name in ("node_of_key", "key_of_rank", "rank")))
        self._records = Records(self._arrays, self._names, header["relations"])
        self._store_source = store
        self._store: KnowledgeGraph | None = None

    @property
    def url(self) -> str:
        """The store's URL when the store is open, else the index's folder."""
        store = self._store or self._store_source
        return str(self.directory) if store is None or callable(store) else store.url

    def manifest(self) -> Manifest:
        manifest = self._header["manifest"]
        loads = tuple(map(LoadEntry.from_row, manifest["loads"]))
        return Manifest(loads, manifest["assertions"], int(manifest["checksum"], 16))

    def counts(self) -> GraphCounts:
        return GraphCounts(**self._header["counts"])

    # names

    def resolve(self, texts: Sequence[str], language: str = "en") -> list[str | None]:
        return arguments.resolve(texts, language, self._names.known)

    def known(self, uris: Collection[str]) -> list[str]:
        """Return those of ``uris`` that are nodes of the index."""
        return self._names.known(uris)

    def complete(self, prefix: str, limit: int = 10, language: str = "en") -> list[str]:
        arguments.check_limit(limit)
        if not prefix.startswith("/c/"):
            try:
                prefix = concept_uri(prefix, language)
            except InputError:
                return []
        return self._names.complete(prefix, limit)

    def ids(self, concepts: Sequence[str], *, language: str = "en") -> NodeIds:
        try:
            return self._names.ids(concepts)
        except NotUri:

            def refuse(unknown: list[str]) -> NoReturn:
                arguments.refuse_unknown(unknown, self.url, self.near(unknown[0], language=language))

            return self._names.ids(arguments.concept_uris(concepts, language, self._names.known, refuse))

    def near(self, text: str, limit: int = 3, language: str = "en") -> list[str]:
        term = normalise_term(text)
        if len(term) < 3:
            return []
        prefix = concept_uri(term[: max(2, len(term) // 2)], language)
        candidates = [text_of(uri) for uri in self._names.complete(prefix, _NEAR_CANDIDATES)]
        return get_close_matches(term.replace("_", " "), candidates, limit, 0.8)

    def uri(self, node: int) -> str:
        return self._names.uri(node)

    def uris(self) -> list[str]:
        return self._names.all()

    # patterns

    def ids_below(self, uri: str) -> NodeIds:
        return self._selector.below(uri)

    def select(self, pattern: Pattern, offset: int = 0, limit: int = 10) -> list[Assertion]:
        arguments.check_limit(limit)
        if offset < 0:
            raise InputError(f"the offset must be >= 0, not {offset}")
        return self._selector.select(pattern, offset, limit)

    def relations_in(self, pattern: Pattern) -> list[str]:
        return self._selector.relations(pattern)

    @cached_property
    def _selector(self) -> Selector:
        from .patterns import Selector

        return Selector(self._arrays, self._names, self._records, self._header["relations"])

    # distances

    def hop_distances(
        self, sources: Sequence[str], targets: Sequence[str], max_hops: int = MAX_HOPS, *, language: str = "en"
    ) -> NDArray[np.int8]:
        return self.hop_distances_of_ids(self.ids(sources, language=language), self.ids(targets, language=language), max_hops)

    def hop_distances_of_ids(self, sources: NodeIds, targets: NodeIds, max_hops: int = MAX_HOPS) -> NDArray[np.int8]:
        arguments.check_hops(max_hops, minimum=0)
        with self.searches.using(pairs=len(sources) * len(targets)) as searches:
            return searches.matrix(sources, targets, max_hops)

    def hop_pairs(self, sources: Sequence[str], targets: Sequence[str], max_hops: int = MAX_HOPS) -> NDArray[np.int8]:
        return self.hop_pairs_of_ids(self.ids(sources), self.ids(targets), max_hops)

    def hop_pairs_of_ids(self, sources: NodeIds, targets: NodeIds, max_hops: int = MAX_HOPS) -> NDArray[np.int8]:
        if len(sources) != len(targets):
            raise InputError(f"{len(sources)} sources and {len(targets)} targets cannot be paired; give equal numbers of both")
        arguments.check_hops(max_hops, minimum=0)
        with self.searches.using(sources=len(sources)) as searches:
            return searches.pairs(sources, targets, max_hops)

    # neighbours and connections

    def neighbours(
        self,
        concept: str,
        hop: int = 1,
        limit: int | None = 10,
        relations: Collection[str] | None = None,
        *,
        language: str = "en",
    ) -> list[Neighbour]:
        arguments.check_hops(hop)
        arguments.check_limit(limit)
        relation_names = arguments.check_relations(relations)
        (node,) = self.ids([concept], language=language).tolist()
        if node < 0 or limit == 0 or relation_names == []:
            return []
        allowed = np.zeros(0 if relation_names is None else len(self._header["relations"]), dtype=bool)
        if relation_names is not None:
            allowed[[code for code, name in enumerate(self._header["relations"]) if name in relation_names]] = True
        with self.searches.using(surroundings=1) as searches:
            strengths, ranks = searches.best_at_hop(node, hop, limit, allowed, relation_names is None)
        weights = self._arrays["weights"][strengths].tolist()
        return [Neighbour(self._names.uri_of_rank(rank), hop, weight) for rank, weight in zip(ranks, weights, strict=True)]

    def neighbours_of_ids(self, nodes: NodeIds, hop: int = 1, limit: int = 10) -> NodeIds:
        arguments.check_hops(hop)
        arguments.check_limit(limit)
        with self.searches.using(surroundings=len(nodes)) as searches:
            return self._names.nodes_of_ranks(searches.ranks_at_hop(nodes, hop, limit))

    def triples_between(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> list[Path]:
        arguments.check_hops(hops, maximum=2)
        return [self._path(nodes, arcs) for nodes, arcs in self._chains(sources, targets, hops, language)]

    def count_triples(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> TripleCounts:
        arguments.check_hops(hops, maximum=2)
        source_ids, target_ids = (self.ids(texts, language=language) for texts in (sources, targets))
        starts = np.array([[0, 0], [len(sources), len(targets)]], dtype=np.int64)
        with self.searches.using(sources=len(starts)) as searches:
            ((pairs, triples),) = searches.count(source_ids, target_ids, starts, hops).tolist()
        return TripleCounts(pairs, triples)

    def count_triples_many(self, sets: Sequence[Sets], hops: Literal[1, 2] = 1) -> NDArray[np.int64]:
        arguments.check_hops(hops, maximum=2)
        sizes = np.array([[len(sources), len(targets)] for sources, targets in sets], dtype=np.int64).reshape(len(sets), 2)
        starts = np.concatenate([np.zeros((1, 2), dtype=np.int64), sizes.cumsum(axis=0)])
        sources, targets = (self.ids([uri for pair in sets for uri in pair[side]]) for side in (0, 1))
        with self.searches.using(sources=len(starts)) as searches:
            return searches.count(sources, targets, starts, hops)

    def counted_chains(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, count: Count = "pairs"
    ) -> Iterator[Path]:
        arguments.check_hops(hops, maximum=2)
        relation = self._arrays["relation"]
        seen: set[tuple[int, ...]] = set()
        for nodes, arcs in self._chains(sources, targets, hops):
            key: tuple[int, ...] = (nodes[0], nodes[-1])
            if count == "triples":
                codes = [int(relation[arc]) for _, arc in arcs]
                if hops == 1:  # from its other end, a relation has the opposite direction
                    codes.append(codes[0] ^ 1)
                forwards = nodes[0] < nodes[-1]
                key = (*(nodes if forwards else nodes[::-1]), *(codes if forwards else codes[::-1]))
            if key not in seen:
                seen.add(key)
                yield self._path(nodes, arcs)

    def paths(self, source: str, target: str, max_hops: int = MAX_HOPS, limit: int = 10, *, language: str = "en") -> list[Path]:
        arguments.check_hops(max_hops, minimum=0)
        arguments.check_limit(limit)
        ends = self.ids([source, target], language=language)
        start, end = ends.tolist()
        with self.searches.using(sources=1, surroundings=1) as searches:
            (hops,) = searches.pairs(ends[:1], ends[1:], max_hops).tolist()
            if hops < 0 or limit == 0:
                return []
            with searches.successors(start, end, hops, limit) as successors:
                chains = best_chains(int(self._arrays["rank"][start]), hops, len(self._arrays["weights"]), successors, limit)
            paths = [[self._names.node_of_rank(rank) for rank in chain] for chain in chains]
            arcs = list(map(searches.strongest_arcs, paths))
        return list(map(self._path, paths, arcs))

    def _chains(self, sources: Sequence[str], targets: Sequence[str], hops: int, language: str = "en") -> Iterator[Chain]:
        ids = (self.ids(texts, language=language) for texts in (sources, targets))
        starts, ends = (np.array(list(dict.fromkeys(nodes[nodes >= 0].tolist())), dtype=np.int32) for nodes in ids)
        with self.searches.using(sources=len(starts) + len(ends)) as searches:
            return searches.chains(starts, ends, hops)

    def _path(self, nodes: Sequence[int], arcs: Sequence[tuple[int, int]]) -> Path:
        return Path(tuple(map(self._names.uri, nodes)), tuple(self._records.assertion(owner, arc) for owner, arc in arcs))

    @cached_property
    def searches(self) -> Searching:
        """The searches on node numbers."""
        return Searching(self._arrays, self._header["covered"])

    # queries that the store answers

    @property
    def store(self) -> KnowledgeGraph:
        """The graph that the index was built from.

        Raises:
            GraphError: none was given.
        """
        if self._store is None:
            if self._store_source is None:
                raise GraphError(
                    f"the index at {self.directory} holds concepts only; open the graph itself for events and Cypher"
                )
            self._store = self._store_source() if callable(self._store_source) else self._store_source
        return self._store

    def tails(self, head: str, relation: str | None = None, limit: int | None = None) -> list[Assertion]:
        return self.store.tails(head, relation, limit)

    def heads(self, text: str, limit: int = 10) -> list[str]:
        return self.store.heads(text, limit)

    def assertions(self) -> Iterator[Assertion]:
        return self.store.assertions()

    def run(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 30.0
    ) -> QueryResult:
        return self.store.run(cypher, parameters, limit=limit, timeout=timeout)

    def close(self) -> None:
        """Close the store if this index opened it; the memory maps are released with the last reference to them."""
        if self._store is not None and self._store is not self._store_source:
            self._store.close()
        self._store = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class NotUri(LookupError):
    """A name is not a URI."""


class _Nodes(dict[str, int]):
    """Cache of the nodes of URIs, so that the words of a dialogue are looked up in the trie once; cleared when full."""

    def __init__(self, trie: Any, node_of_key: NodeIds) -> None:
        self._key = trie.get
        self._node_of_key = node_of_key

    def __missing__(self, uri: str) -> int:
        if len(self) >= _CACHED_NODES:
            self.clear()
        key = self._key(uri, -1)
        if key < 0 and not is_uri(uri):
            raise NotUri(uri)
        self[uri] = node = -1 if key < 0 else int(self._node_of_key[key])
        return node


class Names:
    """The URIs of an index, in a static trie that is memory-mapped.

    There are three numberings: a *node* is numbered by degree, a *rank* by URI order, a *key* by the trie. Keys come in code
    point order, so completions of a prefix need no sorting.
    """

    def __init__(self, path: pathlib.Path, node_of_key: NodeIds, key_of_rank: NodeIds, rank: NodeIds) -> None:
        self._trie = marisa_trie.Trie()
        self._trie.mmap(str(path))
        self._node_of_key = node_of_key
        self._key_of_rank = key_of_rank
        self._rank = rank
        self._nodes = _Nodes(self._trie, node_of_key)

    def known(self, uris: Collection[str]) -> list[str]:
        """Return those of ``uris`` that are concepts of the index."""
        return [uri for uri in uris if uri in self._trie]

    def ids(self, uris: Sequence[str]) -> NodeIds:
        """Return the node of each URI, shape (len(uris),), -1 where unknown.

        Raises:
            NotUri: one is not a URI.
        """
        return np.fromiter(map(self._nodes.__getitem__, uris), dtype=np.int32, count=len(uris))

    def uri(self, node: int) -> str:
        """Return the URI of node ``node``."""
        return str(self._trie.restore_key(int(self._key_of_rank[self._rank[node]])))

    def uri_of_rank(self, rank: int) -> str:
        """Return the URI that is number ``rank`` in URI order."""
        return str(self._trie.restore_key(int(self._key_of_rank[rank])))

    def node_of_rank(self, rank: int) -> int:
        """Return the node whose URI is number ``rank`` in URI order."""
        return int(self._node_of_key[self._key_of_rank[rank]])

    def nodes_of_ranks(self, ranks: NDArray[np.int64]) -> NodeIds:
        """Return :meth:`node_of_rank` of each rank, in the same shape; -1 for ranks below 0."""
        nodes: NodeIds = np.full(ranks.shape, -1, dtype=np.int32)
        nodes[ranks >= 0] = self._node_of_key[self._key_of_rank[ranks[ranks >= 0]]]
        return nodes

    def all(self) -> list[str]:
        """Return every URI, by node number."""
        sorted_uris = list(self._trie.iterkeys())
        return [sorted_uris[rank] for rank in self._rank.tolist()]

    def complete(self, prefix: str, limit: int) -> list[str]:
        """Return the first ``limit`` URIs that begin with ``prefix``, in code point order."""
        return list(islice(self._trie.iterkeys(prefix), limit))


def write_names(path: pathlib.Path, uris: list[str], rank: NodeIds) -> tuple[NodeIds, NodeIds]:
    """Write the trie of sorted ``uris``; return ``(node_of_key, key_of_rank)`` for nodes whose ranks are ``rank``."""
    trie = marisa_trie.Trie(uris, order=marisa_trie.LABEL_ORDER)
    trie.save(str(path))
    key_of_rank = np.fromiter(map(trie.__getitem__, uris), dtype=np.int32, count=len(uris))
    node_of_key = np.empty(len(uris), dtype=np.int32)
    node_of_key[key_of_rank[rank]] = np.arange(len(uris), dtype=np.int32)
    return node_of_key, key_of_rank


class Records:
    """The assertions of an index, by position in its arc lists."""

    def __init__(self, arrays: Arrays, names: Names, relations: list[str]) -> None:
        self._arrays = arrays
        self._names = names
        self._relations = relations
        self._provenance = lru_cache(maxsize=65_536)(self._read_provenance)

    def assertion(self, owner: int, arc: int) -> Assertion:
        """Return the assertion at position ``arc``, which must be in the list of node ``owner``."""
        arrays = self._arrays
        ends = self._names.uri(owner), self._names.uri(int(arrays["neighbour"][arc]))
        code = int(arrays["relation"][arc])
        head, tail = reversed(ends) if code & 1 else ends
        weight = float(arrays["weights"][arrays["weight"][arc]])
        source, dataset, head_sense, tail_sense, license_, contributors, rank, score = self._provenance(
            int(arrays["provenance"][arc])
        )
        relation = self._relations[code >> 1]
        return Assertion(
            head, relation, tail, weight, source, dataset, license_, contributors, head_sense, tail_sense, rank, score
        )

    def text(self, number: int) -> str:
        """Return a text of the table of provenance."""
        start = self._arrays["text_start"]
        return str(self._arrays["text"][start[number] : start[number + 1]].tobytes().decode())

    def _read_provenance(self, code: int) -> tuple[Any, ...]:
        fields = [self.text(number) for number in self._arrays["provenance_texts"][code].tolist()]
        rank, score = fields[6:]
        return (*fields[:6], int(rank) if rank else None, float(score) if score else None)
