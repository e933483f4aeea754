"""A user's query over the embedded engine: checked here, run in a worker process, its rows brought back.

Workers stay for the next query, because starting one takes longer than most queries. Each graph has as many as
may run at once; a thread takes one for the time of its query. A worker whose database has changed since, or that died, is
replaced.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import GraphBusy, GraphError, GraphNotFound, QueryInvalid, QueryRefused, QueryTimeout
from ..model import QueryResult
from .rewrite import rewrite
from .validator import MAX_BYTES, Checker, check_limits, check_parameters, uniform

DATABASE = "graph.lbug"
AT_ONCE = 2
"""Queries that may run on one graph at once, unless the caller says otherwise."""


class _Pool:
    """The workers of one graph: those that wait for work, and a count of all."""

    def __init__(self) -> None:
        self.free = threading.Condition()
        self.idle: list[Worker] = []
        self.busy = 0

    def take(self, file: Path, deadline: float, most: int) -> Worker:
        """Return a worker that opened ``file`` as it is now; wait until ``deadline`` at most while ``most`` are busy."""
        with self.free:
            while self.busy >= most:
                if not self.free.wait(deadline - time.monotonic()):
                    raise GraphBusy("too many queries run on this graph at once; try again in a moment")
            self.busy += 1
            worker = self.idle.pop() if self.idle else None
        try:
            if worker is not None and not worker.usable():
                worker.kill()
                worker = None
            return worker or Worker(file)
        except BaseException:
            self.give(None)
            raise

    def give(self, worker: Worker | None) -> None:
        """Take ``worker`` back for the next query; None when it is gone."""
        with self.free:
            self.busy -= 1
            if worker is not None:
                self.idle.append(worker)
            self.free.notify()


_pools: dict[Path, _Pool] = {}
_pools_lock = threading.Lock()


def run_embedded(
    path: str | os.PathLike[str],
    cypher: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    limit: int = 1000,
    timeout: float = 30.0,
    at_once: int | None = None,
) -> QueryResult:
    """Run one read-only query over the embedded graph in the folder ``path``, in a process of its own.

    Args:
        path: the graph's folder.
        cypher: the query; see :func:`tacit.graph.query.check` for what it may hold.
        parameters: values for its ``$names``: None, booleans, numbers, strings, and lists and dictionaries of them.
        limit: most rows to return, >= 0; ``truncated`` tells whether there were more.
        timeout: most seconds that the query may take, > 0.
        at_once: most queries that may run on this graph at once in this process, >= 1; 2 when None.

    Raises:
        QueryRefused: it holds something other than reading.
        QueryInvalid: the engine cannot understand or evaluate it.
        QueryTimeout: it passed its time limit.
        GraphNotFound: there is no graph.
        GraphBusy: other queries took all the time there was.
        GraphError: it needs more memory than a query may have, or the engine failed.
        InputError: a parameter, ``limit`` or ``timeout`` is of no use.
    """
    check_limits(limit, timeout)
    values = check_parameters(parameters)
    asked = Checker(cypher, "embedded", values)
    asked.run()
    checker = Checker(rewrite(cypher), "embedded", values)
    checker.run()
    file = Path(path).resolve() / DATABASE
    if not file.exists():
        raise GraphNotFound(f"there is no graph at {path}; make one with: tacit load conceptnet FILE --into {path}")
    request = {
        "cypher": checker.limited(limit + 1),
        "parameters": uniform(values),
        "limit": limit,
        "timeout": timeout,
        "bytes": MAX_BYTES,
    }
    with _pools_lock:
        pool = _pools.setdefault(file, _Pool())
    worker = pool.take(file, time.monotonic() + timeout, AT_ONCE if at_once is None else at_once)
    kept: Worker | None = None
    try:
        try:
            answer = worker.ask(request)
        except QueryTimeout:
            raise _late(timeout) from None
        if answer is None:
            late = worker.died_by_alarm()
            worker.kill()
            if late:
                raise _late(timeout)
            raise GraphError("the engine broke down over the query, and nothing else was harmed; write it in another way")
        if answer.get("failed") == "memory":
            worker.kill()
        else:
            kept = worker
    finally:
        pool.give(kept)
    if "failed" in answer:
        raise _failure(answer["failed"], answer["message"], timeout)
    if checker.explains:
        return QueryResult(("plan",), tuple((line,) for row in answer["rows"] for line in str(row[0]).splitlines()))
    names = asked.columns()
    columns = answer["columns"] if names is None or len(names) != len(answer["columns"]) else names
    return QueryResult(tuple(columns), tuple(map(tuple, answer["rows"])), answer["truncated"])


def _late(timeout: float) -> QueryTimeout:
    return QueryTimeout(f"the query took longer than {timeout:g} seconds and was stopped; narrow it down or allow it more time")


_DIFFERENCES = (
    (
        re.compile(r"Table (\S+) does not exist"),
        "the graph has no node label or relation {}, where Neo4j would find no rows; tacit info GRAPH lists what it holds",
    ),
    (
        re.compile(r"Lambda paramName (\S+) cannot"),
        "a list comprehension inside another cannot use the outer one's variable {} on the embedded engine; use UNWIND for one",
    ),
    (
        re.compile(r"In WITH clause, (ORDER BY) must be followed"),
        "{} in a WITH needs a LIMIT on the embedded engine, and collect after it keeps no order; use list_sort(collect(x))",
    ),
    (
        re.compile(r"index=(-?\d+) is out of range"),
        "a list has no item at position {} (counted from 1), where Neo4j would give null; test size(list) first",
    ),
    (
        re.compile(r"Parameter (\S+) not found"),
        "the query's parameter {0} has no value; give it with the query, on the command line with --param {0}=VALUE",
    ),
    (
        re.compile(r"Cannot find property (\S+) for"),
        "no node or relationship of the graph has the property {}, where Neo4j would give null; "
        "nodes have uri, text and language, relationships weight, source, dataset and license",
    ),
)
"""Messages of the engine about what Neo4j answers without an error, and the sentence instead."""


def _failure(kind: str, message: str, timeout: float) -> Exception:
    """Return the error for what a worker reports."""
    line = " ".join(message.split("\n", 1)[0].partition(" expecting {")[0].split())[:500]
    for pattern, sentence in _DIFFERENCES:
        if found := pattern.search(line):
            return QueryInvalid(sentence.format(found[1].strip(".,")))
    if kind == "timeout":
        return _late(timeout)
    if kind == "memory":
        return GraphError("the query needs more memory than a query may have; narrow it down, or return fewer rows at once")
    if kind == "size":
        return GraphError(f"one row of the answer is larger than {MAX_BYTES >> 20} MiB; return less of it")
    if kind == "write":
        return QueryRefused(f"the engine refused to do more than read ({line})")
    if kind == "engine":
        return GraphError(f"the engine failed ({line}); load the graph again if this happens with every query")
    return QueryInvalid(f"the query cannot be run ({line})")


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


def _forget_in_child() -> None:
    """After a fork the workers belong to the parent alone: let go of the pipes without a word to them."""
    global _pools_lock
    _pools_lock = threading.Lock()
    pools = list(_pools.values())
    _pools.clear()
    for pool in pools:
        for worker in pool.idle:
            worker.forget()
            worker.process.returncode = 0  # another's child, nothing to wait for


atexit.register(close_workers)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)


# The caller's end of a worker: starting it, one question and its answer, and killing it when it does not answer in time.

POOL_BYTES = 512 << 20
"""Most that the engine may hold in a query: cached pages, sorts, joins, lists."""
HEAP_BYTES = 1 << 30
"""Most that the process may grow by beside that."""
IDLE_SECONDS = 120.0
START_SECONDS = 60.0
GRACE = 2.0
"""Seconds that a worker gets beyond a query's time limit, in which the engine's own limit and the worker's alarm end it."""

