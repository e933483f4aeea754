"""The ways in for people and programs: scoring of files, the command line, the service, its page, and its client.

Names are resolved on first use, so that ``import tacit.api`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import AsyncClient, Client
    from .opening import Address
    from .scoring.running import Cluster, score_file

_HOMES = {
    "Address": ".opening",
    "AsyncClient": ".client",
    "Client": ".client",
    "Cluster": ".scoring.running",
    "score_file": ".scoring.running",
}

__all__ = ["Address", "AsyncClient", "Client", "Cluster", "score_file"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
