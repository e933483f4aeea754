"""The metric ``overall``: three parts in one number, which agrees with people better than each alone.

The first part is the log-odds of ``judgement`` that the response makes sense. The second is the log-odds of ``coherence`` that it
follows from the history. The third is the gain: how much likelier, per token, the turns make the response for the same language
model (their pointwise mutual information divided by the number of tokens). The gain is limited
to its mean over true responses, since repetitions have the largest gains. Each part is standardised by its mean and standard
deviation over true and random responses of Topical-Chat, and the value is their mean, in which ``judgement`` counts twice. The
unit is therefore a standard deviation of such responses; 0 is their average. No rating was fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ...graph.item import Item
from ...graph.protocol import KnowledgeGraph
from ..base import BatchScoring, Evidence, Piece, Score, Signature, no_score
from .coherence.checkpoint import Checkpoint
from .coherence.metric import Coherence
from .coherence.metric import make as make_coherence
from .judgement import NO_HISTORY, Judgement, Prediction, open_judgement, pair_of

VERSION = 3


class Scale(NamedTuple):
    """Mean and standard deviation of a part over true and random responses, and its weight in the mean."""

    mean: float
    deviation: float
    weight: float

    @property
    def slope(self) -> float:
        """What one unit of the part adds to the value."""
        return self.weight / self.deviation


# Of the metrics that ship, over their references (reasoning/references); other models and checkpoints take the same scales.
JUDGEMENT = Scale(-0.320, 1.007, 1 / 2)
COHERENCE = Scale(0.628, 2.681, 1 / 4)
GAIN = Scale(0.379, 0.345, 1 / 4)
GAIN_LIMIT = 0.787
"""Mean gain of true responses, in nats per token."""

_BIAS = -sum(scale.mean * scale.slope for scale in (JUDGEMENT, COHERENCE, GAIN))


class Overall(BatchScoring):
    """The metric over two others and the gain of the first one's predictions; see :func:`make`."""

    name = "overall"
    reads_english = True
    scored_first = True
    """``judgement`` beside it then takes the log-odds that were predicted for this metric."""

    def __init__(self, judgement: Judgement, coherence: Coherence) -> None:
        self.judgement, self.coherence = judgement, coherence
        self.batch_size = judgement.batch_size

    def own_signature(self) -> Signature:
        """Return what either metric depends on, without their references."""
        parts = [part for metric in (self.judgement, self.coherence) for part in metric.own_signature().parts]
        return Signature(self.name, tuple(parts), VERSION)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        signature = self.signature
        pairs = [pair_of(item) for item in items]
        predictions = iter(self.judgement.predictions([pair for pair in pairs if pair[0]], gains=True))
        judged = self.judgement.score_checked(items, True) if explain else [None] * len(items)  # from cached predictions
        coherent = self.coherence.score_checked(items, explain)
        return [
            _combined(next(predictions), coherence, judgement, signature) if pair[0] else no_score(NO_HISTORY, signature)
            for pair, coherence, judgement in zip(pairs, coherent, judged, strict=True)
        ]


def _combined(prediction: Prediction, coherence: Score, judgement: Score | None, signature: Signature) -> Score:
    """Return the score of one response; ``judgement`` is its score with the evidence, None for no evidence."""
    odds, gain = prediction.log_odds, min(prediction.gain or 0.0, GAIN_LIMIT)
    limited = " (the limit)" if gain == GAIN_LIMIT else ""
    value = _BIAS + odds * JUDGEMENT.slope + coherence.value * COHERENCE.slope + gain * GAIN.slope
    if judgement is None:
        return Score(value, Evidence(), signature)
    effects = tuple(piece for whole in judgement.evidence.pieces for piece in whole.rests_on)
    parts = tuple(_scaled(piece, COHERENCE.slope) for piece in coherence.evidence.pieces)
    return Score(value, Evidence((
        Piece("base", _BIAS, _BIAS, name="bias"),
        Piece("feature", odds, odds * JUDGEMENT.slope, name="judgement, log-odds", rests_on=effects),
        Piece("feature", coherence.value, coherence.value * COHERENCE.slope, name="coherence, log-odds", rests_on=parts),
        Piece("feature", gain, gain * GAIN.slope, name=f"likelihood gain, nats per token{limited}"),
    )), signature)  # fmt: skip


def _scaled(piece: Piece, factor: float) -> Piece:
    """Return a piece whose share, and those of the pieces that it rests on, are multiplied by ``factor``."""
    return replace(piece, share=factor * piece.share, rests_on=tuple(_scaled(below, factor) for below in piece.rests_on))


def make(
    graph: KnowledgeGraph | None = None,
    *,
    model: str | Path | None = None,
    probe: str | Path | None = None,
    dtype: str = "bfloat16",
    checkpoint: Checkpoint | str | Path | None = None,
    encoder: str | Path | None = None,
    device: str | None = None,
) -> Overall:
    """Return the metric; with a graph, the evidence has its assertions between turns and response, which change no score.

    Args:
        model: the language model of ``judgement``; by default the one that ``tacit fetch judge`` downloads.
        probe: the probe of ``judgement``; by default the one that ships, for the default model.
        dtype: number format of the language model: ``float32``, ``bfloat16`` or ``float16``.
        checkpoint: a folder that ``tacit train coherence`` wrote; by default the one that ships.
        encoder: the encoder of the checkpoint, when it is not where the checkpoint says.
        device: torch's name of the device; by default ``cuda`` where available, else ``cpu``.
    """
    judgement = open_judgement(graph, model, probe, dtype, device, gains=True)
    coherence = make_coherence(checkpoint=checkpoint, encoder=encoder, device=device)
    return Overall(judgement, coherence)
