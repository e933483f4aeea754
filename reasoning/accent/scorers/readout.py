"""What scorers by a language model have in common: they judge a tuple as it is read out, and each reading once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from ...cache import LruCache
from ..readings import READ, Reading, reading
from .compatibility import check_relations
from .tuplescore import Triple, TupleScore

_REMEMBERED = 50_000


class ReadOut(ABC):
    """Scores tuples by their readings."""

    relations = READ

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._known: LruCache[Reading, TupleScore] = LruCache(_REMEMBERED)

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return how plausible each tuple is, in 0..1; tuples that are read out alike are judged once.

        Raises:
            InputError: a relation is none of ATOMIC-2020's between events.
            ModelError: the model gives no number, reads too few tokens, or cannot be asked.
        """
        check_relations(tuples, self.relations)
        read = [reading(*one) for one in tuples]
        remembered = ((one, self._known.get(one)) for one in dict.fromkeys(read))
        known = {one: score for one, score in remembered if score is not None}
        fresh = [one for one in dict.fromkeys(read) if one not in known]
        if fresh:
            judged = dict(zip(fresh, self.judge(fresh), strict=True))
            for one, score in judged.items():
                self._known.put(one, score)
            known |= judged
        return [known[one] for one in read]

    @abstractmethod
    def judge(self, inferences: Sequence[Reading]) -> list[TupleScore]:
        """Return the score of each reading, one at least, all distinct."""
