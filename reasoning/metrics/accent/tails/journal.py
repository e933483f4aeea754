"""The journal of what was learnt while scoring: assertions that a model generated, appended beside an embedded graph.

The embedded engine takes one writer and reads from a fixed file, so what is learnt waits here: one JSON record a line,
appended in one write under a lock, by as many processes as there are. Readers follow the file as it grows. :func:`fold_in`
loads the records into the graph when nobody else writes to it, and empties the journal; a crash in between loses nothing,
since a load is idempotent.
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

from .....graph.errors import GraphError, InputError, TacitError, reason_of
from .....graph.loading import checked
from .....graph.model import Assertion
from .....graph.names import event_uri, text_of
from .....graph.open import store_of
from .....graph.protocol import KnowledgeGraph, WritableGraph
from ..events import head_form
from .comet import NOTHING, Comet, Generated, as_known
from .source import Found, Query
from .table import LEARNT, EventTable

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


# What a COMET said is kept as assertions, so that nobody asks it twice: in the graph's journal, or in the graph itself.
#
# A query that the model answered with nothing but "none" is kept as that, so it counts as asked. What is kept under one model's
# source answers for that model alone: with the same COMET, a score is the same whether its tails were generated now or long
# ago.


class Memory:
    """Generated tails of one graph: those that its table holds, those in its journal, and those learnt by this object."""

    def __init__(self, graph: KnowledgeGraph, table: EventTable) -> None:
        """Remember for ``graph``, whose events are in ``table``."""
        self.journal: Journal | None = journal_of(graph)
        self._graph = graph
        self._said: dict[tuple[Query, str], dict[str, float]] = {}
        self._lock = threading.Lock()
        self._take_in_table(table)
        self.refresh()

    def refresh(self) -> None:
        """Learn what other processes have written to the journal meanwhile; what cannot be read will be asked again."""
        if self.journal is not None:
            with self._lock, suppress(GraphError):
                self._take_in(self.journal.new())

    def recall(self, query: Query, source: str) -> list[Generated] | None:
        """Return what ``source`` was known to say, best first; None when it was never asked."""
        said = self._said.get((_key(query), source))
        return None if said is None else [Generated(text, score) for text, score in said.items()]

    def sources(self) -> list[str]:
        """Return the models that were ever asked, by name."""
        return sorted({source for _, source in self._said})

    @property
    def digest(self) -> str:
        """Twelve hex digits for all that is known now; empty when that is nothing."""
        if not self._said:
            return ""
        lines = sorted(repr((*query, source, *said.items())) for (query, source), said in self._said.items())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]

    def keep(self, queries: Sequence[Query], answers: Sequence[Sequence[Generated]], source: str) -> None:
        """Write down what ``source`` said.

        Raises:
            TacitError: the journal or the graph cannot be written.
        """
        rows = []
        for query, answer in zip(queries, answers, strict=True):
            said = answer if any(one.text != NOTHING for one in answer) else [Generated(NOTHING, 0.0)]
            head = event_uri(_key(query).head)
            rows += [
                Assertion(head, query.relation, event_uri(text), source=source, rank=rank, score=score)
                for rank, (text, score) in enumerate(said)
            ]
        with self._lock:
            self._take_in(rows)
        if self.journal is not None:
            self.journal.append(rows)
        else:
            writable(self._graph).load(rows)

    def _take_in(self, rows: Iterable[Assertion]) -> None:
        for row in rows:
            self._add(Query(text_of(row.head), row.relation), row.source, text_of(row.tail), row.score or 0.0)

    def _take_in_table(self, table: EventTable) -> None:
        if not table.learnt_source.any():
            return
        for head, text in enumerate(table.heads):
            for relation in table.relations:
                for row in sorted(table.rows(head, relation), key=lambda row: row.rank):
                    if table.learnt_source[row.source]:
                        self._add(Query(text, relation), table.sources[row.source], table.tails[row.tail], row.score)

    def _add(self, query: Query, source: str, text: str, score: float) -> None:
        if source.startswith(LEARNT):
            self._said.setdefault((_key(query), source), {}).setdefault(text, score)


def writable(graph: KnowledgeGraph) -> WritableGraph:
    """Return the store that assertions about ``graph`` are loaded into; an index of its concepts stays as it is."""
    store = store_of(graph)
    if not isinstance(store, WritableGraph):
        raise InputError(f"nothing can be loaded into {store.url}; open the graph by its path or URL")
    return store


def _key(query: Query) -> Query:
    return Query(head_form(query.head), query.relation)


# Tails that a COMET says: remembered where it was asked before, generated where not; or what any COMET said of old.


class CometTails:
    """What one COMET says. Only queries that it was never asked go through the model."""

    def __init__(self, comet: Comet, memory: Memory | None, *, remember: bool = True) -> None:
        """Ask ``comet``; with ``remember`` its answers are written to ``memory``, which is read in any case."""
        self.comet = comet
        self.memory = memory
        self.remember = remember and memory is not None
        self.signature = f"comet:{comet.signature}"

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return the model's tails for each query; of a model that fails nothing, with a note that says so."""
        asked = [Query(head_form(query.head), query.relation) for query in queries]
        answers = self._remembered(asked)
        unseen = [query for query in dict.fromkeys(asked) if query not in answers]
        note = self._generate(unseen, answers) if unseen else ""
        fresh = set(unseen)
        found = [as_known(query, answers.get(key, ()), self.comet.source) for query, key in zip(queries, asked, strict=True)]
        return [one._replace(note=note) if key in fresh else one for one, key in zip(found, asked, strict=True)]

    def _remembered(self, queries: Sequence[Query]) -> dict[Query, Sequence[Generated]]:
        if self.memory is None:
            return {}
        self.memory.refresh()
        said = {query: self.memory.recall(query, self.comet.source) for query in queries}
        return {query: tails for query, tails in said.items() if tails is not None}

    def _generate(self, queries: Sequence[Query], answers: dict[Query, Sequence[Generated]]) -> str:
        """Ask the model, and write down what it says; return a note where either failed, since a score must not end with it."""
        try:
            generated = self.comet.generate(queries)
        except Exception as error:  # torch's and the model's own errors, of many kinds
            return f"the COMET {self.comet.files.given} failed ({reason_of(error)}), so the graph alone answers"
        answers.update(zip(queries, generated, strict=True))
        if self.remember and self.memory is not None:
            try:
                self.memory.keep(queries, generated, self.comet.source)
            except (TacitError, OSError) as error:
                return f"what the COMET generated could not be kept: {error}"
        return ""


class AbsentComet:
    """Stands for a COMET that cannot be opened: knows nothing, and says why."""

    signature = "comet:absent"

    def __init__(self, reason: str) -> None:
        self._note = f"no COMET could be asked, so the graph alone answers: {reason}"

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return nothing for each query, with the reason."""
        return [Found(note=self._note) for _ in queries]


class LearntTails:
    """What any COMET said of old and a journal still holds, as it was when this was opened."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._sources = memory.sources()
        self.signature = f"learnt:{memory.digest}" if memory.digest else ""

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return what the models said of each query, one model after the other by name."""
        return [
            Found(tuple(
                tail
                for source in self._sources
                for tail in as_known(query, self._memory.recall(query, source) or (), source).tails
            ))
            for query in queries
        ]  # fmt: skip
