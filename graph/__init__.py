"""Knowledge graphs: the data model, the protocol that every store and index implements, errors, and ``open_graph``.

Names are imported on first use, so importing this package is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import lazy_names

if TYPE_CHECKING:
    from .errors import (
        FetchError,
        GraphBusy,
        GraphError,
        GraphNotFound,
        GraphUnavailable,
        InputError,
        LoadError,
        MissingExtra,
        ModelError,
        PluginError,
        QueryInvalid,
        QueryRefused,
        QueryTimeout,
        ServiceError,
        ServiceUnavailable,
        TacitError,
        UnknownName,
    )
    from .index import open_index
    from .model import (
        Assertion,
        GraphCounts,
        LoadCounts,
        LoadEntry,
        Manifest,
        Neighbour,
        Path,
        Pattern,
        QueryResult,
        TripleCounts,
        checksum,
    )
    from .open import Graph, open_graph
    from .protocol import MAX_HOPS, KnowledgeGraph, WritableGraph

_MODULES = {
    ".errors": "FetchError GraphBusy GraphError GraphNotFound GraphUnavailable InputError LoadError MissingExtra ModelError "
    "PluginError QueryInvalid QueryRefused QueryTimeout ServiceError ServiceUnavailable TacitError UnknownName",
    ".index": "open_index",
    ".model": "Assertion GraphCounts LoadCounts LoadEntry Manifest Neighbour Path Pattern QueryResult TripleCounts checksum",
    ".open": "Graph open_graph",
    ".protocol": "KnowledgeGraph MAX_HOPS WritableGraph",
}  # fmt: skip

__all__ = [
    "MAX_HOPS", "Assertion", "FetchError", "Graph", "GraphBusy", "GraphCounts", "GraphError", "GraphNotFound",
    "GraphUnavailable", "InputError", "KnowledgeGraph", "LoadCounts", "LoadEntry", "LoadError", "Manifest", "MissingExtra",
    "ModelError", "Neighbour", "Path", "Pattern", "PluginError", "QueryInvalid", "QueryRefused", "QueryResult", "QueryTimeout",
    "ServiceError", "ServiceUnavailable", "TacitError", "TripleCounts", "UnknownName", "WritableGraph", "checksum",
    "open_graph", "open_index",
]  # fmt: skip
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
