"""Finding the index of a graph, or building it: one folder a graph digest, so that an index can never answer for another graph.

The index of an embedded graph lies in the graph's own folder and goes with it. That of a server, and of a folder that cannot be
written to, lies in the user's cache (``TACIT_CACHE`` names another place), where several processes and graphs share it.
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
    """An index has to be built and can be written nowhere."""


def open_index_directory(path: Path, store: KnowledgeGraph | Callable[[], KnowledgeGraph] | None = None) -> IndexGraph:
    """Open the index that lies at ``path``; see :class:`IndexGraph` for ``store`` and for errors."""
    return IndexGraph(Path(path), store)


def open_index(graph: KnowledgeGraph, *, progress: Progress | bool = False, directory: Path | None = None) -> IndexGraph:
    """Open the index of ``graph`` as it is now, building it first when there is none; the graph answers what an index cannot.

    Args:
        progress: while building: called with the number of assertions read since its last call; True shows a bar on stderr when
            it takes more than two seconds and stderr is a terminal; False shows nothing.
        directory: where the indexes of this graph are kept, one folder a digest; see :func:`index_homes` for the usual places.

    Raises:
        NoPlaceForIndex: it has to be built and can be written nowhere.
        GraphError: the graph is damaged, or changed while it was read.
    """
    from ..open import store_of

    graph = store_of(graph)
    manifest = graph.manifest()
    homes = [directory] if directory else index_homes(graph)
    for home in homes:
        try:
            return IndexGraph(home / manifest.digest, graph, digest=manifest.digest)
        except GraphError:  # absent, of an older format, or damaged: a new one takes its place
            continue
    refusals = []
    for home in homes:
        try:
            _try_writing(home)
            return _build_and_open(graph, home, progress, manifest.assertions, own=directory is None and home == _own(graph))
        except OSError as error:
            refusals.append(f"{home}: {error.strerror or error}")
    raise NoPlaceForIndex(f"no index of {graph.url} can be written ({'; '.join(refusals)})")


def _build_and_open(graph: KnowledgeGraph, home: Path, progress: Progress | bool, total: int, *, own: bool) -> IndexGraph:
    from .build import build_index

    for attempt in range(3):  # another process may see a newer graph and sweep this index away while it is being opened
        folder = home / graph.manifest().digest
        with _Bar(total) as bar:
            told = bar.add if progress is True else progress or None
            build_index(graph, folder, told)
        if own:
            _forget_others(folder)
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
    """Return the folder that holds the indexes of ``graph`` where it can be written to; the first of :func:`index_homes`."""
    return index_homes(graph)[0]


def _own(graph: KnowledgeGraph) -> Path | None:
    """The index folder of an embedded graph, None for a server."""
    return None if "://" in graph.url else Path(graph.url) / "index"


def _try_writing(home: Path) -> None:
    """Make the folder and a file in it, so that a place that cannot be written to is known before the graph is read.

    Raises:
        OSError: it cannot be written to.
    """
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=home):
        pass


def _forget_others(folder: Path) -> None:
    """Delete the indexes of what an embedded graph held before; processes that have one open keep it until they let go."""
    for other in folder.parent.iterdir():
        if other != folder and other.is_dir() and not other.name.startswith("."):
            shutil.rmtree(other, ignore_errors=True)
    sweep(folder.parent)


class _Bar:
    """A progress bar on stderr, shown once the work has taken two seconds, and only where stderr is a terminal."""

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
