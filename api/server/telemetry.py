"""Prometheus measurements, and structured logs: one JSON object per line on stderr.

By default a line holds no text of a dialogue: it has the route instead of the path, and sizes instead of the body. The setting
``log_text`` adds the path and the beginning of the body, for debugging.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

_FLUSH_SECONDS = 0.1
_lines: list[str] = []

_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Instruments:
    """The measurements of one service, in their own registry."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they would double the number of lines
        self._registry = CollectorRegistry()
        self._requests = Counter("tacit_requests", "Requests answered.", ("route", "method", "status"), registry=self._registry)
        self._seconds = Histogram(
            "tacit_request_seconds", "Seconds from a request's headers to its response.", ("route",), buckets=_SECONDS,
            registry=self._registry,
        )  # fmt: skip
        self._scored = Counter("tacit_items_scored", "Items scored.", ("metric",), registry=self._registry)
        self._batches = Histogram("tacit_batch_items", "Items scored together.", buckets=_SIZES, registry=self._registry)
        self._timeouts = Counter("tacit_cypher_timeouts", "Queries that exceeded their time limit.", registry=self._registry)

    def watch(self, name: str, help_text: str, value: Callable[[], float]) -> None:
        """Register a gauge that calls ``value`` at each scrape."""
        Gauge(name, help_text, registry=self._registry).set_function(value)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def batch(self, size: int, names: Sequence[str]) -> None:
        """Count a batch of ``size`` items that the metrics ``names`` scored."""
        self._batches.observe(size)
        for name in names:
            self._scored.labels(name).inc(size)

    def cypher_timeout(self) -> None:
        """Count a query that exceeded its time limit."""
        self._timeouts.inc()

    def text(self) -> bytes:
        """All measurements in Prometheus's text format."""
        return generate_latest(self._registry)


def log(level: str, event: str, **members: Any) -> None:
    """Log one line of JSON to stderr; members that are None are left out."""
    row = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "level": level,
        "event": event,
        **{name: value for name, value in members.items() if value is not None},
    }
    _lines.append(orjson.dumps(row, default=str).decode() + "\n")
    if event != "request" or level != "info":
        flush()
        return
    if len(_lines) == 1:  # lines are buffered, since a write per request would cost more than making the line
        try:
            asyncio.get_running_loop().call_later(_FLUSH_SECONDS, flush)
        except RuntimeError:
            flush()


def flush() -> None:
    """Write the buffered lines."""
    lines = "".join(_lines)
    _lines.clear()
    try:
        sys.stderr.write(lines)
        sys.stderr.flush()
    except (OSError, ValueError):  # stderr was closed; the service goes on
        return


def error_fields(error: BaseException) -> dict[str, str]:
    """Return the type and the traceback of an error for the log, without its message, which may quote a dialogue."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    return {
        "error": type(error).__name__,
        "where": " < ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in reversed(frames)),
    }
