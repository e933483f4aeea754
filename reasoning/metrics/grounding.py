"""The symbolic metric ``grounding``: how much nearer the response's concepts are to the history's than expected by chance.

For every distinct concept ``w`` of the response, let ``d`` be the hops to the nearest of the history's ``n`` distinct concepts.
Its value is

    value(w) = (1 - F(w, d)) ** n

where ``F(w, d)`` is the share of a background of everyday talk that is within ``d`` hops of ``w``: this is the probability that
a random history of as many concepts is *not* as near. A concept that the history mentions too has ``d = 0``; one that is
farther than ``max_hops`` from all of them has the value 0. The score is the mean of these values, weighted by the inverse
document frequency of ``w`` in talk:

    score = sum(idf(w) * value(w)) / sum(idf(w))

It lies in 0..1, and higher is better. It is NaN when the response, or the history, mentions no concept, or when the graph has
none of the background's words. The evidence names the nearest history concept of each response concept and, where chance does not
often bring one as near, the most specific shortest path, with the assertions parallel to it. Which paths are shown was chosen
on half of CIDER's dialogues (``benchmarks/REPORT.md``, "Evidence beside CIDER"); it changes no score.
"""

from __future__ import annotations

import itertools
import json
import pathlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from math import fsum, prod
from pathlib import Path as FilePath
from typing import NamedTuple

import numpy as np

from ...graph.arguments import check_hops
from ...graph.errors import ModelError
from ...graph.item import Item
from ...graph.model import Assertion, Path
from ...graph.open import linked_index_of, linking_store
from ...graph.protocol import KnowledgeGraph
from ..base import BatchScoring, Evidence, Piece, Score, Signature, no_score
from ..lru_cache import LruCache
from ..text.idf import IdfTable
from ..text.language import Analyser, is_english, open_analyser
from ..text.linking import Linker, Mention, first_mentions

VERSION = 3
FARTHEST = 3  # hops; almost every concept is within 3 hops of everyday concepts

# A path is shown when at least this share of random histories is farther. The two lower ones, the informative relations and the
# choice between concepts at one hop were chosen on the first half of CIDER's dialogues; "Evidence beside CIDER" in
# benchmarks/REPORT.md has the figures of the other half. They change no score.
SHOWN = 0.75
SHOWN_EDGE = 0.5  # for a path of one assertion
SHOWN_INFORMATIVE = 0.1  # for one assertion of an informative relation
INFORMATIVE = frozenset((
    "UsedFor", "CapableOf", "ReceivesAction", "Causes", "CausesDesire", "Desires", "DesireOf", "MotivatedByGoal",
    "HasPrerequisite", "HasSubevent", "HasFirstSubevent", "HasLastSubevent", "Entails", "ObstructedBy",
))  # fmt: skip
"""Relations of what something does, is for, needs, causes or wants: people join spans by these more often than by others."""
PARALLEL = 3  # further assertions shown between the ends of a path of one hop

NO_RESPONSE = "the response mentions no concept of the graph"
NO_HISTORY = "the history mentions no concept of the graph"
NO_BACKGROUND = "the graph has no word of everyday English talk, so that nearness by chance cannot be computed"

_PATHS = 100  # most shortest paths between two concepts, of which the most specific one is chosen


class HistoryMention(NamedTuple):
    """A concept of the history: the turn that mentions it last, and its mention there."""

    turn: int
    mention: Mention


class _Nearest(NamedTuple):
    """The history's concepts that are nearest to one of the response, the latest mentioned first, and their distance in hops."""

    concepts: tuple[str, ...] = ()
    hops: int = -1


class _Joined(NamedTuple):
    """The assertions between a history concept and a response concept at one hop, the one to show first, and their strength."""

    assertions: list[Assertion]
    strength: float


_Edges = dict[tuple[str, str], _Joined]


class _ItemConcepts(NamedTuple):
    """An item's concepts."""

    response: Sequence[Mention]  # the first mention of each concept of the response
    history: dict[str, HistoryMention]  # the latest mention of each concept of the history
    nearest: Sequence[_Nearest]  # the nearest history concepts of each response concept


