"""How two sets of concepts are connected, out of the rows of Cypher queries: chains of one and two assertions, and best paths."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

from . import answers
from .chains import chains_of_links
from .model import Assertion, Path, TripleCounts
from .protocol import MAX_HOPS

Links = dict[str, dict[str, float]]

# The shapes of a chain of two: the query's suffix, whether the first and the second assertion point onwards, and whether the
# query is asked with the ends swapped (a chain against all arrows is one along them, seen from its other end).
_SHAPES = (
    ("along", True, True, False),
    ("along", True, True, True),
    ("meeting", True, False, False),
    ("parting", False, True, False),
)


class Connections(ABC):
    """The part of a store that answers ``triples_between``, ``count_triples`` and ``paths``."""

    @abstractmethod
    def _ask(self, name: str, /, **parameters: Any) -> list[Sequence[Any]]:
        """Return all rows of the query ``name``."""

    @abstractmethod
    def _known(self, uris: Collection[str]) -> set[str]:
        """Return those of ``uris`` that are concepts."""

    @abstractmethod
    def _uris(self, texts: Sequence[str], language: str) -> list[str]:
        """Return ``texts`` as concept URIs; as :func:`tacit.graph.answers.concept_uris`."""

    @abstractmethod
    def _expand(self, uris: list[str], relations: list[str]) -> Iterable[Sequence[Any]]:
        """Return ``(concept, neighbour, strongest weight)`` rows by any of ``relations``, by all when there are none."""

    def triples_between(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> list[Path]:
        """See :meth:`tacit.graph.protocol.KnowledgeGraph.triples_between`."""
        answers.check_hops(hops, most=2)
        ones, others = (sorted(set(self._uris(texts, language))) for texts in (sources, targets))
        if not ones or not others:
            return []
        found: list[Path] = []
        if hops == 1:
            for assertion in map(assertion_of, self._ask("between", heads=ones, tails=others)):
                found.append(Path((assertion.head, assertion.tail), (assertion,)))
            for assertion in map(assertion_of, self._ask("between", heads=others, tails=ones)):
                found.append(Path((assertion.tail, assertion.head), (assertion,)))
        else:
            found += self._chains(ones, others)
        return sorted(found, key=lambda path: path.order)

    def _chains(self, sources: list[str], targets: list[str]) -> Iterator[Path]:
        """Yield the chains of two assertions, in no fixed order."""
        for name, forth, on, swapped in _SHAPES:
            ends = (targets, sources) if swapped else (sources, targets)
            for row in self._ask(f"chains_{name}", sources=ends[0], targets=ends[1]):
                start, middle, end = row[:3]
                first = assertion_of([*_directed(start, middle, forth, row[3]), *row[4:13]])
                second = assertion_of([*_directed(middle, end, on, row[13]), *row[14:]])
                yield Path((end, middle, start), (second, first)) if swapped else Path((start, middle, end), (first, second))

    def count_triples(
        self, sources: Sequence[str], targets: Sequence[str], hops: Literal[1, 2] = 1, *, language: str = "en"
    ) -> TripleCounts:
        """See :meth:`tacit.graph.protocol.KnowledgeGraph.count_triples`."""
        answers.check_hops(hops, most=2)
        ones, others = (sorted(set(self._uris(texts, language))) for texts in (sources, targets))
        if not ones or not others:
            return TripleCounts(0, 0)
        pairs: set[tuple[str, str]] = set()
        triples: set[tuple[Any, ...]] = set()
        if hops == 1:
            triples |= {tuple(row) for row in self._ask("distinct_triples", heads=ones, tails=others)}
            pairs |= {(head, tail) for head, _, tail in triples}
            against = {tuple(row) for row in self._ask("distinct_triples", heads=others, tails=ones)}
            triples |= against
            pairs |= {(tail, head) for head, _, tail in against}
        else:
            for name, forth, on, swapped in _SHAPES:
                ends = (others, ones) if swapped else (ones, others)
                for row in self._ask(f"relations_{name}", sources=ends[0], targets=ends[1]):
                    start, middle, end, first, second = row
                    pairs.add((end, start) if swapped else (start, end))
                    triples.add((middle, *sorted(((start, forth, first), (end, not on, second)))))
        return TripleCounts(len(pairs), len(triples))

    def paths(self, source: str, target: str, max_hops: int = MAX_HOPS, limit: int = 10, *, language: str = "en") -> list[Path]:
        """See :meth:`tacit.graph.protocol.KnowledgeGraph.paths`."""
        answers.check_hops(max_hops, least=0)
        answers.check_limit(limit)
        source, target = self._uris([source, target], language)
        if len(self._known({source, target})) < len({source, target}) or not limit:
            return []
        if source == target:
            return [Path((source,), ())]
        links, hops = self._links(source, target, max_hops)
        chains = chains_of_links(links, source, target, hops, limit) if hops else []
        steps = sorted({(a, b) for chain in chains for a, b in pairwise(chain)})
        best = self._strongest(steps)
        return [Path(chain, tuple(best[a, b] for a, b in pairwise(chain))) for chain in chains]

    def _links(self, source: str, target: str, max_hops: int) -> tuple[Links, int]:
        """Return the steps of all shortest paths (with others that lead nowhere) and their number of hops, 0 when none."""
        links: Links = defaultdict(dict)
        near, far = {source}, {target}
        levels = ({source}, {target})
        for hops in range(1, max_hops + 1):
            forward = len(levels[0]) <= len(levels[1])
            seen, other, level = (near, far, levels[0]) if forward else (far, near, levels[1])
            reached: set[str] = set()
            for a, b, weight in self._expand(sorted(level), []):
                if b not in seen:
                    reached.add(b)
                    start, end = (a, b) if forward else (b, a)
                    links[start][end] = weight
            if reached & other:
                return links, hops
            if not reached:
                break
            seen |= reached
            levels = (reached, levels[1]) if forward else (levels[0], reached)
        return {}, 0

    def _strongest(self, steps: list[tuple[str, str]]) -> dict[tuple[str, str], Assertion]:
        """Return the first assertion in the fixed order between each two nodes, whatever its direction."""
        best: dict[tuple[str, str], Assertion] = {}
        ones, others = sorted({a for a, _ in steps}), sorted({b for _, b in steps})
        for heads, tails in ((ones, others), (others, ones)) if steps else ():
            for assertion in map(assertion_of, self._ask("between", heads=heads, tails=tails)):
                for pair in ((assertion.head, assertion.tail), (assertion.tail, assertion.head)):
                    if pair not in best or assertion.order < best[pair].order:
                        best[pair] = assertion
        return best


def assertion_of(row: Sequence[Any]) -> Assertion:
    """Return the assertion in the twelve columns of a query's row; a text that is absent is empty."""
    return Assertion._make((*row[:4], *(text or "" for text in row[4:10]), *row[10:]))


def _directed(start: str, end: str, onwards: bool, relation: str) -> tuple[str, str, str]:
    return (start, relation, end) if onwards else (end, relation, start)
