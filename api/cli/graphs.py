"""Commands on a whole graph: ``info``, ``index``, ``check``, ``link`` and ``export``."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ... import loaders
from ...graph.atomic import is_special
from ...graph.errors import InputError
from ...graph.links import LinkManifest, is_current, linked_digest
from ...graph.model import GraphCounts, Manifest
from ...graph.schema import dump
from ..opening import Address, open_engine, open_indexed, open_store, readable
from ..terminal.output import check_output
from ..terminal.progress import Meter
from ..terminal.screen import count, duration, facts, note, plural, print_json, show, size, table
from . import options as opts
from .options import argument, option

if TYPE_CHECKING:
    from ...graph.index import IndexGraph
    from ...graph.protocol import KnowledgeGraph
    from ...reasoning.event_links import Linked


def info(graph: opts.GraphArgument, json: opts.Json = False) -> None:
    """Show the contents of a graph: counts, relations, loaded files, digest, index."""
    from ...graph.index import index_homes
    from ...graph.protocol import LinksEvents

    with open_store(opts.address_at(graph)) as store:
        counts, manifest, unfinished = store.counts(), store.manifest(), store.unfinished()
        links = store.link_manifest() if isinstance(store, LinksEvents) else LinkManifest()
        url, folders = store.url, [home / manifest.digest for home in index_homes(store)]
    index = next(({"path": str(folder), "bytes": _bytes(folder)} for folder in folders if folder.is_dir()), None)
    if json:
        loads = [dump(entry) for entry in manifest.loads]
        row: dict[str, Any] = {"graph": url, "digest": manifest.digest, **dump(counts), "loads": loads, "index": index}
        entry = None if links.entry is None else dump(links.entry)
        linked = {"links": links.links, "digest": links.digest, "current": is_current(manifest, links), "made_of": entry}
        row |= {"linked_digest": linked_digest(manifest, links), "links": linked if links.links or entry else None}
        print_json({**row, "unfinished": unfinished})
    else:
        _show(url, counts, manifest, links, index)
        for name in unfinished:
            note(_unfinished_load(url, name))


def _unfinished_load(url: str, name: str) -> str:
    """Return a sentence on an unfinished load and what to do."""
    if name == "link":
        state = "is still running or was interrupted; if it is not running," if "://" in url else "was killed and wrote nothing;"
        return f"tacit link {state} run it again"
    if "://" in url:
        return (
            f"{name}: this load is still running or was interrupted, and some of its rows are in the graph; "
            "if it is not running, run it again: that adds the rest without duplicates"
        )
    return f"{name}: this load was killed and wrote nothing to the graph; run it again"


def _show(url: str, counts: GraphCounts, manifest: Manifest, links: LinkManifest, index: dict[str, Any] | None) -> None:
    index_text = "none; tacit index builds it" if index is None else f"{index['path']} ({size(index['bytes'])})"
    sizes = [(name, getattr(counts, name)) for name in ("concepts", "events", "assertions")]
    show(
        facts(
            [
                ("graph", url),
                ("digest", manifest.digest),
                *sizes,
                ("links", _links(manifest, links)),
                *([("digest with links", linked_digest(manifest, links))] if links.links else []),
                ("index", index_text),
            ]
        )
    )
    if manifest.loads:
        rows = [
            (
                entry.loader,
                entry.file,
                _options(entry.options),
                entry.read,
                entry.kept,
                entry.read - entry.kept,
                entry.sha256[:12],
            )
            for entry in manifest.loads
        ]
        print()
        show(table(("loaded", "file", "options", ">read", ">kept", ">left out", "sha256"), rows))
    if manifest.relations:
        added = [
            (relation.name, relation.meaning, "symmetric" if relation.symmetric else relation.inverse)
            for relation in manifest.relations.values()
        ]
        print()
        show(table(("added relation", "meaning (head A, tail B)", "inverse"), added))
    if counts.relations:
        print()
        show(table(("relation", ">assertions"), counts.relations.items()))


def _links(manifest: Manifest, links: LinkManifest) -> str:
    """Return the links of a graph in words."""
    entry = links.entry
    if entry is None:
        return "none; tacit link joins events to concepts"
    summary = f"{links.links:,}: {entry.mentions:,} mentions of concepts, {entry.same:,} pairs of events of the same meaning"
    return summary if is_current(manifest, links) else f"{summary}; out of date, tacit link renews them"


def _options(options: dict[str, Any]) -> str:
    """Return the options of a load that are not empty."""
    shown = {name: value for name, value in sorted(options.items()) if value not in (None, False, 0, 0.0, [], {})}
    return " ".join(
        f"{name}={','.join(map(str, value)) if isinstance(value, (list, tuple)) else value}" for name, value in shown.items()
    )


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def index(
    graph: opts.GraphArgument,
    vectors: Annotated[str | None, option("NUMBERBATCH", "Also index the word vectors of this text file.")] = None,
    quiet: opts.Quiet = False,
    json: opts.Json = False,
) -> None:
    """Build the index of a graph, unless it is up to date."""
    if vectors is not None:
        readable(vectors)
    with open_indexed(opts.address_at(graph), quiet=quiet) as built:
        row: dict[str, Any] = {"graph": built.url, "digest": built.manifest().digest, "index": str(built.directory)}
        if vectors is not None:
            row["vectors"] = _align(vectors, built, quiet)
        row["bytes"] = _bytes(built.directory)
    if json:
        print_json(row)
        return
    details: list[tuple[str, object]] = [(name, row[name]) for name in ("graph", "digest", "index")]
    if vectors is not None:
        aligned = row["vectors"]
        sizes = f"{aligned['found']:,} of {aligned['concepts']:,} concepts, {aligned['dimensions']:,} numbers each"
        details += [("vectors", sizes), ("in", aligned["path"])]
    show(facts([*details, ("size", size(row["bytes"]))]))


def check(graph: opts.GraphArgument, quiet: opts.Quiet = False, json: opts.Json = False) -> None:
    """Check a graph and its index for damage; the exit status is 0 if they are sound, else 2.

    Reads everything: the database file against its checksums, all assertions against the manifest, the index against its header.
    """
    from ...graph.check import check_graph

    with Meter(graph, noun="assertions", quiet=quiet) as meter:
        checked = check_graph(graph, progress=meter.add, **opts.server_given())
    if json:
        parts = [{**asdict(part), "sound": part.problem is None} for part in checked.parts]
        facts = {"graph": checked.url, "sound": checked.sound, "digest": checked.digest, "assertions": checked.assertions}
        print_json({**facts, "parts": parts})
    else:
        rows = [(part.name, "sound" if part.problem is None else "DAMAGED", part.place) for part in checked.parts]
        show(table(("part", "state", "place"), rows))
        for part in checked.parts:
            for sentence in filter(None, (part.problem, part.note)):
                note(sentence)
    if not checked.sound:
        raise typer.Exit(2)


def _align(vectors: str, index: IndexGraph, quiet: bool) -> dict[str, Any]:
    """Write the vectors of a Numberbatch file to the index, in the order of its nodes, and return their counts."""
    from ...graph.index.open import vectors_folder

    folder = vectors_folder(index)
    uris = index.uris()
    with Meter(vectors, unit="bytes", noun="vectors", quiet=quiet) as meter:
        report = loaders.build_vectors(vectors, uris, folder, progress=meter.add).report
    built = loaders.open_vectors(folder)
    return {
        "path": str(folder),
        "concepts": len(uris),
        "found": int(built.present.sum()),
        "dimensions": built.dimensions,
        "read": report.read,
        "rejected": sum(report.rejected.values()),
    }


# The command ``export``.

_RDF_FORMATS = ("turtle", "nt", "xml")


def export(
    graph: opts.GraphArgument,
    out: Annotated[Path, argument("OUT", "The file to write, - for standard output; with csv-import a folder.")],
    format: Annotated[
        Literal["csv-import", "jsonl", "turtle", "nt", "xml"] | None,
        typer.Option(
            show_default="by the suffix of OUT, else jsonl, with --query turtle",
            help="csv-import: for neo4j-admin; turtle, nt, xml: RDF.",
        ),
    ] = None,
    query: Annotated[str | None, option("QUERY|FILE|NAME", "Write the result of this Cypher query as RDF.")] = None,
    param: opts.Param = None,
    limit: Annotated[int, option("N", "With --query: maximum number of rows.", min=0)] = 1_000_000,
    timeout: Annotated[float, option("SECONDS", "With --query: stop it after this time.", min=0.001)] = 300.0,
    json: opts.Json = False,
) -> None:
    """Write a graph, or the result of a query, to a file for other programs."""
    from ...loaders.rdf_terms import FORMATS
    from .cypher import prepare

    by_suffix = FORMATS.get(Path(out.name.removesuffix(".gz")).suffix.lstrip("."))
    chosen_format = format or by_suffix or ("jsonl" if query is None else "turtle")
    if query is not None and chosen_format not in _RDF_FORMATS:
        raise InputError(f"--format {chosen_format} is for whole graphs; with --query give turtle, nt or xml")
    if query is None and param:
        raise InputError("--param needs --query; leave it out to export the whole graph")
    prepared = None if query is None else prepare(query, param or ())
    to_stdout = str(out) == "-"
    if to_stdout and (json or chosen_format == "csv-import"):
        raise InputError(f"- is standard output; with {'--json' if json else 'csv-import'} give a file or folder to write")
    if chosen_format != "csv-import" and not to_stdout:
        check_output(out)
    truncated = False
    with open_store(opts.address_at(graph)) as store, _destination(out) as path:
        if prepared is None:
            number_written = _write_graph(store, path, chosen_format)
        else:
            result = store.run(*prepared, limit=limit, timeout=timeout)
            number_written, truncated = loaders.write_result_rdf(result, path, chosen_format), result.truncated
    if json:
        print_json({"path": str(out), "format": chosen_format, "written": number_written, "truncated": truncated})
    else:
        summary = f"{plural(number_written, 'assertion' if query is None else 'row')} written to {out}"
        if to_stdout or is_special(out):  # which may be standard output
            note(summary)
        else:
            print(summary)
    if truncated:
        note(f"the query has more than {plural(limit, 'row')}; raise --limit for more")


@contextmanager
def _destination(out: Path) -> Iterator[Path]:
    """Yield the path to write to: ``out``, or for ``-`` a temporary file, which is then copied to standard output."""
    if str(out) != "-":
        yield out
        return
    with TemporaryDirectory() as folder:
        file = Path(folder) / "out"
        yield file
        with file.open("rb") as written:
            sys.stdout.flush()
            shutil.copyfileobj(written, sys.stdout.buffer)


def _write_graph(graph: KnowledgeGraph, out: Path, format: str) -> int:
    """Write the whole graph and return the number of assertions."""
    if format in _RDF_FORMATS:
        return loaders.write_rdf(graph.assertions(), out, format)
    from ...graph.export import export_csv_import, export_jsonl

    return export_jsonl(graph, out) if format == "jsonl" else export_csv_import(graph, out)


# The command ``link``, which joins the events of a graph to the concepts that they mention.


def link(graph: opts.GraphArgument, quiet: opts.Quiet = False, json: opts.Json = False) -> None:
    """Join the events of a graph to the concepts that they mention, and to events of the same meaning.

    Adds (:Event)-[:Mentions {role, position}]->(:Concept) and (:Event)-[:SameEvent]->(:Event), and removes those that do not
    follow from the graph any more. Scores, distances and assertions stay as they are.
    """
    linked, seconds = link_graph(opts.address_at(graph), quiet)
    row = {"graph": graph, **link_row(linked), "seconds": round(seconds, 3)}
    if json:
        print_json(row)
    else:
        show(facts([("graph", graph), *link_facts(linked, seconds)]))


def link_graph(address: Address, quiet: bool) -> tuple[Linked, float]:
    """Link the graph at ``address`` with a progress bar; return the result and the time in seconds."""
    from ...graph.open import store_of
    from ...reasoning.event_links import link_events

    try:
        with open_engine(address, quiet=quiet) as opened:
            events = store_of(opened).counts().events
            with Meter("linking events", events, noun="events", quiet=quiet) as meter:
                return link_events(opened, meter.add), meter.seconds
    except KeyboardInterrupt:
        state = "has some of the links" if "://" in address.url else "is unchanged"
        note(f"stopped; {address.url} {state}; run the same command again")
        raise


def link_row(linked: Linked) -> dict[str, Any]:
    """Return the result of linking as JSON."""
    entry = linked.manifest.entry
    assert entry is not None
    return {
        "events": entry.events, "mentioning": entry.mentioning, "mentions": entry.mentions, "same": entry.same,
        **linked.counts._asdict(), "links_digest": linked.manifest.digest, "linked_digest": linked.linked_digest,
    }  # fmt: skip


def link_facts(linked: Linked, seconds: float) -> list[tuple[str, object]]:
    """Return the result of linking as names and values."""
    entry, counts = linked.manifest.entry, linked.counts
    assert entry is not None
    return [
        ("events", f"{entry.events:,}, {entry.mentioning:,} of them mention a concept"),
        ("mentions", entry.mentions),
        ("same event", entry.same),
        ("links", f"{count(counts.new)} new, {count(counts.kept)} kept, {count(counts.removed)} removed"),
        ("digest with links", linked.linked_digest),
        ("time", duration(seconds)),
    ]