class Grounding(BatchScoring):
    """The metric over one graph and one analyser; usually made by :func:`tacit.reasoning.load_metric`."""

    name = "grounding"

    def __init__(
        self,
        graph: KnowledgeGraph,
        analyser: Analyser,
        *,
        max_hops: int = FARTHEST,
        events: bool = False,
        linker: Linker | None = None,
        talk: IdfTable | None = None,
    ) -> None:
        """Score against ``graph``.

        Args:
            max_hops: concepts farther than this (0..6) count as unreached.
            events: measure distances and find paths through events and links too, not only through concepts.
            linker: finds the concepts; by default one with default options.
            talk: frequencies of words in talk; by default the shipped table.

        Raises:
            InputError: ``max_hops`` is not in 0..6.
            GraphError: ``events`` is true and the graph has no links.
            ModelError: the shipped table is damaged.
        """
        self.graph = linked_index_of(graph) if events else graph
        self.max_hops = check_hops(max_hops, minimum=0)
        self.linker = linker or Linker(graph, analyser)
        self.reads_english = self.linker.language == "en" and is_english(self.linker.analyser)
        self.background = Background(self.graph, talk or shipped_talk(), language=self.linker.language)
        self.signature = Signature(
            self.name,
            (
                ("graph", graph.manifest().digest),
                ("pipeline", self.linker.analyser.signature),
                ("talk", self.background.talk.digest),
                ("hops", str(max_hops)),
                *([("links", linking_store(graph).link_manifest().digest)] if events else []),
                *sorted(self.linker.options.items()),
            ),
            VERSION,
        )

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        turns = list(dict.fromkeys(itertools.chain.from_iterable((*item.history, item.response) for item in items)))
        mentions = dict(zip(turns, self.linker.link_batch(turns), strict=True))
        concepts_of_items = [self._concepts([mentions[turn] for turn in item.history], mentions[item.response]) for item in items]
        reach = self.background.reach(
            (mention.concept, nearest.hops)
            for concepts in concepts_of_items
            for mention, nearest in zip(concepts.response, concepts.nearest, strict=True)
            if nearest.concepts
        )
        return [self._score(concepts, reach, explain) for concepts in concepts_of_items]

    def _concepts(self, history: Sequence[Sequence[Mention]], response: Sequence[Mention]) -> _ItemConcepts:
        first, latest = first_mentions(response), latest_mentions(history)
        return _ItemConcepts(first, latest, self._nearest([mention.concept for mention in first], list(latest)))

    def _nearest(self, response: Sequence[str], history: Sequence[str]) -> list[_Nearest]:
        shared = set(history)
        best = {concept: _Nearest((concept,), 0) for concept in response if concept in shared}
        distant = [concept for concept in response if concept not in shared]
        if history and distant and self.max_hops:
            hops = self.graph.hop_distances(history, distant, self.max_hops)
            for concept, column in zip(distant, hops.T.tolist(), strict=True):
                least = min((hop for hop in column if hop >= 0), default=-1)
                if least >= 0:
                    best[concept] = _Nearest(tuple(itertools.compress(history, [hop == least for hop in column])), least)
        return [best.get(concept, _Nearest()) for concept in response]

    def _score(self, concepts: _ItemConcepts, reach: dict[Near, float], explain: bool) -> Score:
        if not concepts.response:
            return no_score(NO_RESPONSE, self.signature)
        if not concepts.history or not self.background.drawn:
            return no_score(NO_BACKGROUND if concepts.history else NO_HISTORY, self.signature)
        weights = [self.background.idf(mention.lemma) for mention in concepts.response]
        total = sum(weights)
        parts = [weight / total for weight in weights] if total else [1 / len(weights)] * len(weights)
        edges = self._edges(concepts) if explain else None
        pieces = tuple(
            self._piece(mention, nearest, concepts.history, reach, part, edges)
            for mention, nearest, part in zip(concepts.response, concepts.nearest, parts, strict=True)
        )
        return Score(sum(piece.share for piece in pieces), Evidence(pieces), self.signature)

    def _edges(self, concepts: _ItemConcepts) -> _Edges:
        """Return what joins the response's concepts to their nearest concepts at one hop, by the pair of concepts.

        Of the assertions of one relation and direction the strongest counts. Informative relations come first, then strong ones.
        The strength of a pair is the sum of their weights, divided by 1 plus the number of background draws within one hop of
        the history's concept.
        """
        pairs = {
            (near, mention.concept)
            for mention, nearest in zip(concepts.response, concepts.nearest, strict=True)
            if nearest.hops == 1
            for near in nearest.concepts
        }
        if not pairs:
            return {}
        strongest_of: dict[tuple[str, str], dict[tuple[str, str], Assertion]] = {}
        starts, targets = ({pair[side] for pair in pairs} for side in (0, 1))
        for path in self.graph.triples_between(sorted(starts), sorted(targets)):
            (assertion,) = path.assertions
            ends = path.nodes[0], path.nodes[-1]
            if ends in pairs:
                strongest = strongest_of.setdefault(ends, {})
                key = assertion.head, assertion.relation
                strongest[key] = min(strongest.get(key, assertion), assertion, key=lambda candidate: candidate.order)
        reach = self.background.reach((start, 1) for start, _ in strongest_of)
        draws = self.background.drawn.total()
        return {
            (start, end): _Joined(
                sorted(strongest.values(), key=lambda edge: (edge.relation not in INFORMATIVE, edge.order)),
                fsum(edge.weight for edge in strongest.values()) / (1 + reach[start, 1] * draws),
            )
            for (start, end), strongest in strongest_of.items()
        }

    def _piece(
        self,
        mention: Mention,
        nearest: _Nearest,
        known: dict[str, HistoryMention],
        reach: dict[Near, float],
        part: float,
        edges: _Edges | None,
    ) -> Piece:
        """Return the evidence for one concept of the response; ``part`` is its weight in the score, and ``edges`` are None
        when no paths are wanted."""
        if not nearest.concepts:
            return Piece("concept", 0.0, 0.0, mention)
        value = probability_none_in_reach(reach[mention.concept, nearest.hops], len(known))
        first = nearest.concepts[0]
        path: Path | None = None
        parallel: list[Path] = []
        if edges is not None and nearest.hops == 1:
            first = max(nearest.concepts, key=lambda concept: edges[concept, mention.concept].strength)  # the first of equals
            assertions = edges[first, mention.concept].assertions
            if value >= (SHOWN_INFORMATIVE if assertions[0].relation in INFORMATIVE else SHOWN_EDGE):
                path, *parallel = (Path((first, mention.concept), (edge,)) for edge in assertions[: 1 + PARALLEL])
        elif edges is not None and nearest.hops and value >= SHOWN:
            path = self._most_specific(nearest, mention.concept)
            first = path.nodes[0]
        earlier = known[first]
        beside = tuple(
            Piece("parallel", edge.strength, 0.0, mention, earlier.turn, earlier.mention, nearest.hops, edge) for edge in parallel
        )
        return Piece("concept", value, value * part, mention, earlier.turn, earlier.mention, nearest.hops, path, rests_on=beside)

    def _most_specific(self, nearest: _Nearest, target: str) -> Path:
        """Return the shortest path from one of the nearest concepts to ``target`` that is least expected by chance.

        A path's strength is the weight of its weakest assertion divided by the product, over all its nodes but ``target``, of 1
        plus the number of background draws within one hop of the node: a path through *person* or *cat* is weak. Ties go to the
        concept mentioned last, then to the graph's order of paths.
        """
        paths: list[Path] = []
        for concept in nearest.concepts:
            paths += self.graph.paths(concept, target, max_hops=nearest.hops, limit=_PATHS)
        reach = self.background.reach((node, 1) for path in paths for node in path.nodes[:-1])
        draws = self.background.drawn.total()

        def strength(path: Path) -> float:
            spread = prod(1 + reach[node, 1] * draws for node in path.nodes[:-1])
            return float(min(assertion.weight for assertion in path.assertions) / spread)

        return max(paths, key=strength)  # the first of equals


