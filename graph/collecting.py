"""Searching for reference cycles less often while millions of rows stream by.

Rows hold texts and numbers, never each other, so the search that Python makes after every few hundred new ones finds nothing and
takes a sixth of the time of a load. It is made rarely, not never, since whoever hands in the rows may leave cycles behind.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 1_000_000


@contextmanager
def rare_cycle_search() -> Iterator[None]:
    """Search once in a million new objects inside the ``with`` block; afterwards as often as before."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], _NEW_OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
