"""The trained parts of ``coherence``, and metrics of their own: ``association`` of words, and ``selection`` of the response.

``association``: each term of the response that the graph of associations has gets the weight of the strongest edge to it from a
term of the last turn, 0 without one. The value is the mean: 0 or more, in nats, in practice below 4; higher is better. The
evidence is the edges.
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
from .parts import Measure, PartMetric, Turn, spoken_turns

UNKNOWN = "no term of the response is known"
UNKNOWN_TURN = "no term of the turn before the response is known"


class Association:
    """The part over one graph of associations."""

    name = "association"
    version = 2

    def __init__(self, graph: AssociationGraph, digest: str) -> None:
        """Measure by ``graph``, whose digest is part of signatures."""
        self.graph = graph
        self.digest = digest

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """The graph's digest."""
        return (("associations", self.digest),)

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Measure each response against the last non-blank turn."""
        return [self._one(spoken_turns(item)[-1], item.response, explain) for item in items]

    def _one(self, turn: Turn, response: str, explain: bool) -> Measure:
        terms, numbers = self._known(response)
        wanted, callers = self._known(turn.text)
        if not terms:
            return Measure(0.0, note=UNKNOWN)
        if not wanted:
            return Measure(0.0, note=UNKNOWN_TURN)
        edges = self.graph.between(callers, numbers)
        worth = edges.max(axis=0).astype(float)
        shares = worth / len(terms)
        value = float(shares.sum())
        if not explain:
            return Measure(value)
        strongest = edges.argmax(axis=0)
        pieces = [
            _piece(turn, wanted[caller], response, term, weight, share)
            for caller, term, weight, share in zip(strongest.tolist(), terms, worth.tolist(), shares.tolist(), strict=True)
            if weight
        ]  # fmt: skip
        return Measure(value, tuple(sorted(pieces, key=lambda piece: -abs(piece.share))))

    def _known(self, text: str) -> tuple[list[Term], Ids]:
        terms = terms_of(text)
        numbers = self.graph.ids([term.text for term in terms])
        return [term for term, number in zip(terms, numbers.tolist(), strict=True) if number >= 0], numbers[numbers >= 0]


def _piece(turn: Turn, caller: Term, response: str, called: Term, weight: float, share: float) -> Piece:
    """Return the evidence of a term: its strongest edge."""
    here, there = _mention(turn.text, caller), _mention(response, called)
    edge = Edge((here.concept, there.concept), (Assertion(here.concept, RELATION, there.concept, weight, "tacit"),))
    return Piece("term", weight, share, there, turn.place, here, 1, edge, asserted=False)


def _mention(text: str, term: Term) -> Mention:
    return Mention(term.start, term.end, text[term.start : term.end], concept_uri(term.text), term.text, "")


def make_association(graph: Any = None, *, checkpoint: Checkpoint | str | Path | None = None) -> PartMetric:  # noqa: ARG001
    """Return the metric.

    Args:
        checkpoint: a folder that ``tacit train coherence`` wrote; by default the one shipped with tacit.
    """
    opened = open_checkpoint(checkpoint)
    return PartMetric(Association(opened.associations, opened.associations_digest))


# The metric ``selection``: whether the response would be selected among others as the next turn.
#
# A small dual encoder over a frozen sentence encoder, trained to tell the true response from those of other dialogues and from
# the context's own turns (InfoNCE, van den Oord et al., 2018). -1 to 1; higher is better. The evidence is the contributions of
# the last turn, of the one before it, and of the head's bias to the cosine.

_NAMES = ("last turn", "turn before the last", "bias")


class Selection:
    """The part over one encoder and the head that was trained on it."""

    name = "selection"
    version = 2

    def __init__(self, encoder: TextEncoder, head: SelectionHead, digest: str) -> None:
        """Measure by ``head``, whose digest is part of signatures."""
        self.encoder = encoder
        self.head = head
        self.digest = digest

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """The encoder and the head."""
        return (("encoder", self.encoder.signature), ("head", self.digest))

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Measure how well each response fits the last two non-blank turns."""
        contexts = [spoken_turns(item)[-TURNS:][::-1] for item in items]
        texts = dict.fromkeys(
            text for item, turns in zip(items, contexts, strict=True) for text in (item.response, *(turn.text for turn in turns))
        )
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
    """Return the contribution of each turn, and of the bias, to the cosine; a missing turn contributes nothing."""
    last, before, bias = (Piece("feature", part, part, name=name) for part, name in zip(summands, _NAMES, strict=True))
    contributions = [replace(piece, turn=turn.place) for piece, turn in zip((last, before), turns, strict=False)]
    return (*contributions, bias)


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
        checkpoint: a folder that ``tacit train coherence`` wrote; by default the one shipped with tacit.
        encoder: the encoder that it was trained with, when it is not where the checkpoint says.
        device: torch's name of the device; by default ``cuda`` where available, else ``cpu``.
        cache_size: texts in the cache, which all metrics with this encoder share.
    """
    opened = open_checkpoint(checkpoint)
    return PartMetric(
        Selection(open_encoder_of(opened, encoder, device=device, cache_size=cache_size), opened.head, opened.head_digest)
    )
