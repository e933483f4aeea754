"""The commands ``load``, which loads official files into a graph, ``fetch``, which downloads them, ``sources``, and ``setup``.

Each step of ``setup`` writes its files atomically and is skipped if an earlier run has finished it, so an interrupted setup can
be run again.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ... import loaders
from ...graph.errors import FetchError, InputError
from ...graph.links import is_current
from ...graph.model import Assertion, LoadCounts
from ...graph.relations import check_known
from ..opening import Address, open_indexed, open_store, readable
from ..terminal.progress import Meter, Watch, waiting
from ..terminal.screen import count, duration, facts, note, print_json, show, size, table
from . import options as opts
from .options import argument, option
from .settings import print_settings

if TYPE_CHECKING:
    from ...loaders.reader import Reader


_SHOWN_REJECTS = 10
_OPEN_FILES = 64  # of more files, the others are closed after the check and opened again

load = typer.Typer(cls=opts.Group, rich_markup_mode=None, help="Load official files into a graph; a second load adds to it.")

Files = Annotated[list[str], argument("FILE", "Plain or gzip; - reads stdin.")]
Into = Annotated[
    str,
    option(
        "GRAPH",
        "A path (created if missing), or a URL: neo4j://, neo4j+s:// or bolt:// [env TACIT_GRAPH, tacit.toml].",
        "--into",
        **opts.GRAPH_ENV,
    ),
]

Link = Annotated[bool, typer.Option("--link", help="Afterwards link events to the concepts that they mention, like tacit link.")]


@load.command()
def conceptnet(
    files: Files,
    into: Into,
    language: Annotated[
        list[str] | None,
        option("CODE", "Keep assertions between concepts of these languages; repeatable; all: keep all.", default="en"),
    ] = None,
    relation: Annotated[list[str] | None, option("NAME", "Keep only this relation; repeatable.", default="all")] = None,
    min_weight: Annotated[float, option("W", "Keep only assertions with at least this weight.")] = 0.0,
    dataset: Annotated[
        list[str] | None, option("ID", "Keep only this dataset, e.g. /d/wordnet/3.1; repeatable.", default="all")
    ] = None,
    strict: opts.Strict = False,
    link: Link = False,
    quiet: opts.Quiet = False,
    json: opts.Json = False,
) -> None:
    """Load ConceptNet 5.7 assertions (five tab-separated fields)."""
    check_known(relation or ())
    languages = None if language and "all" in language else tuple(language or ("en",))
    filters: dict[str, Any] = {"languages": languages, "relations": relation or None, "datasets": dataset or None}
    reader = partial(loaders.read_conceptnet, **filters, min_weight=min_weight, strict=strict)
    load_files(files, reader, opts.new_address(into), link, quiet, json)


@load.command()
def atomic2020(
    files: Files,
    into: Into,
    keep_none: Annotated[bool, typer.Option("--keep-none", help="Keep rows whose tail is 'none'.")] = False,
    strict: opts.Strict = False,
    link: Link = False,
    quiet: opts.Quiet = False,
    json: opts.Json = False,
) -> None:
    """Load ATOMIC-2020 rows (head, relation, tail, separated by tabs)."""
    reader = partial(loaders.read_atomic, keep_none=keep_none, strict=strict)
    load_files(files, reader, opts.new_address(into), link, quiet, json)


@load.command()
def rdf(
    files: Files,
    into: Into,
    mapping: Annotated[
        str | None, option("FILE", "JSON or TOML: maps predicate IRIs to relations; empty: leave the predicate out.")
    ] = None,
    format: Annotated[
        Literal["turtle", "nt", "xml"] | None, typer.Option(show_default="by the file's suffix", help="Format of the files.")
    ] = None,
    language: Annotated[str, option("CODE", "Language of texts without a tag, and the preferred one of labels.")] = "en",
    literals: Annotated[bool, typer.Option("--literals", help="Keep literal objects as concepts.")] = False,
    strict: opts.Strict = False,
    link: Link = False,
    quiet: opts.Quiet = False,
    json: opts.Json = False,
) -> None:
    """Load RDF: Turtle, N-Triples or RDF/XML."""
    if mapping is not None:
        readable(mapping)
    reader = partial(loaders.read_rdf, format=format, mapping=mapping, language=language, literals=literals, strict=strict)
    load_files(files, reader, opts.new_address(into), link, quiet, json)


@load.command()
def triples(
    files: Files,
    into: Into,
    mapping: Annotated[
        str,
        option(
            "FILE.toml|NAME",
            "Which columns or fields are what: a TOML file, or cskg, atomic10x, glucose, peacok or peacok-split.",
        ),
    ],
    strict: opts.Strict = False,
    link: Link = False,
    quiet: opts.Quiet = False,
    json: opts.Json = False,
) -> None:
    """Load any table or JSON of triples by a mapping: CSV, TSV, JSON lines, JSON, Parquet."""
    reader = partial(loaders.read_triples, mapping=loaders.open_mapping(mapping), strict=strict)
    load_files(files, reader, opts.new_address(into), link, quiet, json)


def load_files(
    files: list[str], open_reader: Callable[[str], Reader[Assertion]], into: Address, link: bool, quiet: bool, json: bool
) -> None:
    """Load every file into one graph and print a report.

    All files are checked, up to the first row that is kept, before the graph is opened, so that a wrong or damaged file changes
    nothing. With ``link``, the graph's events are linked to its concepts afterwards.
    """
    from ...graph.protocol import LinksEvents
    from .graphs import link_facts, link_graph, link_row

    print_settings(quiet)
    for path in files:
        readable(path)
    if files.count("-") > 1:
        raise InputError("standard input (-) is given twice; give it once")
    results: list[dict[str, Any]] = []
    with ExitStack() as stack:
        try:
            readers: list[Reader[Assertion] | None] = []
            for path in files:
                reader = _begin(path, open_reader, quiet)
                if len(readers) < _OPEN_FILES or path == "-":
                    readers.append(stack.enter_context(reader))
                else:
                    reader.close()
                    readers.append(None)
            with open_store(into, create=True) as graph:
                for path, begun in zip(files, readers, strict=True):
                    with (
                        begun or open_reader(path) as reader,
                        Meter(path, reader.bytes_total, watch=_watch(reader), quiet=quiet) as meter,
                    ):
                        counts = graph.load(reader, entry=reader.entry, name=f"{reader.loader} {path}")
                        results.append(_result(path, reader, counts, meter.seconds))
                manifest = graph.manifest()
                links = graph.link_manifest() if isinstance(graph, LinksEvents) else None
                summary = {"graph": graph.url, "digest": manifest.digest, "assertions": manifest.assertions}
        except KeyboardInterrupt:
            _note_interrupt(into.url)
            raise
    linked = link_graph(into, quiet) if link else None
    if linked is not None:
        summary["links"] = link_row(linked[0])
    if json:
        print_json({**summary, "files": results})
    else:
        _show(results, summary)
        if linked is not None:
            show(facts(link_facts(*linked)))
    if linked is None and links is not None and links.links and not is_current(manifest, links):
        note(f"the events were linked before this load; run tacit link {into.url} to link the new ones")


def _begin(path: str, open_reader: Callable[[str], Reader[Assertion]], quiet: bool) -> Reader[Assertion]:
    """Open a file, check that it is complete, and read up to the first row that is kept."""
    reader = open_reader(path)
    try:
        with Meter(f"checking {path}", reader.bytes_total, noun="bytes", watch=_check_watch(reader), quiet=quiet):
            reader.begin()
    except BaseException:
        reader.close()
        raise
    return reader


def _note_interrupt(url: str) -> None:
    """Print after an interrupt what the graph contains and what to do."""
    if "://" in url:
        sentence = f"stopped; {url} has the rows that were sent so far; run the same command again to add the rest"
    else:
        sentence = f"stopped; nothing of the current file was written to {url}; run the same command again to load it"
    note(f"{sentence} (without duplicates)")


def _check_watch(reader: Reader[Assertion]) -> Watch:
    """Return a progress callback of bytes checked or read."""

    def watch() -> tuple[int, float, float | None]:
        checked = max(reader.source.bytes_checked, reader.bytes_read)
        return checked, checked, reader.bytes_total

    return watch


def _watch(reader: Reader[Assertion]) -> Watch:
    return lambda: (reader.report.read, reader.bytes_read, reader.bytes_total)


def _result(path: str, reader: Reader[Assertion], counts: LoadCounts, seconds: float) -> dict[str, Any]:
    report = reader.report
    return {
        "file": path,
        "read": report.read,
        "kept": report.kept,
        "new": counts.new,
        "duplicate": counts.duplicate,
        "dropped": dict(sorted(report.dropped.items())),
        "rejected": dict(sorted(report.rejected.items())),
        "rejects": [reject._asdict() for reject in report.rejects[:_SHOWN_REJECTS]],
        "seconds": round(seconds, 3),
    }


def _show(results: list[dict[str, Any]], summary: dict[str, Any]) -> None:
    """Print the report of a load as tables."""
    rows = [
        (r["file"], r["read"], r["kept"], sum(r["dropped"].values()), sum(r["rejected"].values()), r["new"], r["duplicate"],
         duration(r["seconds"]))
        for r in results
    ]  # fmt: skip
    show(table(("file", ">read", ">kept", ">dropped", ">rejected", ">new", ">duplicate", ">time"), rows))
    for kind in ("dropped", "rejected"):
        reasons = [(r["file"], reason, number) for r in results for reason, number in r[kind].items() if number]
        if reasons:
            print()
            show(table(("file", kind, ">rows"), reasons))
    rejects = [reject for result in results for reject in result["rejects"]][:_SHOWN_REJECTS]
    if rejects:
        total = sum(sum(result["rejected"].values()) for result in results)
        note(f"rejected lines{'' if total == len(rejects) else f', the first {len(rejects)} of {count(total)}'}:")
        for reject in rejects:
            position = f"{reject['file']}:{reject['line']}" if reject["line"] else reject["file"]
            note(f"  {position}: {reject['reason']}: {reject['excerpt']}")
    print()
    show(facts([("graph", summary["graph"]), ("assertions", summary["assertions"]), ("digest", summary["digest"])]))


# The commands ``fetch`` and ``sources``.


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
    from ...graph.storage import file_sha256

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
