"""Keywords and dialogue graph of GRADE: keywords of the context and of the response, joined by edges weighted by hops.

Huang et al. (EMNLP 2020, section 3.2): every keyword is a node of its own, so a concept that both sides mention is two nodes;
edges connect only the two sides and have the weight 1 / #hops. The released code uses 1 / (#hops + 1), and 1/20 when it finds
no path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import InputError
from ....graph.protocol import MAX_HOPS, KnowledgeGraph
from ...lru_cache import LruCache
from ...text.idf import IdfTable
from ...text.linking import Linker, Mention
from ...text.turns import count_words

Floats = NDArray[np.float32]
Hops = NDArray[np.int8]

PROFILES = ("paper", "released")
UNREACHABLE = 1 / 20  # weight without a path, in the released code


def edge_weights(profile: str) -> Floats:
    """Return the weight of an edge at index ``hops + 1``, shape ``(MAX_HOPS + 2,)``; index 0 is for pairs without a path.

    ``paper``: 1 / hops, and 0 (no edge) without a path; a concept that both sides mention (0 hops) has the weight 1.
    ``released``: 1 / (hops + 1), and 1/20 without a path.
    """
    hops = np.arange(MAX_HOPS + 1)
    if profile == "paper":
        return np.concatenate([[0.0], 1 / np.maximum(hops, 1)]).astype(np.float32)
    if profile == "released":
        return np.concatenate([[UNREACHABLE], 1 / (hops + 1)]).astype(np.float32)
    raise InputError(f"GRADE has no profile {profile!r}; choose from {', '.join(PROFILES)}")


class DialogueGraph(NamedTuple):
    """One dialogue's keywords as concepts."""

    context: tuple[str, ...]  # context, response: concept URIs, distinct within a side
    response: tuple[str, ...]
    hops: Hops  # int8, shape `(len(context), len(response))`; -1 where no path is short enough

    @property
    def concepts(self) -> tuple[str, ...]:
        """The nodes, those of the context first."""
        return (*self.context, *self.response)


def build(graph: KnowledgeGraph, context: Sequence[str], response: Sequence[str]) -> DialogueGraph:
    """Return the dialogue graph of two sets of concepts, with distances up to 6."""
    hops = graph.hop_distances(context, response) if context and response else np.zeros((len(context), len(response)), np.int8)
    return DialogueGraph(tuple(context), tuple(response), hops)


class GraphBatch(NamedTuple):
    """The dialogue graphs of one batch, padded to the largest, n nodes."""

    concepts: tuple[str, ...]  # the distinct concepts of all graphs, u in number
    nodes: NDArray[np.int64]  # int64, shape (batch, n): the index in `concepts` of each node; 0 for padding
    mask: NDArray[np.bool_]  # bool, shape (batch, n): false for padding
    adjacency: Floats  # float32, shape (batch, n, n): A, symmetric, zero on the diagonal and for padding


def batch(graphs: Sequence[DialogueGraph], weights: Floats) -> GraphBatch:
    """Combine dialogue graphs into a batch; ``weights`` as :func:`edge_weights` gives them."""
    sizes = [len(graph.context) + len(graph.response) for graph in graphs]
    largest = max(max(sizes, default=0), 1)
    number_of: dict[str, int] = {}
    nodes = np.zeros((len(graphs), largest), np.int64)
    adjacency = np.zeros((len(graphs), largest, largest), np.float32)
    for row, graph in enumerate(graphs):
        for column, concept in enumerate(graph.concepts):
            nodes[row, column] = number_of.setdefault(concept, len(number_of))
        split, end = len(graph.context), sizes[row]
        if graph.hops.size:
            between = weights[graph.hops.astype(np.int64) + 1]
            adjacency[row, :split, split:end] = between
            adjacency[row, split:end, :split] = between.T
    mask = np.arange(largest) < np.array(sizes, np.int64).reshape(-1, 1)
    return GraphBatch(tuple(number_of), nodes, mask, adjacency)


