"""Users' queries over the embedded engine: validated here and run in a pool of worker processes.

A worker stays for the next query, because starting one takes longer than most queries. Each graph has as many workers as queries
may run on it at once; a thread uses one worker during its query. A worker that died, or whose database has changed since it was
opened, is replaced.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...cypher import query
from ..embedded.integrity import DATABASE as DATABASE
from ..errors import GraphBusy, GraphError, GraphNotFound, QueryInvalid, QueryTimeout
from ..loading import from_row
from ..model import QueryResult
from ..names import part_of
from .engine_errors import failure
from .exact_names import check_columns, check_names, shared_relations
from .rewrite import rewrite
from .validator import MAX_BYTES, Checker, check_limits, check_parameters, timed_out, uniform

MAX_CONCURRENT = 2
"""Default of the most queries that may run on one graph at once."""
POOL_BYTES = 512 << 20
"""Size of the engine's buffer pool in a worker: cached pages, sorts, joins, lists."""
HEAP_BYTES = 1 << 30
"""Most that a worker's address space may grow by after start, the buffer pool not included."""
IDLE_SECONDS = 120.0
"""A worker ends after this time without a query."""
START_SECONDS = 60.0
"""Most time for a worker to start and open the database."""
GRACE = 2.0
"""Seconds after a query's time limit in which the engine's own limit and the worker's alarm can end it; then it is killed."""

_SCRIPT = Path(__file__).with_name("worker.py")


class EngineCrashed(GraphError):
    """A worker process ended while it ran a query."""


class _Pool:
    """The workers of one graph: the idle ones, and the number of busy ones."""

    def __init__(self) -> None:
        self.free = threading.Condition()
        self.idle: list[Worker] = []
        self.busy = 0
        self.version: Any = ()
        self.relations: dict[str, list[str]] = {}
        self.parts: dict[str, list[str]] = {}

    @contextlib.contextmanager
    def lend(self, file: Path, deadline: float, max_concurrent: int) -> Iterator[Worker]:
        """Lend a worker that has the current ``file`` open; wait until ``deadline`` at most while ``max_concurrent`` are busy."""
        with self.free:
            while self.busy >= max_concurrent:
                if not self.free.wait(deadline - time.monotonic()):
                    raise GraphBusy("too many queries run on this graph at once; try again in a moment")
            self.busy += 1
            worker = self.idle.pop() if self.idle else None
        try:
            if worker is not None and not worker.usable():
                worker.kill()
                worker = None
            worker = worker or Worker(file)
            yield worker
        finally:
            with self.free:
                self.busy -= 1
                if worker is not None and not worker.killed:
                    self.idle.append(worker)
                self.free.notify()

    def tables(self, worker: Worker, deadline: float) -> tuple[Callable[[str], list[str]], dict[str, list[str]]]:
        """Return the metadata of the tables of relations, which are read once for each version of the database.

        That is a function that returns the exact names of the relations in the tables of a relation, and of those that a mapping
        added for it; and the further tables of relations that have several, by the name of their first table in lower case.
        """

        def rows(text: str) -> list[Any]:
            answer: list[Any] = worker.rows(text, {}, 10_000, deadline - time.monotonic())["rows"]
            return answer

        if self.version != worker.version:
            parts_of_table: dict[str, list[str]] = {}
            for _, table, _ in rows(query("tables", "embedded").text):
                first_table, part_number = part_of(table)
                if part_number:
                    parts_of_table.setdefault(first_table.lower(), []).append(table)
            # the version last: a query that fails before leaves nothing, and another thread sees all of it or none
            self.parts, self.relations, self.version = parts_of_table, {}, worker.version
        parts, relations_of_table = self.parts, self.relations

        def names(relation: str) -> list[str]:
            if relation.lower() not in relations_of_table:
                relations: list[str] = []
                with contextlib.suppress(ValueError, QueryInvalid):  # not a well-formed name, or no such table
                    for table in (relation, *parts.get(relation.lower(), ())):
                        listing = query("relation_names", "embedded").naming(RELATION=table)
                        relations += [str(row[0]) for row in rows(listing.text)]
                added = from_row(rows(query("manifest").text)[0]).relations
                relations += [name for name in added if name.lower() == relation.lower()]
                relations_of_table[relation.lower()] = list(dict.fromkeys(relations))
            return relations_of_table[relation.lower()]

        return names, parts


