"""Users' queries over a Neo4j server: validated here and run in a read transaction with a time limit.

The server ends a transaction only between rows, so work inside one expression, or in the planner, continues after the limit.
Measured on Neo4j 5.26: neither TERMINATE TRANSACTIONS nor closing the connection ends it sooner, but SHOW TRANSACTIONS lists the
transaction until it has really ended. So the connection of a late query is closed, and the query counts as running until the
server no longer lists its transaction.
"""

from __future__ import annotations

import logging
import math
import re
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from typing import Any

import neo4j
import neo4j.exceptions
import neo4j.graph
import neo4j.spatial
import neo4j.time

from ...cypher import query
from ..errors import GraphBusy, GraphError, GraphUnavailable, QueryInvalid, QueryRefused, QueryTimeout
from ..model import QueryResult
from .validator import MAX_BYTES, Checker, check_limits, check_parameters, timed_out

logging.getLogger("neo4j.notifications").addHandler(logging.NullHandler())  # or hints about unknown labels go to stderr

GRACE = 5.0
"""Seconds after the time limit in which the server should end the query; after that the caller gets QueryTimeout."""
MAX_CONCURRENT = 4
"""Default of the most queries of one driver that may run in the server at once, late ones included."""
_FETCH = 1000
"""Rows fetched from the server at a time."""
_TAG = "tacit"
"""Key in a transaction's metadata whose value, unique to the query, identifies it in SHOW TRANSACTIONS."""
_FIRST_POLL, _LAST_POLL = 0.25, 2.0
"""Seconds between two polls of SHOW TRANSACTIONS, at first and at most; a poll itself takes at most the latter."""
_LOST = 60.0
"""Seconds without an answer from the cluster member that runs a query, while others answer, until the query is given up."""
_REFUSED = ("Neo.ClientError.Security.", "Neo.ClientError.Statement.", "Neo.ClientError.Procedure.")
"""Codes of the errors with which a server refuses SHOW TRANSACTIONS for good, unlike a timeout or lack of memory."""


class _Slots:
    """Counts the queries of one driver that run in the server."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.running = 0
        self.late = 0

    def take(self, seconds: float, max_concurrent: int) -> None:
        """Wait until fewer than ``max_concurrent`` queries run, at most ``seconds``; do not wait when all of them are late."""
        with self.changed:
            self.changed.wait_for(lambda: self.running < max_concurrent or self.late >= max_concurrent, seconds)
            if self.running >= max_concurrent:
                raise GraphBusy(
                    f"{self.running} queries still run in the Neo4j server, {self.late} of them past their time limit, and at "
                    f"most {max_concurrent} may run at once; try again later"
                )
            self.running += 1

    def free(self, late: bool) -> None:
        """Free the slot of a query that was ``late`` or in time."""
        with self.changed:
            self.running -= 1
            self.late -= late
            self.changed.notify_all()


_slots: weakref.WeakKeyDictionary[neo4j.Driver, _Slots] = weakref.WeakKeyDictionary()
_slots_lock = threading.Lock()


class _Call:
    """One query in the server: the driver's call in a thread of its own, and the handling of a late query.

    A query that runs ``GRACE`` seconds after its limit is looked up in SHOW TRANSACTIONS. When it is listed, its connection is
    closed, so that it no longer occupies the connection pool, and its slot is freed once it is no longer listed. When the server
    refuses SHOW TRANSACTIONS, the slot is freed when the driver's call ends.
    """

    def __init__(self, driver: neo4j.Driver, database: str | None, slots: _Slots) -> None:
        self.driver, self.database, self.slots = driver, database, slots
        self.tag = uuid.uuid4().hex
        self.late = self.disconnected = False
        self._state = threading.Lock()
        self._freed = False
        self._connection: Any = None
        self._server = ""

    @contextmanager
    def waiting(self, session: neo4j.Session) -> Iterator[None]:
        """Remember the session's connection during the block, so that :meth:`_close_connection` can close it."""
        connection: Any = getattr(session, "_connection", None)  # the driver's public API cannot close one from another thread
        if hasattr(connection, "kill") and hasattr(connection, "server_info"):
            with self._state:
                self._connection, self._server = connection, str(connection.server_info.address)
        try:
            yield
        finally:
            with self._state:
                self._connection = None  # from now on it may go back to the pool and serve another query

    def result(self, execute: Callable[[], QueryResult], seconds: float) -> QueryResult | None:
        """Return what ``execute`` returns, or raise what it raises; None when that takes more than ``seconds``."""
        answer: Future[QueryResult] = Future()

        def work() -> None:
            try:
                answer.set_result(execute())
            except BaseException as error:
                answer.set_exception(error)
            finally:
                if not self.disconnected:
                    self._free()

        try:
            threading.Thread(target=work, name="tacit-query", daemon=True).start()
        except BaseException:
            self._free()
            raise
        if not wait([answer], seconds).done:
            self._mark_late()
            return None
        return answer.result()

    def _free(self) -> None:
        with self._state:
            if not self._freed:
                self._freed = True
                self.slots.free(self.late)

    def _mark_late(self) -> None:
        with self._state:
            if self._freed:
                return
            self.late = True
            with self.slots.changed:
                self.slots.late += 1
                self.slots.changed.notify_all()
        threading.Thread(target=self._watch, name="tacit-late-query", daemon=True).start()

    def _watch(self) -> None:
        """Close the connection once the server lists the transaction; free the slot once it no longer does."""
        last_answer, polls_without_it, pause = time.monotonic(), 0, _FIRST_POLL
        while not self._freed:
            try:
                listed, server = _listed(self.driver, self.database, self.tag)
            except neo4j.exceptions.DriverError as error:
                if type(error) is neo4j.exceptions.DriverError:  # the driver was closed
                    break
                last_answer = time.monotonic()  # no server answers, so nothing is known about the query
            except neo4j.exceptions.Neo4jError as error:
                refused = isinstance(error, neo4j.exceptions.Forbidden) or (error.code or "").startswith(_REFUSED)
                if refused and not self.disconnected:
                    return
                last_answer = time.monotonic()  # such as a timeout of this query in a busy server
            else:
                if server == self._server:
                    last_answer, polls_without_it = time.monotonic(), 0 if listed else polls_without_it + 1
                    if listed or polls_without_it > 1:  # not listed and no answer either: a server out of stack may send none
                        self._close_connection()
                    if polls_without_it and self.disconnected:
                        break
                elif self.disconnected and time.monotonic() - last_answer > _LOST:
                    break
            time.sleep(pause)
            pause = min(1.5 * pause, _LAST_POLL)
        if self.disconnected:
            self._free()

    def _close_connection(self) -> None:
        """Close the connection, if the driver's call still waits for the server on it."""
        with self._state:
            if self._connection is not None and not self.disconnected:
                self.disconnected = True
                with suppress(OSError):
                    self._connection.kill()


