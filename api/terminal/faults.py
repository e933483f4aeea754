"""Records of an input file that could not be read or scored: they are collected and reported at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

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


class Records(Generic[T]):
    """The records of a file that could be read, counted while they are read; :meth:`report` reports the others.

    ``wanted`` is what a record holds ("a dialogue"); ``damaged`` says what to do about a file that ends early.
    """

    def __init__(self, rows: Iterable[T | ItemError], file: str, wanted: str, damaged: str = "get the whole file") -> None:
        self.faults = Faults()
        self.read = 0
        self._rows, self._file, self._wanted, self._damaged = rows, file, wanted, damaged

    def __iter__(self) -> Iterator[T]:
        for row in self._rows:
            if not isinstance(row, ItemError):
                self.read += 1
                yield row
            elif row.damage:
                raise DamagedInput(f"{self._file} ends early, at record {row.line:,} ({row.reason}); {self._damaged}")
            else:
                self.faults.add(f"line {row.line}: {row.reason}")

    def report(self) -> None:
        """Report on stderr the records that could not be read; a file without any other is an error."""
        self.faults.require(self.read, f"{self._file} has no {self._wanted.partition(' ')[2]}")
        self.faults.note(f"records of {self._file} without {self._wanted}")


def read_all(rows: Iterable[T | ItemError], file: str, wanted: str) -> list[T]:
    """Return all records that could be read, and report the others."""
    records = Records(rows, file, wanted)
    rows_read = list(records)
    records.report()
    return rows_read
