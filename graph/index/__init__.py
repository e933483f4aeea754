"""The scoring index: a graph's concepts as memory-mapped arrays, built from any store and identified by the graph's digest.

Names are imported on first use, since building needs pyarrow and numba and opening needs neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .build import build_from_rows, build_index
    from .graph import IndexGraph
    from .open import NoPlaceForIndex, index_home, index_homes, open_index, open_index_directory

_MODULES = {
    ".build": "build_from_rows build_index",
    ".open": "NoPlaceForIndex index_home index_homes open_index open_index_directory",
    ".graph": "IndexGraph",
}  # fmt: skip

__all__ = [
    "IndexGraph", "NoPlaceForIndex", "build_from_rows", "build_index", "index_home", "index_homes", "open_index",
    "open_index_directory",
]  # fmt: skip
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
