"""The HTTP service: scores and graph queries as JSON, with API keys, limits, micro-batching and Prometheus metrics.

``create_app`` returns the application for any ASGI server, or for a test without a socket; ``tacit serve`` runs it. It needs the
extra ``tacit-kg[serve]``, so names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph.lazy import lazy_names

if TYPE_CHECKING:
    from .app import create_app
    from .keys import Keys
    from .service import Settings

__all__ = ["Keys", "Settings", "create_app"]

_MODULES = {".app": "create_app", ".keys": "Keys", ".service": "Settings"}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