_pools: dict[Path, _Pool] = {}
_pools_lock = threading.Lock()


def run_embedded(
    path: str | os.PathLike[str],
    cypher: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    limit: int = 1000,
    timeout: float = 30.0,
    max_concurrent: int | None = None,
) -> QueryResult:
    """Run one read-only query over the embedded graph in the folder ``path``, in a worker process.

    Args:
        path: the graph's folder.
        cypher: the query; :func:`tacit.graph.query.check` says what it may contain.
        parameters: values for its ``$names``: None, booleans, numbers, strings, and lists and dictionaries of them.
        limit: most rows to return, >= 0; ``truncated`` in the result is true when there were more.
        timeout: time limit in seconds, > 0.
        max_concurrent: most queries that may run on this graph at once in this process, >= 1; 2 when None.

    Raises:
        QueryRefused: the query does something other than read.
        QueryInvalid: the engine cannot parse or evaluate it, or would confuse names in it.
        QueryTimeout: it exceeded its time limit.
        GraphNotFound: there is no graph at ``path``.
        GraphBusy: other queries kept all workers busy until the time limit.
        GraphError: the query exceeded its memory limit, or the engine failed.
        InputError: a parameter, ``limit`` or ``timeout`` is invalid.
    """
    check_limits(limit, timeout)
    values = check_parameters(parameters)
    original = Checker(cypher, "embedded", values)
    original.run()
    check_names(original, values)
    check_columns(original)
    rewrite(cypher)  # raises before a worker is started
    file = Path(path).resolve() / DATABASE
    if not file.exists():
        raise GraphNotFound(f"there is no graph at {path}; make one with: tacit load conceptnet FILE --into {path}")
    with _pools_lock:
        pool = _pools.setdefault(file, _Pool())
    deadline = time.monotonic() + timeout

    def answer_of(worker: Worker) -> tuple[Checker, dict[str, Any]]:
        shared, parts = set[str](), dict[str, list[str]]()
        if original.relations:
            try:
                stored, parts = pool.tables(worker, deadline + GRACE)
                shared = shared_relations(original, stored)
            except QueryTimeout:  # it names the remaining time, not the limit
                raise timed_out(timeout) from None
        checker = Checker(rewrite(cypher, shared, parts), "embedded", values)
        checker.run()
        return checker, worker.rows(checker.limited(limit + 1), uniform(values), limit, timeout, original)

    for is_repeated in (False, True):  # the system may have killed the worker for want of memory
        try:
            with pool.lend(file, deadline, MAX_CONCURRENT if max_concurrent is None else max_concurrent) as worker:
                checker, answer = answer_of(worker)
            break
        except EngineCrashed:
            if is_repeated or time.monotonic() > deadline - timeout / 2:
                raise
    if checker.explains:
        return QueryResult(("plan",), tuple((line,) for row in answer["rows"] for line in str(row[0]).splitlines()))
    names = original.columns()
    columns = answer["columns"] if names is None or len(names) != len(answer["columns"]) else names
    return QueryResult(tuple(columns), tuple(map(tuple, answer["rows"])), answer["truncated"])


def close_workers(path: str | os.PathLike[str] | None = None) -> None:
    """End the idle workers of the graph at ``path``, or of all graphs; the next query starts new ones."""
    file = None if path is None else Path(path).resolve() / DATABASE
    with _pools_lock:
        pools = [pool for key, pool in _pools.items() if file is None or key == file]
    for pool in pools:
        with pool.free:
            idle, pool.idle = pool.idle, []
        for worker in idle:
            worker.kill()


def _reset_after_fork() -> None:
    """Close the pipes in a forked child, since the workers belong to the parent; send nothing through them."""
    global _pools_lock
    _pools_lock = threading.Lock()
    pools = list(_pools.values())
    _pools.clear()
    for pool in pools:
        for worker in pool.idle:
            worker.close_pipes()
            worker.process.returncode = 0  # the parent's child: nothing to wait for


atexit.register(close_workers)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


