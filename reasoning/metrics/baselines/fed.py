"""The metric ``fed``: would a listener rather say "That makes sense!" than "That makes no sense!" after the response?

FED (Mehri and Eskenazi, SIGDIAL 2020): for each quality there is a set of follow-ups that people say when a dialogue has it,
and one of those that they say when not (some qualities have the second only). The value is the mean log-likelihood of the
positive ones after the dialogue, less the mean of the negative ones, in nats per token by a causal language model. It has no
bounds; higher is better. Each follow-up has the share that its log-likelihood adds, divided by the size of its set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from ....graph.errors import InputError
from ....graph.item import Item
from ...base import BatchScoring, Evidence, Piece, Score, Signature
from ...models.causal_lm import DEFAULT_MODEL, CausalModel, open_causal

VERSION = 1

DEFAULT_QUALITY = "semantically appropriate"
SCOPES = ("follow-up", "dialogue")


class FollowUps(NamedTuple):
    """What is said after a dialogue that has a quality, and what after one that has it not."""

    positive: tuple[str, ...]
    negative: tuple[str, ...]


@cache
def qualities() -> Mapping[str, FollowUps]:
    """Return the follow-ups of every quality of the paper, those of a turn first, then those of a whole dialogue."""
    text = files(__package__).joinpath("follow_ups.json").read_text(encoding="utf-8")
    held = json.loads(text)
    return {
        quality: FollowUps(tuple(sets["positive"]), tuple(sets["negative"]))
        for level in ("turn", "dialogue")
        for quality, sets in held[level].items()
    }


class Fed(BatchScoring):
    """The metric over one language model; see :func:`make`."""

    name = "fed"
    together = 256

    def __init__(self, model: CausalModel, *, quality: str = DEFAULT_QUALITY, scope: str = "follow-up") -> None:
        """See :func:`make`."""
        if quality not in qualities():
            raise InputError(f"fed has no quality {quality!r}; choose from {', '.join(qualities())}")
        if scope not in SCOPES:
            raise InputError(f"fed has no scope {scope!r}; choose from {', '.join(SCOPES)}")
        self.model = model
        self.quality = quality
        self.scope = scope
        positive, negative = qualities()[quality]
        self._weights = [(text, sign / len(texts)) for texts, sign in ((positive, 1), (negative, -1)) for text in texts]

    def own_signature(self) -> Signature:
        """Signature of every score it gives, without the reference; the model's files are read when it is first asked for."""
        parts = (("model", self.model.signature), ("quality", self.quality), ("scope", self.scope))
        return Signature(self.name, parts, VERSION)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        """Score many responses; ``explain`` adds a piece for each follow-up."""
        dialogues = [(*item.history, item.response) for item in items for _ in self._weights]
        said = [text for _ in items for text, _ in self._weights]
        if self.scope == "follow-up":
            losses = self.model.continuation_losses(dialogues, said, ended=False)
        else:
            losses = self.model.losses([(*turns, text) for turns, text in zip(dialogues, said, strict=True)], ended=False)
        return [self._score([-float(loss) for loss in row], explain) for row in losses.reshape(len(items), len(self._weights))]

    def _score(self, likelihoods: Sequence[float], explain: bool) -> Score:
        """Put the log-likelihoods of the follow-ups after one dialogue together."""
        rows = [(text, one, weight * one) for (text, weight), one in zip(self._weights, likelihoods, strict=True)]
        pieces = (
            tuple(Piece("follow-up", one, share, name=f'log-likelihood of "{text}"') for text, one, share in rows)
            if explain
            else ()
        )
        return Score(sum(share for _, _, share in rows), Evidence(pieces), self.signature)


def make(
    graph: Any = None,  # noqa: ARG001
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
        model: a causal language model that is open, a folder that transformers saved, or an id of the hub.
        quality: one of :func:`qualities`.
        scope: of the likelihood: ``follow-up``, per token of the follow-up given the dialogue, as the paper words it, or
            ``dialogue``, per token of the dialogue with the follow-up, as the authors' program works it out.
        device: as torch names it; by default ``cuda`` where there is one, else ``cpu``.
        batch_tokens: tokens run together, padding included; changes speed and memory alone.
        max_length: tokens of a dialogue that are read, the last ones; by default as many as the model has positions.

    Raises:
        InputError: an option makes no sense.
        ModelError: there is no such model in reach.
        MissingExtra: torch or transformers is not installed.
    """
    if quality not in qualities():
        raise InputError(f"fed has no quality {quality!r}; choose from {', '.join(qualities())}")
    if not isinstance(model, CausalModel):
        model = open_causal(model, device=device, batch_tokens=batch_tokens, max_length=max_length)
    return Fed(model, quality=quality, scope=scope)
