"""Tail sources: tails of the head itself in any wording, of the nearest heads, and of COMETs; and a chain of sources.

Wordings are tried in the order of :func:`..events.head_forms`; then heads with the same comparison key count as the same event.
The nearest heads, by cosine of embeddings, are used only when none of these has tails under the relation, and only with tails
of datasets: a tail that a model generated holds for its own head alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .....graph.errors import InputError, TacitError, reason_of
from .....graph.model import Assertion, Path
from .....graph.names import concept_uri, event_uri, text_of
from .....graph.protocol import KnowledgeGraph
from ....lru_cache import LruCache
from ....models.vector_cache import VectorCache
from ..events import comparison_key, head_form, head_forms
from ..scorers.base import RETRIEVER_PREFIX, KnownTail, Origin, Query, TailResult, TailSource
from ..verbalise import statement
from .comet import NOTHING, Comet, Generated, as_known
from .event_table import INVERSES, RENAMED, Events, TailLookup
from .tail_cache import TailCache

DEFAULT_NEAREST = 10
DEFAULT_THRESHOLD = 0.7


class GraphTails:
    """Tails of a graph's events."""

    def __init__(self, events: Events, *, generated: bool = True) -> None:
        """Look up in ``events``; with ``generated`` also the tails that models generated and that were merged into the graph."""
        self.events = events
        self._generated = generated
        self.signature = "graph" if generated or not events.has_generated else "graph;people"

    def find(self, queries: Sequence[Query]) -> list[TailResult]:
        """Return the tails of each query's head; none when the graph does not hold it."""
        heads = {text: self.heads(text) for text in dict.fromkeys(query.head for query in queries)}
        tails = self.events.lookup([(head, query.relation) for query in queries for head in heads[query.head]])
        return [TailResult(tuple(self._first(heads[query.head], query.relation, tails))) for query in queries]

    def _first(self, heads: Sequence[int], relation: str, tails: TailLookup) -> list[KnownTail]:
        """Return the tails of the first of ``heads`` that has any."""
        for head in heads:
            if result := self.known_tails(head, relation, Origin.GRAPH, 1.0, tails):
                return result
        return []

    def heads(self, text: str) -> list[int]:
        """Return the numbers of the heads that are the event ``text``, best wording first."""
        exact = [head for form in head_forms(text) if (head := self.events.exact(form)) is not None]
        return list(dict.fromkeys([*exact, *self.events.heads_with_key(comparison_key(text))]))

    def known_tails(
        self, head: int, relation: str, origin: Origin, likeness: float, tails: TailLookup | None = None
    ) -> list[KnownTail]:
        """Return the tails of a head; ``tails`` holds those that were looked up together with others."""
        tails = tails or self.events.lookup([(head, relation)])
        rows = [tail for tail in tails(head, relation) if tail.text != NOTHING]
        if origin is Origin.NEAREST or not self._generated:
            rows = [tail for tail in rows if not tail.is_generated]
        return [
            KnownTail(
                tail.text, tail.form, Origin.COMET if tail.is_generated else origin, self.events.heads[head], likeness,
                tail.source, max(tail.rank, 0), None if np.isnan(tail.score) else tail.score,
            )
            for tail in rows
        ]  # fmt: skip


