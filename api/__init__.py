"""Interfaces: scoring of files, the command line, the HTTP service with its web page, and the Python client.

Names are imported on first use, so that ``import tacit.api`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph.lazy import lazy_names

if TYPE_CHECKING:
    from .client import AsyncClient, Client
    from .opening import Address
    from .scoring.frames import score_frame
    from .scoring.running import Cluster, score_file

_MODULES = {
    ".opening": "Address",
    ".client": "AsyncClient Client",
    ".scoring.frames": "score_frame",
    ".scoring.running": "Cluster score_file",
}

__all__ = ["Address", "AsyncClient", "Client", "Cluster", "score_file", "score_frame"]
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
