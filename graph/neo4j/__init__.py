"""The Neo4j store: a graph on a server, with the official driver and managed transactions."""

from __future__ import annotations

from .graph import Neo4jGraph

__all__ = ["Neo4jGraph"]
