"""The base of all readers: an iterator of typed rows with a report of the rows that were read, kept, dropped and rejected.

A row that a filter excludes is *dropped*; a line that cannot be parsed is *rejected*, reported with file and line, and ends the
load only under ``strict``. Always read = kept + dropped + rejected. A compressed file is verified to its end before its first row
is yielded, so that no row of a damaged file is used.
"""

from __future__ import annotations

import hashlib
import os
import time
from array import array
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from ..graph.errors import LoadError
from ..graph.model import LoadEntry
from .formats import nothing_kept
from .io import ByteSource, excerpt

KEEP_REJECTS = 20
"""Rejected lines that a report keeps."""

_INITIAL_SIZE = 1 << 12
"""Entries of an empty hash set's table."""

Row = TypeVar("Row")


class Reject(NamedTuple):
    """A line that cannot be parsed: file, line (0 where it is unknown), reason, and the beginning of the line."""

    file: str
    line: int
    reason: str
    excerpt: str

    def __str__(self) -> str:
        return f"{self.location}: {self.reason}: {self.excerpt}"

    @property
    def location(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass
class Report:
    """The number of rows so far, by outcome.

    Attributes:
        read: all rows; always ``kept`` + sum of ``dropped`` + sum of ``rejected``.
        kept: rows yielded.
        dropped: rows excluded by a filter, by reason.
        rejected: lines that cannot be parsed, by reason.
        rejects: the first ``KEEP_REJECTS`` of these lines.
        seconds: time from the request for the first row to the end.
    """

    read: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    rejects: list[Reject] = field(default_factory=list, repr=False)
    seconds: float = 0.0

    def left_out(self) -> dict[str, int]:
        """Return the numbers of dropped and rejected rows, sorted by reason; rejected ones as ``rejected: <reason>``."""
        reasons = dict(self.dropped) | {f"rejected: {reason}": count for reason, count in self.rejected.items()}
        return {reason: reasons[reason] for reason in sorted(reasons) if reasons[reason]}


class Reader(Generic[Row], Iterator[Row]):
    """Base of the readers: an iterator that can be used once, and a context manager.

    Subclasses define ``loader``, the ``version`` of its rules, and :meth:`_rows`.
    """

    loader: ClassVar[str]
    version: ClassVar[int]

    def __init__(self, path: str | os.PathLike[str], *, strict: bool = False, options: dict[str, Any] | None = None) -> None:
        """Open ``path``; errors are those of :class:`ByteSource`."""
        self.source = ByteSource(path)
        self.strict = strict
        self.options = options or {}
        self.report = Report()
        self._generator = self._timed()
        self._iterator: Iterator[Row] = self._generator
        self._begun = False

    @property
    def path(self) -> str:
        """The file as given by the caller."""
        return self.source.path

    @property
    def bytes_read(self) -> int:
        """Bytes of the file on disk that have been read, for a progress bar."""
        return self.source.bytes_read

    @property
    def bytes_total(self) -> int | None:
        """Size of the file on disk; None for a pipe."""
        return self.source.bytes_total

    @property
    def kind(self) -> str:
        """The kind of the reader's files in :func:`tacit.loaders.formats.detect`."""
        return self.loader

    def _rows(self) -> Iterator[Row]:
        raise NotImplementedError

    def _timed(self) -> Generator[Row, None, None]:
        started = time.perf_counter()
        try:
            self.source.check()
            yield from self._rows()
            self.source.fail_if_damaged()
        finally:
            self.report.seconds = time.perf_counter() - started
            self.source.close()

    def __iter__(self) -> Iterator[Row]:
        return self._iterator

    def __next__(self) -> Row:
        return next(self._iterator)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading and close the file; closing twice is harmless."""
        self._generator.close()
        self.source.close()

    def begin(self) -> None:
        """Verify the file and read up to the first row that is kept; iteration then begins with this row.

        Calling this before a graph is opened avoids creating an empty graph for an unusable file. A second call does nothing.

        Raises:
            LoadError: the file is damaged, or no row is kept; the message says what the file looks like.
        """
        if self._begun:
            return
        self._begun = True
        for row in self._generator:
            self._iterator = chain([row], self._generator)
            return
        self.entry()

    def entry(self) -> LoadEntry:
        """Return this load's entry for the graph's manifest; only after the last row has been read.

        Raises:
            LoadError: there are rows left to read, so the file's checksum is unknown; or no row was kept.
        """
        sha256 = self.source.sha256
        if sha256 is None:
            raise LoadError(f"{self.path} was not read to its end, so its checksum is unknown; read all rows first")
        if not self.report.kept:
            raise LoadError(nothing_kept(self.source.name, self.source.head, self.kind, self.report))
        return LoadEntry(
            loader=self.loader,
            version=self.version,
            file=Path(self.path).name,
            sha256=sha256,
            options=self.options,
            read=self.report.read,
            kept=self.report.kept,
            dropped=self.report.left_out(),
        )

    def reject(self, line: int, reason: str, content: bytes | str) -> None:
        """Count a line that cannot be parsed, and end the load under ``strict``.

        Raises:
            LoadError: under ``strict``.
        """
        report = self.report
        report.read += 1
        report.rejected[reason] += 1
        reject = Reject(self.path, line, reason, excerpt(content))
        if len(report.rejects) < KEEP_REJECTS:
            report.rejects.append(reject)
        if self.strict:
            raise LoadError(f"{reject} (with strict reading, the load stops at the first invalid line)")

    def drop(self, reason: str, count: int = 1) -> None:
        """Count ``count`` rows that a filter excluded."""
        self.report.read += count
        self.report.dropped[reason] += count


def hash64(text: str) -> int:
    """Return a 64-bit hash of ``text``, the same in every process; never 0."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") or 1


class HashSet:
    """A set of 64-bit hashes with 16 to 32 bytes each: open addressing with linear probing, at most half full; 0 means empty."""

    def __init__(self) -> None:
        self._table = array("Q", bytes(8 * _INITIAL_SIZE))
        self._mask = _INITIAL_SIZE - 1
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, value: int) -> bool:
        """Add ``value`` (1 to 2**64 - 1, uniformly distributed) and return whether it is new."""
        table, mask = self._table, self._mask
        index = value & mask
        while (entry := table[index]) != 0:
            if entry == value:
                return False
            index = (index + 1) & mask
        table[index] = value
        self._size += 1
        if 2 * self._size > mask:
            self._grow()
        return True

    def _grow(self) -> None:
        old = self._table
        self._mask = mask = 2 * len(old) - 1
        self._table = table = array("Q", bytes(16 * len(old)))
        for value in old:
            if value:
                index = value & mask
                while table[index]:
                    index = (index + 1) & mask
                table[index] = value
