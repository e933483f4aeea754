"""Opening graphs, indexes and metrics for the command line and for scoring runs, and resolving texts to concepts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..graph.errors import InputError
from .terminal.output import check_output
from .terminal.progress import Meter
from .terminal.screen import duration, note, plural

if TYPE_CHECKING:
    from ..graph import Graph
    from ..graph.index import IndexGraph
    from ..graph.protocol import KnowledgeGraph, WritableGraph
    from ..reasoning import Reasoner

Options = dict[str, dict[str, Any]]
"""Options of metrics, by metric and by name."""


EngineName = Literal["auto", "store", "index"]
"""The engine for concept queries: the index, the store, or with ``auto`` the index where it can be written."""


@dataclass(frozen=True, slots=True)
class Address:
    """URL or path of a graph, with credentials; None: from the URL or the environment."""

    url: str
    user: str | None = None
    password: str | None = None
    database: str | None = None

    def absolute(self) -> Address:
        """Return the address with an absolute path, for processes with another working directory."""
        if "://" in self.url or not self.url:
            return self
        return replace(self, url=str(Path(self.url).absolute()))


@contextmanager
def open_store(address: Address, *, create: bool = False) -> Iterator[WritableGraph]:
    """Open the store at ``address``; ``create``: create a missing embedded one."""
    from ..graph import open_graph

    _hush_libraries()
    with open_graph(**asdict(address), engine="store", create=create) as store:
        yield store


@contextmanager
def open_engine(
    address: Address, engine: EngineName = "auto", *, quiet: bool = False, concepts: bool = True
) -> Iterator[KnowledgeGraph]:
    """Open a graph with its index, which is built if missing or outdated, or its store only.

    Where the index cannot be written, the store is used; with ``index`` that is an error. Without ``concepts`` the index
    is opened at the first query that needs it.
    """
    from ..graph import open_graph
    from ..graph.index import NoPlaceForIndex

    if engine == "store":
        with open_store(address) as store:
            yield store
        return
    _hush_libraries()
    with open_graph(**asdict(address)) as graph:
        try:
            if concepts:
                _open_index(graph, quiet=quiet)
        except NoPlaceForIndex as error:
            if engine == "index":
                raise
            note(f"{error}; using the store, which is slower")
            yield graph.store
        else:
            yield graph


@contextmanager
def open_indexed(address: Address, *, quiet: bool = False) -> Iterator[IndexGraph]:
    """Open the index of the graph at ``address``, which is built if missing or outdated."""
    from ..graph import open_graph

    _hush_libraries()
    with open_graph(**asdict(address)) as graph:
        yield _open_index(graph, quiet=quiet)


def _open_index(graph: Graph, *, quiet: bool = False) -> IndexGraph:
    """Open the index of ``graph``; if it has to be built, show progress and a note."""
    total = graph.manifest().assertions or None
    with Meter("building the index", total, noun="assertions", quiet=quiet) as meter:
        index = graph.open_index(meter.add)
    if meter.number and not quiet:
        note(f"built the index of {plural(meter.number, 'assertion')} in {duration(meter.seconds)}; it is saved for later runs")
    return index


@contextmanager
def open_reasoner(
    names: Sequence[str], options: Options, address: Address | None, engine: EngineName, *, quiet: bool
) -> Iterator[Reasoner]:
    """Open the metrics as a reasoner; the graph at ``address`` is opened only if one of them needs it."""
    from ..reasoning import Reasoner
    from ..reasoning.registry import metric_kind

    options = {name: with_vectors(options[name]) for name in names}
    needing = [name for name in names if metric_kind(name).graph]
    if not needing:
        yield Reasoner(None, names, options=options)
        return
    if address is None:
        raise InputError(
            f"the metric {needing[0]} needs a graph; give one with --graph or TACIT_GRAPH, "
            "or use a metric that needs none: --metrics coherence"
        )
    with open_engine(address, engine, quiet=quiet) as graph:
        yield Reasoner(graph, names, options=options)


def with_vectors(options: dict[str, Any]) -> dict[str, Any]:
    """Open the concept vectors if the option ``vectors`` is a path: metrics take them opened, since loaders read files."""
    if not isinstance(options.get("vectors"), str):
        return options
    from ..loaders import open_vectors

    return options | {"vectors": open_vectors(options["vectors"])}


def resolve(graph: KnowledgeGraph, texts: Sequence[str], language: str) -> list[str]:
    """Return the URI of the concept that each of ``texts`` names."""
    from ..graph.arguments import refuse_unknown
    from ..graph.open import index_of

    uris = graph.resolve(texts, language)
    unknown = sorted({text for text, uri in zip(texts, uris, strict=True) if uri is None}, key=texts.index)
    if unknown:
        index = index_of(graph)
        refuse_unknown(unknown, graph.url, [] if index is None else index.near(unknown[0], language=language), "--language")
    return [uri for uri in uris if uri is not None]


def readable(path: str) -> str:
    """Return ``path`` if it is an existing file or ``-`` (standard input)."""
    if path == "-":
        return path
    if "://" in path:
        raise InputError(f"{path} is a URL; download the file first (tacit fetch knows the official ones) and give its path")
    try:
        file = Path(path)
        if file.is_dir():
            raise InputError(f"{path} is a folder; give a file")
        if not file.exists():
            raise InputError(f"there is no file {path}")
    except (OSError, ValueError) as error:
        raise InputError(f"{path!r} is not a valid path: {error}") from error
    return path


def check_files(file: str, *outputs: Path | None) -> None:
    """Check that a file can be read, and that each output, if any, can be written and is not that file."""
    readable(file)
    for output in outputs:
        if output is not None:
            check_output(output, file)


def check_distinct(files: Sequence[str]) -> None:
    """Raise :class:`InputError` when a file is given twice."""
    for index, file in enumerate(files):
        if file != "-" and any(earlier != "-" and Path(earlier).resolve() == Path(file).resolve() for earlier in files[:index]):
            raise InputError(f"{file} is given twice; give each file once")


def _hush_libraries() -> None:
    """Silence the logging of libraries unless ``TACIT_DEBUG`` is set: errors are reported by exceptions."""
    if os.environ.get("TACIT_DEBUG", "0") in ("", "0"):
        import logging

        if not logging.getLogger().handlers:
            logging.getLogger().addHandler(logging.NullHandler())
