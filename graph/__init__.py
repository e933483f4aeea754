"""Graphs of commonsense: the data model, the protocol that every backend answers, and ways to open one.

Everything is brought in when first used, so importing this costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
        QueryResult,
        TripleCounts,
        checksum,
    )
    from .open import Graph, open_graph
    from .protocol import MAX_HOPS, KnowledgeGraph, WritableGraph

_ROOMS = {
    "errors": (
        "FetchError", "GraphBusy", "GraphError", "GraphNotFound", "GraphUnavailable", "InputError", "LoadError", "MissingExtra",
        "ModelError", "PluginError", "QueryInvalid", "QueryRefused", "QueryTimeout", "ServiceError",
        "ServiceUnavailable", "TacitError", "UnknownName",
    ),
    "index": ("open_index",),
    "model": (
        "Assertion", "GraphCounts", "LoadCounts", "LoadEntry", "Manifest", "Neighbour", "Path", "QueryResult", "TripleCounts",
        "checksum",
    ),
    "open": ("Graph", "open_graph"),
    "protocol": ("MAX_HOPS", "KnowledgeGraph", "WritableGraph"),
}  # fmt: skip
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = [
    "MAX_HOPS",
    "Assertion",
    "FetchError",
    "Graph",
    "GraphBusy",
    "GraphCounts",
    "GraphError",
    "GraphNotFound",
    "GraphUnavailable",
    "InputError",
    "KnowledgeGraph",
    "LoadCounts",
    "LoadEntry",
    "LoadError",
    "Manifest",
    "MissingExtra",
    "ModelError",
    "Neighbour",
    "Path",
    "PluginError",
    "QueryInvalid",
    "QueryRefused",
    "QueryResult",
    "QueryTimeout",
    "ServiceError",
    "ServiceUnavailable",
    "TacitError",
    "TripleCounts",
    "UnknownName",
    "WritableGraph",
    "checksum",
    "open_graph",
    "open_index",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_ROOM_OF[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
