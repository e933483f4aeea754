"""The journal of what was learnt while scoring: assertions that a model generated, appended beside an embedded graph.

The embedded engine takes one writer and reads from a fixed file, so what is learnt waits here: one JSON record a line,
appended in one write under a lock, by as many processes as there are. Readers follow the file as it grows. :func:`fold_in`
loads the records into the graph when nobody else writes to it, and empties the journal; a crash in between loses nothing,
since a load is idempotent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ....graph.errors import GraphError, InputError
from ....graph.intake import checked
from ....graph.model import Assertion
from ....graph.protocol import WritableGraph

try:
    import fcntl
except ImportError:  # Windows: appends of one record are whole there too, but nothing keeps a fold-in apart from them
    fcntl = None  # type: ignore[assignment]

JOURNAL = "learnt.jsonl"

_FIELDS = ("head", "relation", "tail", "source", "rank", "score")


class FoldCounts(NamedTuple):
    """What folding a journal in did: assertions that were new to the graph, that it had already, and lines that hold none."""

    new: int
    duplicate: int
    skipped: int = 0


class _Place(NamedTuple):
    """How far a journal was read: its generation, which changes when it is emptied, and a byte offset."""

    generation: int = -1
    offset: int = 0


class Journal:
    """The journal at ``path``, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._place = _Place()

    def append(self, rows: Sequence[Assertion]) -> None:
        """Add ``rows``; they are on the disk when this returns.

        Raises:
            GraphError: the journal cannot be written.
        """
        if not rows:
            return
        data = b"".join(_record(row) for row in rows)
        with self._locked(write=True) as descriptor:
            if os.fstat(descriptor).st_size == 0:
                data = _head(0) + data
            elif _torn(descriptor):  # a writer died within a line; what it left is passed over
                data = b"\n" + data
            _write_all(descriptor, data)
            os.fsync(descriptor)

    def new(self) -> list[Assertion]:
        """Return the records since the last call, the first time all of them; lines that are no record are passed over."""
        if not self.path.exists():
            return []
        with self._locked(write=False) as descriptor:
            generation, start = _generation(descriptor)
            offset = self._place.offset if generation == self._place.generation else start
            data = _read(descriptor, offset)
        whole = data[: data.rfind(b"\n") + 1]
        self._place = _Place(generation, offset + len(whole))
        return [row for line in whole.split(b"\n") if (row := _assertion(line)) is not None]

    def fold_in(self, graph: WritableGraph) -> FoldCounts:
        """Load all records into ``graph`` and empty the journal; see :func:`fold_in`."""
        if not self.path.exists():
            return FoldCounts(0, 0)
        with self._locked(write=True) as descriptor:
            generation, start = _generation(descriptor)
            lines = [line for line in _read(descriptor, start).split(b"\n") if line.strip()]
            rows = [row for line in lines if (row := _assertion(line)) is not None]
            counts = graph.load(rows)
            os.ftruncate(descriptor, 0)
            _write_all(descriptor, _head(generation + 1))
            os.fsync(descriptor)
        return FoldCounts(counts.new, counts.duplicate, len(lines) - len(rows))

    @contextmanager
    def _locked(self, *, write: bool) -> Iterator[int]:
        """Give the journal's descriptor under its lock, waiting for others."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT if write else os.O_RDONLY
        descriptor = -1
        try:
            descriptor = os.open(self.path, flags, 0o644)
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX if write else fcntl.LOCK_SH)
            yield descriptor
        except OSError as error:
            doing = "written" if write else "read"
            raise GraphError(f"the journal {self.path} cannot be {doing} ({error.strerror}); check who may do so") from error
        finally:
            if descriptor >= 0:
                os.close(descriptor)


def journal_of(graph: Any) -> Journal | None:
    """Return the journal beside an embedded graph (or its index); None for a server, which many may write to."""
    url = str(graph.url)
    return None if "://" in url else Journal(Path(url) / JOURNAL)


def fold_in(graph: WritableGraph) -> FoldCounts:
    """Load what the journal of ``graph`` holds into the graph, and empty it.

    A line that holds no assertion, or one that a graph cannot hold (a relation that is none, a rank that is no number, nodes of
    two kinds), is skipped and counted.

    Raises:
        GraphBusy: another process is loading; the journal stays as it is.
        GraphError: the journal cannot be written, or the engine failed.
    """
    journal = journal_of(graph)
    return FoldCounts(0, 0) if journal is None else journal.fold_in(graph)


def _record(row: Assertion) -> bytes:
    return json.dumps({name: getattr(row, name) for name in _FIELDS}, ensure_ascii=False).encode() + b"\n"


def _assertion(line: bytes) -> Assertion | None:
    """The assertion on a line, None when it holds none that a graph can hold."""
    try:
        row = json.loads(line)
        head, relation, tail, source = texts = [row[name] for name in _FIELDS[:4]]
        rank, score = row["rank"], row["score"]
        if not all(isinstance(text, str) for text in texts) or type(rank) is not int or type(score) not in (int, float):
            return None
        "".join(texts).encode()  # half a Unicode character cannot be stored
        return checked(Assertion(head, relation, tail, source=source, rank=rank, score=float(score)))
    except (InputError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _head(generation: int) -> bytes:
    return json.dumps({"generation": generation}).encode() + b"\n"


def _generation(descriptor: int) -> tuple[int, int]:
    """The journal's generation and where its records begin."""
    line, newline, _ = os.pread(descriptor, 64, 0).partition(b"\n")
    try:
        return (int(json.loads(line)["generation"]), len(line) + 1) if newline else (0, 0)
    except (ValueError, KeyError, TypeError):
        return 0, 0


def _torn(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def _read(descriptor: int, offset: int) -> bytes:
    parts = []
    while part := os.pread(descriptor, 1 << 20, offset):
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
