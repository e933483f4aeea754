"""Several tuple scorers as one, without labels: each brought to one scale, and the mean of them taken.

A scorer's scale is the mean and the spread of what it gives to tuples that nobody judged: heads and tails of a graph, half of
them put together at random (:func:`scales_of`). So no judgement enters, and a tuple's score does not depend on what is scored
beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from typing import NamedTuple

import numpy as np

from .tuplescore import Triple, TupleScore, TupleScorer


class Scale(NamedTuple):
    """Mean and standard deviation of a scorer over tuples that nobody judged."""

    mean: float
    spread: float


class Blend:
    """The mean of scorers on their own scales, through a logistic function, so in 0..1."""

    def __init__(self, parts: Mapping[str, tuple[TupleScorer, Scale]]) -> None:
        """Add up ``parts``, by name; the first that names close tails gives the evidence."""
        self.parts = dict(parts)
        inner = "+".join(f"{part.signature}~{scale.mean:.4f},{scale.spread:.4f}" for part, scale in self.parts.values())
        self.signature = f"blend({inner})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the blended score of each tuple, in 0..1; 0.5 is what a tuple has on average.

        Raises:
            InputError: a relation is unknown to one of the scorers.
        """
        given = [(part.score(tuples), scale) for part, scale in self.parts.values()]
        blended = []
        for place in range(len(tuples)):
            scores = [(scores[place], scale) for scores, scale in given]
            level = sum((score.value - scale.mean) / scale.spread for score, scale in scores) / len(scores)
            closest = next((score.closest for score, _ in scores if score.closest), ())
            note = "; ".join(dict.fromkeys(score.note for score, _ in scores if score.note))
            blended.append(TupleScore(1 / (1 + exp(-level)), closest, note))
        return blended


def scales_of(scorers: Mapping[str, TupleScorer], triples: Sequence[Triple], seed: int = 0) -> dict[str, Scale]:
    """Return the scale of each scorer over ``triples``, half of whose tails are exchanged within their relation."""
    random = np.random.default_rng(seed)
    mixed: list[Triple] = []
    for relation in sorted({relation for _, relation, _ in triples}):
        part = [one for one in triples if one[1] == relation]
        order = random.permutation(len(part))
        mixed += [(head, relation, part[order[place]][2] if place % 2 else tail) for place, (head, _, tail) in enumerate(part)]
    found = {}
    for name, scorer in scorers.items():
        values = np.array([score.value for score in scorer.score(mixed)])
        found[name] = Scale(round(float(values.mean()), 4), round(max(float(values.std()), 1e-4), 4))
    return found
