"""The compact model as a tuple scorer: how close a tail is to any of the tails that the model expects most of the head.

The pool is wide, hundreds of tails: a response says one of the many things that may follow, seldom one of the ten likeliest.
With ``tails`` the model is a tail source too, of its first few alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import ModelError
from ..events import head_form, tail_form
from ..tails.source import KnownTail, Origin
from .compact import Compact
from .compatibility import Embed, check_relations
from .tuplescore import SHOWN, Close, Triple, TupleScore

POOL = 500

Vectors = NDArray[np.float32]


class Retriever:
    """A compact model over the encoder that it was trained on."""

    def __init__(self, model: Compact, embed: Embed, *, encoder: str, pool: int = POOL) -> None:
        """Score by the ``pool`` tails of a relation that ``model`` ranks highest.

        Args:
            embed: texts to vectors of unit length, shape (texts, d); encoder: its signature.

        Raises:
            ModelError: the model was trained on the vectors of another encoder.
        """
        if encoder != model.encoder[1]:
            raise ModelError(
                f"the tail retriever reads the vectors of {model.encoder[0]} ({model.encoder[1]}), not of the encoder {encoder}; "
                "leave out the option encoder, or train one for it with: tacit train retriever"
            )
        self.model = model
        self.pool = pool
        self.signature = f"retriever({model.digest};{pool})"
        self._embed = embed
        self._number = {name: number for number, name in enumerate(model.relations)}
        self._relations = frozenset(model.relations)
        self._keys: dict[int, Vectors] = {}
        self._expected: dict[tuple[str, int], NDArray[np.int64]] = {}

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return how close each tail comes to what the model expects, in 0..1.

        Raises:
            InputError: the model does not know a relation.
        """
        check_relations(tuples, self._relations)
        heads = [head_form(head) for head, _, _ in tuples]
        tails = [tail_form(tail, relation) for _, relation, tail in tuples]
        texts = {text: row for row, text in enumerate(dict.fromkeys([*heads, *tails]))}
        if not texts:
            return []
        vectors = self._embed(list(texts))
        scores = []
        for (_, relation, _), head, tail in zip(tuples, heads, tails, strict=True):
            rows = self._expect(vectors[texts[head]], self._number[relation])
            scores.append(self._closest(vectors[texts[tail]], rows, head))
        return scores

    def expected(self, head: str, relation: str, limit: int = 10) -> list[str]:
        """Return the tails that the model expects most, best first."""
        check_relations([(head, relation, "")], self._relations)
        (vector,) = self._embed([head_form(head)])
        return [self.model.texts[row] for row in self._expect(vector, self._number[relation])[:limit].tolist()]

    def _expect(self, head: Vectors, relation: int) -> NDArray[np.int64]:
        """The numbers of the pool's tails for one head, best first."""
        members = self.model.members[relation]
        if relation not in self._keys:
            vectors = self.model.codes[members] @ self.model.basis.T
            self._keys[relation] = self.model.key(vectors, relation)
        query = self.model.query(head[None], relation)[0]
        ranks = self._keys[relation] @ query
        if self.pool < len(ranks):
            best = np.argpartition(-ranks, self.pool - 1)[: self.pool]
            best = np.sort(best)
        else:
            best = np.arange(len(ranks))
        found: NDArray[np.int64] = members[best[np.argsort(-ranks[best], kind="stable")]]
        return found

    def _closest(self, tail: Vectors, rows: NDArray[np.int64], head: str) -> TupleScore:
        """The score of a tail against the expected ones."""
        along = tail @ self.model.basis
        along /= max(float(np.linalg.norm(along)), 1e-12)
        cosines = self.model.codes[rows] @ along
        places = np.argsort(-cosines, kind="stable")[:SHOWN].tolist()
        source = f"retriever:{self.model.digest}"
        best = []
        for place in places:
            text = self.model.texts[rows[place]]
            best.append(Close(KnownTail(text, text, Origin.MODEL, head, 1.0, source, place), float(cosines[place])))
        return TupleScore(min(max(best[0].similarity, 0.0), 1.0), tuple(best))
