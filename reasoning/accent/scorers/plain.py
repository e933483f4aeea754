"""The plainest tuple scorer: the cosine of head and tail, which knows nothing of the relation. A yardstick for the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..events import head_form
from ..statements import statement
from .compatibility import Embed
from .tuplescore import Triple, TupleScore

if TYPE_CHECKING:
    from .opening import Opener


class PlainCosine:
    """Cosine of the embeddings of head and tail, floored at 0."""

    relations = None

    def __init__(self, embed: Embed, *, encoder: str) -> None:
        """Compare by ``embed``; ``encoder`` stands for it in the signature."""
        self._embed = embed
        self.signature = f"cosine({encoder})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the cosine of each tuple's head and tail, in 0..1."""
        heads = [head_form(head) for head, _, _ in tuples]
        tails = [statement(tail, relation) for _, relation, tail in tuples]
        texts = list(dict.fromkeys([*heads, *tails]))
        if not texts:
            return []
        rows = {text: row for row, text in enumerate(texts)}
        vectors = self._embed(texts).astype(np.float64)
        cosines = [float(vectors[rows[head]] @ vectors[rows[tail]]) for head, tail in zip(heads, tails, strict=True)]
        return [TupleScore(min(max(cosine, 0.0), 1.0)) for cosine in cosines]


def make(opener: Opener) -> PlainCosine:
    """Return the scorer."""
    return PlainCosine(opener.embed, encoder=opener.encoder.signature)
