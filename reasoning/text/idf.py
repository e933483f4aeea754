"""Inverse document frequencies of lemmas, counted in utterances."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import log
from typing import Any

from .linking import Mention


class IdfTable:
    """Number of utterances that contain each lemma: idf(w) = ln((utterances + 1) / (utterances with w + 1)).

    A lemma that is not in the table has a count of 0.
    """

    def __init__(self, utterances: int, counts: Mapping[str, int]) -> None:
        self.utterances = utterances
        self.counts = dict(sorted(counts.items()))

    @classmethod
    def count(cls, utterances: Iterable[Sequence[Mention]]) -> IdfTable:
        """Count the lemmas of mentions, once for each utterance."""
        counts: Counter[str] = Counter()
        total = 0
        for mentions in utterances:
            counts.update({mention.lemma for mention in mentions})
            total += 1
        return cls(total, counts)

    def idf(self, lemma: str) -> float:
        """Inverse document frequency, >= 0."""
        return log((self.utterances + 1) / (self.counts.get(lemma, 0) + 1))

    @cached_property
    def digest(self) -> str:
        """12 hex digits of the SHA-256 of the counts."""
        return hashlib.sha256(json.dumps([self.utterances, self.counts]).encode()).hexdigest()[:12]

    def to_dict(self) -> dict[str, Any]:
        return {"utterances": self.utterances, "counts": self.counts}

    @classmethod
    def from_dict(cls, data: Any) -> IdfTable:
        """Return the table of :meth:`to_dict`; raise ValueError for anything else."""
        try:
            utterances, counts = data["utterances"], data["counts"]
            valid = isinstance(utterances, int) and all(
                isinstance(lemma, str) and isinstance(number, int) and 0 <= number <= utterances
                for lemma, number in counts.items()
            )
        except (TypeError, KeyError, AttributeError):
            valid = False
        if not valid:
            raise ValueError("its idf table is invalid")
        return cls(utterances, counts)
