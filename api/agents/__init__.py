"""The MCP server: the service's questions and scores as tools of the Model Context Protocol, for programs with a language model.

``create_server`` returns the server over an application of :func:`tacit.api.server.create_app`; ``serve_stdio`` runs it on stdin
and stdout, ``mount`` adds it to the application as ``/mcp``. ``tacit mcp`` runs both. It needs the extra ``tacit-kg[mcp]``, so
names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph.lazy import lazy_names

if TYPE_CHECKING:
    from .mcp_server import create_server, mount, serve_stdio

__all__ = ["create_server", "mount", "serve_stdio"]

_MODULES = {".mcp_server": "create_server mount serve_stdio"}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
