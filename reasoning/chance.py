"""How near chance alone would bring a concept: the background that ``grounding`` is corrected with.

Two hops of a commonsense graph join almost anything, so that a distance says little until one knows how often concepts of other
conversations are as near. The background is a sample of the concepts that people talk about: the words of a table of talk that
the graph knows, drawn in proportion to how many turns they stand in. For a concept ``w`` and a distance ``d`` the *reach*
``F(w, d)`` is the part of the background within ``d`` hops of ``w``. A history of ``n`` concepts drawn from the background comes
as near as ``d`` with the probability ``1 - (1 - F(w, d)) ** n``.

The sample is systematic, not random: words in URI order, weighted by their counts, one taken at the middle of each of 512 equal
parts. The same table and graph give the same sample on every engine. The table that ships was counted in Topical-Chat
(Gopalakrishnan et al., Interspeech 2019; CDLA-Sharing 1.0) by ``benchmarks/talk_counts.py``.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from math import log
from pathlib import Path

import numpy as np

from ..graph.errors import ModelError
from ..graph.protocol import KnowledgeGraph
from .cache import LruCache

SHIPPED = Path(__file__).parent / "talk.json"
DRAWS = 512

_AT_ONCE = 1024

Near = tuple[str, int]  # a concept's URI, and a number of hops


class Talk:
    """In how many turns of talk each word stands, by lemma."""

    def __init__(self, turns: int, counts: Mapping[str, int]) -> None:
        """Keep the number of turns, >= 1, and for each lemma in how many of them it stands."""
        self.turns = turns
        self.counts = dict(sorted(counts.items()))

    def idf(self, lemma: str) -> float:
        """Inverse document frequency ln((turns + 1) / (turns with it + 1)), >= 0; of several words that of the rarest.

        A word that is not in the table counts as one that stands in no turn.
        """
        rarest = min((self.counts.get(word, 0) for word in lemma.split()), default=0)
        return log((self.turns + 1) / (rarest + 1))

    @cached_property
    def digest(self) -> str:
        """12 hex digits that stand for the counts."""
        return hashlib.sha256(json.dumps([self.turns, self.counts]).encode()).hexdigest()[:12]

    def draw(self, graph: KnowledgeGraph, language: str = "en", draws: int = DRAWS) -> Counter[str]:
        """Return how often each concept of ``graph`` was drawn, ``draws`` in all; empty when the graph knows no word."""
        words = [word for word, count in self.counts.items() if count > 0]
        weights: Counter[str] = Counter()
        for word, uri in zip(words, graph.resolve(words, language) if words else [], strict=True):
            if uri is not None:
                weights[uri] += self.counts[word]
        if not weights:
            return Counter()
        uris = sorted(weights)
        ends = np.cumsum([weights[uri] for uri in uris])
        middles = (2 * np.arange(draws, dtype=np.int64) + 1) * int(ends[-1]) // (2 * draws)
        return Counter(uris[place] for place in np.searchsorted(ends, middles, side="right").tolist())


@lru_cache(maxsize=1)
def shipped_talk() -> Talk:
    """Return the table that ships with tacit.

    Raises:
        ModelError: its file is missing or damaged.
    """
    try:
        table = json.loads(SHIPPED.read_bytes())
        return Talk(int(table["turns"]), table["counts"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"the table of talk at {str(SHIPPED)!r} is missing or damaged; install tacit again") from error


class Background:
    """The reach of concepts over one graph; remembers what it worked out last. Safe to share between threads."""

    def __init__(self, graph: KnowledgeGraph, talk: Talk, *, language: str = "en", cache_size: int = 200_000) -> None:
        """Draw the background from ``talk``.

        Args:
            language: of the concepts.
            cache_size: pairs of a concept and a number of hops whose reach is remembered.
        """
        self.graph = graph
        self.talk = talk
        self.language = language
        self._reach: LruCache[Near, float] = LruCache(cache_size)

    @cached_property
    def drawn(self) -> Counter[str]:
        """How often each concept was drawn; empty when the graph knows no word of the table."""
        return self.talk.draw(self.graph, self.language)

    def reach(self, asked: Iterable[Near]) -> dict[Near, float]:
        """Return for each ``(concept, hops)`` the part of the background within that many hops of it, 0..1.

        Those that are new are looked up together. A background without concepts is within reach of nothing.
        """
        known: dict[Near, float] = {}
        fresh: list[Near] = []
        for near in dict.fromkeys(asked):
            found = self._reach.get(near)
            if found is None:
                fresh.append(near)
            else:
                known[near] = found
        for hops, group in groupby(sorted(fresh, key=lambda near: (near[1], near[0])), key=lambda near: near[1]):
            concepts = [concept for concept, _ in group]
            for start in range(0, len(concepts), _AT_ONCE):
                some = concepts[start : start + _AT_ONCE]
                for concept, part in zip(some, self._parts(some, hops), strict=True):
                    known[concept, hops] = part
                    self._reach.put((concept, hops), part)
        return known

    def _parts(self, concepts: Sequence[str], hops: int) -> list[float]:
        """The reach of each concept."""
        drawn = self.drawn
        if not drawn:
            return [0.0] * len(concepts)
        if hops == 0:
            return [drawn[concept] / drawn.total() for concept in concepts]
        near = self.graph.hop_distances(concepts, list(drawn), hops) >= 0
        return [int(count) / drawn.total() for count in near @ np.array(list(drawn.values()))]


def farther(reach: float, concepts: int) -> float:
    """Return how probable it is that none of ``concepts`` drawn at random is within ``reach``, 0..1."""
    return float((1.0 - reach) ** concepts)
