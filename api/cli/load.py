"""The commands ``load``, which load official files, or tables of triples, into a graph."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ... import loaders
from ...graph.errors import InputError
from ...graph.links import is_current
from ...graph.model import Assertion, LoadCounts
from ...graph.relations import check_known
from ..opening import Address, open_store, readable
from ..terminal.progress import Meter, Watch
from ..terminal.screen import count, duration, facts, note, print_json, show, table
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
