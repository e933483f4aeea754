"""The metric ``association``: do the words of the last turn call for those of the response?

Each term of the response that the graph of associations knows is worth the weight of the strongest edge that leads to it from a
term of the last turn, 0 when none does. The value is the mean of these: 0 or more, in nats, in practice below 4; higher is
better. The evidence is the edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...graph.model import Assertion
from ...graph.model import Path as Edge
from ...graph.names import concept_uri
from ..linking import Mention
from ..score import CheckedItem, Piece
from .checkpoint import Checkpoint, open_checkpoint
from .graph import RELATION, AssociationGraph, Ids
from .parts import Measure, PartMetric, Turn, said
from .terms import Term, terms_of

UNKNOWN = "no term of the response is known"


class Association:
    """The part, over one graph of associations."""

    name = "association"
    version = 1

    def __init__(self, graph: AssociationGraph, digest: str) -> None:
        """Measure by ``graph``, which ``digest`` stands for in signatures."""
        self.graph = graph
        self.digest = digest

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """The graph of associations."""
        return (("associations", self.digest),)

    def measure(self, items: Sequence[CheckedItem], explain: bool) -> list[Measure]:
        """Measure each response against the last turn that says something."""
        return [self._one(said(item)[-1], item.response, explain) for item in items]

    def _one(self, turn: Turn, response: str, explain: bool) -> Measure:
        asked, numbers = self._known(response)
        wanted, sources = self._known(turn.text)
        if not asked:
            return Measure(0.0, note=UNKNOWN)
        if not wanted:
            return Measure(0.0)
        weights = self.graph.between(sources, numbers)
        callers = weights.argmax(axis=0).tolist()
        best = weights.max(axis=0).astype(float)
        shares = best / len(asked)
        if not explain:
            return Measure(float(shares.sum()))
        pieces = [
            _piece(turn, wanted[caller], response, term, weight, share)
            for caller, term, weight, share in zip(callers, asked, best.tolist(), shares.tolist(), strict=True)
            if weight
        ]
        return Measure(float(shares.sum()), tuple(sorted(pieces, key=lambda piece: -piece.share)))

    def _known(self, text: str) -> tuple[list[Term], Ids]:
        """The terms of a text that the graph knows, and their numbers."""
        terms = terms_of(text)
        numbers = self.graph.ids([term.text for term in terms])
        return [term for term, number in zip(terms, numbers.tolist(), strict=True) if number >= 0], numbers[numbers >= 0]


def _piece(turn: Turn, caller: Term, response: str, called: Term, weight: float, share: float) -> Piece:
    """The evidence that an edge is, as every metric gives an edge of a graph."""
    here, there = _mention(turn.text, caller), _mention(response, called)
    edge = Edge((here.concept, there.concept), (Assertion(here.concept, RELATION, there.concept, weight, "tacit"),))
    return Piece("term", weight, share, there, turn.place, here, 1, edge, asserted=False)


def _mention(text: str, term: Term) -> Mention:
    return Mention(term.start, term.end, text[term.start : term.end], concept_uri(term.text), term.text, "")


def make(graph: Any = None, *, checkpoint: Checkpoint | str | Path | None = None) -> PartMetric:  # noqa: ARG001
    """Return the metric.

    Args:
        checkpoint: a folder that ``tacit train coherence`` wrote; by default the one that ships with tacit.

    Raises:
        ModelError: the checkpoint cannot be opened.
    """
    opened = open_checkpoint(checkpoint)
    return PartMetric(Association(opened.associations, opened.associations_digest))
