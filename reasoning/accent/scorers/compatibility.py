"""Compatibility, ACCENT's equation 1 (Ghazarian et al., ACL 2023): how close a tail is to the closest of the known ones.

``f(h, r, t) = max over known tails t' of h and r of cos(embed(t), embed(t'))``, floored at 0. Both tails are brought to one
wording before they are embedded (:func:`tacit.reasoning.accent.statements.statement`); the original compares ``PersonX buys a
brush`` with ``to buy a brush`` as they stand. Where nothing is known of a head, another scorer may judge instead; without one
the value is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import InputError
from ..statements import statement
from ..tails.source import Found, Query, TailSource
from .tuplescore import SHOWN, Close, Triple, TupleScore, TupleScorer

if TYPE_CHECKING:
    from .opening import Opener

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]

UNKNOWN = "nothing is known of this head under this relation"


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
        """Score by the tails that ``tails`` knows.

        Args:
            embed: texts to vectors of unit length, shape (texts, d).
            relations: those that may be asked for.
            encoder: what stands for ``embed`` in the signature.
            fallback: judges tuples of whose heads no tail is known, as far as it knows their relation.
            unknown: the score of tuples of which nothing is known.
        """
        self.tails = tails
        self.fallback = fallback
        self.relations = frozenset(relations)
        self._embed = embed
        self._unknown = unknown
        self.signature = f"compatibility({tails.signature};{encoder})"
        if fallback is not None:
            self.signature += f"+{fallback.signature}"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the compatibility of each tuple, in 0..1, with the known tails that are closest.

        Raises:
            InputError: a relation is not among those that may be asked for.
        """
        check_relations(tuples, self.relations)
        queries = [Query(head, relation) for head, relation, _ in tuples]
        known = dict(zip(dict.fromkeys(queries), self.tails.find(list(dict.fromkeys(queries))), strict=True))
        scores = self._compared(tuples, [known[query] for query in queries])
        if self.fallback is None:
            return scores
        can = self.fallback.relations
        places = [
            place for place, query in enumerate(queries) if not known[query].tails and (can is None or query.relation in can)
        ]
        judged = self.fallback.score([tuples[place] for place in places])
        for place, score in zip(places, judged, strict=True):
            note = known[queries[place]].note
            scores[place] = score._replace(note="; ".join(part for part in (note, score.note) if part))
        return scores

    def _compared(self, tuples: Sequence[Triple], found: Sequence[Found]) -> list[TupleScore]:
        """Equation 1 for tuples with known tails, each distinct text embedded once."""
        forms = [statement(tail, relation) for _, relation, tail in tuples]
        texts: dict[str, int] = {}
        for form, one in zip(forms, found, strict=True):
            if one.tails:
                texts.setdefault(form, len(texts))
                for tail in one.tails:
                    texts.setdefault(tail.form, len(texts))
        vectors = self._embed(list(texts)) if texts else np.zeros((0, 0), dtype=np.float32)
        scores = []
        for form, one in zip(forms, found, strict=True):
            if not one.tails:
                scores.append(TupleScore(self._unknown, note=one.note or UNKNOWN))
                continue
            rows = [texts[tail.form] for tail in one.tails]
            scores.append(closest(vectors[texts[form]], vectors[rows], one))
        return scores


def closest(vector: Vectors, known: Vectors, found: Found, shown: int = SHOWN) -> TupleScore:
    """Return the score of a tail's ``vector`` against those of known tails, with the best ``shown`` distinct ones."""
    # Row by row, so that no rounding depends on how many tails there are.
    cosines = np.einsum("ij,j->i", known.astype(np.float64), vector.astype(np.float64))
    best: list[Close] = []
    seen: set[str] = set()
    for place in np.lexsort((np.arange(len(cosines)), -cosines)).tolist():
        tail = found.tails[place]
        if tail.form not in seen:
            seen.add(tail.form)
            best.append(Close(tail, float(cosines[place])))
        if len(best) == shown:
            break
    return TupleScore(min(max(best[0].similarity, 0.0), 1.0), tuple(best), found.note)


def check_relations(tuples: Sequence[Triple], relations: frozenset[str]) -> None:
    """Raise :class:`InputError` when a tuple has a relation that is not one of ``relations``."""
    for _, relation, _ in tuples:
        if relation not in relations:
            raise InputError(f"there is no relation {relation!r} between events; choose from {', '.join(sorted(relations))}")


def make(opener: Opener, *, tails: TailSource | None = None, model: str | Path | None = None) -> Compatibility:
    """Return the scorer over ``tails``, by default the graph's, with the retriever for heads of which nothing is known.

    Raises:
        ModelError: the compact model ``model`` cannot be opened.
    """
    from .retriever import make as make_retriever

    fallback = make_retriever(opener, model=model)
    return Compatibility(
        tails or opener.tails(), opener.embed, opener.relations(), encoder=opener.encoder.signature, fallback=fallback
    )
