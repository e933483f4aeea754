"""The caller's end of a worker: starting it, one question and its answer, and killing it when it does not answer in time."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ..errors import GraphError, QueryTimeout

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
