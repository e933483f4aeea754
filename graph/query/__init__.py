"""A user's own Cypher, read-only, behind three walls: an allow-list over real tokens, the engine's read mode, and limits.

The embedded engine runs in a worker process that may crash or be killed; a Neo4j server ends the transaction itself. Neither wall
is trusted alone: both engines' read modes let files, settings and users be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .embedded import close_workers, run_embedded
from .validator import check

if TYPE_CHECKING:
    from .neo4j import run_neo4j

__all__ = ["check", "close_workers", "run_embedded", "run_neo4j"]


def __getattr__(name: str) -> Any:
    if name == "run_neo4j":  # the driver takes a while to import
        from .neo4j import run_neo4j

        return run_neo4j
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
