"""Searching for reference cycles less often while much is made at once: millions of rows of a load, parses of a batch.

Rows and parses hold texts and numbers, seldom each other, so the search that Python makes after every few hundred new objects
finds nothing and walks through all that is open besides, models too: a sixth of the time of a load, a twentieth of that of
scoring. It is made rarely, not never, since whoever hands in the rows may leave cycles behind.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 1_000_000

_lock = threading.Lock()
_inside: list[tuple[int, int, int]] = []
"""What held before the first of the blocks that are being run, once for each of them, whichever thread it is in."""


@contextmanager
def rare_cycle_search() -> Iterator[None]:
    """Search once in a million new objects inside the ``with`` block; as often as before once every such block is left."""
    with _lock:
        before = _inside[0] if _inside else gc.get_threshold()
        _inside.append(before)
        if before[0]:
            gc.set_threshold(max(before[0], _NEW_OBJECTS), *before[1:])
    try:
        yield
    finally:
        with _lock:
            _inside.pop()
            if not _inside:
                gc.set_threshold(*before)
