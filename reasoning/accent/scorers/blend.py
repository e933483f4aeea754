"""Several tuple scorers as one, without labels: each brought to one scale a relation, and the mean of those that can judge.

A scorer's scale is the mean and the spread of what it gives to heads and tails of a graph that were put together at random. So
no judgement enters, relations become comparable (a feeling is always close to some feeling, an event seldom to an event), and
a tuple's score does not depend on what is scored beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, nan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..tails.source import TailSource
from .compact import Scale
from .compatibility import UNKNOWN, check_relations
from .tuplescore import Triple, TupleScore, TupleScorer

if TYPE_CHECKING:
    from .opening import Opener


class Part(NamedTuple):
    """One of several scorers, with its scale for each relation; where it says nothing (NaN) the others judge alone."""

    scorer: TupleScorer
    scales: Mapping[str, Scale]


class Blend:
    """The mean of scorers on their own scales, through a logistic function."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        """Add up ``parts``, by name; the first that names close tails gives the evidence."""
        self.parts = dict(parts)
        self.relations = frozenset(relation for part in parts.values() for relation in part.scales)
        inner = "+".join(f"{name}:{part.scorer.signature}" for name, part in self.parts.items())
        self.signature = f"blend({inner})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the blended score of each tuple, in 0..1; 0.5 is what a tuple has that was put together at random.

        Raises:
            InputError: none of the scorers knows a relation.
        """
        check_relations(tuples, self.relations)
        given: list[list[tuple[TupleScore, Scale]]] = [[] for _ in tuples]
        for scorer, scales in self.parts.values():
            places = [place for place, (_, relation, _) in enumerate(tuples) if relation in scales]
            for place, score in zip(places, scorer.score([tuples[place] for place in places]), strict=True):
                given[place].append((score, scales[tuples[place][1]]))
        return [_blended(scores) for scores in given]


def _blended(scores: Sequence[tuple[TupleScore, Scale]]) -> TupleScore:
    """One tuple's scores as one."""
    speaking = [(score, scale) for score, scale in scores if score.value == score.value]
    levels = [(score.value - scale.mean) / scale.spread for score, scale in speaking]
    closest = next((score.closest for score, _ in speaking if score.closest), ())
    note = "; ".join(dict.fromkeys(score.note for score, _ in scores if score.note and score.note != UNKNOWN))
    return TupleScore(1 / (1 + exp(-sum(levels) / len(levels))) if levels else 0.5, closest, note)


def exchanged(triples: Sequence[Triple], seed: int) -> list[Triple]:
    """Return ``triples`` with their tails exchanged at random within each relation."""
    random = np.random.default_rng(seed)
    mixed: list[Triple] = []
    for relation in sorted({relation for _, relation, _ in triples}):
        part = [one for one in triples if one[1] == relation]
        order = random.permutation(len(part)).tolist()
        mixed += [(head, relation, part[other][2]) for (head, _, _), other in zip(part, order, strict=True)]
    return mixed


def scales_of(scorer: TupleScorer, tuples: Sequence[Triple]) -> dict[str, Scale]:
    """Return the scale of a scorer for each relation of ``tuples``; NaN values are left out."""
    values: dict[str, list[float]] = {}
    for (_, relation, _), score in zip(tuples, scorer.score(tuples), strict=True):
        values.setdefault(relation, []).append(score.value)
    return {
        relation: Scale(round(float(np.nanmean(found)), 4), round(max(float(np.nanstd(found)), 1e-3), 4))
        for relation, found in sorted(values.items())
    }


def make(opener: Opener, *, tails: TailSource | None = None, model: str | Path | None = None) -> Blend:
    """Return equation 1 over ``tails`` (by default the graph's) and what the compact model ``model`` says, as one.

    Raises:
        ModelError: the model cannot be opened.
    """
    from .compatibility import Compatibility
    from .retriever import Match
    from .retriever import make as make_retriever
    from .support import make as make_support

    retriever = make_retriever(opener, model=model)
    known = Compatibility(
        tails or opener.tails(), opener.embed, opener.relations(), encoder=opener.encoder.signature, unknown=nan
    )
    parts: dict[str, TupleScorer] = {
        "known": known, "support": make_support(opener, model=model), "closeness": retriever, "match": Match(retriever),
    }  # fmt: skip
    return Blend({name: Part(scorer, retriever.model.scales[name]) for name, scorer in parts.items()})
