"""Looks up the answers of the graph to a question about an event: those of the event itself, then those of the nearest heads.

A relation may be followed from head to tail or back. Forwards, the tail sources of ACCENT answer
(:mod:`tacit.reasoning.metrics.accent.tails`). Backwards the table of events is searched by its tails. The nearest heads are those
with the most words in common, weighted by their rarity, so that no model is needed; an encoder finds nearer ones
(``NearestTails``).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from math import log, sqrt
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.model import Path
from ...graph.names import lemmas, text_of
from ...graph.protocol import KnowledgeGraph
from ...graph.questions import Question
from ..lru_cache import LruCache
from ..metrics.accent.events import comparison_key
from ..metrics.accent.extractors.dependency_tree import TIMES
from ..metrics.accent.scorers.base import KnownTail, Origin
from ..metrics.accent.tails.comet import NOTHING
from ..metrics.accent.tails.event_table import EventTable
from ..metrics.accent.tails.sources import GraphTails

NEAR, WITHIN = 0.6, 0.35
"""Lowest cosine of the words of an event and a head for the head to be used: of any head, and of one whose words are all in the
event, such as ``PersonX studies`` for ``PersonX studies in the library``."""

_WORD = re.compile(r"[\w']+")
_DENIALS = frozenset(("not", "never", "n't"))
_CACHE_SIZE = 20_000
_EMPTY = TIMES | {"PersonX", "PersonY", "PersonZ", "PersonX's", "PersonY's", "PersonZ's", "their", "to", "be", "a", "the", "___"}

_ROLES = ("speaker", "listener", "someone")


class Hit(NamedTuple):
    """What a source says of an event."""

    text: str  # the answer in the graph's wording
    tail: KnownTail | None  # the known tail, whose head is `tail.head`; None between concepts
    path: Path | None  # the edge, where it is known without another look-up
    likeness: float


class EventLookup:
    """Looks events up in one graph and its table of events."""

    def __init__(self, graph: KnowledgeGraph, table: EventTable) -> None:
        """Look up in ``graph``, whose table of events is ``table``."""
        self.graph = graph
        self.table = table
        self.tails = GraphTails(table)
        self._concepts: LruCache[tuple[str, RelationPattern], list[Hit]] = LruCache(_CACHE_SIZE)

    def exact_hits(self, event: str, pattern: RelationPattern) -> list[Hit]:
        """Return what the graph says of the event itself, whatever its wording, strongest first."""
        if not pattern.backwards:
            for head in self.tails.heads(event):
                if tails := self.tails.known_tails(head, pattern.relation, Origin.GRAPH, 1.0):
                    return [Hit(tail.text, tail, None, 1.0) for tail in tails]
            return []
        return self._from_tail(comparison_key(event, pattern.relation), pattern, 1.0)

    def near(self, event: str, pattern: RelationPattern, limit: int) -> list[Hit]:
        """Return what the graph says of the ``limit`` events nearest to ``event`` by their words that have an answer."""
        result: list[Hit] = []
        events = 0
        for number, likeness in self._near(event, backwards=pattern.backwards):
            if pattern.backwards:
                more = self._from_tail(self._tail_keys[number], pattern, likeness)
            else:
                tails = self.tails.known_tails(number, pattern.relation, Origin.NEAREST, likeness)
                more = [Hit(tail.text, tail, None, likeness) for tail in tails]
            result += more
            events += bool(more)
            if events == limit:
                break
        return result

    def of_concepts(self, phrases: Sequence[str], pattern: RelationPattern) -> list[Hit]:
        """Return the ends of ConceptNet's edges at the first of ``phrases`` that is a concept with such an edge."""
        uris = [uri for uri in self.graph.resolve(phrases) if uri is not None]
        for uri in dict.fromkeys(uris):
            hits = self._concepts.get((uri, pattern))
            if hits is None:
                hits = list(self._edges(uri, pattern))
                self._concepts.put((uri, pattern), hits)
            if hits:
                return hits
        return []

    def _edges(self, uri: str, pattern: RelationPattern) -> Iterator[Hit]:
        neighbours = [neighbour.uri for neighbour in self.graph.neighbours(uri, 1, None, [pattern.relation])]
        ends = (neighbours, [uri]) if pattern.backwards else ([uri], neighbours)
        for path in self.graph.triples_between(*ends) if neighbours else ():
            [edge] = path.assertions
            if edge.relation == pattern.relation and edge.head == path.nodes[0]:
                yield Hit(text_of(edge.head if pattern.backwards else edge.tail), None, path, 1.0)

    def word_similarity(self, first: str, second: str) -> float:
        """Return the cosine of the words of two texts, in 0..1, without persons and "the speaker"."""
        return self._heads.cosine(comparison_key(first), comparison_key(second))

    # Backwards: tails by their comparison key.

    @cached_property
    def _by_tail(self) -> dict[tuple[str, str], list[tuple[int, int]]]:
        """Heads and rows by relation and comparison key of the tail, for the relations that are read backwards."""
        relations = {pattern.relation for patterns in ANSWER_PATTERNS.values() for pattern in patterns if pattern.backwards}
        rows_by_tail: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        keys: dict[tuple[int, str], str] = {}
        for relation in sorted(relations & set(self.table.relations)):
            for head in range(len(self.table.heads)):
                for index, row in enumerate(self.table.rows(head, relation)):
                    text = self.table.tails[row.tail]
                    if text == NOTHING or self.table.is_generated[row.source]:
                        continue
                    key = keys.get((row.tail, relation))
                    if key is None:
                        key = keys[row.tail, relation] = comparison_key(text, relation)
                    rows_by_tail[relation, key].append((head, index))
        return dict(rows_by_tail)

    def _from_tail(self, key: str, pattern: RelationPattern, likeness: float) -> list[Hit]:
        """Return the heads whose tail under the relation has this key, in the order of the table."""
        hits = []
        for head, index in self._by_tail.get((pattern.relation, key), ()):
            row = self.table.rows(head, pattern.relation)[index]
            origin = Origin.GRAPH if likeness == 1.0 else Origin.NEAREST
            name, source = self.table.heads[head], self.table.sources[row.source]
            tail = KnownTail(self.table.tails[row.tail], self.table.forms[row.form], origin, name, likeness, source)
            hits.append(Hit(name, tail, None, likeness))
        return hits

    # Nearest by words.

    @cached_property
    def _tail_keys(self) -> list[str]:
        return sorted({key for _, key in self._by_tail})

    @cached_property
    def _heads(self) -> _WordIndex:
        return _WordIndex(self.table.keys)

    @cached_property
    def _tails(self) -> _WordIndex:
        return _WordIndex(self._tail_keys)

    def _near(self, event: str, *, backwards: bool) -> list[tuple[int, float]]:
        key = comparison_key(event)
        index = self._tails if backwards else self._heads
        return [(number, cosine) for number, cosine in index.near(key) if index.keys[number] != key]


