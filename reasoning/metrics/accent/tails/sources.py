"""Tail sources: tails of the head itself in any wording, of the nearest heads, and of COMETs; and a chain of sources.

Wordings are tried in the order of :func:`..events.head_forms`; then heads with the same comparison key count as the same event.
The nearest heads, by cosine of embeddings, are used only when none of these has tails under the relation, and only with tails
of datasets: a tail that a model generated holds for its own head alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .....graph.errors import InputError, TacitError, reason_of
from ..events import comparison_key, head_form, head_forms
from .comet import NOTHING, Comet, Generated, as_known
from .event_table import Events, Lookup
from .journal import TailCache
from .known_tails import Found, KnownTail, Origin, Query, TailSource
from .vector_cache import VectorCache

DEFAULT_NEAREST = 10
DEFAULT_THRESHOLD = 0.7


class GraphTails:
    """Tails of a graph's events."""

    def __init__(self, events: Events, *, learnt: bool = True) -> None:
        """Look up in ``events``; with ``learnt`` also the tails that models generated and that were merged into the graph."""
        self.events = events
        self._learnt = learnt
        self.signature = "graph" if learnt or not events.has_generated else "graph;people"

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return the tails of each query's head; none when the graph does not hold it."""
        heads = {text: self.heads(text) for text in dict.fromkeys(query.head for query in queries)}
        tails = self.events.lookup([(head, query.relation) for query in queries for head in heads[query.head]])
        return [Found(tuple(self._first(heads[query.head], query.relation, tails))) for query in queries]

    def _first(self, heads: Sequence[int], relation: str, tails: Lookup) -> list[KnownTail]:
        """Return the tails of the first of ``heads`` that has any."""
        for head in heads:
            if found := self.of(head, relation, Origin.GRAPH, 1.0, tails):
                return found
        return []

    def heads(self, text: str) -> list[int]:
        """Return the numbers of the heads that are the event ``text``, best wording first."""
        exact = [head for form in head_forms(text) if (head := self.events.exact(form)) is not None]
        return list(dict.fromkeys([*exact, *self.events.alike(comparison_key(text))]))

    def of(self, head: int, relation: str, origin: Origin, likeness: float, tails: Lookup | None = None) -> list[KnownTail]:
        """Return the tails of a head; ``tails`` holds those that were looked up together with others."""
        tails = tails or self.events.lookup([(head, relation)])
        found = [tail for tail in tails(head, relation) if tail.text != NOTHING]
        if origin is Origin.NEAREST or not self._learnt:
            found = [tail for tail in found if not tail.is_generated]
        return [
            KnownTail(
                tail.text, tail.form, Origin.COMET if tail.is_generated else origin, self.events.heads[head], likeness,
                tail.source, max(tail.rank, 0), None if np.isnan(tail.score) else tail.score,
            )
            for tail in found
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

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return the tails of the nearest heads that have any under the relation, nearest head first."""
        texts = list(dict.fromkeys(head_form(query.head) for query in queries))
        if not texts:
            return []
        near = {text: self._near(vector) for text, vector in zip(texts, self.vectors[texts], strict=True)}
        wanted = [(int(self._numbers[one]), query.relation) for query in queries for one, _ in near[head_form(query.head)]]
        known = self.graph.events.lookup(wanted)
        found = []
        for query in queries:
            tails: list[KnownTail] = []
            heads = 0
            for number, cosine in near[head_form(query.head)]:
                head = int(self._numbers[number])
                if more := self.graph.of(head, query.relation, Origin.NEAREST, cosine, known):
                    tails += more
                    heads += 1
                if heads == self.limit:
                    break
            found.append(Found(tuple(tails)))
        return found

    def _near(self, vector: NDArray[np.float32]) -> list[tuple[int, float]]:
        """Return near heads and their cosines, nearest first; more than needed, since not every head has tails under every
        relation."""
        cosines = self._vectors @ vector
        places = np.flatnonzero(cosines >= self.threshold)
        best = places[np.lexsort((places, -cosines[places]))[: 8 * self.limit]]
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

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return the model's tails for each query; none, with a note, when the model fails."""
        keys = [Query(head_form(query.head), query.relation) for query in queries]
        answers = self._remembered(keys)
        unseen = [query for query in dict.fromkeys(keys) if query not in answers]
        note = self._generate(unseen, answers) if unseen else ""
        fresh = set(unseen)
        found = [as_known(query, answers.get(key, ()), self.comet.source) for query, key in zip(queries, keys, strict=True)]
        return [one._replace(note=note) if key in fresh else one for one, key in zip(found, keys, strict=True)]

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
            return f"the COMET {self.comet.files.given} failed ({reason_of(error)}), so only the graph was used"
        answers.update(zip(queries, generated, strict=True))
        if self.remember and self.memory is not None:
            try:
                self.memory.keep(queries, generated, self.comet.source)
            except (TacitError, OSError) as error:
                return f"the tails that the COMET generated could not be stored: {error}"
        return ""


class AbsentComet:
    """Replaces a COMET that cannot be opened: has no tails, and notes the reason."""

    signature = "comet:absent"

    def __init__(self, reason: str) -> None:
        self._note = f"no COMET could be opened, so only the graph was used: {reason}"

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return no tails for each query, with the reason."""
        return [Found(note=self._note) for _ in queries]


class CachedTails:
    """The stored tails of all COMETs that a journal holds, as of the time this was opened."""

    def __init__(self, memory: TailCache) -> None:
        self._memory = memory
        self._sources = memory.sources()
        self.signature = f"learnt:{memory.digest}" if memory.digest else ""

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return the stored tails of each query, by source in order of name."""
        return [
            Found(tuple(
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

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return for each query the tails of the first source that has any, with the notes of all queried sources."""
        found = dict.fromkeys(queries, Found())
        notes: dict[Query, list[str]] = {query: [] for query in found}
        for source in self.sources:
            open_queries = [query for query, one in found.items() if not one.tails]
            if not open_queries:
                break
            for query, one in zip(open_queries, source.find(open_queries), strict=True):
                found[query] = one
                if one.note:
                    notes[query].append(one.note)
        return [found[query]._replace(note="; ".join(dict.fromkeys(notes[query]))) for query in queries]
