"""Commonsense knowledge graphs, and metrics of dialogue responses that explain their scores.

This file is the ``__init__.py`` of the package ``tacit``; its sub-packages are the folders at the root of the repository. Names
are imported on first use, so that ``import tacit`` imports no heavy package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api.client import Client
    from .graph import open_graph
    from .reasoning import Reasoner, load_metric

    __version__: str

__all__ = ["Client", "Reasoner", "__version__", "load_metric", "open_graph"]

_MODULES = {"Client": ".api.client", "Reasoner": ".reasoning", "load_metric": ".reasoning", "open_graph": ".graph"}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("tacit-kg")
    elif name in _MODULES:
        value = getattr(import_module(_MODULES[name], __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
