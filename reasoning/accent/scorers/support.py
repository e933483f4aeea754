"""How much known triples speak for a head and a tail together: pointwise mutual information under a kernel density.

Each triple of the relation bears witness, the more the closer its head is to the head in question and its tail to the tail:

    support(h, r, t) = log [ mean_i a_i b_i / (mean_i a_i · mean_i b_i) ]
    a_i = exp((cos(h, h_i) - 1) / HEAD_WIDTH),  b_i = exp((cos(t, t_i) - 1) / TAIL_WIDTH)

with i over the triples of r. That is log p(h, t | r) / (p(h | r) p(t | r)) (Church & Hanks, 1990) with densities after Rosenblatt
(1956) and Parzen (1962), under kernels of von Mises and Fisher. Nothing is trained. The divisor takes away what a head or a tail
has in common with many triples, whatever it is said with.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..tails.source import MEMORY, KnownTail, Origin
from .compact import Compact
from .compatibility import Embed
from .judging import Judge, along
from .quantise import Quantised
from .tuplescore import SHOWN, Close, Triple, TupleScore

if TYPE_CHECKING:
    from .opening import Opener

HEAD_WIDTH = 0.06
TAIL_WIDTH = 0.12
"""Chosen, of twelve pairs, by how well they tell triples of ATOMIC-2020 of heads left out from such with another's tail."""

_LEAST = 1e-300

Vectors = NDArray[np.float32]


class Witness(NamedTuple):
    """A triple that speaks for another one.

    Attributes:
        head, tail: numbers of its texts; head_likeness, tail_likeness: their cosines with the head and the tail in question.
    """

    head: int
    tail: int
    head_likeness: float
    tail_likeness: float


class _Triples(NamedTuple):
    """The triples of a relation: numbers and vectors of distinct heads and tails, and the places of each triple's among them."""

    heads: NDArray[np.int64]
    tails: NDArray[np.int64]
    of_heads: Quantised
    of_tails: Quantised
    head_at: NDArray[np.int64]
    tail_at: NDArray[np.int64]


class Support(Judge[TupleScore]):
    """A compact model's triples, asked what they say of a head and a tail."""

    def __init__(self, model: Compact, embed: Embed, *, encoder: str) -> None:
        """Ask the triples of ``model``; the arguments are those of :class:`Judge`."""
        super().__init__(model, embed, encoder=encoder)
        self.signature = f"support({model.digest})"
        self._triples: dict[int, _Triples] = {}

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the support of each tuple in nats, with the tails of the triples that speak most.

        Raises:
            InputError: the model does not know a relation.
        """
        return self.judge(tuples)

    def measure(
        self, head: Vectors, relation: int, tail: Vectors, *, without: tuple[int, int] = (-1, -1)
    ) -> tuple[float, tuple[Witness, ...]]:
        """Return the support in nats, and the triples that speak most, the strongest first.

        Args:
            head, tail: vectors of the encoder, shape (d,). relation: its number.
            without: numbers of a head and a tail whose triples stay silent; with nobody left to speak the support is 0.
        """
        known = self._of(relation)
        head_likeness = known.of_heads.products(along(self.model.basis, head))
        tail_likeness = known.of_tails.products(along(self.model.basis, tail))
        a = np.exp((head_likeness.astype(np.float64) - 1) / HEAD_WIDTH) * (known.heads != without[0])
        b = np.exp((tail_likeness.astype(np.float64) - 1) / TAIL_WIDTH) * (known.tails != without[1])
        both, of_heads, of_tails, strongest = _testimony(a, b, known.head_at, known.tail_at, SHOWN)
        if min(both, of_heads, of_tails) < _LEAST:
            return 0.0, ()
        witnesses = tuple(
            Witness(
                int(known.heads[known.head_at[row]]), int(known.tails[known.tail_at[row]]),
                float(head_likeness[known.head_at[row]]), float(tail_likeness[known.tail_at[row]]),
            )
            for row in strongest.tolist()
        )  # fmt: skip
        return log(both) - log(of_heads) - log(of_tails) + log(len(known.head_at)), witnesses

    def _judge(self, head: Vectors, relation: int, tail: Vectors, _text: str, /) -> TupleScore:
        """What the triples say of one tuple."""
        value, witnesses = self.measure(head, relation, tail)
        source = f"{MEMORY}{self.model.digest}"
        said = tuple(
            Close(
                KnownTail(name, name, Origin.NEAREST, self.model.said(one.head), one.head_likeness, source, rank),
                one.tail_likeness,
            )
            for rank, one in enumerate(witnesses)
            for name in (self.model.said(one.tail),)
        )
        return TupleScore(value, said)

    def _of(self, relation: int) -> _Triples:
        if relation not in self._triples:
            rows = self.model.triples[relation]
            heads, head_at = np.unique(rows[:, 0], return_inverse=True)
            tails, tail_at = np.unique(rows[:, 1], return_inverse=True)
            # Side by side in memory, which makes them three times as fast to go through.
            of_heads, of_tails = self.model.kept.part(heads), self.model.kept.part(tails)
            self._triples[relation] = _Triples(heads, tails, of_heads, of_tails, head_at.ravel(), tail_at.ravel())
        return self._triples[relation]


@njit(nogil=True, cache=True)
def _testimony(a, b, head_at, tail_at, most):  # type: ignore[no-untyped-def]
    """The sums of a_i b_i, a_i and b_i over triples, and the ``most`` triples whose products are largest, the largest first."""
    both, of_heads, of_tails, filled = 0.0, 0.0, 0.0, 0
    values, rows = np.zeros(most), np.zeros(most, np.int64)
    for row in range(len(head_at)):
        head, tail = a[head_at[row]], b[tail_at[row]]
        product = head * tail
        both += product
        of_heads += head
        of_tails += tail
        if product > 0.0 and (filled < most or product > values[most - 1]):
            place = min(filled, most - 1)
            while place > 0 and product > values[place - 1]:
                values[place], rows[place] = values[place - 1], rows[place - 1]
                place -= 1
            values[place], rows[place] = product, row
            filled = min(filled + 1, most)
    return both, of_heads, of_tails, rows[:filled]


def make(opener: Opener, *, model: str | Path | None = None) -> Support:
    """Return the scorer over the triples of the compact model ``model``, by default the one that ships.

    Raises:
        ModelError: the model cannot be opened.
    """
    return Support(opener.compact(model), opener.embed, encoder=opener.encoder.signature)
