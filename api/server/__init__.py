"""The HTTP service: scores and graph queries as JSON, with API keys, limits, micro-batching and Prometheus metrics.

``create_app`` returns the application for any ASGI server, or for a test without a socket; ``tacit serve`` runs it. It needs the
extra ``tacit-kg[serve]``, so names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import create_app
    from .keys import Keys
    from .service import Settings

__all__ = ["Keys", "Settings", "create_app"]

_MODULES = {"create_app": "app", "Keys": "keys", "Settings": "service"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
