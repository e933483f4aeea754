"""The worker process that runs users' queries over the embedded engine and that can be killed.

It is started as a script and imports nothing of tacit, so that it starts in a fraction of a second. It opens the database
read-only, runs a warm-up query, and then drops what a query does not need: it can open no further file or socket, write no byte
to a file, and grow only by the memory limit. Requests and answers are lines of JSON on its standard input and output. It exits at
the end of its input, after the idle timeout, and by an alarm when a query exceeds its time limit.
"""

from __future__ import annotations

import datetime
import decimal
import json
import math
import os
import select
import signal
import sys
import uuid
from typing import Any

if sys.platform.startswith("linux"):
    import fcntl  # at the top, because nothing can be imported once no file can be opened

GRACE = 1.0
"""Seconds after its time limit in which a query may still end by itself; then the alarm ends the process."""

_NICE = 10
"""Niceness while queries run: they may take long and should not slow down scoring. Opening has the usual priority, since somebody
waits for it and on a busy machine it would take many times as long."""
_THREADS = max(1, min(2, (os.cpu_count() or 1) // 2))
"""Threads of a query: at most half of the processors, and at most 2."""

_INTERNAL = ("_LABEL", "_ID", "_SRC", "_DST", "relation")
"""Keys of a node or relationship that are not properties of it; ``relation`` is the exact name of its type."""


def json_value(value: Any) -> Any:
    """Return an engine's value as JSON-compatible: nodes, relationships and paths as dictionaries, dates as ISO text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return _dictionary(value)
    if isinstance(value, (list, tuple, set)):
        return [json_value(item) for item in value]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return f"P{value.days}DT{value.seconds + value.microseconds / 1_000_000:g}S"
    if isinstance(value, decimal.Decimal):
        return int(value) if value.as_tuple().exponent == 0 else float(value)  # a sum of integers has 128 bits
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    return str(value)


def _dictionary(value: dict[Any, Any]) -> Any:
    if "_NODES" in value and "_RELS" in value:
        return {"nodes": json_value(value["_NODES"]), "relationships": json_value(value["_RELS"])}
    if "_LABEL" in value and "_ID" in value:
        properties = {k: json_value(v) for k, v in sorted(value.items()) if v is not None and k not in _INTERNAL}
        if "_SRC" in value:
            return {"type": value.get("relation") or value["_LABEL"], **properties}
        return {"label": value["_LABEL"], **properties}
    if value.keys() == {"offset", "table"}:
        return f"{value['table']}:{value['offset']}"
    return {str(key): json_value(item) for key, item in value.items()}


class Session:
    """The open database, in a process with restricted resources."""

    def __init__(self, file: str, pool: int, heap: int) -> None:
        import ladybug

        self.database = ladybug.Database(file, read_only=True, buffer_pool_size=pool, max_num_threads=_THREADS)
        self.connection = ladybug.Connection(self.database)
        for _ in ("load what queries need", "check that nothing more is opened"):
            self.connection.execute("CALL show_tables() RETURN name ORDER BY name LIMIT 1").close()  # type: ignore[union-attr]
        json_value(uuid.uuid4())
        self._confine(heap)

    def _confine(self, heap: int) -> None:
        try:
            import resource
        except ImportError:  # Windows
            return
        size = _address_space()  # while files can still be opened
        if size:
            _limit(resource.RLIMIT_AS, size + heap)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, 0)
        _limit(resource.RLIMIT_NOFILE, 0)

    def answer(self, request: dict[str, Any]) -> str:
        """Return columns and rows, or the kind of failure and its message, as JSON."""
        self.connection.set_query_timeout(max(1, int(request["timeout"] * 1000)))
        try:
            statement = self.connection._prepare(request["cypher"], request["parameters"])
            return self._fetch(self.connection.execute(statement, request["parameters"]), request["limit"], request["bytes"])
        except (RuntimeError, TypeError, ValueError) as error:  # also while fetching, for a text cut within a character
            return _failure(_kind(str(error)), str(error))

    def _fetch(self, result: Any, limit: int, max_bytes: int) -> str:
        rows: list[str] = []
        size, truncated = 0, False
        while result.has_next():
            if len(rows) == limit:
                truncated = True
                break
            row = json.dumps([json_value(value) for value in result.get_next()], allow_nan=False, ensure_ascii=False)
            size += len(row)
            if size > max_bytes:
                truncated = bool(rows)
                if not rows:
                    return _failure("size")
                break
            rows.append(row)
        columns = json.dumps(result.get_column_names(), ensure_ascii=False)
        result.close()
        return f'{{"columns": {columns}, "truncated": {json.dumps(truncated)}, "rows": [{", ".join(rows)}]}}'


def _failure(kind: str, message: str = "") -> str:
    return json.dumps({"failed": kind, "message": message})


def _kind(message: str) -> str:
    """Return the kind of failure that the engine's message is about."""
    if message.startswith("Interrupted"):
        return "timeout"
    if message.startswith(("Conversion exception", "Parser exception")):  # these quote the user's text, which may say anything
        return "query"
    if "Buffer manager" in message or "bad_alloc" in message or "Unable to allocate" in message:
        return "memory"
    if "read-only" in message:
        return "write"
    return "engine" if message.startswith(("IO exception", "Storage exception", "Checkpoint exception")) else "query"


def _limit(kind: int, limit: int) -> None:
    import resource

    try:
        resource.setrlimit(kind, (limit, limit))
    except (ValueError, OSError):
        return


def _address_space() -> int:
    """Return the address space in use, in bytes; 0 where the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _lines(source: int, idle: float) -> Any:
    """Yield the lines of the input; end with the input, or after ``idle`` seconds without a line."""
    unfinished = b""
    while True:
        if os.name == "posix" and not select.select([source], [], [], idle)[0]:
            return
        data = os.read(source, 1 << 16)
        if not data:
            return
        *lines, unfinished = (unfinished + data).split(b"\n")
        yield from lines


def _exit_with_client(source: int, query: bool) -> None:
    """While a ``query`` runs, let SIGIO end this process as soon as no process holds the other end of its input."""
    if not sys.platform.startswith("linux"):
        return
    flags = fcntl.fcntl(source, fcntl.F_GETFL)
    fcntl.fcntl(source, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(source, fcntl.F_SETFL, flags | os.O_ASYNC if query else flags & ~os.O_ASYNC)
    if query and select.select([source], [], [], 0)[0]:  # the other end was just closed: a client sends no second request
        os._exit(0)


def main(file: str, pool: int, heap: int, idle: float) -> None:
    """Serve requests until the input ends."""
    requests, answers = os.dup(0), os.dup(1)
    null_device = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null_device, stream)
    if hasattr(signal, "SIGXFSZ"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def send(answer: str) -> None:
        data = (answer + "\n").encode("utf-8", "replace")
        while data:
            data = data[os.write(answers, data) :]

    try:
        session = Session(file, pool, heap)
    except Exception as error:
        send(_failure("open", str(error)))
        return
    if hasattr(os, "nice"):
        os.nice(_NICE)
    send("{}")
    for line in _lines(requests, idle):
        request = json.loads(line)
        _exit_with_client(requests, True)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, request["timeout"] + GRACE)
        try:
            answer = session.answer(request)
        except MemoryError:
            answer = _failure("memory")
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        _exit_with_client(requests, False)
        send(answer)
        if answer.startswith('{"failed": "memory"'):
            break
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
