"""Open what is named: a graph by its address and engine, metrics by their names and options, concepts by their texts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..graph.errors import InputError
from .terminal.progress import Meter
from .terminal.screen import note
from .terminal.text import count, duration

if TYPE_CHECKING:
    from ..graph import Graph
    from ..graph.index import IndexGraph
    from ..graph.protocol import KnowledgeGraph, WritableGraph
    from ..reasoning import Reasoner
    from ..reasoning.base import Metric

Options = dict[str, dict[str, Any]]
"""Options of metrics, by metric and by name."""


class Engine(Enum):
    """What answers a concept query."""

    AUTO = "auto"
    STORE = "store"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a graph is and who asks; what is None comes from the URL or the environment."""

    url: str
    user: str | None = None
    password: str | None = None
    database: str | None = None

    def absolute(self) -> Address:
        """Return the address with a path made absolute, for processes that run in other folders."""
        if "://" in self.url or not self.url:
            return self
        return replace(self, url=str(Path(self.url).absolute()))


@contextmanager
def open_store(address: Address, *, create: bool = False) -> Iterator[WritableGraph]:
    """Open the database at ``address``; with ``create`` an embedded one may come into being.

    Raises:
        GraphNotFound: nothing is there.
        GraphError: it cannot be opened.
    """
    from ..graph import open_graph

    _hush_libraries()
    with open_graph(
        address.url,
        engine="store",
        user=address.user,
        password=address.password,
        database=address.database,
        create=create,
    ) as store:
        yield store


@contextmanager
def open_engine(address: Address, engine: Engine, *, quiet: bool = False) -> Iterator[KnowledgeGraph]:
    """Open a graph with its index, built first when it is missing or old, or the store alone."""
    from ..graph import open_graph
    from ..graph.index import NoPlaceForIndex

    if engine is Engine.STORE:
        with open_store(address) as store:
            yield store
        return
    _hush_libraries()
    with open_graph(address.url, user=address.user, password=address.password, database=address.database) as graph:
        try:
            _open_index(graph, quiet=quiet)
        except NoPlaceForIndex as error:
            if engine is Engine.INDEX:
                raise
            note(f"{error}, so the store answers, which is slower")
            yield graph.store
        else:
            yield graph


@contextmanager
def open_indexed(address: Address, *, quiet: bool = False) -> Iterator[IndexGraph]:
    """Open the index of the graph at ``address``, built first when it is missing or old.

    Raises:
        NoPlaceForIndex: it has to be built and can be written nowhere.
        GraphError: the graph is damaged, or changed while it was read.
    """
    from ..graph import open_graph

    _hush_libraries()
    with open_graph(address.url, user=address.user, password=address.password, database=address.database) as graph:
        yield _open_index(graph, quiet=quiet)


def _open_index(graph: Graph, *, quiet: bool = False) -> IndexGraph:
    """Open the index of ``graph``, built first when it is missing or old, and say so when it was."""
    total = graph.manifest().assertions or None
    with Meter("building the index", total, unit="assertions", noun="assertions", quiet=quiet) as meter:
        index = graph.open_index(meter.add)
    if meter.number and not quiet:
        note(f"built the index of {count(meter.number)} assertions in {duration(meter.seconds)}; it is kept for next time")
    return index


@contextmanager
def open_reasoner(
    names: Sequence[str], options: Options, address: Address | None, engine: Engine, *, quiet: bool
) -> Iterator[Reasoner]:
    """Give the metrics as one, over the graph at ``address``, which is opened only when one of them needs it.

    Raises:
        InputError: a metric needs a graph and none is named.
    """
    from ..reasoning import Reasoner
    from ..reasoning.registry import metric_kind

    options = {name: _with_vectors(options[name]) for name in names}
    needing = [name for name in names if metric_kind(name).graph]
    if not needing:
        yield Reasoner(None, names, options=options)
        return
    if address is None:
        raise InputError(
            f"the metric {needing[0]} reasons over a graph; name one with --graph or TACIT_GRAPH, "
            "or take a metric that needs none: --metrics coherence"
        )
    with open_engine(address, engine, quiet=quiet) as graph:
        yield Reasoner(graph, names, options=options)


@contextmanager
def open_metrics(
    names: Sequence[str], options: Options, address: Address | None, engine: Engine, *, quiet: bool
) -> Iterator[list[Metric]]:
    """Give the metrics one by one; see :func:`open_reasoner`."""
    with open_reasoner(names, options, address, engine, quiet=quiet) as reasoner:
        yield list(reasoner.metrics)


def _with_vectors(options: dict[str, Any]) -> dict[str, Any]:
    """Open the concept vectors that an option names by their folder: metrics take them open, only loaders read files."""
    if not isinstance(options.get("vectors"), str):
        return options
    from ..loaders import open_vectors

    return options | {"vectors": open_vectors(options["vectors"])}


def resolve(graph: KnowledgeGraph, texts: Sequence[str], language: str) -> list[str]:
    """Return the concept that each of ``texts`` names.

    Raises:
        UnknownName: one of them names no concept in the graph.
    """
    from ..graph.answers import refuse_unknown
    from ..graph.open import index_of

    uris = graph.resolve(texts, language)
    unknown = sorted({text for text, uri in zip(texts, uris, strict=True) if uri is None}, key=texts.index)
    if unknown:
        index = index_of(graph)
        refuse_unknown(unknown, graph.url, [] if index is None else index.near(unknown[0], language=language), "--language")
    return [uri for uri in uris if uri is not None]


def readable(path: str) -> str:
    """Return ``path`` when a file is there (``-``: standard input).

    Raises:
        InputError: there is none.
    """
    if path == "-":
        return path
    if "://" in path:
        raise InputError(f"{path} is a URL; download the file first (tacit fetch knows the official ones) and give its path")
    try:
        found = Path(path)
        if found.is_dir():
            raise InputError(f"{path} is a folder; give a file")
        if not found.exists():
            raise InputError(f"there is no file {path}")
    except (OSError, ValueError) as error:
        raise InputError(f"{path!r} cannot be a file's path: {error}") from error
    return path


def _hush_libraries() -> None:
    """Keep the log lines of libraries off a person's screen: what matters comes as an error's sentence."""
    if os.environ.get("TACIT_DEBUG", "0") in ("", "0"):
        import logging

        if not logging.getLogger().handlers:
            logging.getLogger().addHandler(logging.NullHandler())
