"""The metric ``coherence``: how likely a response is the true one, rather than a random or a repeated one.

A logistic regression over the parts ``similarity``, ``association``, ``selection`` and ``repetition``, fitted to true, random and
repeated responses of held-out dialogues, not to human ratings. The score is the log-odds, unbounded; higher is better, and 0 is
a probability of one half. The evidence is the bias and, for each part, weight times value, which is divided among the part's
own pieces in proportion; the shares add up to the score.

A score changes by less than 1e-5 with the other items of its batch: the encoder's float32 matrix products round differently for
batches of other sizes, and encoding every text alone would take several times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ....graph.item import Item
from ...base import BatchScoring, Evidence, Piece, Score, Signature, no_score
from .checkpoint import PARTS, Checkpoint, Weights, open_checkpoint, open_encoder_of
from .parts import NO_HISTORY, Association, Measure, Part, Repetition, Selection, Similarity, spoken_turns

VERSION = 2

_BASE = "bias"


class Coherence(BatchScoring):
    """The metric over some parts and their weights; see :func:`make`."""

    name = "coherence"
    reads_english = True

    def __init__(self, parts: Sequence[Part], weights: Weights, digest: str) -> None:
        """Weigh ``parts``, in the order of ``PARTS``; ``digest`` is the checkpoint's."""
        self.parts = tuple(parts)
        self.weights = weights
        self._digest = digest

    def own_signature(self) -> Signature:
        encoder = dict(pair for part in self.parts for pair in part.depends)["encoder"]
        parts = (("checkpoint", self._digest), ("encoder", encoder), ("parts", "+".join(PARTS)))
        return Signature(self.name, parts, VERSION)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        signature = self.signature
        scored = [item for item in items if spoken_turns(item)]
        rows = zip(*(part.measure(scored, explain) for part in self.parts), strict=True)
        scores = []
        for item in items:
            if not spoken_turns(item):
                scores.append(no_score(NO_HISTORY, signature))
                continue
            measures = next(rows)
            shares = [weight * measure.value + 0.0 for weight, measure in zip(self.weights.weights, measures, strict=True)]
            weighed = zip(self.parts, measures, self.weights.weights, strict=True)
            bias = self.weights.bias
            pieces = (Piece("base", bias, bias, name=_BASE), *(_piece(*row) for row in weighed)) if explain else ()
            scores.append(Score(bias + sum(shares), Evidence(pieces), signature))
        return scores


def _piece(part: Part, measure: Measure, weight: float) -> Piece:
    """Return the piece of a part, with the part's own pieces below it."""
    pieces = tuple(replace(piece, share=weight * piece.share) for piece in measure.pieces)
    return Piece("feature", measure.value, weight * measure.value + 0.0, name=part.name, rests_on=pieces)


def make(
    *,
    checkpoint: Checkpoint | str | Path | None = None,
    encoder: str | Path | None = None,
    device: str | None = None,
) -> Coherence:
    """Return the metric.

    Args:
        checkpoint: a folder that ``tacit train coherence`` wrote; by default the one shipped with tacit.
        encoder: the encoder that it was trained with, when it is not where the checkpoint says.
        device: torch's name of the device; by default ``cuda`` where available, else ``cpu``.
    """
    opened = open_checkpoint(checkpoint)
    opened_encoder = open_encoder_of(opened, encoder, device=device)
    parts = (
        Similarity(opened_encoder), Association(opened.associations, opened.associations_digest),
        Selection(opened_encoder, opened.head, opened.head_digest), Repetition(),
    )  # fmt: skip
    return Coherence(parts, opened.weights, opened.digest)
