"""Tuple scorers that compare embeddings of tails, and their combination with other scorers.

``compatibility`` is ACCENT's equation 1 (Ghazarian et al., ACL 2023): ``f(h, r, t) = max over known tails t' of h and r of
cos(embed(t), embed(t'))``, floored at 0. Both tails are verbalised before they are embedded (:func:`..verbalise.statement`),
where the original compares ``PersonX buys a brush`` with ``to buy a brush`` as worded. Where no tail of the head is known another
scorer may be used; without one the value is 0. ``blend`` is the mean of several scorers on a common scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, nan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..verbalise import statement
from .base import (
    SHOWN,
    CloseTail,
    Embed,
    Query,
    TailResult,
    TailSource,
    Triple,
    TupleScore,
    TupleScorer,
    Vectors,
    check_relations,
)
from .retrieval_model import Scale
from .retriever import Match, make_retriever, make_support

if TYPE_CHECKING:
    from .resources import ScorerResources

UNKNOWN = "no tail of this head under this relation is known"


class Compatibility:
    """Equation 1 over a tail source."""

    def __init__(
        self,
        tails: TailSource,
        embed: Embed,
        relations: Sequence[str],
        *,
        encoder: str,
        fallback: TupleScorer | None = None,
        unknown: float = 0.0,
    ) -> None:
        """Score by the tails that ``tails`` knows, with the encoder ``embed``, whose signature is ``encoder``.

        A tuple whose head has no known tail gets the score of ``fallback``, if it knows the relation, else ``unknown``.
        """
        self.tails = tails
        self.fallback = fallback
        self.relations = frozenset(relations)
        self._embed = embed
        self._unknown = unknown
        self.signature = f"compatibility-2({tails.signature};{encoder})"
        if fallback is not None:
            self.signature += f"+{fallback.signature}"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the compatibility of each tuple, in 0..1, with the closest known tails."""
        check_relations(tuples, self.relations)
        queries = [Query(head, relation) for head, relation, _ in tuples]
        known = dict(zip(dict.fromkeys(queries), self.tails.find(list(dict.fromkeys(queries))), strict=True))
        scores = self._compared(tuples, [known[query] for query in queries])
        if self.fallback is None:
            return scores
        can = self.fallback.relations
        indices = [
            index for index, query in enumerate(queries) if not known[query].tails and (can is None or query.relation in can)
        ]
        judged = self.fallback.score([tuples[index] for index in indices])
        for index, score in zip(indices, judged, strict=True):
            note = known[queries[index]].note
            scores[index] = score._replace(note="; ".join(part for part in (note, score.note) if part))
        return scores

    def _compared(self, tuples: Sequence[Triple], known_tails: Sequence[TailResult]) -> list[TupleScore]:
        """Equation 1 for tuples with known tails; each distinct text is embedded once."""
        forms = [statement(tail, relation) for _, relation, tail in tuples]
        texts: dict[str, int] = {}
        for form, known in zip(forms, known_tails, strict=True):
            if known.tails:
                texts.setdefault(form, len(texts))
                for tail in known.tails:
                    texts.setdefault(tail.form, len(texts))
        vectors = self._embed(list(texts)) if texts else np.zeros((0, 0), dtype=np.float32)
        scores = []
        for form, known in zip(forms, known_tails, strict=True):
            if not known.tails:
                scores.append(TupleScore(self._unknown, note=known.note or UNKNOWN))
                continue
            rows = [texts[tail.form] for tail in known.tails]
            scores.append(closest(vectors[texts[form]], vectors[rows], known))
        return scores


def closest(vector: Vectors, known: Vectors, known_tails: TailResult) -> TupleScore:
    """Return the score of a tail's ``vector``, shape (d,), against ``known`` ones, shape (n, d), with the best distinct tails."""
    # Row by row, so that rounding does not depend on the number of tails.
    cosines = np.einsum("ij,j->i", known.astype(np.float64), vector.astype(np.float64))
    best: list[CloseTail] = []
    seen: set[str] = set()
    for index in np.lexsort((np.arange(len(cosines)), -cosines)).tolist():
        tail = known_tails.tails[index]
        if tail.form not in seen:
            seen.add(tail.form)
            best.append(CloseTail(tail, float(cosines[index])))
        if len(best) == SHOWN:
            break
    return TupleScore(min(max(best[0].similarity, 0.0), 1.0), tuple(best), known_tails.note)


def make_compatibility(
    resources: ScorerResources, *, tails: TailSource | None = None, model: str | Path | None = None
) -> Compatibility:
    """Return the scorer over ``tails``, by default the graph's, with the retriever for heads without known tails."""
    fallback = make_retriever(resources, model=model)
    return Compatibility(
        tails or resources.tails(), resources.embed, resources.relations(), encoder=resources.encoder.signature, fallback=fallback
    )


# The scorer ``blend``: several scorers on a common scale, combined without labels.
#
# A scorer's scale is the mean and standard deviation of its scores on random pairs of a graph's heads and tails, by relation. No
# ratings are used, relations become comparable (any two feelings are close, two events seldom are), and a tuple's score does not
# depend on the other tuples of its batch.


class Part(NamedTuple):
    """One of several scorers, with its scale for each relation; where its score is NaN the others are averaged."""

    scorer: TupleScorer
    scales: Mapping[str, Scale]


class Blend:
    """The mean of standardised scores, mapped to 0..1 by a logistic function."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        """Combine ``parts``, by name; the first with closest tails gives the evidence."""
        self.parts = dict(parts)
        self.relations = frozenset(relation for part in parts.values() for relation in part.scales)
        inner = "+".join(f"{name}:{part.scorer.signature}" for name, part in self.parts.items())
        self.signature = f"blend({inner})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the combined score of each tuple, in 0..1; 0.5 is the mean of random pairs of heads and tails."""
        check_relations(tuples, self.relations)
        scaled_scores: list[list[tuple[TupleScore, Scale]]] = [[] for _ in tuples]
        for scorer, scales in self.parts.values():
            indices = [index for index, (_, relation, _) in enumerate(tuples) if relation in scales]
            for index, score in zip(indices, scorer.score([tuples[index] for index in indices]), strict=True):
                scaled_scores[index].append((score, scales[tuples[index][1]]))
        return [_blended(scores) for scores in scaled_scores]


def _blended(scores: Sequence[tuple[TupleScore, Scale]]) -> TupleScore:
    defined = [(score, scale) for score, scale in scores if score.value == score.value]
    levels = [(score.value - scale.mean) / scale.spread for score, scale in defined]
    closest = next((score.closest for score, _ in defined if score.closest), ())
    note = "; ".join(dict.fromkeys(score.note for score, _ in scores if score.note and score.note != UNKNOWN))
    return TupleScore(1 / (1 + exp(-sum(levels) / len(levels))) if levels else 0.5, closest, note)


def make_blend(resources: ScorerResources, *, tails: TailSource | None = None, model: str | Path | None = None) -> Blend:
    """Return equation 1 over ``tails`` (by default the graph's) combined with the scores of the compact model ``model``."""
    retriever = make_retriever(resources, model=model)
    known = Compatibility(
        tails or resources.tails(), resources.embed, resources.relations(), encoder=resources.encoder.signature, unknown=nan
    )
    parts: dict[str, TupleScorer] = {
        "known": known, "support": make_support(resources, model=model), "closeness": retriever, "match": Match(retriever),
    }  # fmt: skip
    return Blend({name: Part(scorer, retriever.model.scales[name]) for name, scorer in parts.items()})
