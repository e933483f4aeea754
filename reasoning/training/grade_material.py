"""What GRADE learns from, made ready once: pairs with false responses, their dialogue graphs, and batches of both as tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ...graph.protocol import KnowledgeGraph
from ..grade.dialogue_graph import DialogueGraph, batch, build, edge_weights
from ..grade.keywords import IdfTable, Keyword, KeywordFinder
from ..grade.model import GradeConfig, Graphs
from ..grade.neighbourhood import Neighbourhood
from ..grade.tensors import frozen_texts, graph_tensors, tuned_texts
from ..linking import Linker
from .grade_pairs import Pairs

Rows = NDArray[np.int64]
Told = Callable[[str, int, int], object]


@dataclass
class Material:
    """Pairs with their candidates: the true response first, then the false ones.

    Attributes:
        candidates: rows of :attr:`Pairs.texts`, shape (pairs, 1 + false ones).
        vectors: of the texts by :attr:`text_rows`, for a frozen encoder; tokenizer: for a tuned one, of ``length`` tokens.
        blind: show no context, to see how far responses give themselves away.
        keywords: of each text. graphs: by pair and candidate, worked out when first asked for.
    """

    config: GradeConfig
    pairs: Pairs
    candidates: Rows
    graph: KnowledgeGraph
    around: Neighbourhood
    finder: KeywordFinder
    keywords: list[tuple[Keyword, ...]]
    vectors: Any = None
    text_rows: Rows = field(default_factory=lambda: np.zeros(0, np.int64))
    tokenizer: Any = None
    length: int = 512
    blind: bool = False
    graphs: dict[tuple[int, int], DialogueGraph] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._weights = edge_weights(self.config.profile)

    def texts(self, places: Sequence[int]) -> tuple[Tensor, ...]:
        """Return what the utterance branch reads of all candidates of some pairs, pair by pair."""
        width = self.candidates.shape[1]
        rows = self.candidates[places].reshape(-1)
        context = np.repeat(self.pairs.context[places], width, axis=0)
        if self.blind:
            context = np.full_like(context, -1)
        if self.tokenizer is not None:
            said = self.pairs.texts
            turns = [[said[row] for row in before[::-1] if row >= 0] for before in context]
            return tuned_texts(self.tokenizer, turns, [said[row] for row in rows], self.length)
        used, inverse = np.unique(np.concatenate([context.reshape(-1), rows]), return_inverse=True)
        vectors = self.vectors[self.text_rows[used]]  # the row of -1 is read too and never looked at
        inverse = np.where(np.concatenate([context.reshape(-1), rows]) >= 0, inverse, -1)
        at = inverse[: context.size].reshape(context.shape)
        earlier = [[row for row in before[1:].tolist() if row >= 0] for before in at]
        return frozen_texts(vectors, at[:, 0].tolist(), earlier, inverse[context.size :].tolist())

    def tensors(self, places: Sequence[int]) -> Graphs | None:
        """Return the dialogue graphs of all candidates of some pairs, pair by pair; None without a graph branch."""
        if not self.config.graph:
            return None
        wanted = [self._graph_of(place, column) for place in places for column in range(self.candidates.shape[1])]
        return graph_tensors(wanted, self._weights, self.around.rows)

    def prepare(self, places: Sequence[int], told: Told) -> None:
        """Work out every dialogue graph and every concept's row, so that training does not wait for them."""
        if not self.config.graph:
            return
        for start in range(0, len(places), 256):
            block = places[start : start + 256]
            wanted = [self._graph_of(place, column) for place in block for column in range(self.candidates.shape[1])]
            self.around.rows(batch(wanted, self._weights).concepts)
            told("dialogue graphs", min(start + 256, len(places)), len(places))

    def _graph_of(self, place: int, column: int) -> DialogueGraph:
        key = (place, column)
        found = None if self.blind else self.graphs.get(key)
        if found is None:
            turns = [] if self.blind else [self.keywords[row] for row in self.pairs.context[place][::-1] if row >= 0]
            both = self.finder.of_dialogue(turns, self.keywords[self.candidates[place, column]])
            sides = ([one.mention.concept for one in side] for side in (both.context, both.response))
            found = build(self.graph, *sides)
            if not self.blind:
                self.graphs[key] = found
        return found


def find_keywords(
    texts: Sequence[str], linker: Linker, counted: Sequence[str], config: GradeConfig, told: Told
) -> tuple[KeywordFinder, list[tuple[Keyword, ...]]]:
    """Count the idf table on ``counted``, which are among ``texts``, and return a finder under it with each text's keywords."""
    mentions: dict[str, Any] = {}
    for start in range(0, len(texts), 2000):
        block = texts[start : start + 2000]
        mentions.update(zip(block, linker.link_batch(block), strict=True))
        told("keywords", min(start + 2000, len(texts)), len(texts))
    idf = IdfTable.count(mentions[text] for text in counted)
    finder = KeywordFinder(linker, idf, threshold=config.threshold, most=config.most, cache_size=0)
    return finder, [finder.strongest(text, mentions[text]) for text in texts]
