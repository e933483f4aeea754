"""Finding or building the index of a graph: one folder per graph digest, so that an index cannot be used with another graph.

The index of an embedded graph is in the graph's own folder. That of a server, or of a graph whose folder is read-only, is in the
user's cache (``TACIT_CACHE`` sets another folder), shared by processes and graphs.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..errors import GraphError
from ..protocol import KnowledgeGraph
from ..storage import sweep
from .reader import IndexGraph

Progress = Callable[[int], None]

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

    graph = store_of(graph)
    manifest = graph.manifest()
    homes = [directory] if directory else index_homes(graph)
    for home in homes:
        try:
            return IndexGraph(home / manifest.digest, graph, digest=manifest.digest)
        except GraphError:  # absent, of an older format, or damaged: it is built again
            continue
    refusals = []
    for home in homes:
        try:
            _check_writable(home)
            return _build_and_open(graph, home, progress, manifest.assertions, own=directory is None and home == _own(graph))
        except OSError as error:
            refusals.append(f"{home}: {error.strerror or error}")
    raise NoPlaceForIndex(f"no index of {graph.url} can be written ({'; '.join(refusals)}); set TACIT_CACHE to a writable folder")


def _build_and_open(graph: KnowledgeGraph, home: Path, progress: Progress | bool, total: int, *, own: bool) -> IndexGraph:
    from .build import build_index

    for attempt in range(3):  # a process that sees a newer graph may delete this index before it is opened
        folder = home / graph.manifest().digest
        with _ProgressBar(total) as bar:
            callback = bar.add if progress is True else progress or None
            build_index(graph, folder, callback)
        if own:
            _delete_other_indexes(folder)
        try:
            return IndexGraph(folder, graph)
        except GraphError:
            if attempt == 2:
                raise
    raise AssertionError("unreachable")


def index_homes(graph: KnowledgeGraph) -> list[Path]:
    """Return the folders that may hold the indexes of ``graph``: an embedded graph's own ``index`` folder, then the cache."""
    own, given = _own(graph), os.environ.get("TACIT_CACHE")
    if given:
        cache = Path(given)
    else:
        import platformdirs

        cache = Path(platformdirs.user_cache_dir("tacit"))
    return [cache / "index"] if own is None else [own, cache / "index"]


def index_home(graph: KnowledgeGraph) -> Path:
    """Return the first of :func:`index_homes`: the folder of the indexes of ``graph`` where it is writable."""
    return index_homes(graph)[0]


def _own(graph: KnowledgeGraph) -> Path | None:
    """Return the index folder of an embedded graph; None for a server."""
    return None if "://" in graph.url else Path(graph.url) / "index"


def _check_writable(home: Path) -> None:
    """Create the folder and a temporary file in it, to find out before the graph is read whether it is writable.

    Raises:
        OSError: it is not.
    """
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=home):
        pass


def _delete_other_indexes(folder: Path) -> None:
    """Delete the indexes of earlier contents of an embedded graph; processes that have one open can go on using it."""
    for other in folder.parent.iterdir():
        if other != folder and other.is_dir() and not other.name.startswith("."):
            shutil.rmtree(other, ignore_errors=True)
    sweep(folder.parent)


class _ProgressBar:
    """A progress bar on stderr, shown after two seconds and only when stderr is a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._started = time.monotonic()
        self._bar: Any = None

    def add(self, number: int) -> None:
        """Count ``number`` more assertions."""
        self._done += number
        if self._bar is None and time.monotonic() - self._started > _BAR_AFTER_SECONDS and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress as RichProgress

            self._bar = RichProgress(console=Console(stderr=True), transient=True)
            self._bar.add_task("building the index", total=self._total or None)
            self._bar.start()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