def run_neo4j(
    driver: neo4j.Driver,
    database: str | None,
    cypher: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    limit: int = 1000,
    timeout: float = 30.0,
    bookmarks: neo4j.Bookmarks | None = None,
    max_concurrent: int | None = None,
    counted: bool = True,
) -> QueryResult:
    """Run one read-only query on a Neo4j server; other arguments and errors as for :func:`run_embedded`.

    Args:
        driver: an open driver.
        database: the database's name; None for the user's home database.
        bookmarks: of writes that the query must see, whichever cluster member runs it.
        max_concurrent: most queries of this driver that may run in the server at once, late ones included, >= 1; 4 when None.
        counted: count this query among those; a query that is not counted never waits for the others.

    Raises:
        GraphUnavailable: the server does not answer, refuses the credentials, or the connection was lost.
        GraphBusy: ``max_concurrent`` queries of this driver still run in the server.
    """
    check_limits(limit, timeout)
    values = check_parameters(parameters)
    checker = Checker(cypher, "neo4j", values)
    checker.run()

    with _slots_lock:
        slots = _slots.setdefault(driver, _Slots()) if counted else _Slots()
    slots.take(timeout, MAX_CONCURRENT if max_concurrent is None else max_concurrent)
    call = _Call(driver, database, slots)

    def execute() -> QueryResult:
        with driver.session(
            database=database, bookmarks=bookmarks, default_access_mode=neo4j.READ_ACCESS, fetch_size=min(limit + 1, _FETCH)
        ) as session:
            transaction = session.begin_transaction(timeout=timeout, metadata={_TAG: call.tag})
            try:
                with call.waiting(session):
                    result = transaction.run(cypher, values)
                    return _plan(result) if checker.explains else _collect(result, limit)
            finally:
                transaction.close()

    def execute_with_retry() -> QueryResult:
        try:
            return execute()
        except (neo4j.exceptions.ServiceUnavailable, neo4j.exceptions.SessionExpired):
            if call.late:  # the caller has already got QueryTimeout
                raise
            return execute()  # the connection may have been from before a restart of the server

    try:
        result = call.result(execute_with_retry, timeout + GRACE)
    except neo4j.exceptions.Neo4jError as error:
        raise _server_error(error, timeout) from error
    except (neo4j.exceptions.ServiceUnavailable, neo4j.exceptions.SessionExpired) as error:
        raise GraphUnavailable(
            f"the Neo4j server does not answer, or the connection was lost ({_line(error)}); start it and try again"
        ) from error
    except neo4j.exceptions.DriverError as error:
        raise GraphError(f"the Neo4j driver cannot run the query ({_line(error)})") from error
    if result is None:
        raise QueryTimeout(
            f"the query took longer than {timeout:g} seconds and still runs in the server, which can stop it only between rows; "
            "narrow it down, or write its work as rows (UNWIND, WHERE)"
        )
    return result


