"""Finding the index of a graph, or building it: one folder a graph digest, so that an index can never answer for another graph.

The index of an embedded graph lies in the graph's own folder and goes with it; that of a server lies in the user's cache
(``TACIT_CACHE`` names another place), where several processes and graphs share it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from ..errors import GraphError
from ..protocol import KnowledgeGraph
from .folder import sweep
from .reader import IndexGraph


def open_index_directory(path: Path, store: KnowledgeGraph | Callable[[], KnowledgeGraph] | None = None) -> IndexGraph:
    """Open the index that lies at ``path``; see :class:`IndexGraph` for ``store`` and for errors."""
    return IndexGraph(Path(path), store)


def open_index(
    graph: KnowledgeGraph, *, progress: Callable[[int], None] | None = None, directory: Path | None = None
) -> IndexGraph:
    """Open the index of ``graph`` as it is now, building it first when there is none; the graph answers what an index cannot.

    Args:
        progress: called while building with the number of assertions read since its last call.
        directory: where the indexes of this graph are kept, one folder a digest; see :func:`index_home` for the usual place.
    """
    home = directory or index_home(graph)
    folder = home / graph.manifest().digest
    for _ in range(3):  # another process may see a newer graph and sweep this index away while it is being opened
        try:
            return IndexGraph(folder, graph)
        except GraphError:  # absent, of an older format, or damaged: a new one takes its place
            from .build import build_index

            build_index(graph, folder, progress)
            if directory is None and _path(graph) is not None:
                _forget_others(folder)
    return IndexGraph(folder, graph)


def index_home(graph: KnowledgeGraph) -> Path:
    """Return the folder that holds the indexes of ``graph``: its own ``index`` folder, or the user's cache for a server."""
    path = _path(graph)
    if path is not None:
        return path / "index"
    given = os.environ.get("TACIT_CACHE")
    if given:
        return Path(given) / "index"
    import platformdirs

    return Path(platformdirs.user_cache_dir("tacit")) / "index"


def _path(graph: KnowledgeGraph) -> Path | None:
    """The folder of an embedded graph, None for a server."""
    return None if "://" in graph.url else Path(graph.url)


def _forget_others(folder: Path) -> None:
    """Delete the indexes of what an embedded graph held before; processes that have one open keep it until they let go."""
    for other in folder.parent.iterdir():
        if other != folder and other.is_dir() and not other.name.startswith("."):
            shutil.rmtree(other, ignore_errors=True)
    sweep(folder.parent)
