"""The metric ``association``: do the words of the last turn call for those of the response?

Each term of the response that the graph of associations knows is worth the weight of the strongest edge that leads to it from a
term of the last turn, 0 when none does. The value is the mean of these: 0 or more, in nats, in practice below 4; higher is
better. Over a graph with counts, a term is worth the mean weight over all terms of the last turn, and rare terms of the response
count for more (by inverse frequency): any number, in practice -1 to 1. The evidence is the edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ....graph.item import Item
from ....graph.model import Assertion
from ....graph.model import Path as Edge
from ....graph.names import concept_uri
from ...base import Piece
from ...models.encoder import CACHE_SIZE, TextEncoder
from ...text.linking import Mention
from .associations import RELATION, AssociationGraph, Ids, Term, terms_of
from .checkpoint import TURNS, Checkpoint, SelectionHead, open_checkpoint, open_encoder_of
from .parts import Measure, PartMetric, Turn, said

UNKNOWN = "no term of the response is known"
UNKNOWN_TURN = "no term of the turn before the response is known"


class Association:
    """The part, over one graph of associations."""

    name = "association"
    version = 2

    def __init__(self, graph: AssociationGraph, digest: str) -> None:
        """Measure by ``graph``, which ``digest`` stands for in signatures."""
        self.graph = graph
        self.digest = digest

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """The graph of associations."""
        return (("associations", self.digest), *((("worth", "average"),) if self.graph.counted else ()))

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Measure each response against the last turn that says something."""
        return [self._one(said(item)[-1], item.response, explain) for item in items]

    def _one(self, turn: Turn, response: str, explain: bool) -> Measure:
        asked, numbers = self._known(response)
        wanted, callers = self._known(turn.text)
        if not asked:
            return Measure(0.0, note=UNKNOWN)
        if not wanted:
            return Measure(0.0, note=UNKNOWN_TURN)
        if self.graph.counted:
            edges, weights, rarity = self.graph.expected(callers, numbers)
            worth = weights.mean(axis=0, dtype=np.float64)
            shares = worth * rarity / max(float(rarity.sum()), 1e-9)
            pull = np.where(worth >= 0, weights, -weights)  # how far each pair draws the term to its side of 0
        else:
            edges = pull = self.graph.between(callers, numbers)
            worth = edges.max(axis=0).astype(float)
            shares = worth / len(asked)
        value = float(shares.sum())
        if not explain:
            return Measure(value)
        strongest = pull.argmax(axis=0)
        pieces = [
            _piece(turn, wanted[caller], response, term, weight, of_term, share)
            for caller, term, weight, of_term, share in zip(
                strongest.tolist(), asked, edges[strongest, np.arange(len(asked))].tolist(), worth.tolist(), shares.tolist(),
                strict=True,
            )
            if of_term
        ]  # fmt: skip
        return Measure(value, tuple(sorted(pieces, key=lambda piece: -abs(piece.share))))

    def _known(self, text: str) -> tuple[list[Term], Ids]:
        """The terms of a text that the graph knows, and their numbers."""
        terms = terms_of(text, marks=self.graph.counted)
        numbers = self.graph.ids([term.text for term in terms])
        return [term for term, number in zip(terms, numbers.tolist(), strict=True) if number >= 0], numbers[numbers >= 0]


def _piece(turn: Turn, caller: Term, response: str, called: Term, weight: float, worth: float, share: float) -> Piece:
    """The evidence that an edge is, as every metric gives an edge of a graph; without one, what the term is worth."""
    here, there = _mention(turn.text, caller), _mention(response, called)
    if not weight:
        return Piece("term", worth, share, there)
    edge = Edge((here.concept, there.concept), (Assertion(here.concept, RELATION, there.concept, weight, "tacit"),))
    return Piece("term", worth, share, there, turn.place, here, 1, edge, asserted=False)


def _mention(text: str, term: Term) -> Mention:
    return Mention(term.start, term.end, text[term.start : term.end], concept_uri(term.text), term.text, "")