class Worker:
    """The parent's side of one worker process with one database open; not thread-safe."""

    def __init__(self, file: Path) -> None:
        """Start the process and wait until it has opened ``file``."""
        self.file = file
        self.version = version(file)
        arguments = [str(file), str(POOL_BYTES), str(HEAP_BYTES), str(IDLE_SECONDS)]
        environment = {**os.environ, "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", str(_SCRIPT), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise GraphError(f"no worker process for queries can be started ({error}); free memory and try again") from error
        try:
            ready = self._receive(time.monotonic() + START_SECONDS)
        except BaseException:
            self.kill()
            raise
        if ready is None or ready.get("failed"):
            self.kill()
            reason = " ".join(ready["message"].split())[:300] if ready else "the worker process ended at once"
            raise GraphError(f"{file} cannot be opened for queries ({reason}); load the graph again with `tacit load`")

    def usable(self) -> bool:
        """Return whether the process is alive and the file has not changed since it was opened."""
        return self.process.poll() is None and self.version == version(self.file)

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to ``request``; None when the process died."""
        deadline = time.monotonic() + request["timeout"] + GRACE
        try:
            self._send((json.dumps(request) + "\n").encode(), deadline)
            return self._receive(deadline)
        except BrokenPipeError:
            return None
        except BaseException:
            self.kill()
            raise

    def rows(
        self, cypher: str, parameters: dict[str, Any], limit: int, timeout: float, original: Checker | None = None
    ) -> dict[str, Any]:
        """Return the answer to a query: ``columns``, ``rows`` and ``truncated``.

        Args:
            cypher, parameters, limit, timeout: the query in the engine's dialect, its parameters, and its limits.
            original: the query as the user wrote it, for error messages.

        Raises:
            QueryInvalid, QueryRefused, QueryTimeout, GraphError: as :func:`run_embedded`.
        """
        request = {"cypher": cypher, "parameters": parameters, "limit": limit, "timeout": timeout, "bytes": MAX_BYTES}
        try:
            answer = self.ask(request)
        except QueryTimeout:
            raise timed_out(timeout) from None
        if answer is None:
            stopped_by_alarm = self.died_by_alarm()
            self.kill()
            if stopped_by_alarm:
                raise timed_out(timeout)
            raise EngineCrashed(
                "the engine crashed while it ran the query, and the graph is intact; write the query in another way"
            )
        if "failed" not in answer:
            return answer
        if answer["failed"] == "memory":
            self.kill()
        query, tokens = (original.query, original.tokens) if original else (cypher, [])
        raise failure(answer["failed"], answer["message"], timeout, query, tokens, cypher)

    def died_by_alarm(self) -> bool:
        """Return whether the worker's alarm ended the process, because a query exceeded its time limit."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(GRACE) == -signal.SIGALRM
        return False

    @property
    def killed(self) -> bool:
        """Whether :meth:`kill` has ended the process."""
        return self.process.returncode is not None

    def kill(self) -> None:
        """End the process at once and wait for its end."""
        self.process.kill()
        self.process.wait()
        self.close_pipes()

    def close_pipes(self) -> None:
        """Close this end of the pipes; the process exits when no other process holds them."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _send(self, data: bytes, deadline: float) -> None:
        stream = self.process.stdin
        assert stream is not None
        view = memoryview(data)
        while view:
            self._wait(stream, selectors.EVENT_WRITE, deadline)
            view = view[os.write(stream.fileno(), view[: 1 << 12]) :]

    def _receive(self, deadline: float) -> dict[str, Any] | None:
        stream = self.process.stdout
        assert stream is not None
        parts: list[bytes] = []
        while not (parts and parts[-1].endswith(b"\n")):
            self._wait(stream, selectors.EVENT_READ, deadline)
            part = os.read(stream.fileno(), 1 << 20)
            if not part:
                return None
            parts.append(part)
        answer: dict[str, Any] = json.loads(b"".join(parts))
        return answer

    def _wait(self, stream: Any, event: int, deadline: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(stream, event)
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise QueryTimeout("the worker process did not answer in time; try again, or allow the query more time")


def version(file: Path) -> tuple[tuple[int, int, int], ...]:
    """Return inode, modification time and size of the database and its write-ahead log, which change with every write."""
    versions = []
    for path in (file, file.with_name(file.name + ".wal")):
        with contextlib.suppress(OSError):
            stat = path.stat()
            versions.append((stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return tuple(versions)
