"""The command ``setup``: from nothing to a graph of ConceptNet and ATOMIC-2020 that answers at once.

Each step leaves whole files only and is left out when an earlier run has finished it, so an interrupted setup is run again.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ... import loaders
from ...graph.errors import FetchError, InputError
from ...graph.model import Assertion
from ..opening import Address, open_indexed, open_store
from ..terminal.progress import Meter, waiting
from ..terminal.screen import facts, note, show
from ..terminal.text import size
from . import loading
from . import options as opts
from .options import option

if TYPE_CHECKING:
    from ...loaders.reader import Reader

_NAMES = ("conceptnet", "atomic2020")


def setup(
    directory: Annotated[
        Path | None,
        option("FOLDER", "Folder for the graph and the downloads; created if missing.", default="the user's data folder"),
    ] = None,
    files: Annotated[Path | None, option("FOLDER", "Take the official files from here; download nothing.")] = None,
    mirror: Annotated[str | None, option("URL", "Download URL/FILE instead of the official addresses.")] = None,
    quiet: opts.Quiet = False,
) -> None:
    """Make a graph of ConceptNet 5.7 (English) and ATOMIC-2020: download, load, index, compile.

    Downloads 510 MB and takes some minutes. What an earlier run has finished is not done again. At the end it says how to make
    the graph the default one; nothing outside the folder is changed.
    """
    if files is not None and not files.is_dir():
        raise InputError(f"there is no folder {files}; give the folder that holds the official files")
    home = directory or _data_folder()
    graph = home / "graph"
    paths: dict[str, tuple[Path, ...]] = {}
    for name in _NAMES:
        paths[name] = _files(name, home / "downloads", files, mirror, quiet)
    _load(graph, paths, quiet)
    with open_indexed(Address(str(graph)), quiet=quiet) as index:
        with waiting("compiling the searches", quiet=quiet):
            index.searches.compile()
        manifest = index.manifest()
    show(facts([("graph", str(graph)), ("assertions", manifest.assertions), ("digest", manifest.digest)]))
    if not quiet:
        note("\nThe graph is ready. Make it the default of all commands, then ask and score:")
        note(f"  export TACIT_GRAPH={shlex.quote(str(graph.absolute()))}")
        note("  tacit paths dog bone")
        note("  tacit explain --history 'My dog ran away.' --response 'Did you look in the park?'")


def _data_folder() -> Path:
    import platformdirs

    return platformdirs.user_data_path("tacit")


def _files(name: str, downloads: Path, files: Path | None, mirror: str | None, quiet: bool) -> tuple[Path, ...]:
    """Return the tables of an official file, downloaded unless it is there."""
    from ...loaders.download import take

    if files is not None:
        return take(name, files, downloads)
    try:
        with Meter(f"downloading {name}", noun="bytes", quiet=quiet) as meter:

            def progress(done: int, total: int | None) -> None:
                meter.add(max(0, done - int(meter.done)) if meter.done else 0, done=done, total=total)

            return loaders.fetch(name, downloads, progress=progress, base_url=mirror)
    except FetchError as error:
        wanted = loaders.find_source(name)
        amount = "" if wanted.size is None else f" ({size(wanted.size)})"
        raise FetchError(
            f"{error}. Without a network: get {wanted.url}{amount} elsewhere, put it at {downloads / wanted.file}, and run the "
            "command again; or give the folder that has it with --files"
        ) from None


def _load(graph: Path, paths: dict[str, tuple[Path, ...]], quiet: bool) -> None:
    """Load the tables that the graph does not have yet, and print the reports."""
    from ...graph.embedded.integrity import DATABASE
    from ...loaders.download import sha256_of

    readers: dict[str, Callable[[str], Reader[Assertion]]] = {
        "conceptnet": loaders.read_conceptnet,
        "atomic2020": loaders.read_atomic,
    }
    for name, tables in paths.items():
        loaded: set[str] = set()
        if (graph / DATABASE).exists():
            with open_store(Address(str(graph))) as store:
                loaded = {entry.sha256 for entry in store.manifest().loads if entry.loader == name}
        missing = [str(table) for table in tables if sha256_of(table) not in loaded]
        if missing:
            loading.load_files(missing, readers[name], Address(str(graph)), False, quiet, False)
        elif not quiet:
            note(f"{name} is loaded already")