class NearestTails:
    """Tails of the heads nearest to the query's."""

    def __init__(
        self,
        graph: GraphTails,
        vectors: VectorCache,
        *,
        limit: int = DEFAULT_NEAREST,
        threshold: float = DEFAULT_THRESHOLD,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        """Search the heads of datasets for at most ``limit`` with a cosine >= ``threshold``; missing embeddings are computed
        now."""
        if limit < 1 or not -1 <= threshold <= 1:
            raise InputError(f"nearest is {limit} and threshold {threshold}; nearest must be >= 1, threshold in -1..1")
        self.graph = graph
        self.vectors = vectors
        self.limit = limit
        self.threshold = threshold
        self.signature = f"nearest{limit}>={threshold:g}@{vectors.encoder.signature}"
        events = graph.events
        self._numbers: NDArray[np.int64] = events.observed_heads()
        texts = [events.heads[head] for head in self._numbers.tolist()]
        vectors.add(texts, progress)
        self._vectors = vectors.known(texts)

    def find(self, queries: Sequence[Query]) -> list[TailResult]:
        """Return the tails of the nearest heads that have any under the relation, nearest head first."""
        texts = list(dict.fromkeys(head_form(query.head) for query in queries))
        if not texts:
            return []
        near = {text: self._nearest_heads(vector) for text, vector in zip(texts, self.vectors[texts], strict=True)}
        heads_and_relations = [
            (int(self._numbers[number]), query.relation) for query in queries for number, _ in near[head_form(query.head)]
        ]
        known = self.graph.events.lookup(heads_and_relations)
        result = []
        for query in queries:
            tails: list[KnownTail] = []
            heads = 0
            for number, cosine in near[head_form(query.head)]:
                head = int(self._numbers[number])
                if more := self.graph.known_tails(head, query.relation, Origin.NEAREST, cosine, known):
                    tails += more
                    heads += 1
                if heads == self.limit:
                    break
            result.append(TailResult(tuple(tails)))
        return result

    def _nearest_heads(self, vector: NDArray[np.float32]) -> list[tuple[int, float]]:
        """Return near heads and their cosines, nearest first; more than needed, since not every head has tails under every
        relation."""
        cosines = self._vectors @ vector
        indices = np.flatnonzero(cosines >= self.threshold)
        best = indices[np.lexsort((indices, -cosines[indices]))[: 8 * self.limit]]
        return list(zip(best.tolist(), cosines[best].tolist(), strict=True))


# Tails that COMETs generate, and those that a journal holds.


class CometTails:
    """Tails of one COMET: stored ones, and generated ones for new queries."""

    def __init__(self, comet: Comet, memory: TailCache | None, *, remember: bool = True) -> None:
        """Generate with ``comet``; with ``remember`` its tails are stored in ``memory``, which is read in any case."""
        self.comet = comet
        self.memory = memory
        self.remember = remember and memory is not None
        self.signature = f"comet:{comet.signature}"

    def find(self, queries: Sequence[Query]) -> list[TailResult]:
        """Return the model's tails for each query; none, with a note, when the model fails."""
        keys = [Query(head_form(query.head), query.relation) for query in queries]
        answers = self._remembered(keys)
        unseen = [query for query in dict.fromkeys(keys) if query not in answers]
        note = self._generate(unseen, answers) if unseen else ""
        fresh = set(unseen)
        results = [as_known(query, answers.get(key, ()), self.comet.source) for query, key in zip(queries, keys, strict=True)]
        return [result._replace(note=note) if key in fresh else result for result, key in zip(results, keys, strict=True)]

    def _remembered(self, queries: Sequence[Query]) -> dict[Query, Sequence[Generated]]:
        if self.memory is None:
            return {}
        self.memory.refresh()
        stored = {query: self.memory.recall(query, self.comet.source) for query in queries}
        return {query: tails for query, tails in stored.items() if tails is not None}

    def _generate(self, queries: Sequence[Query], answers: dict[Query, Sequence[Generated]]) -> str:
        """Generate tails and store them; return a note where either fails, since a failure must not end the scoring."""
        try:
            generated = self.comet.generate(queries)
        except Exception as error:  # torch and models raise errors of many types
            return f"the COMET {self.comet.files.requested} failed ({reason_of(error)}), so only the graph was used"
        answers.update(zip(queries, generated, strict=True))
        if self.remember and self.memory is not None:
            try:
                self.memory.store(queries, generated, self.comet.source)
            except (TacitError, OSError) as error:
                return f"the tails that the COMET generated could not be stored: {error}"
        return ""


class CachedTails:
    """The stored tails of all COMETs that a journal holds, as of the time this was opened."""

    def __init__(self, memory: TailCache) -> None:
        self._memory = memory
        self._sources = memory.sources()
        self.signature = f"learnt:{memory.digest}" if memory.digest else ""

    def find(self, queries: Sequence[Query]) -> list[TailResult]:
        """Return the stored tails of each query, by source in order of name."""
        return [
            TailResult(tuple(
                tail
                for source in self._sources
                for tail in as_known(query, self._memory.recall(query, source) or (), source).tails
            ))
            for query in queries
        ]  # fmt: skip


# Several sources: the first with tails for a query answers it.


class Chain:
    """Several tail sources as one."""

    def __init__(self, sources: Sequence[TailSource]) -> None:
        self.sources = tuple(sources)
        self.signature = ",".join(source.signature for source in sources if source.signature) or "none"

    def find(self, queries: Sequence[Query]) -> list[TailResult]:
        """Return for each query the tails of the first source that has any, with the notes of all queried sources."""
        results = dict.fromkeys(queries, TailResult())
        notes: dict[Query, list[str]] = {query: [] for query in results}
        for source in self.sources:
            open_queries = [query for query, result in results.items() if not result.tails]
            if not open_queries:
                break
            for query, result in zip(open_queries, source.find(open_queries), strict=True):
                results[query] = result
                if result.note:
                    notes[query].append(result.note)
        return [results[query]._replace(note="; ".join(dict.fromkeys(notes[query]))) for query in queries]


# Provenance: from a known tail back to the assertion of the graph.
#
# The table of events renames and inverts relations and words phrases as events. An explanation shows edges of the graph, so each
# tail that it shows is looked up: among ATOMIC's assertions about the head, inverted ones, and ConceptNet's between the phrases.

_Key = tuple[str, str, str, str]


class Provenance:
    """Looks up the assertions behind known tails in one graph, with an LRU cache."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph = graph
        self._paths: LruCache[_Key, tuple[Path | None]] = LruCache(20_000)

    def path(self, tail: KnownTail, relation: str) -> Path | None:
        """Return the strongest edge by which ``tail`` follows its head, directed from head to tail; None when the graph has
        none."""
        if tail.origin is Origin.MODEL:
            return None
        key = (tail.head, relation, tail.text, tail.source)
        known = self._paths.get(key)
        if known is None:
            known = (self._look_up(tail, relation),)
            self._paths.put(key, known)
        return known[0]

    def _look_up(self, tail: KnownTail, relation: str) -> Path | None:
        from_model = tail.source.startswith(RETRIEVER_PREFIX)  # a compact model does not keep sources
        rows = [row for row in self._candidates(tail, relation, from_model) if from_model or row[1].source == tail.source]
        if not rows:
            return None
        nodes, assertion = min(rows, key=lambda row: row[1].order)
        return Path(nodes, (assertion,))

    def _candidates(self, tail: KnownTail, relation: str, from_model: bool) -> Iterator[tuple[tuple[str, str], Assertion]]:
        """Every assertion that may be the tail's: it has its text, or, for a compact model's tail, its statement."""
        try:
            start, end = event_uri(tail.head), event_uri(tail.text)
            first, last = concept_uri(tail.head), concept_uri(tail.text)
        except InputError:
            return
        for row in self.graph.tails(start, relation):
            text = text_of(row.tail)
            if (statement(text, relation) if from_model else text) == tail.text:
                yield (row.head, row.tail), row
        for name, inverse in INVERSES.items():
            if inverse == relation:
                yield from (((row.tail, row.head), row) for row in self.graph.tails(end, name) if text_of(row.tail) == tail.head)
        if relation in RENAMED.values() and first != last:
            for path in self.graph.triples_between([first], [last]):
                (row,) = path.assertions
                if row.head == first and RENAMED.get(row.relation) == relation:
                    yield (row.head, row.tail), row
