"""Base class of both stores: answers the protocol with the queries in :mod:`tacit.cypher`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..cypher import Dialect, Query, query
from . import arguments
from .errors import InputError
from .links import ConceptTail, Link, LinkManifest, link_manifest_of, no_links, ranked_tails
from .loading import from_row
from .model import Assertion, GraphCounts, Manifest, Neighbour, Path, TripleCounts
from .names import Label, check_relation, event_uri, label_of, normalise_event
from .path_search import best_paths, distinct_chains
from .protocol import MAX_HOPS, Count, CountsInBulk, LimitsQueries, LinksEvents, Sets, StreamsRecords, TailsInBulk, WritableGraph

SCAN_ROWS = 100_000
"""Rows of a batch when all assertions are streamed."""

# The directions in a path of two assertions: the query's suffix, whether the first and the second assertion point forwards, and
# whether the query is run with source and target swapped (a path against all arrows is one along them, from its other end).
_CHAIN_SHAPES = (
    ("along", True, True, False),
    ("along", True, True, True),
    ("meeting", True, False, False),
    ("parting", False, True, False),
)


class Store(WritableGraph, LimitsQueries, StreamsRecords, CountsInBulk, TailsInBulk, LinksEvents):
    """A graph in a database that runs Cypher.

    Engines implement ``url``, ``scan``, ``run``, ``load``, ``unfinished``, ``events``, ``replace_links`` and ``close`` of the
    protocols, and the four methods below.
    """

    dialect: ClassVar[Dialect]
    _max_concurrent: int | None = None

    @abstractmethod
    def _rows(self, query: Query, parameters: Mapping[str, Any]) -> list[Sequence[Any]]:
        """Return all rows of a reading query."""

    @abstractmethod
    def _distances(self, sources: list[str], targets: list[str], max_hops: int) -> Iterable[Sequence[Any]]:
        """Return ``(source, target, hops)`` rows of the pairs within ``max_hops``, in either order or both."""

    @abstractmethod
    def _counts(self, sets: Mapping[int, tuple[list[str], list[str]]], hops: Literal[1, 2]) -> Iterable[Sequence[int]]:
        """Return ``(number, pairs, triples)`` of numbered sets of sources and targets; those without triples may be left out."""

    @abstractmethod
    def _scan_links(self) -> Iterator[Link]:
        """Stream the links of a graph that has some."""

    def limit_queries(self, max_concurrent: int) -> None:
        if max_concurrent < 1:
            raise InputError(f"max_concurrent must be >= 1, not {max_concurrent}")
        self._max_concurrent = max_concurrent

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _ask(self, name: str, /, **parameters: Any) -> list[Sequence[Any]]:
        return self._rows(query(name, self.dialect), parameters)

    # the protocol

    def manifest(self) -> Manifest:
        rows = self._ask("manifest")
        return from_row(rows[0]) if rows else Manifest()

    def counts(self) -> GraphCounts:
        relations = {str(name): int(number) for name, number in self._ask("count_relations")}
        ordered = dict(sorted(relations.items(), key=lambda item: (-item[1], item[0])))
        concepts, events = self._ask("count_concepts")[0][0], self._ask("count_events")[0][0]
        return GraphCounts(int(concepts), int(events), sum(ordered.values()), ordered)

    def resolve(self, texts: Sequence[str], language: str = "en") -> list[str | None]:
        return arguments.resolve(texts, language, self._known)

    def _uris(self, texts: Sequence[str], language: str) -> list[str]:
        return arguments.concept_uris(texts, language, self._known, lambda unknown: arguments.refuse_unknown(unknown, self.url))

    def _known(self, uris: Collection[str]) -> set[str]:
        return {str(uri) for (uri,) in self._ask("known", uris=sorted(set(uris)))} if uris else set()

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
        names = arguments.check_relations(relations)
        (concept,) = self._uris([concept], language)
        if names == []:
            return []
        seen, level = {concept}, {concept: float("inf")}
        for _ in range(hop):
            reached: dict[str, float] = {}
            for node, neighbour, weight in self._expand(sorted(level), names or []):
                if neighbour not in seen:
                    reached[neighbour] = max(reached.get(neighbour, 0.0), min(level[node], weight))
            seen.update(reached)
            level = reached
        ranked = sorted(level.items(), key=lambda item: (-item[1], item[0]))
        return [Neighbour(uri, hop, weight) for uri, weight in ranked[:limit]]

    def _expand(self, uris: list[str], relations: list[str]) -> Iterable[Sequence[Any]]:
        """Return ``(concept, neighbour, largest weight)`` rows by any of ``relations``, or by all when the list is empty."""
        return self._ask("expand", uris=uris, relations=relations) if uris else []

    def hop_distances(
        self, sources: Sequence[str], targets: Sequence[str], max_hops: int = MAX_HOPS, *, language: str = "en"
    ) -> NDArray[np.int8]:
        arguments.check_hops(max_hops, minimum=0)
        sources, targets = self._uris(sources, language), self._uris(targets, language)
        known = self._known({*sources, *targets})
        known_sources, known_targets = sorted(known.intersection(sources)), sorted(known.intersection(targets))
        hops_of = {(uri, uri): 0 for uri in known}
        if max_hops and known_sources and known_targets and (known_sources != known_targets or len(known_sources) > 1):
            for source, target, hops in self._distances(known_sources, known_targets, max_hops):
                hops_of[source, target] = hops_of[target, source] = int(hops)
        distances = [hops_of.get((source, target), -1) for source in sources for target in targets]
        return np.array(distances, dtype=np.int8).reshape(len(sources), len(targets))

    def tails(self, head: str, relation: str | None = None, limit: int | None = None) -> list[Assertion]:
        arguments.check_limit(limit)
        uri = head if head.startswith("/e/") else event_uri(head)
        tails_query = query("tails_of", self.dialect).naming(LABEL="Event")
        rows = map(
            assertion_of, self._rows(tails_query, {"head": uri, "relation": "" if relation is None else check_relation(relation)})
        )
        return sorted(rows, key=lambda row: (-row.weight, row.tail, row.relation, *row.order))[:limit]

    def _tails(self, label: Label, heads: list[str], relations: list[str]) -> list[Assertion]:
        tails_query = query("tails", self.dialect).naming(LABEL=label)
        return [assertion_of(row) for row in self._rows(tails_query, {"heads": heads, "relations": relations})]

    def heads(self, text: str, limit: int = 10) -> list[str]:
        arguments.check_limit(limit)
        normalised = normalise_event(text).lower()
        if not normalised:
            raise InputError(f"{text!r} has no word to look for; give a phrase such as 'eats dinner'")
        rows = self._ask("heads", text=normalised)
        ranked = sorted((text.lower() != normalised, len(text), uri) for uri, text in rows)
        return [uri for _, _, uri in ranked[:limit]]

    def tails_many(self, heads: Sequence[str], relations: Collection[str]) -> list[Assertion]:
        names = arguments.check_relations(relations)
        assertions: list[Assertion] = []
        for label in ("Event", "Concept") if names else ():
            uris = sorted({uri for uri in heads if label_of(uri) == label})
            assertions += self._tails(label, uris, names or []) if uris else []
        return sorted(assertions, key=lambda row: row.order)

    def heads_many(self, tails: Sequence[str], relations: Collection[str]) -> list[Assertion]:
        names, uris = arguments.check_relations(relations), sorted(set(tails))
        rows = self._ask("events_leading_to", tails=uris, relations=names) if names and uris else []
        return sorted(map(assertion_of, rows), key=lambda row: row.order)

    def nodes_by(
        self, label: Label, relations: Collection[str] | None, end: Literal["head", "tail"] = "head"
    ) -> set[tuple[str, str, str]]:
        names = arguments.check_relations(relations)
        if names == []:
            return set()
        ends_query = query(f"{end}s_by", self.dialect).naming(LABEL=label)
        return {(uri, relation, source or "") for uri, relation, source in self._rows(ends_query, {"relations": names or []})}

    def tails_from(self, prefix: str) -> list[Assertion]:
        return sorted(map(assertion_of, self._ask("generated_tails", prefix=prefix)), key=lambda row: row.order)

    def assertions(self) -> Iterator[Assertion]:
        from .columns import assertions

        for batch in self.scan():
            yield from assertions(batch)

    # links

    def link_manifest(self) -> LinkManifest:
        return link_manifest_of(self._ask("link_manifest"))

    def links(self) -> Iterator[Link]:
        if self.link_manifest().links:
            yield from self._scan_links()

    def concept_tails(
        self, concept: str, relation: str | None = None, limit: int | None = None, *, language: str = "en"
    ) -> list[ConceptTail]:
        arguments.check_limit(limit)
        relation_name = "" if relation is None else check_relation(relation)
        if not self.link_manifest().links:
            raise no_links(self.url)
        (uri,) = self._uris([concept], language)
        rows = self._ask("tails_of_mentioning", concept=uri, relation=relation_name)
        events = sorted({str(row[0]) for row in rows})
        mentions = {str(event): int(number) for event, number in self._ask("number_of_mentions", events=events)} if events else {}
        return ranked_tails(rows, mentions)[:limit]

    def linked_paths(
        self, source: str, target: str, max_hops: int = MAX_HOPS, limit: int = 10, *, language: str = "en"
    ) -> list[Path]:
        arguments.check_hops(max_hops, minimum=0)
        arguments.check_limit(limit)
        if not self.link_manifest().links:
            raise no_links(self.url)

        def known(uris: Collection[str]) -> set[str]:
            return {str(uri) for (uri,) in self._ask("linked/known", uris=sorted(uris))} if uris else set()

        source, target = arguments.linked_uris([source, target], language, known, self.url)
        if len(known({source, target})) < len({source, target}):
            return []
        return best_paths(
            source, target, max_hops, limit,
            lambda uris: self._ask("linked/expand", uris=uris),
            lambda heads, tails: map(assertion_of, self._ask("linked/between", heads=heads, tails=tails)),
        )  # fmt: skip

    # connections between concepts

    def triples_between(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> list[Path]:
        arguments.check_hops(hops, maximum=2)
        source_uris, target_uris = (sorted(set(self._uris(texts, language))) for texts in (sources, targets))
        if not source_uris or not target_uris:
            return []
        paths: list[Path] = []
        if hops == 1:
            for assertion in self._between(source_uris, target_uris):
                paths.append(Path((assertion.head, assertion.tail), (assertion,)))
            for assertion in self._between(target_uris, source_uris):
                paths.append(Path((assertion.tail, assertion.head), (assertion,)))
        else:
            paths += self._chains(source_uris, target_uris)
        return sorted(paths, key=lambda path: path.order)

    def _chains(self, sources: list[str], targets: list[str]) -> Iterator[Path]:
        """Yield the paths of two assertions, in no fixed order."""
        for name, first_forwards, second_forwards, swapped in _CHAIN_SHAPES:
            first_set, last_set = (targets, sources) if swapped else (sources, targets)
            for row in self._ask(f"chains_{name}", sources=first_set, targets=last_set):
                start, middle, end = row[:3]
                first = assertion_of([*_triple(start, middle, first_forwards, row[3]), *row[4:13]])
                second = assertion_of([*_triple(middle, end, second_forwards, row[13]), *row[14:]])
                yield Path((end, middle, start), (second, first)) if swapped else Path((start, middle, end), (first, second))

    def count_triples(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> TripleCounts:
        sets = [(self._uris(sources, language), self._uris(targets, language))]
        pairs, triples = self.count_triples_many(sets, hops)[0].tolist()
        return TripleCounts(pairs, triples)

    def count_triples_many(self, sets: Sequence[Sets], hops: Literal[1, 2] = 1) -> NDArray[np.int64]:
        arguments.check_hops(hops, maximum=2)
        uri_sets = [(sorted(set(self._uris(sources, "en"))), sorted(set(self._uris(targets, "en")))) for sources, targets in sets]
        counts = np.zeros((len(sets), 2), dtype=np.int64)
        nonempty_sets = {number: ends for number, ends in enumerate(uri_sets) if all(ends)}
        for number, pairs, triples in self._counts(nonempty_sets, hops) if nonempty_sets else ():
            counts[number] = pairs, triples
        return counts

    def counted_chains(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, count: Count = "pairs"
    ) -> Iterator[Path]:
        yield from distinct_chains(self.triples_between(sources, targets, hops), count)

    def paths(self, source: str, target: str, max_hops: int = MAX_HOPS, limit: int = 10, *, language: str = "en") -> list[Path]:
        arguments.check_hops(max_hops, minimum=0)
        arguments.check_limit(limit)
        source, target = self._uris([source, target], language)
        if len(self._known({source, target})) < len({source, target}):
            return []
        return best_paths(source, target, max_hops, limit, lambda uris: self._expand(uris, []), self._between)

    def _between(self, heads: list[str], tails: list[str]) -> Iterator[Assertion]:
        return map(assertion_of, self._ask("between", heads=heads, tails=tails))


def assertion_of(row: Sequence[Any]) -> Assertion:
    """Return the assertion in the twelve columns of a query's row, with empty texts for nulls."""
    return Assertion._make((*row[:4], *(text or "" for text in row[4:10]), *row[10:]))


def _triple(start: str, end: str, forwards: bool, relation: str) -> tuple[str, str, str]:
    return (start, relation, end) if forwards else (end, relation, start)


def refuse_closed(closed: bool, url: str) -> None:
    """Raise :class:`InputError` when ``closed``: a graph was used after its ``with`` block."""
    if closed:
        raise InputError(f"{url} is closed; open it again")


def claim_query() -> Query:
    """Return the query that shows whether a claim is in a graph, the same for both engines.

    Its parameters are the URIs ``head`` and ``tail`` and the name ``relation``. Its rows, one per source, have the columns
    ``head_text``, ``relation``, ``tail_text``, ``weight``, ``source`` and ``dataset``.
    """
    return query("explore/claim")