def _listed(driver: neo4j.Driver, database: str | None, tag: str) -> tuple[bool, str]:
    """Return whether the transaction with this tag is still listed, and the address of the server that answered."""
    show = query("transaction", "neo4j")
    with driver.session(database=database, default_access_mode=neo4j.READ_ACCESS) as session:
        result = session.run(neo4j.Query(show.text, timeout=_LAST_POLL), {"tag": tag})
        listed = bool(result.values())
        return listed, str(result.consume().server.address)


def _collect(result: neo4j.Result, limit: int) -> QueryResult:
    columns = tuple(result.keys())
    rows: list[tuple[Any, ...]] = []
    size = 0
    for record in result:
        if len(rows) == limit:
            return QueryResult(columns, tuple(rows), True)
        row = tuple(json_value(value) for value in record.values())
        size += sum(map(_size, row))
        if size > MAX_BYTES:
            if not rows:
                raise GraphError(f"one row of the result is larger than {MAX_BYTES >> 20} MiB; return less of it")
            return QueryResult(columns, tuple(rows), True)
        rows.append(row)
    return QueryResult(columns, tuple(rows))


def _plan(result: neo4j.Result) -> QueryResult:
    """Return the plan of an EXPLAIN, one row for each operator, its inputs indented below it."""
    rows: list[tuple[Any, ...]] = []

    def add(operator: Mapping[str, Any], depth: int) -> None:
        arguments = operator.get("args", {})
        name = str(operator.get("operatorType", "")).partition("@")[0]
        rows.append(("  " * depth + name, arguments.get("Details", ""), arguments.get("EstimatedRows")))
        for child in operator.get("children", ()):
            add(child, depth + 1)

    plan: Any = result.consume().plan
    if plan is not None:
        add(plan, 0)
    return QueryResult(("operator", "details", "estimated_rows"), tuple(rows))


def _server_error(error: neo4j.exceptions.Neo4jError, timeout: float) -> GraphError | QueryInvalid | QueryRefused:
    """Return the ``TacitError`` for an error of the server."""
    code = error.code or ""
    message = re.sub(r" \(offset: \d+\)\)", ")", _line(error.message or error))
    if "TimedOut" in code or code.endswith("Transaction.Terminated"):
        return timed_out(timeout)
    if "Memory" in code or "StackOverFlow" in code:
        return GraphError("the query exceeded the server's memory limit; narrow it down, or return fewer rows at once")
    if isinstance(error, neo4j.exceptions.AuthError) and "Forbidden" not in code:
        return GraphUnavailable(f"the Neo4j server refuses the credentials ({message}); check user and password")
    if "AccessMode" in code or "Forbidden" in code:
        return QueryRefused(f"the server refused to do more than read ({message})")
    if "DatabaseNotFound" in code or "DatabaseUnavailable" in code:
        return GraphUnavailable(f"the Neo4j server does not have the database ({message}); check the database's name")
    if code.startswith("Neo.ClientError") or "ExecutionFailed" in code:
        return QueryInvalid(f"the query cannot be run ({message})")
    return GraphError(f"the Neo4j server failed ({message}); try again")


def _line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return " ".join(lines[0].split())[:500] if lines else type(error).__name__


def json_value(value: Any) -> Any:
    """Return a driver's value as JSON-compatible: nodes, relationships and paths as dictionaries, dates as ISO text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, neo4j.graph.Node):
        return {"label": ":".join(sorted(value.labels)), **_properties(value.items())}
    if isinstance(value, neo4j.graph.Relationship):
        return {"type": value.type, **_properties(value.items())}
    if isinstance(value, neo4j.graph.Path):
        return {
            "nodes": [json_value(node) for node in value.nodes],
            "relationships": [json_value(edge) for edge in value.relationships],
        }
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, neo4j.spatial.Point):
        return list(value)
    if isinstance(value, (neo4j.time.Duration, neo4j.time.Date, neo4j.time.Time, neo4j.time.DateTime)):
        return value.iso_format()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    if isinstance(value, Iterable):
        return [json_value(item) for item in value]
    return str(value)


def _properties(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {key: json_value(item) for key, item in sorted(items) if item is not None and key != "relation"}


def _size(value: Any) -> int:
    """Return about how many bytes ``value`` takes as JSON."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, list):
        return 2 + sum(map(_size, value))
    if isinstance(value, dict):
        return 2 + sum(len(key) + 4 + _size(item) for key, item in value.items())
    return 8
