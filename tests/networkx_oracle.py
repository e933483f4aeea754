"""The judge: every concept query of the protocol answered plainly, by brute force over networkx, from the rows themselves.

Written from the protocol's words alone; it shares the name rules and the answer types with the code under test, nothing else.
"""

# ruff: noqa: ARG002 - concepts are URIs here, whatever the language
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, pairwise, product
from typing import Literal, NoReturn, Self

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from tacit.graph.model import Assertion, GraphCounts, Manifest, Neighbour, Path, TripleCounts, checksum
from tacit.graph.names import forms, label_of
from tacit.graph.protocol import KnowledgeGraph


class OracleGraph(KnowledgeGraph):
    """The rows as a graph that answers concept queries; same assertions (by identity) count once, the first one stays.

    Concepts are URIs, whatever the language. It has no queries about events and no Cypher.
    """

    url = "oracle"

    def __init__(self, rows: Iterable[Assertion]) -> None:
        distinct: dict[tuple[str, ...], Assertion] = {}
        for row in rows:
            identity = (row.head, row.relation, row.tail, row.source, row.dataset, row.head_sense, row.tail_sense)
            distinct.setdefault(identity, row)
        self.rows = list(distinct.values())
        self.nodes = {uri for row in self.rows for uri in (row.head, row.tail)}
        self.concepts = {uri for uri in self.nodes if label_of(uri) == "Concept"}
        self.links = [row for row in self.rows if {row.head, row.tail} <= self.concepts and row.head != row.tail]
        self.graph = self._undirected(None)

    def _undirected(self, relations: Collection[str] | None) -> nx.Graph[str]:
        graph: nx.Graph[str] = nx.Graph()
        graph.add_nodes_from(self.concepts)
        for row in self.links:
            if relations is None or row.relation in relations:
                if not graph.has_edge(row.head, row.tail):
                    graph.add_edge(row.head, row.tail, rows=[])
                graph.edges[row.head, row.tail]["rows"].append(row)
        return graph

    def between(self, first: str, second: str) -> list[Assertion]:
        """The assertions that join two concepts, best first."""
        rows = self.graph.edges[first, second]["rows"] if self.graph.has_edge(first, second) else []
        return sorted(rows, key=lambda row: row.order)

    def manifest(self) -> Manifest:
        return Manifest((), len(self.rows), checksum(self.rows))

    def counts(self) -> GraphCounts:
        relations = [row.relation for row in self.rows]
        sizes = sorted(((name, relations.count(name)) for name in set(relations)), key=lambda item: (-item[1], item[0]))
        return GraphCounts(len(self.concepts), len(self.nodes - self.concepts), len(self.rows), dict(sizes))

    def resolve(self, texts: Sequence[str], language: str = "en") -> list[str | None]:
        return [next((uri for uri in forms(text, language) if uri in self.concepts), None) for text in texts]

    def hop_distances(
        self, sources: Sequence[str], targets: Sequence[str], max_hops: int = 6, *, language: str = "en"
    ) -> NDArray[np.int8]:
        out = np.full((len(sources), len(targets)), -1, dtype=np.int8)
        for i, source in enumerate(sources):
            if source in self.graph:
                reach = nx.single_source_shortest_path_length(self.graph, source, cutoff=max_hops)
                out[i] = [reach.get(target, -1) for target in targets]
        return out

    def neighbours(
        self,
        concept: str,
        hop: int = 1,
        limit: int | None = 10,
        relations: Collection[str] | None = None,
        *,
        language: str = "en",
    ) -> list[Neighbour]:
        if concept not in self.graph:
            return []
        graph = self.graph if relations is None else self._undirected(relations)
        distance = nx.single_source_shortest_path_length(graph, concept, cutoff=hop)
        strength = {concept: float("inf")}
        for node in sorted(distance, key=distance.__getitem__):
            if node != concept:
                strength[node] = max(
                    min(strength[before], max(row.weight for row in graph.edges[before, node]["rows"]))
                    for before in graph[node]
                    if distance.get(before) == distance[node] - 1
                )
        neighbours_found = [Neighbour(node, hop, strength[node]) for node in distance if distance[node] == hop]
        return sorted(neighbours_found, key=lambda first: (-first.weight, first.uri))[:limit]

    def triples_between(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> list[Path]:
        paths: list[Path] = []
        for source, target in product(sorted(set(sources)), sorted(set(targets))):
            if source == target or source not in self.graph or target not in self.graph:
                continue
            if hops == 1:
                paths += [Path((source, target), (row,)) for row in self.between(source, target)]
            else:
                for middle in nx.common_neighbors(self.graph, source, target):
                    pairs = product(self.between(source, middle), self.between(middle, target))
                    paths += [Path((source, middle, target), pair) for pair in pairs]
        return sorted(paths, key=lambda path: path.order)

    def count_triples(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> TripleCounts:
        chains = self.triples_between(sources, targets, hops)
        triples = {frozenset(row[:3] for row in chain.assertions) for chain in chains}
        return TripleCounts(len({(chain.nodes[0], chain.nodes[-1]) for chain in chains}), len(triples))

    def paths(self, source: str, target: str, max_hops: int = 6, limit: int = 10, *, language: str = "en") -> list[Path]:
        if source not in self.graph or target not in self.graph or not nx.has_path(self.graph, source, target):
            return []
        if source == target:
            return [Path((source,), ())][:limit]
        if nx.shortest_path_length(self.graph, source, target) > max_hops:
            return []
        chains = list(islice(nx.all_shortest_paths(self.graph, source, target), 200_000))
        paths = [Path(tuple(nodes), tuple(self.between(*step)[0] for step in pairwise(nodes))) for nodes in chains]
        return sorted(paths, key=lambda path: (-path.strength, path.nodes))[:limit]

    def assertions(self) -> Iterator[Assertion]:
        return iter(self.rows)

    def tails(self, head: str, relation: str | None = None, limit: int | None = None) -> NoReturn:
        raise NotImplementedError

    heads = run = tails  # type: ignore[assignment]

    def close(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass
