"""Finding or building the index of a graph: one folder per graph digest, so that an index cannot be used with another graph.

The index of an embedded graph is in the graph's own folder. That of a server, or of a graph whose folder is read-only, is in the
user's cache (``TACIT_CACHE`` sets another folder), shared by processes and graphs.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import GraphError
from ..links import LinkManifest, linked_digest, no_links
from ..model import Manifest
from ..protocol import ConceptIndex, KnowledgeGraph, LinksEvents
from ..storage import cache_folder, sweep
from .graph import IndexGraph

Progress = Callable[[int], None]

LINKED = "linked-index"
"""Folder of the linked indexes, beside that of the indexes of concepts."""

_BAR_AFTER_SECONDS = 2.0


class NoPlaceForIndex(GraphError):
    """An index has to be built and no folder for it is writable."""


def open_index_directory(path: Path, store: KnowledgeGraph | Callable[[], KnowledgeGraph] | None = None) -> IndexGraph:
    """Open the index at ``path``; see :class:`IndexGraph` for ``store`` and for errors."""
    return IndexGraph(Path(path), store)


def open_index(graph: KnowledgeGraph, *, progress: Progress | bool = False, directory: Path | None = None) -> IndexGraph:
    """Open the index of ``graph`` as it is now, and build it first when there is none.

    Args:
        graph: the store; it answers the queries that the index cannot.
        progress: while building: called with the number of assertions read since its last call; True shows a progress bar on
            stderr when it takes more than two seconds and stderr is a terminal; False shows nothing.
        directory: folder of the indexes of this graph, one per digest; None for the folders of :func:`index_homes`.

    Raises:
        NoPlaceForIndex: it has to be built and no folder is writable.
        GraphError: the graph is damaged, or changed while it was read.
    """
    from ..open import store_of

    store = store_of(graph)
    return _opened(store, [directory] if directory else index_homes(store), progress, linked=False)


def open_linked_index(graph: KnowledgeGraph, *, progress: Progress | bool = False) -> IndexGraph:
    """Open the index of the concepts, events and links of ``graph`` as it is now, as :func:`open_index` does.

    Its nodes are concepts and events, and its assertions include the links, with the weight 1. It is kept in folders beside those
    of the index of concepts, which is not touched. A graph without links raises :class:`GraphError`.
    """
    from ..open import linking_store, store_of

    store = linking_store(store_of(graph))
    if not store.link_manifest().links:
        raise no_links(store.url)
    return _opened(store, [home.parent / LINKED for home in index_homes(store)], progress, linked=True)


def manifests(graph: KnowledgeGraph, linked: bool) -> tuple[Manifest, LinkManifest]:
    """Return the manifest of the assertions, and with ``linked`` that of the links, else an empty one."""
    links = graph.link_manifest() if linked and isinstance(graph, LinksEvents) else LinkManifest()
    return graph.manifest(), links


def _opened(store: KnowledgeGraph, homes: list[Path], progress: Progress | bool, linked: bool) -> IndexGraph:
    """Open the index of ``store`` as it is now in one of ``homes``, or build it in the first that is writable."""
    digest = linked_digest(*manifests(store, linked))
    for home in homes:
        try:
            return IndexGraph(home / digest, store, digest=digest)
        except GraphError:  # absent, of an older format, or damaged: it is built again
            continue
    refusals = []
    for home in homes:
        try:
            _check_writable(home)
            return _build_and_open(store, home, progress, linked)
        except OSError as error:
            refusals.append(f"{home}: {error.strerror or error}")
    raise NoPlaceForIndex(f"no index of {store.url} can be written ({'; '.join(refusals)}); set TACIT_CACHE to a writable folder")


def _build_and_open(store: KnowledgeGraph, home: Path, progress: Progress | bool, linked: bool) -> IndexGraph:
    from .build import build_index

    own_folder = _own_folder(store)
    for attempt in range(3):  # a process that sees a newer graph may delete this index before it is opened
        folder = home / linked_digest(*manifests(store, linked))
        with _progress_bar(store.manifest().assertions) as bar:
            build_index(store, folder, bar if progress is True else progress or None, linked=linked)
        if own_folder is not None and home in (own_folder, own_folder.parent / LINKED):
            _delete_other_indexes(folder)
        try:
            return IndexGraph(folder, store)
        except GraphError:
            if attempt == 2:
                raise
    raise AssertionError("unreachable")


def index_homes(graph: KnowledgeGraph) -> list[Path]:
    """Return the folders that may hold the indexes of ``graph``: an embedded graph's own ``index`` folder, then the cache."""
    own_folder, shared = _own_folder(graph), cache_folder("index")
    return [shared] if own_folder is None else [own_folder, shared]


def index_home(graph: KnowledgeGraph) -> Path:
    """Return the first of :func:`index_homes`: the folder of the indexes of ``graph`` where it is writable."""
    return index_homes(graph)[0]


def vectors_folder(index: ConceptIndex) -> Path:
    """Return the folder of the vectors that were indexed for the graph of ``index``; they were not where it does not exist.

    Graphs of equal content share an index in the user's cache; their vectors have a folder each, so that indexing vectors for one
    changes no answer of another.
    """
    if index.directory.parent == _own_folder(index) or index.url == str(index.directory):
        return index.directory / "vectors"
    return index.directory / f"vectors-{hashlib.blake2b(index.url.encode(), digest_size=8).hexdigest()}"


def _own_folder(graph: KnowledgeGraph) -> Path | None:
    """Return the index folder of an embedded graph; None for a server."""
    return None if "://" in graph.url else Path(graph.url) / "index"


def _check_writable(home: Path) -> None:
    """Create the folder and a temporary file in it, to find out before the graph is read whether it is writable."""
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=home):
        pass


def _delete_other_indexes(folder: Path) -> None:
    """Delete the indexes of earlier contents of an embedded graph; processes that have one open can go on using it."""
    for index in folder.parent.iterdir():
        if index != folder and index.is_dir() and not index.name.startswith("."):
            shutil.rmtree(index, ignore_errors=True)
    sweep(folder.parent)


@contextmanager
def _progress_bar(total: int) -> Iterator[Progress]:
    """Yield a callback for a progress bar on stderr, shown after two seconds and only when stderr is a terminal."""
    completed, started, bar = 0, time.monotonic(), None

    def add(number: int) -> None:
        nonlocal completed, bar
        completed += number
        if bar is None and time.monotonic() - started > _BAR_AFTER_SECONDS and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress as RichProgress

            bar = RichProgress(console=Console(stderr=True), transient=True)
            bar.add_task("building the index", total=total or None)
            bar.start()
        if bar is not None:
            bar.update(bar.task_ids[0], completed=completed)

    try:
        yield add
    finally:
        if bar is not None:
            bar.stop()
