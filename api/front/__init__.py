"""Commonsense you can query, scores you can explain: the names that most programs need.

This file is the package ``tacit`` itself; its sub-packages are the folders at the root of the repository. Each name is imported
when it is first used, so ``import tacit`` brings in no heavy package.
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

_PLACES = {"Client": ".api.client", "Reasoner": ".reasoning", "load_metric": ".reasoning", "open_graph": ".graph"}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("tacit-kg")
    elif name in _PLACES:
        value = getattr(import_module(_PLACES[name], __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
