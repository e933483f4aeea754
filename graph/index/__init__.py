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
    "build": "build_from_rows build_index",
    "open": "NoPlaceForIndex index_home index_homes open_index open_index_directory",
    "reader": "IndexGraph",
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "IndexGraph", "NoPlaceForIndex", "build_from_rows", "build_index", "index_home", "index_homes", "open_index",
    "open_index_directory",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULE_OF[name]}", __name__), name)
