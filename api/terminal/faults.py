"""Records of an input file that could not be read or scored: the sound ones go on, the others are reported at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from ...graph.errors import DamagedInput, InputError
from ...graph.item import ItemError
from .screen import note

T = TypeVar("T")

_SHOWN = 10


@dataclass(slots=True)
class Faults:
    """The errors of a run: their number, and the messages of the first ten."""

    number: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, message: str) -> None:
        """Count an error."""
        self.number += 1
        if len(self.first) < _SHOWN:
            self.first.append(message)

    def note(self, heading: str) -> None:
        """Print the first messages to stderr, below a heading; nothing without errors."""
        note_faults(heading, self.first, self.number)

    def require(self, read: int, failure: str) -> None:
        """Raise an :class:`InputError` with the first message if nothing was read."""
        if not read:
            raise InputError(failure + (f"; the first error: {self.first[0]}" if self.first else ""))


def note_faults(heading: str, faults: list[str], number: int) -> None:
    """Print the first error messages of ``number`` errors to stderr, below a heading; nothing without errors."""
    if number:
        note(f"{heading}:" if number == len(faults) else f"{heading}, the first {len(faults)} of {number:,}:")
        for fault in faults:
            note(f"  {fault}")


def sound(rows: Iterable[T | ItemError], file: str, faults: Faults, damaged: str = "get the whole file") -> Iterator[T]:
    """Yield the records that could be read, and collect the others in ``faults``; ``damaged`` says what to do about a file that
    ends early.
    """
    for row in rows:
        if not isinstance(row, ItemError):
            yield row
        elif row.damage:
            raise DamagedInput(f"{file} ends early, at record {row.line:,} ({row.reason}); {damaged}")
        else:
            faults.add(f"line {row.line}: {row.reason}")


def report_faults(file: str, faults: Faults, read: int, wanted: str) -> None:
    """Report on stderr the records without what is ``wanted`` ("a dialogue"); without any record that is an error."""
    faults.require(read, f"{file} has no {wanted.partition(' ')[2]}")
    faults.note(f"records without {wanted}")