_SCRIPT = Path(__file__).with_name("worker.py")


class Worker:
    """One process that holds one database open; not for two threads at once."""

    def __init__(self, file: Path) -> None:
        """Start the process and wait until it has opened ``file``.

        Raises:
            GraphError: the database cannot be opened, or the process cannot be started.
        """
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
            raise GraphError(f"no process for queries can be started ({error})") from error
        try:
            ready = self._receive(time.monotonic() + START_SECONDS)
        except BaseException:
            self.kill()
            raise
        if ready is None or ready.get("failed"):
            self.kill()
            reason = _line(ready["message"]) if ready else "the process ended at once"
            raise GraphError(f"{file} cannot be opened for queries ({reason}); load the graph again with `tacit load`")

    def usable(self) -> bool:
        """Return whether the process lives and the file is still the one that it opened."""
        return self.process.poll() is None and self.version == version(self.file)

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer to ``request``; None when the process died over it.

        Raises:
            QueryTimeout: there was none ``GRACE`` seconds after the request's ``timeout``; the process is gone.
        """
        deadline = time.monotonic() + request["timeout"] + GRACE
        try:
            self._send((json.dumps(request) + "\n").encode(), deadline)
            return self._receive(deadline)
        except BrokenPipeError:
            return None
        except BaseException:
            self.kill()
            raise

    def died_by_alarm(self) -> bool:
        """Return whether the process ended itself because a query did not heed its limit."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(GRACE) == -signal.SIGALRM
        return False

    def kill(self) -> None:
        """End the process at once and wait for its end."""
        self.process.kill()
        self.process.wait()
        self.forget()

    def forget(self) -> None:
        """Close this side of the pipes; the process ends by itself when nobody else holds them."""
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
                raise QueryTimeout("the process for queries did not answer in time")


def version(file: Path) -> tuple[tuple[int, int, int], ...]:
    """Return what changes when a database is written to or swapped for another one."""
    found = []
    for path in (file, file.with_name(file.name + ".wal")):
        try:
            stat = path.stat()
        except OSError:
            continue
        found.append((stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def _line(message: str) -> str:
    return " ".join(message.split())[:300]
