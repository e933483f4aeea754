"""Interfaces: scoring of files, the command line, the HTTP service with its web page, and the Python client.

Names are imported on first use, so that ``import tacit.api`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import AsyncClient, Client
    from .opening import Address
    from .scoring.running import Cluster, score_file

_MODULES = {
    "Address": ".opening",
    "AsyncClient": ".client",
    "Client": ".client",
    "Cluster": ".scoring.running",
    "score_file": ".scoring.running",
}

__all__ = ["Address", "AsyncClient", "Client", "Cluster", "score_file"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