class _WordIndex:
    """Comparison keys by their words, with the cosine of their word sets weighted by inverse document frequency."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = keys
        words = [_words(key) for key in keys]
        counts = Counter(word for key_words in words for word in key_words)
        self._weight = {word: log(1 + len(keys) / number) for word, number in counts.items()}
        self._unknown = log(1 + len(keys))
        self._length = np.array([self._norm(key_words) for key_words in words])
        self._denied = np.array([bool(_DENIALS & set(key.split())) for key in keys], dtype=bool)
        indices: dict[str, list[int]] = defaultdict(list)
        for number, key_words in enumerate(words):
            for word in key_words:
                indices[word].append(number)
        self._numbers: dict[str, NDArray[np.int64]] = {word: np.array(numbers, np.int64) for word, numbers in indices.items()}

    def near(self, key: str) -> list[tuple[int, float]]:
        """Return the near keys, nearest first; negated keys for a negated key only. A key whose words are all in ``key`` needs a
        lower cosine if it has the same verb."""
        words = _words(key)
        length = self._norm(words)
        if not length:
            return []
        dots = np.zeros(len(self.keys))
        for word in words:
            if word in self._numbers:
                dots[self._numbers[word]] += self._weight[word] ** 2
        dots[self._denied != bool(_DENIALS & set(key.split()))] = 0.0
        numbers = np.flatnonzero(dots)
        cosines = dots[numbers] / (self._length[numbers] * length)
        verb = self._numbers.get(_verb(key), np.empty(0, np.int64))
        within = np.isclose(dots[numbers], self._length[numbers] ** 2) & np.isin(numbers, verb)
        is_near = (cosines >= NEAR) | (within & (cosines >= WITHIN))
        numbers, cosines = numbers[is_near], cosines[is_near].round(9)
        order = np.lexsort((numbers, -cosines))
        return list(zip(numbers[order].tolist(), cosines[order].tolist(), strict=True))

    def cosine(self, first_key: str, second_key: str) -> float:
        """Return the cosine of two keys, whether they are known or not; 0 where one has no word."""
        first, second = (_words(key) - _words(" ".join(_ROLES)) for key in (first_key, second_key))
        length = self._norm(first) * self._norm(second)
        return self._norm(first & second) ** 2 / length if length else 0.0

    def _norm(self, words: frozenset[str]) -> float:
        return sqrt(sum(self._weight.get(word, self._unknown) ** 2 for word in words))


@lru_cache(maxsize=200_000)
def _words(key: str) -> frozenset[str]:
    """Return the words of a comparison key in base form, without persons, times and stop words."""
    return frozenset(_base(word) for word in _WORD.findall(key) if word not in _EMPTY)


def _verb(key: str) -> str:
    """Return the first word of a comparison key that carries a meaning, in base form; a key begins with its verb."""
    return next((_base(word) for word in _WORD.findall(key) if word not in _EMPTY | _DENIALS), "")


@lru_cache(maxsize=50_000)
def _base(word: str) -> str:
    """Return a form that the inflections of a word share; it need not be a word: ``feeds`` and ``feed`` give ``fee``."""
    base = word.lower()
    while forms := lemmas(base):
        base = forms[0]
    return base


# Which relations of the graph answer which question, and in which direction.
#
# `xEffect` from a cause to its effect answers "What is the cause?" in the reverse direction: heads whose effect is the target's
# event. `HinderedBy` answers "What is the prerequisite?" negated: the hindrance is absent. Relations have
# the names of the table of events (ACCENT's `event_table`), in which ConceptNet's
# `HasPrerequisite`, `MotivatedByGoal` and `HasSubevent` are `xNeed`, `xIntent` and `HasSubEvent`, and `isBefore` is
# also `isAfter` of the inverse; answers show the edge as the graph has it.


class RelationPattern(NamedTuple):
    """A relation that answers a question."""

    relation: str  # its name
    backwards: bool = False  # it is read from its tail to its head
    negated: bool = False  # the answer is that the tail is not so
    concepts: bool = False  # it joins concepts of ConceptNet, not events


ANSWER_PATTERNS: Mapping[Question, tuple[RelationPattern, ...]] = MappingProxyType(
    {
        Question.CAUSE: (
            RelationPattern("xReason"), RelationPattern("Causes", backwards=True), RelationPattern("xEffect", backwards=True),
            RelationPattern("isAfter"), RelationPattern("Causes", backwards=True, concepts=True),
        ),
        Question.SUBSEQUENT: (
            RelationPattern("xEffect"), RelationPattern("oEffect"), RelationPattern("xWant"), RelationPattern("oWant"),
            RelationPattern("isBefore"), RelationPattern("isAfter", backwards=True), RelationPattern("HasSubEvent"),
        ),
        Question.PREREQUISITE: (RelationPattern("xNeed"), RelationPattern("HinderedBy", negated=True)),
        Question.MOTIVATION: (RelationPattern("xIntent"), RelationPattern("Desires", concepts=True)),
        Question.REACTION: (RelationPattern("oReact"), RelationPattern("xReact")),
    }
)  # fmt: skip
"""The patterns whose answers fit each question, the most direct ones first."""

OPPOSING_PATTERNS: Mapping[Question, tuple[RelationPattern, ...]] = MappingProxyType(
    {
        Question.CAUSE: (RelationPattern("HinderedBy"), RelationPattern("NotCauses", backwards=True, concepts=True)),
        Question.SUBSEQUENT: (RelationPattern("HinderedBy"), RelationPattern("NotDesires", concepts=True)),
        Question.PREREQUISITE: (RelationPattern("HinderedBy"),),
        Question.MOTIVATION: (RelationPattern("HinderedBy"), RelationPattern("NotDesires", concepts=True)),
        Question.REACTION: (),
    }
)  # fmt: skip
"""The patterns that contradict an answer: what the graph says keeps the event from happening, or is not wanted."""