def latest_mentions(history: Sequence[Sequence[Mention]]) -> dict[str, HistoryMention]:
    """Return the latest mention of each concept of the history, the latest turn first, from left to right within a turn."""
    latest: dict[str, HistoryMention] = {}
    for turn in range(len(history) - 1, -1, -1):
        for mention in history[turn]:
            latest.setdefault(mention.concept, HistoryMention(turn, mention))
    return latest


def make(
    graph: KnowledgeGraph,
    *,
    pipeline: Analyser | str | FilePath | None = None,
    max_hops: int = FARTHEST,
    events: bool = False,
    language: str = "en",
) -> Grounding:
    """Return the metric over ``graph``.

    Args:
        pipeline: an analyser, or the name or folder of a spaCy pipeline; the shipped one by default.
        max_hops: concepts farther than this (0..6) count as unreached.
        events: measure distances and find paths through events and the links of tacit link too.
        language: language of the concepts.

    Raises:
        GraphError: ``events`` is true and the graph has no links.
    """
    analyser = open_analyser(pipeline)
    linker = Linker(graph, analyser, language=language)
    return Grounding(graph, analyser, max_hops=max_hops, events=events, linker=linker)


# Background: how near a concept is by chance.
#
# Two hops of a commonsense graph connect almost any two concepts, so that a distance means little without the distribution over
# concepts of other conversations. The background is a sample of the concepts of everyday talk: the words of a frequency table
# that the graph has, drawn in proportion to the number of turns that contain them. For a concept ``w`` and a distance ``d`` the
# *reach* ``F(w, d)`` is the share of the background within ``d`` hops of ``w``. A history of ``n`` concepts drawn from the
# background is as near as ``d`` with the probability ``1 - (1 - F(w, d)) ** n``.
#
# The sample is systematic, not random: words in URI order, weighted by their counts, one taken at the middle of each of 512
# equal parts. The same table and graph give the same sample on every engine. The shipped table was counted in Topical-Chat
# (Gopalakrishnan et al., Interspeech 2019; CDLA-Sharing 1.0) by ``benchmarks/talk_counts.py``.

