"""The metric ``fed``: likelihood of positive follow-ups such as "That makes sense!" after the response, minus that of negative
ones.

FED (Mehri and Eskenazi, SIGDIAL 2020): each quality has a set of positive follow-ups, typical after a dialogue that has it, and
a set of negative ones (some qualities have only the second). The score is the mean log-likelihood of the positive ones after
the dialogue minus the mean of the negative ones, in nats per token of a causal language model. It is unbounded; higher is
better. A follow-up's share is its log-likelihood, with the sign of its set, divided by the size of its set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from ....graph.errors import InputError
from ....graph.item import Item
from ...base import BatchScoring, Evidence, Piece, Score, Signature
from ...models.causal_lm import DEFAULT_MODEL, CausalModel, open_causal

VERSION = 1

DEFAULT_QUALITY = "semantically appropriate"
SCOPES = ("follow-up", "dialogue")


class FollowUps(NamedTuple):
    """Utterances that typically follow a dialogue with a quality, and one without it."""

    positive: tuple[str, ...]
    negative: tuple[str, ...]


@cache
def qualities() -> Mapping[str, FollowUps]:
    """Return the follow-ups of every quality of the paper, first the qualities of a turn, then those of a whole dialogue."""
    text = files(__package__).joinpath("follow_ups.json").read_text(encoding="utf-8")
    follow_ups = json.loads(text)
    return {
        quality: FollowUps(tuple(sets["positive"]), tuple(sets["negative"]))
        for level in ("turn", "dialogue")
        for quality, sets in follow_ups[level].items()
    }


class Fed(BatchScoring):
    """The metric over one language model; see :func:`make`."""

    name = "fed"
    batch_size = 256

    def __init__(self, model: CausalModel, *, quality: str = DEFAULT_QUALITY, scope: str = "follow-up") -> None:
        if quality not in qualities():
            raise InputError(f"unknown quality {quality!r} of fed; choose from {', '.join(qualities())}")
        if scope not in SCOPES:
            raise InputError(f"unknown scope {scope!r} of fed; choose from {', '.join(SCOPES)}")
        self.model = model
        self.quality = quality
        self.scope = scope
        positive, negative = qualities()[quality]
        self._weights = [(text, sign / len(texts)) for texts, sign in ((positive, 1), (negative, -1)) for text in texts]

    def own_signature(self) -> Signature:
        parts = (("model", self.model.signature), ("quality", self.quality), ("scope", self.scope))
        return Signature(self.name, parts, VERSION)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        dialogues = [(*item.history, item.response) for item in items for _ in self._weights]
        texts = [text for _ in items for text, _ in self._weights]
        if self.scope == "follow-up":
            losses = self.model.continuation_losses(dialogues, texts, ended=False)
        else:
            losses = self.model.losses([(*turns, text) for turns, text in zip(dialogues, texts, strict=True)], ended=False)
        return [self._score([-float(loss) for loss in row], explain) for row in losses.reshape(len(items), len(self._weights))]

    def _score(self, likelihoods: Sequence[float], explain: bool) -> Score:
        rows = [
            (text, likelihood, weight * likelihood) for (text, weight), likelihood in zip(self._weights, likelihoods, strict=True)
        ]
        pieces = (
            tuple(Piece("follow-up", likelihood, share, name=f'log-likelihood of "{text}"') for text, likelihood, share in rows)
            if explain
            else ()
        )
        return Score(sum(share for _, _, share in rows), Evidence(pieces), self.signature)


def make(
    *,
    model: str | Path | CausalModel = DEFAULT_MODEL,
    quality: str = DEFAULT_QUALITY,
    scope: str = "follow-up",
    device: str | None = None,
    batch_tokens: int | None = None,
    max_length: int | None = None,
) -> Fed:
    """Return the metric.

    Args:
        model: an open causal language model, a folder that transformers saved, or an id of the hub.
        quality: one of :func:`qualities`.
        scope: text whose likelihood is computed: ``follow-up``, per token of the follow-up given the dialogue, as in the paper,
            or ``dialogue``, per token of the dialogue with the follow-up, as in the authors' code.
        device: torch's name of the device; by default ``cuda`` where available, else ``cpu``.
        batch_tokens: most tokens in a batch, padding included; affects speed and memory only.
        max_length: tokens of a dialogue that are read, the last ones; by default as many as the model has positions.
    """
    if quality not in qualities():
        raise InputError(f"unknown quality {quality!r} of fed; choose from {', '.join(qualities())}")
    if not isinstance(model, CausalModel):
        model = open_causal(model, device=device, batch_tokens=batch_tokens, max_length=max_length)
    return Fed(model, quality=quality, scope=scope)
