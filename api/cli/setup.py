"""The commands ``fetch`` (downloads official files), ``sources`` (lists them) and ``setup`` (makes a graph of them).

Each step of ``setup`` writes its files atomically and is skipped if an earlier run has finished it, so an interrupted setup can
be run again.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ... import loaders
from ...graph.errors import FetchError, InputError
from ...graph.model import Assertion
from ...graph.storage import file_sha256
from ..opening import Address, open_indexed, open_store
from ..terminal.progress import Meter, waiting
from ..terminal.screen import facts, note, print_json, show, size
from . import options as opts
from .load import load_files
from .options import argument, option

if TYPE_CHECKING:
    from ...loaders.reader import Reader


def fetch(
    name: Annotated[
        Literal["conceptnet", "atomic2020", "numberbatch", "judge", "cskg", "atomic10x", "glucose", "peacok"],
        argument("NAME", "The files to download."),
    ],
    directory: Annotated[
        Path | None,
        option(
            "FOLDER",
            "Folder for the files; created if missing.",
            default="this folder; for judge, where the metric judgement looks for it",
        ),
    ] = None,
    mirror: Annotated[str | None, option("URL", "Download URL/FILE instead of the official address.")] = None,
    quiet: opts.Quiet = False,
    json: opts.Json = False,
) -> None:
    """Download official files, or the language model of the metric judgement (judge), and verify known checksums.

    An interrupted download is resumed.
    """
    _check_mirror(mirror)
    from ...loaders.download import verified

    if directory is None and name == "judge":
        from ...reasoning.metrics.judgement import models_folder

        directory = models_folder()
    directory = directory or Path()
    files = _download(name, directory, mirror, quiet)
    known, sha256 = verified(name, directory)
    file = loaders.find_source(name).file
    if not known:
        note(f"not verified: no checksum of {file} is published; the sha256 of this copy is {sha256}")
    elif not quiet:
        note(f"verified: {file} has the sha256 {sha256}")
    if json:
        print_json([str(path) for path in files])
    else:
        for path in files:
            print(path)


def _check_mirror(mirror: str | None) -> None:
    if mirror is not None and not mirror.startswith(("http://", "https://")):
        raise InputError(f"--mirror {mirror} is not a URL; give one that begins with https:// or http://")


def _download(name: str, directory: Path, mirror: str | None, quiet: bool) -> tuple[Path, ...]:
    """Download the official files of a source with a progress bar, and return their paths."""
    with Meter(f"downloading {name}", noun="bytes", quiet=quiet) as meter:

        def progress(done: int, total: int | None) -> None:
            meter.add(max(0, done - int(meter.done)) if meter.done else 0, done=done, total=total)

        return loaders.fetch(name, directory, progress=progress, base_url=mirror)


def sources(json: opts.Json = False) -> None:
    """List the official files with address, size and licence."""
    all_sources = loaders.all_sources().values()
    if json:
        print_json(asdict(source) for source in all_sources)
        return
    for number, source in enumerate(all_sources):
        if number:
            print()
        show(
            facts(
                [
                    ("url", f"{source.url} (download {source.file} there by hand)" if source.by_hand else source.url),
                    ("size", "not published" if source.size is None else size(source.size)),
                    ("sha256", source.sha256 or "not published"),
                    ("licence", source.licence),
                    ("homepage", source.homepage),
                    ("cite", source.citation),
                ],
                title=f"{source.name}: {source.title}",
            )
        )


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
    import platformdirs

    if files is not None and not files.is_dir():
        raise InputError(f"there is no folder {files}; give the folder that holds the official files")
    _check_mirror(mirror)
    home = directory or platformdirs.user_data_path("tacit")
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


def _files(name: str, downloads: Path, files: Path | None, mirror: str | None, quiet: bool) -> tuple[Path, ...]:
    """Return the tables of an official file, downloaded unless it is there."""
    from ...loaders.download import local_files

    if files is not None:
        return local_files(name, files, downloads)
    try:
        return _download(name, downloads, mirror, quiet)
    except FetchError as error:
        source = loaders.find_source(name)
        amount = "" if source.size is None else f" ({size(source.size)})"
        raise FetchError(
            f"{error}. Without a network: get {source.url}{amount} elsewhere, put it at {downloads / source.file}, and run the "
            "command again; or give the folder that has it with --files"
        ) from None


def _load(graph: Path, paths: dict[str, tuple[Path, ...]], quiet: bool) -> None:
    """Load the tables that the graph does not have yet, and print the reports."""
    from ...graph.embedded.integrity import DATABASE

    readers: dict[str, Callable[[str], Reader[Assertion]]] = {
        "conceptnet": loaders.read_conceptnet,
        "atomic2020": loaders.read_atomic,
    }
    for name, tables in paths.items():
        loaded: set[str] = set()
        if (graph / DATABASE).exists():
            with open_store(Address(str(graph))) as store:
                loaded = {entry.sha256 for entry in store.manifest().loads if entry.loader == name}
        missing = [str(table) for table in tables if file_sha256(table) not in loaded]
        if missing:
            load_files(missing, readers[name], Address(str(graph)), False, quiet, False)
        elif not quiet:
            note(f"{name} is loaded already")
