"""The symbolic features of the commonsense regressor: triples of the graph between a history and a response.

After Zhou et al., "Commonsense-Focused Dialogues for Response Generation" (SIGDIAL 2021), sections 3.1 and 4.3. Concepts are
single words: the nouns (proper ones too), verbs and adjectives that are no stop words, as written or as their lemma, where the
graph knows them. All turns of the history together are one set of concepts, the response is the other; how often a concept is
said does not matter.

What is counted, for one hop and for two, whatever the direction of the assertions:

``pairs``
    pairs (history concept, response concept) that at least one chain of exactly that many assertions joins, as Ghazarian et al.
    count for their baseline (ACCENT, ACL 2023), who follow assertions from head to tail only and count both ways.
``triples``
    different triples (head, relation, tail), for two hops different pairs of triples that share their middle concept; assertions
    that differ in provenance alone count once, and so does a triple found from both of its ends.

The ends of a chain differ: a concept that both sides mention is no triple with itself, though it may be joined to others.
A pair at one hop is counted at two hops as well where a chain of two joins it. Without concepts on either side both counts are 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...graph.counting import count_triples_many, counted_chains
from ...graph.errors import InputError
from ...graph.item import Item
from ...graph.protocol import COUNTS, Count, KnowledgeGraph
from ..cache import LruCache
from ..grounding import first_mentions, latest_mentions
from ..language import Analyser
from ..linking import Linker
from ..score import Piece

POS = ("ADJ", "NOUN", "PROPN", "VERB")

_Sides = tuple[tuple[str, ...], tuple[str, ...]]


def concept_linker(graph: KnowledgeGraph, analyser: Analyser, cache_size: int = 20_000) -> Linker:
    """Return the linker of the paper's concepts: single words that are nouns, verbs or adjectives and no stop words."""
    return Linker(graph, analyser, pos=POS, max_words=1, cache_size=cache_size)


class TripleFeatures:
    """Counts the triples between histories and responses; remembers the utterances and the pairs of sets that it saw last."""

    def __init__(self, graph: KnowledgeGraph, analyser: Analyser, *, count: Count = "pairs", cache_size: int = 20_000) -> None:
        """Count in ``graph`` between concepts that ``analyser`` finds.

        Args:
            count: what is counted, ``pairs`` or ``triples``; see the head of this module.
            cache_size: distinct utterances, and distinct pairs of sets, kept in memory.

        Raises:
            InputError: ``count`` is neither.
        """
        if count not in COUNTS:
            raise InputError(f"there is no count {count!r} of triples; choose from {', '.join(COUNTS)}")
        self.graph = graph
        self.count: Count = count
        self.linker = concept_linker(graph, analyser, cache_size)
        self._counts: LruCache[_Sides, tuple[float, float]] = LruCache(cache_size)
        self._digest = graph.manifest().digest

    @property
    def signature_parts(self) -> tuple[tuple[str, str], ...]:
        """What the counts depend on besides the text: the graph's digest, the pipeline, what is counted, how words are linked."""
        return (
            ("graph", self._digest),
            ("pipeline", self.linker.analyser.signature),
            ("count", self.count),
            *sorted(self.linker.options.items()),
        )

    def counts(self, items: Sequence[Item]) -> NDArray[np.float64]:
        """Return the one-hop and the two-hop counts of each item, shape ``(len(items), 2)``; whole numbers, 0 or more.

        All distinct turns are linked together, and each distinct pair of sets is counted once.
        """
        asked = self._sides(items)
        known: dict[_Sides, tuple[float, float]] = {}
        fresh: list[_Sides] = []
        for sides in dict.fromkeys(asked):
            found = self._counts.get(sides)
            if found is None:
                fresh.append(sides)
            else:
                known[sides] = found
        if fresh:
            column = COUNTS.index(self.count)
            one, two = (count_triples_many(self.graph, fresh, hops)[:, column].tolist() for hops in (1, 2))
            for sides, *pair in zip(fresh, one, two, strict=True):
                known[sides] = (float(pair[0]), float(pair[1]))
                self._counts.put(sides, known[sides])
        return np.array([known[sides] for sides in asked], dtype=np.float64).reshape(len(items), 2)

    def _sides(self, items: Sequence[Item]) -> list[_Sides]:
        """Return the concepts of each item's history and of its response, in a fixed order."""
        turns = list(dict.fromkeys(chain.from_iterable((*item.history, item.response) for item in items)))
        linked = zip(turns, self.linker.link_batch(turns), strict=True)
        concepts = {turn: {mention.concept for mention in mentions} for turn, mentions in linked}
        return [
            (_in_order(concept for turn in item.history for concept in concepts[turn]), _in_order(concepts[item.response]))
            for item in items
        ]

    def evidence(self, item: Item, hops: Literal[1, 2], limit: int | None = 10) -> list[Piece]:
        """Return what was counted for ``item``, one piece for each pair (its strongest chain) or triple, strongest first.

        Args:
            hops: 1 or 2.
            limit: how many pieces at most; None gives all, as many as :meth:`counts` says.

        Returns:
            Pieces of the kind ``triple``, each of value 1 and no share yet, with the first mention in the response, the latest
            one in the history, and the path from the history's concept to the response's.
        """
        *history, response = self.linker.link_batch([*item.history, item.response])
        latest = latest_mentions(history)
        first = {mention.concept: mention for mention in first_mentions(response)}
        pieces = []
        for path in counted_chains(self.graph, list(latest), list(first), hops, self.count, limit):
            found = latest[path.nodes[0]]
            pieces.append(Piece("triple", 1.0, 0.0, first[path.nodes[-1]], found.turn, found.mention, path.hops, path))
        return pieces


def _in_order(concepts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(concepts)))
