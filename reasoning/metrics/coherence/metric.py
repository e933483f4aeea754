"""The metric ``coherence``: how likely a response is the one that people gave, rather than one from elsewhere or said before.

A logistic regression over the parts ``similarity``, ``association``, ``selection`` and ``repetition``, and ``expectation`` in a
checkpoint that was made with a language model, fitted on true against random and repeated responses of dialogues that
nothing else was trained on, and never on people's ratings. The value is its
log-odds, any number; higher is better, and 0 is as likely as not. So the parts add up: the evidence is what the regression says
when every part says 0 and, for each part, weight times value, which the part's own pieces divide among them in proportion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ....graph.errors import InputError
from ....graph.item import Item
from ...base import BatchScoring, Evidence, Piece, Score, Signature, no_score
from ...models.encoder import CACHE_SIZE
from .checkpoint import EXPECTATION, Checkpoint, Weights, open_checkpoint, open_encoder_of, open_language_model_of
from .learned import Association, Selection
from .parts import NO_HISTORY, Expectation, Measure, Part, Repetition, Similarity, items_at_a_time, said

VERSION = 2

_BASE = "before any part speaks"


class Coherence(BatchScoring):
    """The metric, over some parts and how they are weighed; see :func:`make`."""

    name = "coherence"
    reads_english = True

    def __init__(self, parts: Sequence[Part], weights: Weights, digest: str) -> None:
        """Weigh ``parts``, which are those of ``weights`` in their order; ``digest`` stands for the checkpoint."""
        self.parts = tuple(parts)
        self.weights = weights
        self._digest = digest
        self.together = items_at_a_time(self.parts)

    def own_signature(self) -> Signature:
        """Signature of every score it gives, without the reference."""
        depends = dict(pair for part in self.parts for pair in part.depends)
        models = [(name, depends[name]) for name in ("encoder", "language_model") if name in depends]
        parts = (("checkpoint", self._digest), *models, ("parts", "+".join(self.weights.parts)))
        return Signature(self.name, parts, VERSION)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        """Score responses; one after nothing has no score."""
        signature = self.signature
        heard = [item for item in items if said(item)]
        rows = zip(*(part.measure(heard, explain) for part in self.parts), strict=True)
        scores = []
        for item in items:
            if not said(item):
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
    """What a part gives, and what of that each of its own pieces does."""
    pieces = tuple(replace(piece, share=weight * piece.share) for piece in measure.pieces)
    return Piece("feature", measure.value, weight * measure.value + 0.0, name=part.name, rests_on=pieces)


def make(
    graph: Any = None,  # noqa: ARG001
    *,
    checkpoint: Checkpoint | str | Path | None = None,
    encoder: str | Path | None = None,
    language_model: str | Path | None = None,
    device: str | None = None,
    cache_size: int = CACHE_SIZE,
) -> Coherence:
    """Return the metric.

    Args:
        checkpoint: a folder that ``tacit train coherence`` wrote; by default the one that ships with tacit.
        encoder: the encoder that it was trained over, when it lies elsewhere than the checkpoint says.
        language_model: the language model that it was weighed with, likewise; no other will do.
        device: as torch names it; by default ``cuda`` where there is one, else ``cpu``.
        cache_size: texts remembered, for all metrics with this encoder.

    Raises:
        InputError: a language model is given and the checkpoint weighs none.
        ModelError: the checkpoint or the encoder cannot be opened, or they do not belong together.
        MissingExtra: torch or transformers is not installed, and a part needs them.
    """
    opened = open_checkpoint(checkpoint)
    weights = opened.weights
    if language_model is not None and EXPECTATION not in weights.parts:
        raise InputError(
            f"the checkpoint {str(opened.folder)!r} weighs no language model; leave the option language_model out, or make a"
            " checkpoint with: tacit train coherence --language-model"
        )
    chosen: list[Part] = []
    for name in weights.parts:
        if name == "association":
            chosen.append(Association(opened.associations, opened.associations_digest))
        elif name == "repetition":
            chosen.append(Repetition())
        elif name == EXPECTATION:
            chosen.append(Expectation(open_language_model_of(opened, language_model, device=device)))
        else:
            opened_encoder = open_encoder_of(opened, encoder, device=device, cache_size=cache_size)
            similar = name == "similarity"
            chosen.append(Similarity(opened_encoder) if similar else Selection(opened_encoder, opened.head, opened.head_digest))
    return Coherence(chosen, weights, opened.digest)
