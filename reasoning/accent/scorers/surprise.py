"""How much less an inference surprises a language model once it knows the event: pointwise mutual information, as a share.

A model that goes on with a list of plausible inferences gives each a cost in nats. What the event saves of it, next to an event
that says nothing, is the pointwise mutual information of the two, given the list (Holtzman et al., EMNLP 2021, equation 2); its
share of the cost makes inferences of any length comparable.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...cache import LruCache
from ...continuation import Continuation
from ...likelihood import CausalModel
from ..readings import Reading, begun, reading, written
from .asking import EXAMPLES

_TASK = "These inferences about everyday events are plausible, as a matter of common sense."
PLAUSIBLE = (
    *(one for one, answer in EXAMPLES if answer == "Yes"),
    ("PersonX loses PersonX's wallet", "xWant", "to cancel the cards"),
    ("PersonX goes for a run", "HinderedBy", "PersonX has hurt a knee"),
    ("PersonX quits smoking", "xIntent", "to be healthier"),
    ("PersonX spills coffee on PersonY", "oEffect", "has to change clothes"),
    ("PersonX bakes a cake", "isAfter", "PersonX buys flour and eggs"),
    ("PersonX lends PersonY a book", "xAttr", "generous"),
    ("PersonX pays for PersonY's lunch", "oReact", "grateful"),
    ("PersonX paints the house", "HasSubEvent", "PersonX climbs a ladder"),
)
"""What stands before every inference, as a list that the model goes on with."""
_SAYS_NOTHING = "Alex does something"
_REMEMBERED = 50_000


class Surprise:
    """A causal language model that goes on with a list of inferences."""

    def __init__(self, causal: CausalModel) -> None:
        """Ask ``causal``."""
        self.causal = causal
        self._alone: LruCache[str, float] = LruCache(_REMEMBERED)

    def shares(self, inferences: Sequence[Reading]) -> NDArray[np.float64]:
        """Return the share of each inference's cost that its event saves, <= 1, shape (inferences,); below 0 it costs more.

        Raises:
            ModelError: the model reads too few tokens, or gives no number.
        """
        bare = {inferred: self._alone.get(inferred) for _, inferred in inferences}
        fresh = [inferred for inferred, nats in bare.items() if nats is None]
        nats = self._nats([*inferences, *((_SAYS_NOTHING, inferred) for inferred in fresh)])
        for inferred, alone in zip(fresh, nats[len(inferences) :].tolist(), strict=True):
            bare[inferred] = alone
            self._alone.put(inferred, alone)
        costs = np.array([bare[inferred] for _, inferred in inferences], dtype=np.float64)
        return 1 - np.divide(nats[: len(inferences)], costs, out=np.ones(len(costs)), where=costs > 0)

    def _nats(self, inferences: Sequence[Reading]) -> NDArray[np.float64]:
        """What each inference costs after its event."""
        events = self.causal.tokens([begun(event) for event, _ in inferences])
        inferred = self.causal.tokens([f" {inferred}." for _, inferred in inferences])
        rows = [[*before, *after] for before, after in zip(events, inferred, strict=True)]
        return self._list.nats(rows, [len(before) for before in events])

    @cached_property
    def _list(self) -> Continuation:
        """The model, with the list read."""
        text = "".join(f"{written(*reading(*one))}\n\n" for one in PLAUSIBLE)
        return Continuation(self.causal, [self.causal.begin, *self.causal.tokens([f"{_TASK}\n\n{text}"])[0]])