# Keywords: the words of an utterance with the highest scores that are concepts of the graph.
#
# Huang et al. (EMNLP 2020, section 3.2) follow Tang et al. (ACL 2019): a word's score is part-of-speech weight x count / length
# x idf. The released code counts idf on the corpus that it scores; here the table is counted once, on the training dialogues,
# and is part of the checkpoint, so that a score does not depend on the other items.

POS_WEIGHTS: Mapping[str, float] = {"VERB": 1.0, "NOUN": 2.0, "PROPN": 2.0, "ADJ": 0.5}
THRESHOLD = 0.15
MOST = 16


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword of a dialogue."""

    mention: Mention  # its first mention in its utterance, with its concept
    score: float  # part-of-speech weight x count / length x idf, above the threshold
    turn: int | None = None  # index of its turn in the history, from 0; None in the response


class KeywordFinder:
    """Finds keywords with one idf table; keywords of recent utterances are cached."""

    def __init__(
        self, linker: Linker, idf: IdfTable, *, threshold: float = THRESHOLD, limit: int = MOST, cache_size: int = 50_000
    ) -> None:
        """Find keywords among the mentions of ``linker``; ``limit``: how many of one dialogue."""
        self.linker = linker
        self.idf = idf
        self.threshold = threshold
        self.limit = limit
        self._known: LruCache[str, tuple[Keyword, ...]] = LruCache(cache_size)

    def of_texts(self, texts: Sequence[str]) -> list[tuple[Keyword, ...]]:
        """Return the keywords of each utterance, at most ``limit``, one for each concept, strongest first, then by position."""
        keywords = self._known.get_all(texts, lambda fresh: map(self.strongest, fresh, self.linker.link_batch(fresh)))
        return [keywords[text] for text in texts]

    def of_dialogue(self, history: Sequence[Sequence[Keyword]], response: Sequence[Keyword], first: int = 0) -> Keywords:
        """Return the keywords of a dialogue, at most ``limit``, from those of its utterances; ``first``: index of its first turn.

        For a concept in several turns the strongest keyword counts, of equals the last. When there are too many keywords, each
        side keeps at least half of the places if it needs them.
        """
        best: dict[str, Keyword] = {}
        for turn in range(len(history) - 1, -1, -1):
            for keyword in history[turn]:
                known = best.get(keyword.mention.concept)
                if known is None or keyword.score > known.score:
                    best[keyword.mention.concept] = Keyword(keyword.mention, keyword.score, first + turn)
        context = sorted(best.values(), key=lambda keyword: (-keyword.score, keyword.mention.concept))
        half = self.limit - self.limit // 2
        for_response = max(half, self.limit - len(context))
        shortened = tuple(response[:for_response])
        return Keywords(tuple(context[: self.limit - len(shortened)]), shortened)

    def strongest(self, text: str, mentions: Sequence[Mention]) -> tuple[Keyword, ...]:
        """Return the keywords among an utterance's mentions."""
        length = count_words(text)
        first: dict[str, Mention] = {}
        weights: dict[str, float] = {}
        for mention in mentions:
            first.setdefault(mention.concept, mention)
            weight = POS_WEIGHTS.get(mention.pos, 0.0) * self.idf.idf(mention.lemma)
            weights[mention.concept] = weights.get(mention.concept, 0.0) + weight
        scored = [Keyword(first[concept], weight / max(length, 1)) for concept, weight in weights.items()]
        strong = [keyword for keyword in scored if keyword.score > self.threshold]
        return tuple(sorted(strong, key=lambda keyword: (-keyword.score, keyword.mention.start))[: self.limit])


@dataclass(frozen=True, slots=True)
class Keywords:
    """The keywords of a dialogue's context and of its response, strongest first."""

    context: tuple[Keyword, ...]
    response: tuple[Keyword, ...]
