"""The embedded store: a LadybugDB database in a folder, Cypher in process, no server."""

from __future__ import annotations

from .graph import EmbeddedGraph, open_embedded

__all__ = ["EmbeddedGraph", "open_embedded"]
