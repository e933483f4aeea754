"""The scoring index: a graph's concepts as memory-mapped arrays, built from any store and identified by the graph's digest.

Names are imported on first use, since building needs pyarrow and numba and opening needs neither.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .build import build_from_rows, build_index
    from .open import NoPlaceForIndex, index_home, index_homes, open_index, open_index_directory
    from .reader import IndexGraph

_MODULES = {
    "IndexGraph": "reader",
    "build_from_rows": "build",
    "build_index": "build",
    "NoPlaceForIndex": "open",
    "index_home": "open",
    "index_homes": "open",
    "open_index": "open",
    "open_index_directory": "open",
}

__all__ = [
    "IndexGraph",
    "NoPlaceForIndex",
    "build_from_rows",
    "build_index",
    "index_home",
    "index_homes",
    "open_index",
    "open_index_directory",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
