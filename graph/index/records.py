"""Arcs back into assertions, equal in every field to those that were indexed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..model import Assertion
from .layout import Arrays
from .names import Names


class Records:
    """The assertions of an index, by place in its arc lists."""

    def __init__(self, arrays: Arrays, names: Names, relations: list[str]) -> None:
        self._arrays = arrays
        self._names = names
        self._relations = relations
        self._provenance = lru_cache(maxsize=65_536)(self._read_provenance)

    def assertion(self, owner: int, arc: int) -> Assertion:
        """Return the assertion at place ``arc``, which must lie in the list of the node ``owner``."""
        arrays = self._arrays
        ends = self._names.uri(owner), self._names.uri(int(arrays["neighbour"][arc]))
        code = int(arrays["relation"][arc])
        head, tail = reversed(ends) if code & 1 else ends
        weight = float(arrays["weights"][arrays["weight"][arc]])
        source, dataset, head_sense, tail_sense, license_, contributors, rank, score = self._provenance(
            int(arrays["provenance"][arc])
        )
        relation = self._relations[code >> 1]
        return Assertion(
            head, relation, tail, weight, source, dataset, license_, contributors, head_sense, tail_sense, rank, score
        )

    def _read_provenance(self, code: int) -> tuple[Any, ...]:
        start, text = self._arrays["text_start"], self._arrays["text"]
        fields = [text[start[i] : start[i + 1]].tobytes().decode() for i in self._arrays["provenance_texts"][code].tolist()]
        rank, score = fields[6:]
        return (*fields[:6], int(rank) if rank else None, float(score) if score else None)