def make_association(graph: Any = None, *, checkpoint: Checkpoint | str | Path | None = None) -> PartMetric:  # noqa: ARG001
    """Return the metric.

    Args:
        checkpoint: a folder that ``tacit train coherence`` wrote; by default the one that ships with tacit.

    Raises:
        ModelError: the checkpoint cannot be opened.
    """
    opened = open_checkpoint(checkpoint)
    return PartMetric(Association(opened.associations, opened.associations_digest))


# The metric ``selection``: would this response be picked out of many as the one that follows?
#
# A small dual encoder over a frozen sentence encoder, trained to tell the response that people gave from those of other
# dialogues and from the context's own turns (InfoNCE, van den Oord et al., 2018). -1 to 1; higher is better. The evidence is
# what the last turn, the one before it, and the head's bias give to the cosine.

_NAMES = ("what the last turn calls for", "what the turn before it calls for", "what every context calls for")


class Selection:
    """The part, over one encoder and the head that was trained on it."""

    name = "selection"
    version = 2

    def __init__(self, encoder: TextEncoder, head: SelectionHead, digest: str) -> None:
        """Measure by ``head``, which ``digest`` stands for in signatures."""
        self.encoder = encoder
        self.head = head
        self.digest = digest

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """The encoder and the head."""
        return (("encoder", self.encoder.signature), ("head", self.digest))

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Measure how well each response fits the last two turns that say something."""
        contexts = [said(item)[-TURNS:][::-1] for item in items]
        texts = dict.fromkeys(text for item, turns in zip(items, contexts, strict=True) for text in _texts(item, turns))
        row = {text: number for number, text in enumerate(texts)}
        vectors = np.vstack([self.encoder.pooled(list(texts)), np.full(3 * self.encoder.width, np.nan, dtype=np.float32)])
        last = vectors[[row[turns[0].text] for turns in contexts]]
        before = vectors[[row[turns[1].text] if len(turns) > 1 else -1 for turns in contexts]]
        values, summands = self.head.fits(last, before, vectors[[row[item.response] for item in items]])
        return [
            Measure(value, _pieces(parts, turns) if explain else ())
            for value, parts, turns in zip(values.tolist(), summands.tolist(), contexts, strict=True)
        ]


def _pieces(summands: Sequence[float], turns: Sequence[Turn]) -> tuple[Piece, ...]:
    """What each turn, and the bias, gives to the cosine; a turn that is not there gives nothing."""
    last, before, always = (Piece("feature", part, part, name=name) for part, name in zip(summands, _NAMES, strict=True))
    heard = [replace(piece, turn=turn.place) for piece, turn in zip((last, before), turns, strict=False)]
    return (*heard, always)


def _texts(item: Item, turns: Sequence[Turn]) -> list[str]:
    """The texts that have to be encoded for one response."""
    return [item.response, *(turn.text for turn in turns)]


def make_selection(
    graph: Any = None,  # noqa: ARG001
    *,
    checkpoint: Checkpoint | str | Path | None = None,
    encoder: str | Path | None = None,
    device: str | None = None,
    cache_size: int = CACHE_SIZE,
) -> PartMetric:
    """Return the metric.

    Args:
        checkpoint: a folder that ``tacit train coherence`` wrote; by default the one that ships with tacit.
        encoder: the encoder that it was trained over, when it lies elsewhere than the checkpoint says.
        device: as torch names it; by default ``cuda`` where there is one, else ``cpu``.
        cache_size: texts remembered, for all metrics with this encoder.

    Raises:
        InputError: an option makes no sense.
        ModelError: the checkpoint or the encoder cannot be opened, or they do not belong together.
        MissingExtra: torch or transformers is not installed.
    """
    opened = open_checkpoint(checkpoint)
    return PartMetric(
        Selection(open_encoder_of(opened, encoder, device=device, cache_size=cache_size), opened.head, opened.head_digest)
    )
