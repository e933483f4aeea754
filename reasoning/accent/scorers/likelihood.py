"""The tuple scorer ``comet-loss``: how likely a COMET thinks a tail (Ghazarian et al., ACL 2023, table 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..events import tail_form
from ..tails.comet import Comet
from ..tails.source import Query
from .tuplescore import Triple, TupleScore

if TYPE_CHECKING:
    from .opening import Opener


class CometLoss:
    """The geometric mean of the probabilities that a COMET gives the tail's tokens."""

    name = "comet-loss"
    relations = None

    def __init__(self, comet: Comet) -> None:
        """Score by ``comet``."""
        self.comet = comet
        self.signature = f"{self.name}({comet.signature})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return ``exp(-loss)`` of each tuple, in 0..1: 1 for a tail that is certain, near 0 for an unlikely one."""
        queries = [Query(head, relation) for head, relation, _ in tuples]
        losses = self.comet.losses(queries, [tail_form(tail, relation) for _, relation, tail in tuples])
        return [TupleScore(float(value)) for value in np.exp(-losses)]


def make(opener: Opener, *, comet: Any = None) -> CometLoss:
    """Return the scorer by a COMET: a folder, an id, or one that is open; by default the published one.

    Raises:
        ModelError: it cannot be opened.
    """
    return CometLoss(opener.comet(comet))