SHIPPED = pathlib.Path(__file__).parent / "talk.json"
DRAWS = 512

_BATCH = 1024  # concepts
_CACHE_SIZE = 200_000

Near = tuple[str, int]  # a concept's URI, and a number of hops


@lru_cache(maxsize=1)
def shipped_talk() -> IdfTable:
    """Return the shipped table: the number of turns of talk that contain each word."""
    try:
        table = json.loads(SHIPPED.read_bytes())
        return IdfTable.from_dict({"utterances": table["turns"], "counts": table["counts"]})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"the word frequencies at {str(SHIPPED)!r} are missing or damaged; install tacit again") from error


def drawn_concepts(talk: IdfTable, graph: KnowledgeGraph, language: str = "en", draws: int = DRAWS) -> Counter[str]:
    """Return how often each concept of ``graph`` was drawn, ``draws`` in all; empty without any word of the table in it."""
    words = [word for word, count in talk.counts.items() if count > 0]
    weights: Counter[str] = Counter()
    for word, uri in zip(words, graph.resolve(words, language) if words else [], strict=True):
        if uri is not None:
            weights[uri] += talk.counts[word]
    if not weights:
        return Counter()
    uris = sorted(weights)
    ends = np.cumsum([weights[uri] for uri in uris])
    middles = (2 * np.arange(draws, dtype=np.int64) + 1) * int(ends[-1]) // (2 * draws)
    return Counter(uris[index] for index in np.searchsorted(ends, middles, side="right").tolist())


class Background:
    """The reach of concepts over one graph, cached. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, talk: IdfTable, *, language: str = "en") -> None:
        """Draw the background from ``talk``; the reach of the last 200,000 pairs of a concept and a distance is cached."""
        self.graph = graph
        self.talk = talk
        self.language = language
        self._reach: LruCache[Near, float] = LruCache(_CACHE_SIZE)

    @cached_property
    def drawn(self) -> Counter[str]:
        """How often each concept was drawn; empty when the graph has no word of the table."""
        return drawn_concepts(self.talk, self.graph, self.language)

    def idf(self, lemma: str) -> float:
        """Return the inverse document frequency of a lemma in talk; of several words the highest."""
        return max((self.talk.idf(word) for word in lemma.split()), default=self.talk.idf(lemma))

    def reach(self, pairs: Iterable[Near]) -> dict[Near, float]:
        """Return for each ``(concept, hops)`` the share of the background within that many hops of it, 0..1; 0 without a
        background."""
        return self._reach.get_all(pairs, self._compute)

    def _compute(self, pairs: Sequence[Near]) -> list[float]:
        reach: dict[Near, float] = {}
        for hops, group in itertools.groupby(sorted(pairs, key=lambda near: (near[1], near[0])), key=lambda near: near[1]):
            concepts = [concept for concept, _ in group]
            for start in range(0, len(concepts), _BATCH):
                block = concepts[start : start + _BATCH]
                reach |= {(concept, hops): part for concept, part in zip(block, self._parts(block, hops), strict=True)}
        return [reach[near] for near in pairs]

    def _parts(self, concepts: Sequence[str], hops: int) -> list[float]:
        drawn = self.drawn
        if not drawn:
            return [0.0] * len(concepts)
        if hops == 0:
            return [drawn[concept] / drawn.total() for concept in concepts]
        near = self.graph.hop_distances(concepts, list(drawn), hops) >= 0
        return [int(count) / drawn.total() for count in near @ np.array(list(drawn.values()))]


def probability_none_in_reach(reach: float, concepts: int) -> float:
    """Return the probability that none of ``concepts`` random concepts is within ``reach``, 0..1."""
    return float((1.0 - reach) ** concepts)
