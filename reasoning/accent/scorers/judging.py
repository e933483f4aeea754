"""What the scorers over a compact model share: each distinct tuple, in the model's wording, is judged once from two vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import ModelError
from ...cache import LruCache
from ..events import head_form
from ..statements import statement
from .compact import Compact
from .compatibility import Embed, check_relations
from .tuplescore import Triple

_REMEMBERED = 50_000

Vectors = NDArray[np.float32]
Judgement = TypeVar("Judgement")


class Judge(ABC, Generic[Judgement]):
    """Judges tuples by a compact model, over the encoder that it was trained on; remembers the last ones."""

    def __init__(self, model: Compact, embed: Embed, *, encoder: str) -> None:
        """Judge by ``model``.

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
        self.relations = frozenset(model.relations)
        self._embed = embed
        self._number = {name: number for number, name in enumerate(model.relations)}
        self._known: LruCache[Triple, Judgement] = LruCache(_REMEMBERED)

    def judge(self, tuples: Sequence[Triple]) -> list[Judgement]:
        """Return what the model says of each tuple.

        Raises:
            InputError: the model does not know a relation.
        """
        check_relations(tuples, self.relations)
        written = [(head_form(head), relation, statement(tail, relation)) for head, relation, tail in tuples]
        known = {one: self._known.get(one) for one in dict.fromkeys(written)}
        fresh = [one for one, judgement in known.items() if judgement is None]
        if fresh:
            texts = dict.fromkeys(text for head, _, tail in fresh for text in (head, tail))
            vectors = dict(zip(texts, self._embed(list(texts)), strict=True))
            for one in fresh:
                head, relation, tail = one
                known[one] = found = self._judge(vectors[head], self._number[relation], vectors[tail], head)
                self._known.put(one, found)
        return [judgement for one in written if (judgement := known[one]) is not None]

    @abstractmethod
    def _judge(self, head: Vectors, relation: int, tail: Vectors, text: str, /) -> Judgement:
        """Return what the model says of one tuple, from the vectors of head and tail; ``text`` is the head's."""


def along(basis: Vectors, vector: Vectors) -> Vectors:
    """Return a vector along the directions that a model keeps, of unit length."""
    turned = vector @ basis
    unit: Vectors = turned / max(float(np.linalg.norm(turned)), 1e-12)
    return unit
