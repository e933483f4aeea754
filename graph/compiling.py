"""Compiling functions with numba: machine code is kept on disk where a folder is writable, and long compiling is announced.

numba keeps machine code beside the modules, or in the user's cache folder where that is read-only (``NUMBA_CACHE_DIR`` names
another), for each type of processor and version apart. Several processes may write there at the same time.
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
    """Compile ``function`` at its first call, without the interpreter's lock."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder for machine code is writable
        return njit(nogil=True)(function)


class _Announcer(event.Listener):
    """Says on stderr, once in a process, that functions are being compiled, when that has taken a second already."""

    def __init__(self) -> None:
        self._spent = 0.0
        self._started: list[float] = []  # of functions that are being compiled, each by the one before it
        self._said = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        now = time.perf_counter()
        spent = self._spent + (now - self._started[0] if self._started else 0.0)
        self._started.append(now)
        if spent > ANNOUNCED_AFTER and not self._said:
            self._said = True
            print(
                "tacit: compiling searches for this processor, which takes up to a minute; the result is kept for later runs",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        started = self._started.pop()
        if not self._started:
            self._spent += time.perf_counter() - started


event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]
