"""Users' own Cypher, read-only, behind three layers of protection: allow-list, read-only mode, limits.

The allow-list (:mod:`.validator`) checks real tokens. The embedded engine runs a query in a worker process that can crash or be
killed; a Neo4j server ends the transaction itself. All three layers are needed: the read-only mode of either engine still allows
files, settings and users to be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names
from .embedded import close_workers, run_embedded
from .validator import check

if TYPE_CHECKING:
    from .neo4j import run_neo4j

__all__ = ["check", "close_workers", "run_embedded", "run_neo4j"]
__getattr__, __dir__ = lazy_names(__name__, {".neo4j": "run_neo4j"})  # the driver takes a while to import
