"""ConceptNet Numberbatch text vectors as a stream of rows.

The official files write ``term v1 … v300`` under a header of two counts; the English one leaves ``/c/en/`` away. Terms with two
or more digits in a row have every digit written as ``#``, so ``/c/en/10_years`` finds the vector of ``##_years``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .lines import Line, decode, lines
from .reader import OnReject, Reader

_HEADER = re.compile(rb"\d+ +\d+ *")
_TWO_DIGITS = re.compile(r"[0-9][0-9]")
_DIGIT = re.compile(r"[0-9]")
_LARGEST = float(np.finfo(np.float16).max)


class Vector(NamedTuple):
    """One term's vector: the URI as the file means it (``#`` for digits), and its values, float32, shape ``(dimensions,)``."""

    uri: str
    values: NDArray[np.float32]


def masked(uri: str) -> str | None:
    """Return ``uri`` with all digits as ``#``, as Numberbatch writes it when two stand side by side; None when none do."""
    return _DIGIT.sub("#", uri) if _TWO_DIGITS.search(uri) else None


class NumberbatchReader(Reader[Vector]):
    """Iterator of the vectors in one file; see :func:`read_numberbatch`.

    Attributes:
        dimensions: length of the vectors, None before the first line has been read.
    """

    loader = "numberbatch"
    version = 1
    dimensions: int | None = None

    def candidates(self) -> Iterator[tuple[Line, str]]:
        """Yield the lines that have a term and the right number of values, with the term's URI; count the others."""
        for line in lines(self.source):
            if line.number == 1 and _HEADER.fullmatch(line.data):
                self.dimensions = int(line.data.split()[1])
                self.drop("header")
                continue
            if not line.data.strip():
                self.drop("blank line")
                continue
            term, _, rest = line.data.strip().partition(b" ")
            text, flaw = decode(Line(line.number, term, line.flaw))
            count = len(rest.split()) if self.dimensions is None else rest.count(b" ") + 1
            if flaw is not None:
                self.reject(line.number, flaw, line.data)
            elif not rest:
                self.reject(line.number, "no values", line.data)
            elif self.dimensions is not None and count != self.dimensions:
                self.reject(line.number, f"not {self.dimensions} values", line.data)
            else:
                self.dimensions = count
                yield Line(line.number, rest), text if text.startswith("/c/") else f"/c/en/{text}"

    def values(self, line: Line) -> NDArray[np.float32] | None:
        """Return the numbers in ``line``, or None after rejecting it."""
        try:
            values = np.array([float(text) for text in line.data.split()], np.float32)
        except ValueError:
            self.reject(line.number, "a value is not a number", line.data)
            return None
        if not bool(np.all(np.abs(values) <= _LARGEST)):
            self.reject(line.number, f"a value is beyond ±{_LARGEST:.0f}", line.data)
            return None
        return values

    def _rows(self) -> Iterator[Vector]:
        for line, uri in self.candidates():
            values = self.values(line)
            if values is not None:
                self.report.read += 1
                self.report.kept += 1
                yield Vector(uri, values)


def read_numberbatch(
    path: str | os.PathLike[str], *, strict: bool = False, on_reject: OnReject | None = None
) -> NumberbatchReader:
    """Read the vectors of a Numberbatch file: gzip or plain, header or none, ``/c/en/`` prefix or none.

    Raises:
        InputError: the file cannot be opened.
        LoadError: while iterating, under ``strict``.
    """
    return NumberbatchReader(path, strict=strict, on_reject=on_reject)
