"""The metric ``selection``: would this response be picked out of many as the one that follows?

A small dual encoder over a frozen sentence encoder, trained to tell the response that people gave from those of other dialogues
and from the context's own turns (InfoNCE, van den Oord et al., 2018). -1 to 1; higher is better.
The evidence is what the last turn, the one before it, and the head's bias give to the cosine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.item import Item
from ..encoder import CACHE_SIZE, TextEncoder
from ..score import Piece
from .checkpoint import Checkpoint, open_checkpoint, open_encoder_of
from .head import TURNS, SelectionHead
from .parts import Measure, PartMetric, Turn, said

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


def make(
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
