"""Extractors by name, with their options; an extractor's module is imported when the extractor is opened."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .....graph.errors import InputError

if TYPE_CHECKING:
    from .....graph.protocol import KnowledgeGraph
    from ..events import Extractor

HOMES: Mapping[str, str] = types.MappingProxyType({"rules": "rules:make", "t5": "t5:make", "cskb": "keywords:make"})
"""``module:function`` of each; the function takes its options as keywords, that of ``cskb`` the graph before them."""

EXTRACTORS = tuple(HOMES)

_WITH_GRAPH = frozenset(("cskb",))


def extractor_options(name: str) -> dict[str, Any]:
    """Return the options of the extractor ``name`` with their defaults.

    Raises:
        InputError: the extractor is unknown.
    """
    return dict(_maker(name).__kwdefaults__ or {})


def needs_graph(name: str) -> bool:
    """Whether the extractor ``name`` searches a graph."""
    return name in _WITH_GRAPH


def open_extractor(name: str, graph: KnowledgeGraph | None = None, **options: Any) -> Extractor:
    """Return the extractor ``name``: ``rules`` over a parse, ``t5`` by a sequence-to-sequence model, ``cskb`` by keywords.

    Args:
        graph: required by ``cskb``, ignored by the others.
        options: see the function ``make`` of the extractor's module.

    Raises:
        InputError: the extractor or an option is unknown, or the extractor needs a graph and has none.
        ModelError: a pipeline or model cannot be opened.
    """
    make, known = _maker(name), extractor_options(name)
    for option in options:
        if option not in known:
            raise InputError(f"the extractor {name} has no option {option!r}; it has {', '.join(known)}")
    if not needs_graph(name):
        return make(**options)
    if graph is None:
        raise InputError(f"the extractor {name} searches a graph; give one")
    return make(graph, **options)


def _maker(name: str) -> Callable[..., Extractor]:
    if name not in HOMES:
        raise InputError(f"unknown extractor {name!r}; choose from {', '.join(EXTRACTORS)}")
    module, function = HOMES[name].split(":")
    make: Callable[..., Extractor] = getattr(importlib.import_module(f".{module}", __package__), function)
    return make
