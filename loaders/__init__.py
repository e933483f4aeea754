"""Typed rows out of official files: ConceptNet, ATOMIC, RDF, Numberbatch vectors, dialogues; and where those files are found.

Names are resolved on first use, so that ``import tacit.loaders`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .atomic import Query, read_atomic, read_queries
    from .conceptnet import read_conceptnet
    from .dialogues import Item, ItemError, read_items
    from .reader import Reader, Reject, Report

_HOMES = {
    "Item": "dialogues",
    "ItemError": "dialogues",
    "Query": "atomic",
    "Reader": "reader",
    "Reject": "reader",
    "Report": "reader",
    "read_atomic": "atomic",
    "read_conceptnet": "conceptnet",
    "read_items": "dialogues",
    "read_queries": "atomic",
}

__all__ = [
    "Item",
    "ItemError",
    "Query",
    "Reader",
    "Reject",
    "Report",
    "read_atomic",
    "read_conceptnet",
    "read_items",
    "read_queries",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
