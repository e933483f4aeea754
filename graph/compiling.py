"""Compiling functions with numba: machine code is cached on disk where a folder is writable, and long compiling is announced.

numba keeps machine code beside the modules, or in the user's cache folder where that is read-only (``NUMBA_CACHE_DIR`` names
another), separately for each processor type and version. Several processes may write there at the same time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event

ANNOUNCED_AFTER = 1.0
"""Seconds of compiling after which it is announced."""


def compiled(function: Callable[..., Any]) -> Any:
    """Compile ``function`` at its first call; it runs without the interpreter's lock."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder for machine code is writable
        return njit(nogil=True)(function)


class _Announcer(event.Listener):
    """Announces on stderr, once in a process, that functions are being compiled, after a second of it."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._starts: list[float] = []  # a stack: compiling a function may compile others
        self._announced = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        now = time.perf_counter()
        seconds = self._seconds + (now - self._starts[0] if self._starts else 0.0)
        self._starts.append(now)
        if seconds > ANNOUNCED_AFTER and not self._announced:
            self._announced = True
            print(
                "tacit: compiling searches for this processor, which takes up to a minute; the result is kept for later runs",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        started = self._starts.pop()
        if not self._starts:
            self._seconds += time.perf_counter() - started


event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]
