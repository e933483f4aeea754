"""The symbolic metric ``grounding``: how near the response's concepts are to the history's, in hops of the graph.

Every distinct concept of the response is worth ``1 / (1 + hops)`` to the nearest concept of the history: 1 when the history
mentions it too, 1/2 at one hop, 0 when none is within ``max_hops``. The score is the mean of these, so it lies in 0..1; it is 0
when the response, or the history, mentions no concept. The evidence names the nearest history concept of each (of equally near
ones the one mentioned last) and the strongest shortest path to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path as FilePath
from typing import NamedTuple

from ..graph.answers import check_hops
from ..graph.protocol import MAX_HOPS, KnowledgeGraph
from .language import Analyser, open_analyser
from .linking import Linker, Mention
from .score import BatchScoring, CheckedItem, Evidence, Piece, Score, Signature

VERSION = 1

NO_RESPONSE = "the response mentions no concept of the graph"
NO_HISTORY = "the history mentions no concept of the graph"


class Found(NamedTuple):
    """A concept of the history: the turn that mentions it last, and where."""

    turn: int
    mention: Mention


class Grounding(BatchScoring):
    """The metric, over one graph and one analyser; see :func:`tacit.reasoning.load_metric` for the usual way to make it."""

    name = "grounding"

    def __init__(
        self, graph: KnowledgeGraph, analyser: Analyser, *, max_hops: int = MAX_HOPS, linker: Linker | None = None
    ) -> None:
        """Score against ``graph``; concepts farther than ``max_hops`` (0..6) count as unreached.

        Raises:
            InputError: ``max_hops`` is not in 0..6.
        """
        self.graph = graph
        self.max_hops = check_hops(max_hops, least=0)
        self.linker = linker or Linker(graph, analyser)
        self.signature = Signature(
            self.name,
            (
                ("graph", graph.manifest().digest),
                ("pipeline", self.linker.analyser.signature),
                ("hops", str(max_hops)),
                *sorted(self.linker.options.items()),
            ),
            VERSION,
        )

    def score_checked(self, items: Sequence[CheckedItem], explain: bool) -> list[Score]:
        """Score many responses, linking all their distinct turns together; ``explain`` adds the paths."""
        turns = list(dict.fromkeys(chain.from_iterable((*item.history, item.response) for item in items)))
        mentions = dict(zip(turns, self.linker.link_batch(turns), strict=True))
        return [self._score([mentions[turn] for turn in item.history], mentions[item.response], explain) for item in items]

    def _score(self, history: Sequence[Sequence[Mention]], response: Sequence[Mention], explain: bool) -> Score:
        """Score one response from the mentions in it and in each turn."""
        wanted = first_mentions(response)
        if not wanted:
            return Score(0.0, Evidence(note=NO_RESPONSE), self.signature)
        known = latest_mentions(history)
        if not known:
            pieces = tuple(Piece("concept", 0.0, 0.0, mention) for mention in wanted)
            return Score(0.0, Evidence(pieces, NO_HISTORY), self.signature)
        nearest = self._nearest([mention.concept for mention in wanted], list(known))
        pieces = tuple(
            self._piece(mention, known.get(concept), hops, len(wanted), explain)
            for mention, (concept, hops) in zip(wanted, nearest, strict=True)
        )
        return Score(sum(piece.value for piece in pieces) / len(pieces), Evidence(pieces), self.signature)

    def _nearest(self, wanted: Sequence[str], known: Sequence[str]) -> list[tuple[str, int]]:
        """Return, for each wanted concept, the first of the nearest known ones and its distance (``("", -1)`` when none)."""
        there = set(known)
        asked = [concept for concept in wanted if concept not in there]
        best = {concept: (concept, 0) for concept in wanted if concept in there}
        if asked and self.max_hops:
            hops = self.graph.hop_distances(known, asked, self.max_hops)
            for column, concept in enumerate(asked):
                nearest = min(((int(hop), row) for row, hop in enumerate(hops[:, column]) if hop >= 0), default=None)
                if nearest is not None:
                    best[concept] = (known[nearest[1]], nearest[0])
        return [best.get(concept, ("", -1)) for concept in wanted]

    def _piece(self, mention: Mention, found: Found | None, hops: int, parts: int, explain: bool) -> Piece:
        """Return the evidence for one concept of the response, one of ``parts``."""
        if found is None:
            return Piece("concept", 0.0, 0.0, mention)
        value = 1 / (1 + hops)
        path = None
        if explain:
            path = next(iter(self.graph.paths(found.mention.concept, mention.concept, max_hops=max(hops, 1), limit=1)), None)
        return Piece("concept", value, value / parts, mention, found.turn, found.mention, hops, path)


def first_mentions(mentions: Iterable[Mention]) -> list[Mention]:
    """Return the first mention of each concept, in order."""
    first: dict[str, Mention] = {}
    for mention in mentions:
        first.setdefault(mention.concept, mention)
    return list(first.values())


def latest_mentions(history: Sequence[Sequence[Mention]]) -> dict[str, Found]:
    """Return where each concept of the history was mentioned last, the latest turn first, in a turn from left to right."""
    latest: dict[str, Found] = {}
    for turn in range(len(history) - 1, -1, -1):
        for mention in history[turn]:
            latest.setdefault(mention.concept, Found(turn, mention))
    return latest


def make(
    graph: KnowledgeGraph,
    *,
    pipeline: Analyser | str | FilePath | None = None,
    max_hops: int = MAX_HOPS,
    language: str = "en",
    content_only: bool = True,
    cache_size: int = 20_000,
) -> Grounding:
    """Return the metric over ``graph``.

    Args:
        pipeline: an analyser, or the name or folder of a spaCy pipeline; the shipped one by default.
        max_hops: concepts farther than this (0..6) count as unreached.
        language: of the concepts.
        content_only: link only runs of words with a content word.
        cache_size: utterances kept in memory.

    Raises:
        InputError: an option makes no sense.
        ModelError: the pipeline cannot be opened.
    """
    analyser = open_analyser(pipeline)
    linker = Linker(graph, analyser, language=language, content_only=content_only, cache_size=cache_size)
    return Grounding(graph, analyser, max_hops=max_hops, linker=linker)
