"""A COMET's word on a tuple: how likely it thinks the tail (Ghazarian et al., ACL 2023, table 5), or what the head adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..events import tail_form
from ..tails.comet import SOME_EVENT, Comet
from ..tails.source import Query
from .tuplescore import Triple, TupleScore

_LEAST = 1e-12  # for tails that are certain in any case: both losses are 0, and the head makes no odds


class _Asking:
    """What asks a COMET for losses."""

    name: ClassVar[str]
    relations = None

    def __init__(self, comet: Comet) -> None:
        """Score by ``comet``."""
        self.comet = comet
        self.signature = f"{self.name}({comet.signature})"

    def _losses(self, tuples: Sequence[Triple]) -> NDArray[np.float64]:
        queries = [Query(head, relation) for head, relation, _ in tuples]
        return self.comet.losses(queries, [tail_form(tail, relation) for _, relation, tail in tuples])


class CometLoss(_Asking):
    """The geometric mean of the probabilities that a COMET gives the tail's tokens."""

    name = "comet-loss"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return ``exp(-loss)`` of each tuple, in 0..1: 1 for a tail that is certain, near 0 for one out of the blue."""
        return [TupleScore(float(value)) for value in np.exp(-self._losses(tuples))]


class CometLift(_Asking):
    """How much the head adds: a tail that goes with every event is no sign of sense, and a rare one no sign of nonsense."""

    name = "comet-lift"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the share ``any / (any + head)`` of each tuple, in 0..1.

        ``head`` is the tail's loss per token after the head, ``any`` that after a head that says nothing: 0.5 where the head
        makes no odds, above where the tail is likelier for it.
        """
        after = self._losses(tuples)
        common = list(dict.fromkeys((relation, tail) for _, relation, tail in tuples))
        known = dict(zip(common, self._losses([(SOME_EVENT, *one) for one in common]).tolist(), strict=True))
        anyway = np.array([known[relation, tail] for _, relation, tail in tuples])
        return [TupleScore(float(value)) for value in (anyway + _LEAST) / (anyway + after + 2 * _LEAST)]
