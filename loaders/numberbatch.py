"""The reader of ConceptNet Numberbatch files of word vectors.

The official files have lines ``term v1 … v300`` after a header of two counts; the English file omits ``/c/en/``. In terms with
two or more successive digits, every digit is written as ``#``, so ``/c/en/10_years`` has the vector of ``##_years``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.errors import LoadError
from .io import Line, decode, lines
from .reader import Reader

MAX_DIMENSIONS = 10_000
"""Most values of a vector."""

_HEADER = re.compile(rb"\d+ +\d+ *")
_TWO_DIGITS = re.compile(r"[0-9][0-9]")
_DIGIT = re.compile(r"[0-9]")
_LARGEST = float(np.finfo(np.float16).max)


class Vector(NamedTuple):
    """One term's vector: the URI as in the file (with ``#`` for digits), and its values, float32, shape ``(dimensions,)``."""

    uri: str
    values: NDArray[np.float32]


def masked(uri: str) -> str | None:
    """Return ``uri`` with ``#`` for all digits, as in Numberbatch, when two digits are adjacent; otherwise None."""
    return _DIGIT.sub("#", uri) if _TWO_DIGITS.search(uri) else None


class NumberbatchReader(Reader[Vector]):
    """Iterator of the vectors of a Numberbatch file: gzip or plain, with or without header and ``/c/en/`` prefix.

    Raises:
        InputError: the file cannot be opened.
        LoadError: while iterating, under ``strict``.

    Attributes:
        dimensions: length of the vectors, None before the first line has been read.
    """

    loader = "numberbatch"
    version = 1
    dimensions: int | None = None

    def candidates(self) -> Iterator[tuple[Line, str]]:
        """Yield the lines that have a term and the right number of values, with the term's URI; count the others.

        Raises:
            LoadError: the file is damaged, or the vector length in its first line is out of range.
        """
        self.source.check()
        for line in lines(self.source):
            if line.number == 1 and line.flaw is None and _HEADER.fullmatch(line.data):
                self.dimensions = self._header(line.data.split()[1])
                self.drop("header")
                continue
            if not line.data.strip():
                self.drop("blank line")
                continue
            term, _, values = line.data.strip().partition(b" ")
            text, flaw = decode(Line(line.number, term, line.flaw))
            count = len(values.split()) if self.dimensions is None else values.count(b" ") + 1
            if flaw is not None:
                self.reject(line.number, flaw, line.data)
            elif not values:
                self.reject(line.number, "no values", line.data)
            elif self.dimensions is None and count > MAX_DIMENSIONS:
                self.reject(line.number, f"more than {MAX_DIMENSIONS:,} values", line.data)
            elif self.dimensions is not None and count != self.dimensions:
                self.reject(line.number, f"not {self.dimensions} values", line.data)
            else:
                self.dimensions = count
                yield Line(line.number, values), text if text.startswith("/c/") else f"/c/en/{text}"
        self.source.fail_if_damaged()

    def _header(self, digits: bytes) -> int:
        """Return the length of the vectors as given in the first line."""
        digits = digits.lstrip(b"0") or b"0"
        if len(digits) > len(str(MAX_DIMENSIONS)) or not 0 < int(digits) <= MAX_DIMENSIONS:
            count = digits.decode() if len(digits) <= 20 else f"a number of {len(digits):,} digits"
            raise LoadError(
                f"{self.source.name} is not a Numberbatch file: its first line says that a vector has {count} values "
                f"(1 to {MAX_DIMENSIONS:,} are possible); check the file"
            )
        return int(digits)

    def values(self, line: Line) -> NDArray[np.float32] | None:
        """Return the numbers in ``line``, or None after rejecting it."""
        try:
            if b"_" in line.data:  # float() accepts underscores
                raise ValueError
            values = np.array([float(text) for text in line.data.split()], np.float64)
        except ValueError:
            self.reject(line.number, "a value is not a number", line.data)
            return None
        if not bool(np.all(np.abs(values) <= _LARGEST)):
            self.reject(line.number, f"a value is beyond ±{_LARGEST:.0f}", line.data)
            return None
        if len(values) != self.dimensions:
            self.reject(line.number, f"not {self.dimensions} values", line.data)
            return None
        return values.astype(np.float32)

    def _rows(self) -> Iterator[Vector]:
        for line, uri in self.candidates():
            values = self.values(line)
            if values is not None:
                self.report.read += 1
                self.report.kept += 1
                yield Vector(uri, values)


read_numberbatch = NumberbatchReader
