"""How much known triples speak for a head and a tail together: pointwise mutual information under a kernel density.

Each triple of the relation bears witness, the more the closer its head is to the head in question and its tail to the tail:

    support(h, r, t) = log [ mean_i a_i b_i / (mean_i a_i · mean_i b_i) ]
    a_i = exp((cos(h, h_i) - 1) / HEAD_WIDTH),  b_i = exp((cos(t, t_i) - 1) / TAIL_WIDTH)

with i over the triples of r. That is log p(h, t | r) / (p(h | r) p(t | r)) (Church & Hanks, 1990) with densities after Rosenblatt
(1956) and Parzen (1962), under kernels of von Mises and Fisher. Nothing is trained. The divisor takes away what a head or a tail
has in common with many triples, whatever it is said with.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .compact import Compact
from .tuplescore import SHOWN

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
    """The triples of a relation: distinct heads and tails, ascending, and the places of each triple's among them."""

    heads: NDArray[np.int64]
    tails: NDArray[np.int64]
    head_at: NDArray[np.int64]
    tail_at: NDArray[np.int64]


class Support:
    """The triples of a model, asked for what they say of a head and a tail."""

    def __init__(self, model: Compact) -> None:
        """Ask the triples of ``model``."""
        self._model = model
        self._triples: dict[int, _Triples] = {}

    def __call__(
        self, head: Vectors, relation: int, tail: Vectors, *, without: tuple[int, int] = (-1, -1)
    ) -> tuple[float, tuple[Witness, ...]]:
        """Return the support in nats, and the triples that speak most, the strongest first.

        Args:
            head, tail: vectors along the model's basis, of unit length. relation: its number.
            without: numbers of a head and a tail whose triples stay silent; with nobody left to speak the support is 0.
        """
        known = self._of(relation)
        head_likeness = self._model.kept.products(head, known.heads)
        tail_likeness = self._model.kept.products(tail, known.tails)
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

    def _of(self, relation: int) -> _Triples:
        if relation not in self._triples:
            rows = self._model.triples[relation]
            heads, head_at = np.unique(rows[:, 0], return_inverse=True)
            tails, tail_at = np.unique(rows[:, 1], return_inverse=True)
            self._triples[relation] = _Triples(heads, tails, head_at.ravel(), tail_at.ravel())
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
