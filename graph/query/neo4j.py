"""A user's query over a Neo4j server: validated here, run in a read transaction with a time limit.

The server stops a transaction only between rows. A query that it does not stop in time is reported as timed out, and counts as
running until the server really ends it, so that no more than ``MAX_RUNNING`` of one driver's queries load the server at once.
"""

from __future__ import annotations

import logging
import math
import queue
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from datetime import date, time, timedelta
from typing import Any

import neo4j
import neo4j.exceptions
import neo4j.graph
import neo4j.spatial
import neo4j.time

from ..errors import GraphBusy, GraphError, GraphUnavailable, QueryInvalid, QueryRefused, QueryTimeout
from ..model import QueryResult
from .arguments import MAX_BYTES, check_limits, check_parameters
from .validator import Checker

logging.getLogger("neo4j.notifications").addHandler(logging.NullHandler())  # else hints about unknown labels go to stderr

GRACE = 5.0
"""Seconds after the time limit in which the server is to end the query; after that the caller gets QueryTimeout."""
MAX_RUNNING = 4
"""Queries of one driver that may run in the server at once, those included that it has not ended in time."""
_FETCH = 1000


class _Slots:
    """Counts the queries that run in the server for one driver."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.running = 0
        self.late = 0

    def take(self, seconds: float) -> None:
        """Wait for a free slot, at most ``seconds``, and not at all when no slot can become free soon.

        Raises:
            GraphBusy: there is none.
        """
        with self.changed:
            self.changed.wait_for(lambda: self.running < MAX_RUNNING or self.late >= MAX_RUNNING, seconds)
            if self.running >= MAX_RUNNING:
                raise GraphBusy(
                    f"{self.running} queries still run in the Neo4j server, {self.late} of them past their time limit; "
                    "try again later, or end them there (SHOW TRANSACTIONS, TERMINATE TRANSACTIONS)"
                )
            self.running += 1

    def free(self, late: bool) -> None:
        """Give a slot back, from a query that was ``late`` or in time."""
        with self.changed:
            self.running -= 1
            self.late -= late
            self.changed.notify_all()


_slots: weakref.WeakKeyDictionary[neo4j.Driver, _Slots] = weakref.WeakKeyDictionary()
_slots_lock = threading.Lock()


def run_neo4j(
    driver: neo4j.Driver,
    database: str | None,
    cypher: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    limit: int = 1000,
    timeout: float = 30.0,
    bookmarks: neo4j.Bookmarks | None = None,
) -> QueryResult:
    """Run one read-only query on a Neo4j server; arguments and errors as :func:`run_embedded`, and one error more.

    Args:
        driver: an open driver.
        database: the database's name; None for the user's home database.
        bookmarks: of writes that the query is to see, on whichever member of a cluster it runs.

    Raises:
        GraphUnavailable: the server does not answer, refuses the credentials, or went away.
        GraphBusy: ``MAX_RUNNING`` queries of this driver run in the server.
    """
    check_limits(limit, timeout)
    values = check_parameters(parameters)
    checker = Checker(cypher, "neo4j", values)
    checker.run()

    def ask() -> QueryResult:
        with driver.session(
            database=database, bookmarks=bookmarks, default_access_mode=neo4j.READ_ACCESS, fetch_size=min(limit + 1, _FETCH)
        ) as session:
            transaction = session.begin_transaction(timeout=timeout)
            try:
                result = transaction.run(cypher, values)
                return _plan(result) if checker.explains else _collect(result, limit)
            finally:
                transaction.close()

    def ask_again() -> QueryResult:
        try:
            return ask()
        except (neo4j.exceptions.ServiceUnavailable, neo4j.exceptions.SessionExpired):
            return ask()  # the connection may have been an old one, from before the server was started anew

    try:
        return _within(driver, ask_again, timeout)
    except neo4j.exceptions.Neo4jError as error:
        raise _server_error(error, timeout) from error
    except (neo4j.exceptions.ServiceUnavailable, neo4j.exceptions.SessionExpired) as error:
        raise GraphUnavailable(
            f"the Neo4j server does not answer or went away ({_line(error)}); start it and try again"
        ) from error
    except neo4j.exceptions.DriverError as error:
        raise GraphError(f"the Neo4j driver cannot run the query ({_line(error)})") from error


def _collect(result: neo4j.Result, limit: int) -> QueryResult:
    columns = tuple(result.keys())
    rows: list[tuple[Any, ...]] = []
    size = 0
    for record in result:
        if len(rows) == limit:
            return QueryResult(columns, tuple(rows), True)
        row = tuple(plain(value) for value in record.values())
        size += sum(map(_size, row))
        if size > MAX_BYTES:
            if not rows:
                raise GraphError(f"one row of the answer is larger than {MAX_BYTES >> 20} MiB; return less of it")
            return QueryResult(columns, tuple(rows), True)
        rows.append(row)
    return QueryResult(columns, tuple(rows))


def _plan(result: neo4j.Result) -> QueryResult:
    """Return the plan of an EXPLAIN, a row an operator, those that feed an operator indented below it."""
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


def _within(driver: neo4j.Driver, ask: Callable[[], QueryResult], timeout: float) -> QueryResult:
    """Return what ``ask`` returns, or raise what it raises, but wait at most ``timeout`` plus ``GRACE`` seconds.

    A server that is stuck within one expression does not end the transaction; the connection then stays with its thread, and its
    slot is taken, until the server answers.
    """
    with _slots_lock:
        slots = _slots.setdefault(driver, _Slots())
    slots.take(timeout)
    answers: queue.SimpleQueue[tuple[QueryResult | None, BaseException | None]] = queue.SimpleQueue()
    state = threading.Lock()
    late = ended = False

    def work() -> None:
        nonlocal ended
        try:
            answers.put((ask(), None))
        except BaseException as error:
            answers.put((None, error))
        finally:
            with state:
                ended = True
                slots.free(late)

    threading.Thread(target=work, name="tacit-query", daemon=True).start()
    try:
        result, error = answers.get(timeout=timeout + GRACE)
    except queue.Empty:
        with state:
            if not ended:
                late = True
                with slots.changed:
                    slots.late += 1
                    slots.changed.notify_all()
        raise _late(timeout) from None
    if error is not None:
        raise error
    assert result is not None
    return result


def _late(timeout: float) -> QueryTimeout:
    return QueryTimeout(f"the query took longer than {timeout:g} seconds and was stopped; narrow it down or allow it more time")


def _server_error(error: neo4j.exceptions.Neo4jError, timeout: float) -> GraphError | QueryInvalid | QueryRefused:
    """Return tacit's error for the server's."""
    code = error.code or ""
    message = _line(error.message or error)
    if "TimedOut" in code or code.endswith("Transaction.Terminated"):
        return _late(timeout)
    if "Memory" in code or "StackOverFlow" in code:
        return GraphError("the query needs more memory than the server gives it; narrow it down, or return fewer rows at once")
    if isinstance(error, neo4j.exceptions.AuthError) and "Forbidden" not in code:
        return GraphUnavailable(f"the Neo4j server refuses the credentials ({message}); check user and password")
    if "AccessMode" in code or "Forbidden" in code:
        return QueryRefused(f"the server refused to do more than read ({message})")
    if "DatabaseNotFound" in code or "DatabaseUnavailable" in code:
        return GraphUnavailable(f"the Neo4j server does not have the database ({message})")
    if code.startswith("Neo.ClientError") or "ExecutionFailed" in code:
        return QueryInvalid(f"the query cannot be run ({message})")
    return GraphError(f"the Neo4j server failed ({message}); try again")


def _line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return " ".join(lines[0].split())[:500] if lines else type(error).__name__


def plain(value: Any) -> Any:
    """Return a driver's value as JSON can hold it: nodes, relationships and paths as dictionaries, dates as ISO text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, neo4j.graph.Node):
        return {"label": ":".join(sorted(value.labels)), **_properties(value.items())}
    if isinstance(value, neo4j.graph.Relationship):
        return {"type": value.type, **_properties(value.items())}
    if isinstance(value, neo4j.graph.Path):
        return {"nodes": [plain(node) for node in value.nodes], "relationships": [plain(edge) for edge in value.relationships]}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, neo4j.spatial.Point):
        return list(value)
    if isinstance(value, neo4j.time.Duration):
        return value.iso_format()
    if isinstance(value, timedelta):
        return f"P{value.days}DT{value.seconds + value.microseconds / 1_000_000:g}S"
    if isinstance(value, (neo4j.time.Date, neo4j.time.Time, neo4j.time.DateTime)):
        return value.iso_format()
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    return str(value)


def _properties(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {key: plain(item) for key, item in sorted(items) if item is not None and key != "relation"}


def _size(value: Any) -> int:
    """Return about how many bytes ``value`` takes as JSON."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, list):
        return 2 + sum(map(_size, value))
    if isinstance(value, dict):
        return 2 + sum(len(key) + 4 + _size(item) for key, item in value.items())
    return 8
