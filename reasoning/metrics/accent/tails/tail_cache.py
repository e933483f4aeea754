"""The cache of tails that COMETs generated, so that no query is generated twice; and the journal that it is stored in.

The embedded engine allows one writer, so beside an embedded graph generated tails are appended to a journal: one JSON record a
line, appended in one write under a lock, by any number of processes. Readers follow the file as it grows. :func:`merge_cache`
loads the records into the graph while no other process writes to it, and empties the journal; a crash in between loses nothing,
since loading is idempotent. Tails for a graph on a server are loaded into it directly.

A query that the model answered with "none" alone is stored so, and not generated again. Tails are stored by the model's source
and used for that model alone, so a score with a COMET does not depend on when its tails were generated.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from .....graph.atomic import lock
from .....graph.errors import GraphError, InputError
from .....graph.loading import checked
from .....graph.model import Assertion
from .....graph.names import event_uri, text_of
from .....graph.open import store_of
from .....graph.protocol import KnowledgeGraph, WritableGraph
from ..events import head_form
from ..scorers.base import Query
from .comet import NOTHING, Generated
from .event_table import GENERATED_PREFIX, Events

JOURNAL = "learnt.jsonl"

_FIELDS = ("head", "relation", "tail", "source", "rank", "score")


class MergeCounts(NamedTuple):
    """Counts of a merge: assertions that were new to the graph, duplicates, and lines that hold no valid assertion."""

    new: int
    duplicate: int
    skipped: int = 0


class _Place(NamedTuple):
    """How far a journal was read: its generation, which changes when it is emptied, and the byte offset."""

    generation: int = -1
    offset: int = 0


class Journal:
    """The journal at ``path``, which need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._place = _Place()

    def append(self, rows: Sequence[Assertion]) -> None:
        """Append ``rows``; they are on disk when this returns."""
        if not rows:
            return
        data = b"".join(_record(row) for row in rows)
        with self._locked(write=True) as descriptor:
            if os.fstat(descriptor).st_size == 0:
                data = _head(0) + data
            elif _ends_incomplete(descriptor):  # a writer died within a line, which readers will skip
                data = b"\n" + data
            _write_all(descriptor, data)
            os.fsync(descriptor)

    def new(self) -> list[Assertion]:
        """Return the records since the last call, at the first call all; invalid lines are skipped."""
        if not self.path.exists():
            return []
        with self._locked(write=False) as descriptor:
            generation, start = _generation(descriptor)
            offset = self._place.offset if generation == self._place.generation else start
            data = _read(descriptor, offset)
        complete_lines = data[: data.rfind(b"\n") + 1]
        self._place = _Place(generation, offset + len(complete_lines))
        return [row for line in complete_lines.split(b"\n") if (row := _assertion(line)) is not None]

    def merge_cache(self, graph: WritableGraph) -> MergeCounts:
        """Load all records into ``graph`` and empty the journal; see the function :func:`merge_cache`."""
        if not self.path.exists():
            return MergeCounts(0, 0)
        with self._locked(write=True) as descriptor:
            generation, start = _generation(descriptor)
            lines = [line for line in _read(descriptor, start).split(b"\n") if line.strip()]
            rows = [row for line in lines if (row := _assertion(line)) is not None]
            counts = graph.load(rows)
            os.ftruncate(descriptor, 0)
            _write_all(descriptor, _head(generation + 1))
            os.fsync(descriptor)
        return MergeCounts(counts.new, counts.duplicate, len(lines) - len(rows))

    @contextmanager
    def _locked(self, *, write: bool) -> Iterator[int]:
        """Yield the journal's file descriptor under its lock, which other processes release first."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT if write else os.O_RDONLY
        descriptor = -1
        try:
            descriptor = lock(self.path, flags=flags, shared=not write, wait=True)
            yield descriptor
        except OSError as error:
            doing = "written" if write else "read"
            raise GraphError(f"the journal {self.path} cannot be {doing} ({error.strerror}); check its permissions") from error
        finally:
            if descriptor >= 0:
                os.close(descriptor)


def journal_of(graph: Any) -> Journal | None:
    """Return the journal beside an embedded graph (or its index); None for a server, which takes writes directly."""
    url = str(graph.url)
    return None if "://" in url else Journal(Path(url) / JOURNAL)


def merge_cache(graph: WritableGraph) -> MergeCounts:
    """Load the journal of ``graph`` into the graph, and empty it; lines that the graph cannot hold are skipped and counted."""
    journal = journal_of(graph)
    return MergeCounts(0, 0) if journal is None else journal.merge_cache(graph)


def _record(row: Assertion) -> bytes:
    return json.dumps({name: getattr(row, name) for name in _FIELDS}, ensure_ascii=False).encode() + b"\n"


def _assertion(line: bytes) -> Assertion | None:
    """The assertion on a line; None when the line does not hold a valid one."""
    try:
        row = json.loads(line)
        head, relation, tail, source = texts = [row[name] for name in _FIELDS[:4]]
        rank, score = row["rank"], row["score"]
        if not all(isinstance(text, str) for text in texts) or type(rank) is not int or type(score) not in (int, float):
            return None
        "".join(texts).encode()  # raises for lone surrogates, which cannot be stored
        return checked(Assertion(head, relation, tail, source=source, rank=rank, score=float(score)))
    except (InputError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _head(generation: int) -> bytes:
    return json.dumps({"generation": generation}).encode() + b"\n"


def _generation(descriptor: int) -> tuple[int, int]:
    line, newline, _ = os.pread(descriptor, 64, 0).partition(b"\n")
    try:
        return (int(json.loads(line)["generation"]), len(line) + 1) if newline else (0, 0)
    except (ValueError, KeyError, TypeError):
        return 0, 0


def _ends_incomplete(descriptor: int) -> bool:
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


# The cache.


class TailCache:
    """Generated tails of one graph: from its event table, its journal, and those that this object stored."""

    def __init__(self, graph: KnowledgeGraph, events: Events) -> None:
        """Open the cache of ``graph`` with these ``events``."""
        self.journal: Journal | None = journal_of(graph)
        self._graph = graph
        self._stored: dict[tuple[Query, str], dict[str, float]] = {}
        self._lock = threading.Lock()
        for query, tail in events.generated():
            self._add(query, tail.source, tail.text, tail.score)
        self.refresh()

    def refresh(self) -> None:
        """Read what other processes appended to the journal; with an unreadable journal, their queries are generated again."""
        if self.journal is not None:
            with self._lock, suppress(GraphError):
                self._add_rows(self.journal.new())

    def recall(self, query: Query, source: str) -> list[Generated] | None:
        """Return the stored tails of ``source`` for a query, best first; None when the query was never generated."""
        stored = self._stored.get((_key(query), source))
        return None if stored is None else [Generated(text, score) for text, score in stored.items()]

    def sources(self) -> list[str]:
        """Return the sources of all stored tails, sorted."""
        return sorted({source for _, source in self._stored})

    @property
    def digest(self) -> str:
        """Twelve hex digits for all stored tails; empty when there are none."""
        if not self._stored:
            return ""
        lines = sorted(repr((*query, source, *stored.items())) for (query, source), stored in self._stored.items())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]

    def store(self, queries: Sequence[Query], answers: Sequence[Sequence[Generated]], source: str) -> None:
        """Store the tails that ``source`` generated."""
        rows = []
        for query, answer in zip(queries, answers, strict=True):
            stored = answer if any(tail.text != NOTHING for tail in answer) else [Generated(NOTHING, 0.0)]
            head = event_uri(_key(query).head)
            rows += [
                Assertion(head, query.relation, event_uri(text), source=source, rank=rank, score=score)
                for rank, (text, score) in enumerate(stored)
            ]
        with self._lock:
            self._add_rows(rows)
        if self.journal is not None:
            self.journal.append(rows)
        else:
            writable(self._graph).load(rows)

    def _add_rows(self, rows: Iterable[Assertion]) -> None:
        for row in rows:
            self._add(Query(text_of(row.head), row.relation), row.source, text_of(row.tail), row.score or 0.0)

    def _add(self, query: Query, source: str, text: str, score: float) -> None:
        if source.startswith(GENERATED_PREFIX):
            self._stored.setdefault((_key(query), source), {}).setdefault(text, score)


def writable(graph: KnowledgeGraph) -> WritableGraph:
    """Return the store into which assertions about ``graph`` are loaded; its index stays unchanged."""
    store = store_of(graph)
    if not isinstance(store, WritableGraph):
        raise InputError(f"assertions cannot be loaded into {store.url}; open the graph by its path or URL")
    return store


def _key(query: Query) -> Query:
    return Query(head_form(query.head), query.relation)
