"""The metric ``similarity``: how like the last turn a response is, as the cosine of their sentence embeddings.

The naive bar for every metric of coherence: it needs no training, and copies score highest. -1 to 1; higher is more alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.item import Item
from ..encoder import CACHE_SIZE, TextEncoder, open_encoder
from ..score import Piece
from .parts import Measure, PartMetric, said


class Similarity:
    """The part, over one encoder."""

    name = "similarity"
    version = 2

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder = encoder

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """The encoder."""
        return (("encoder", self.encoder.signature),)

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Compare each response with the last turn that says something."""
        last = [said(item)[-1] for item in items]
        texts = [text for item, turn in zip(items, last, strict=True) for text in (turn.text, item.response)]
        vectors = self.encoder.encode(texts).astype(np.float64).reshape(len(items), 2, self.encoder.dimension)
        values = np.clip(np.einsum("nd,nd->n", vectors[:, 0], vectors[:, 1]), -1, 1).tolist()
        return [
            Measure(value, (Piece("feature", value, value, turn=turn.place, name="cosine to the last turn"),) if explain else ())
            for value, turn in zip(values, last, strict=True)
        ]


def make(
    graph: Any = None,  # noqa: ARG001
    *,
    encoder: str | Path | None = None,
    device: str | None = None,
    cache_size: int = CACHE_SIZE,
) -> PartMetric:
    """Return the metric.

    Args:
        encoder: a folder that sentence-transformers or transformers saved, or an id of the hub; by default all-MiniLM-L6-v2.
        device: as torch names it; by default ``cuda`` where there is one, else ``cpu``.
        cache_size: texts remembered, for all metrics with this encoder.

    Raises:
        InputError: an option makes no sense.
        ModelError: there is no such encoder in reach.
        MissingExtra: torch or transformers is not installed.
    """
    return PartMetric(Similarity(open_encoder(encoder, device=device, cache_size=cache_size)))
