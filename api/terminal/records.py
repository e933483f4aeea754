"""Records of an input file that a command reads one by one: the sound ones go on, the faulty ones are reported at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from ...graph.errors import DamagedInput, InputError
from ...graph.item import ItemError
from .screen import note_faults

T = TypeVar("T")

_SHOWN = 10


def sound(rows: Iterable[T | ItemError], file: str, errors: list[ItemError]) -> Iterator[T]:
    """Yield the records that could be read, and collect the others in ``errors``.

    Raises:
        DamagedInput: the file ends early.
    """
    for row in rows:
        if not isinstance(row, ItemError):
            yield row
        elif row.damage:
            raise DamagedInput(f"{file} ends early, at record {row.line:,} ({row.reason}); get the whole file")
        else:
            errors.append(row)


def report_faults(file: str, errors: list[ItemError], read: int, wanted: str) -> None:
    """Report on stderr the records that could not be read.

    Args:
        errors: of the records; read: the number of those that could be read.
        wanted: what a record should be, with its article ("a dialogue").

    Raises:
        InputError: no record could be read.
    """
    if not read:
        first = f"; the first error: line {errors[0].line}: {errors[0].reason}" if errors else ""
        raise InputError(f"{file} has no {wanted.partition(' ')[2]}{first}")
    note_faults(f"records without {wanted}", [f"line {one.line}: {one.reason}" for one in errors[:_SHOWN]], len(errors))
