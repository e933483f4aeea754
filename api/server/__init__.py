"""The HTTP service: one reasoner and one graph behind JSON over HTTP, with limits, keys, batches across clients, measurements.

``create_app`` gives the application for any ASGI server, or for a test without a socket; ``tacit serve`` runs it. It needs the
extra ``tacit-kg[serve]``, so everything is brought in when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import create_app
    from .keys import Keys
    from .service import Settings

__all__ = ["Keys", "Settings", "create_app"]

_ROOMS = {"create_app": "app", "Keys": "keys", "Settings": "service"}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_ROOMS[name]}", __name__), name)
