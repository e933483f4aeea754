"""The command ``export``: a graph, or what a query finds in it, to files that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ...graph.errors import InputError
from ..opening import Address, open_store
from ..terminal.options import Database, Graph, Json, Param, Password, User
from ..terminal.output import check_output

if TYPE_CHECKING:
    from ...graph.protocol import KnowledgeGraph

_RDF_FORMATS = ("turtle", "nt", "xml")


def export(
    graph: Graph,
    out: Annotated[Path, typer.Argument(metavar="OUT", show_default=False, help="A file; for csv-import a folder.")],
    format: Annotated[
        Literal["csv-import", "jsonl", "turtle", "nt", "xml"] | None,
        typer.Option(show_default="jsonl, with --query turtle", help="csv-import is for neo4j-admin; turtle, nt, xml are RDF."),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(metavar="QUERY|FILE|NAME", show_default=False, help="Write what this Cypher query finds instead, as RDF."),
    ] = None,
    param: Param = None,
    limit: Annotated[int, typer.Option(metavar="N", min=0, help="With --query: at most so many rows.")] = 1_000_000,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.001, help="With --query: stop it after this time.")] = 300.0,
    json: Json = False,
    user: User = None,
    password: Password = None,
    database: Database = None,
) -> None:
    """Write a graph, or a query's result, to files that other programs read."""
    from ..terminal.screen import note, print_json
    from ..terminal.text import plural
    from .exploring import prepare

    chosen = format or ("jsonl" if query is None else "turtle")
    if query is not None and chosen not in _RDF_FORMATS:
        raise InputError(f"a query's result is written as RDF; --format {chosen} is for whole graphs")
    if query is None and param:
        raise InputError("--param goes with --query; a whole graph has no parameters")
    prepared = None if query is None else prepare(query, param or ())
    if chosen != "csv-import":
        check_output(out)
    truncated = False
    with open_store(Address(graph, user, password, database)) as store:
        if prepared is None:
            written = _write_graph(store, out, chosen)
        else:
            from ...loaders import write_result_rdf

            result = store.run(*prepared, limit=limit, timeout=timeout)
            written, truncated = write_result_rdf(result, out, chosen), result.truncated
    if json:
        print_json({"path": str(out), "format": chosen, "written": written, "truncated": truncated})
    else:
        print(f"{plural(written, 'assertion' if query is None else 'row')} written to {out}")
    if truncated:
        note(f"the query found more than {plural(limit, 'row')}; --limit asks for more")


def _write_graph(graph: KnowledgeGraph, out: Path, format: str) -> int:
    """Write the whole graph and return the number of assertions."""
    if format in _RDF_FORMATS:
        from ...loaders import write_rdf

        return write_rdf(graph.assertions(), out, format)
    from ...graph.export import export_csv_import, export_jsonl

    return export_jsonl(graph, out) if format == "jsonl" else export_csv_import(graph, out)
