"""Users' own Cypher, read-only, behind three layers of protection: allow-list, read-only mode, limits.

The allow-list (:mod:`.validator`) checks real tokens. The embedded engine runs a query in a worker process that can crash or be
killed; a Neo4j server ends the transaction itself. All three layers are needed: the read-only mode of either engine still allows
files, settings and users to be read.
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
