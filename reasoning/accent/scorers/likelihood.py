"""A COMET's word on a tuple: how likely it thinks the tail (Ghazarian et al., ACL 2023, table 5), or what the head adds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..events import tail_form
from ..tails.comet import SOME_EVENT, Comet
from ..tails.source import Query
from .tuplescore import Triple, TupleScore


class CometLoss:
    """The geometric mean of the probabilities that a COMET gives the tail's tokens."""

    relations = None

    def __init__(self, comet: Comet) -> None:
        """Score by ``comet``."""
        self.comet = comet
        self.signature = f"comet-loss({comet.signature})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return ``exp(-loss)`` of each tuple, in 0..1: 1 for a tail that is certain, near 0 for one out of the blue."""
        return [TupleScore(float(value)) for value in np.exp(-_losses(self.comet, tuples))]


class CometLift:
    """How much the head adds: a tail that goes with every event is no sign of sense, and a rare one no sign of nonsense."""

    relations = None

    def __init__(self, comet: Comet) -> None:
        """Score by ``comet``."""
        self.comet = comet
        self.signature = f"comet-lift({comet.signature})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the share ``any / (any + head)`` of each tuple, in 0..1.

        ``head`` is the tail's loss per token after the head, ``any`` that after a head that says nothing: 0.5 where the head
        makes no odds, above where the tail is likelier for it.
        """
        losses = _losses(self.comet, tuples)
        common = list(dict.fromkeys((SOME_EVENT, relation, tail) for _, relation, tail in tuples))
        known = dict(zip(common, _losses(self.comet, common).tolist(), strict=True))
        of_any = np.array([known[SOME_EVENT, relation, tail] for _, relation, tail in tuples])
        return [TupleScore(float(value)) for value in of_any / np.maximum(of_any + losses, 1e-12)]


def _losses(comet: Comet, tuples: Sequence[Triple]) -> NDArray[np.float64]:
    return comet.losses(
        [Query(head, relation) for head, relation, _ in tuples], [tail_form(tail, relation) for _, relation, tail in tuples]
    )
