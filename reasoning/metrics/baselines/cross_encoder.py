"""The metric ``cross-encoder``: the rating that an encoder predicts which was fine-tuned on people's ratings.

The baseline of ACCENT's table 1 (Ghazarian et al., ACL 2023), on ratings of your own: history and response are read together.
None ships, since no ratings may; ``tacit train cross-encoder`` makes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ....graph.errors import InputError
from ....graph.item import Item
from ...base import BatchScoring, Evidence, Piece, Score, Signature
from ...models.cross_encoder import RatingEncoder, open_cross_encoder

VERSION = 1
TURNS = 4
"""Turns of the history that are read."""


class PredictedRating(BatchScoring):
    """The metric over one cross-encoder; see :func:`make`."""

    name = "cross-encoder"
    batch_size = 128

    def __init__(self, encoder: RatingEncoder) -> None:
        self.encoder = encoder

    def own_signature(self) -> Signature:
        return Signature(self.name, (("model", self.encoder.files.digest),), VERSION)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        values = self.encoder.predict([texts_of(item.history, item.response) for item in items]).tolist()
        return [
            Score(value, Evidence((Piece("feature", value, value, name="predicted rating"),) if explain else ()), self.signature)
            for value in values
        ]


def texts_of(history: Sequence[str], response: str) -> tuple[str, str]:
    """Return the two texts that are read: the last four turns, a line each, and the response."""
    return "\n".join(" ".join(turn.split()) for turn in history[-TURNS:]), " ".join(response.split())


def make(
    *,
    model: str | Path | None = None,
    device: str | None = None,
) -> PredictedRating:
    """Return the metric.

    Args:
        model: a folder that ``tacit train cross-encoder`` wrote.
        device: torch's name of the device; by default ``cuda`` where available, else ``cpu``.
    """
    if model is None:
        raise InputError(
            "the metric cross-encoder needs a model; train one on ratings with tacit train cross-encoder, and name its folder "
            "with -O cross-encoder.model=FOLDER"
        )
    return PredictedRating(open_cross_encoder(model, device=device))


def has_default() -> bool:
    """Return false: no model ships."""
    return False
