"""What metrics share that compare a response with the responses of people at the same place: one base, and what it makes of none.

Without a reference there is nothing to compare with: the value is no number, and the note says so. Blank references are none. A
blank response has the lowest value, 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...graph.errors import InputError
from ...graph.item import Item
from ..score import BatchScoring, Evidence, Piece, Score, Signature

NO_REFERENCE = "no reference is given"
NO_RESPONSE = "the response is blank"


class Pair(NamedTuple):
    """A response and what it is compared with, none of them blank."""

    response: str
    references: tuple[str, ...]


class Comparison(NamedTuple):
    """What comparing gave; the pieces only where they were asked for."""

    value: float
    pieces: tuple[Piece, ...] = ()


class Compared(BatchScoring):
    """Base of a metric that compares with references; a subclass says what one comparison gives."""

    name: str
    signature: Signature

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        """Score responses against their references; ``explain`` adds the pieces."""
        pairs = [Pair(item.response, tuple(text for text in item.references if text.strip())) for item in items]
        compared = iter(self.compare([pair for pair in pairs if pair.response.strip() and pair.references], explain))
        scores = []
        for pair in pairs:
            if not pair.references:
                scores.append(Score(float("nan"), Evidence(note=NO_REFERENCE), self.signature))
            elif not pair.response.strip():
                scores.append(Score(0.0, Evidence(note=NO_RESPONSE), self.signature))
            else:
                value, pieces = next(compared)
                scores.append(Score(value, Evidence(pieces), self.signature))
        return scores

    def compare(self, pairs: Sequence[Pair], explain: bool) -> Sequence[Comparison]:
        """Compare each response with its references, in order."""
        return [self.compare_one(pair, explain) for pair in pairs]

    def compare_one(self, pair: Pair, explain: bool) -> Comparison:
        """Compare one response with its references; for metrics that gain nothing from batches."""
        raise NotImplementedError


def flag(metric: str, option: str, value: object) -> bool:
    """Return an option that is true or false.

    Raises:
        InputError: it is neither.
    """
    if not isinstance(value, bool):
        raise InputError(f"the option {option} of {metric} is {value!r}; give true or false")
    return value


def part(name: str, value: float, *rests_on: Piece) -> Piece:
    """Return a number that a value is worked out from, which has no share of it by itself."""
    return Piece("part", value, 0.0, name=name, rests_on=rests_on)


def nearest(pair: Pair, place: int) -> tuple[Piece, ...]:
    """Return which of several references was the nearest, counted from 1; nothing where there is one."""
    return (part("nearest reference, number", place + 1),) if len(pair.references) > 1 else ()
