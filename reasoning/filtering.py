"""Dialogue filter: finds dialogues with commonsense, i.e. triples of the graph between successive turns.

After Zhou et al., "Commonsense-Focused Dialogues for Response Generation" (SIGDIAL 2021), section 3.1: a dialogue is kept when
a concept of one turn and a concept of the next are the two ends of at least one triple, in either direction. Concepts are those
of the features of :mod:`tacit.reasoning.metrics.commonsense`: single nouns, verbs or adjectives that are not stop words, as
written or as their lemma. A concept that both turns mention makes no triple by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from ..graph.errors import InputError
from ..graph.item import Item
from ..graph.model import Assertion
from ..graph.names import check_relation
from ..graph.path_search import count_triples_many, counted_chains
from ..graph.protocol import COUNTS, Count, KnowledgeGraph
from .base import Signature
from .text.language import Analyser
from .text.linking import Mention, concept_linker, first_mentions

VERSION = 1


@dataclass(frozen=True, slots=True)
class Match:
    """A triple between two successive turns.

    Attributes:
        turn: index of the earlier turn, from 0; the other is the next.
        assertion: the strongest assertion of the triple.
        earlier, later: the first mentions of its two ends, in the earlier and the later turn.
    """

    turn: int
    assertion: Assertion
    earlier: Mention
    later: Mention


class TripleFilter:
    """Finds the triples between successive turns of dialogues; mentions of recent utterances are cached."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        analyser: Analyser,
        *,
        count: Count = "triples",
        relations: Collection[str] | None = None,
        excluded: Collection[str] = (),
        cache_size: int = 20_000,
    ) -> None:
        """Search ``graph`` for triples between concepts that ``analyser`` finds.

        Args:
            count: ``triples`` gives every triple, ``pairs`` the strongest of each pair of concepts.
            relations: count only these; None for all.
            excluded: relations that do not count.
            cache_size: distinct utterances kept in memory.
        """
        if count not in COUNTS:
            raise InputError(f"unknown count {count!r} of triples; choose from {', '.join(COUNTS)}")
        self.graph = graph
        self.count: Count = count
        self.linker = concept_linker(graph, analyser, cache_size)
        self._only = None if relations is None else frozenset(map(check_relation, relations))
        self._excluded = frozenset(map(check_relation, excluded))
        self.signature = Signature(
            "filter",
            (
                ("graph", graph.manifest().digest),
                ("pipeline", analyser.signature),
                ("count", count),
                *((("relations", "+".join(sorted(self._only))),) if self._only is not None else ()),
                *((("excluded", "+".join(sorted(self._excluded))),) if self._excluded else ()),
                *sorted(self.linker.options.items()),
            ),
            VERSION,
        )

    def matches(self, dialogues: Sequence[Sequence[str]]) -> list[tuple[Match, ...]]:
        """Return the triples of each dialogue, by turn and then strongest first; a dialogue without any is not kept."""
        checked = [check_turns(turns) for turns in dialogues]
        turns = list(dict.fromkeys(chain.from_iterable(checked)))
        mentions = dict(zip(turns, self.linker.link_batch(turns), strict=True))
        pairs = list(dict.fromkeys(pair for turns in checked for pair in pairwise(turns)))
        concepts = {
            turn: [mention.concept for mention in first_mentions(turn_mentions)] for turn, turn_mentions in mentions.items()
        }
        counts = count_triples_many(self.graph, [(concepts[earlier], concepts[later]) for earlier, later in pairs], 1)
        joined = {
            pair: tuple(self._between(mentions[pair[0]], mentions[pair[1]]))
            for pair, number in zip(pairs, counts[:, 0].tolist(), strict=True)
            if number
        }
        return [
            tuple(Match(turn, *triple) for turn, pair in enumerate(pairwise(turns)) for triple in joined.get(pair, ()))
            for turns in checked
        ]

    def _between(
        self, first_turn: Sequence[Mention], second_turn: Sequence[Mention]
    ) -> Iterator[tuple[Assertion, Mention, Mention]]:
        """Yield the triples between two turns that count, strongest first, with the mentions of their two ends."""
        earlier, later = (
            {mention.concept: mention for mention in first_mentions(mentions)} for mentions in (first_turn, second_turn)
        )
        seen: set[tuple[str, str]] = set()
        for path in counted_chains(self.graph, list(earlier), list(later), 1, "triples"):
            (assertion,), ends = path.assertions, (path.nodes[0], path.nodes[-1])
            if not self._counts(assertion.relation) or (self.count == "pairs" and ends in seen):
                continue
            seen.add(ends)
            yield assertion, earlier[ends[0]], later[ends[1]]

    def _counts(self, relation: str) -> bool:
        return (self._only is None or relation in self._only) and relation not in self._excluded


def check_turns(turns: Any) -> tuple[str, ...]:
    """Return the turns of a dialogue as a tuple of valid texts."""
    return Item(turns, "").history


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95% Wilson score interval of a proportion; for 0 trials (0, 1)."""
    from scipy.stats import binomtest

    if not trials:
        return 0.0, 1.0
    low, high = binomtest(successes, trials).proportion_ci(0.95, "wilson")
    return float(low), float(high)
