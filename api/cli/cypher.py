"""The commands ``cypher``, which runs a read-only query with limits of time and rows, and ``guard``, which only checks one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ...cypher import Query, cookbook
from ...graph.errors import InputError, QueryInvalid, QueryRefused, did_you_mean
from ...graph.schema import json_or_text
from ..opening import open_store
from ..terminal.screen import note, print_csv, print_json, show, table
from . import options as opts
from .options import argument, option


def cypher(
    graph: Annotated[
        str | None, argument("GRAPH", "A path, or a URL: neo4j://, neo4j+s:// or bolt:// [env TACIT_GRAPH, tacit.toml].")
    ] = None,
    query: Annotated[str | None, argument("QUERY|FILE|NAME", "Cypher text, a file with Cypher, or a name from --list.")] = None,
    param: opts.Param = None,
    limit: Annotated[int, option("N", "Maximum number of rows.", min=0)] = 1000,
    timeout: Annotated[float, option("SECONDS", "Stop the query after this time.", min=0.001)] = 30.0,
    json: opts.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="List the queries of the cookbook.")] = False,
) -> None:
    """Run a read-only Cypher query."""
    if json and csv:
        raise InputError("--json and --csv cannot be given together; give one of them")
    if listing:
        _list_cookbook(json, csv)
        return
    if graph is None or query is None:
        raise InputError("GRAPH or QUERY is missing; run tacit cypher GRAPH QUERY, or tacit cypher --list")
    text, values = prepare(query, param or ())
    with open_store(opts.address_at(graph)) as store:
        result = store.run(text, values, limit=limit, timeout=timeout)
    if json:
        print_json(result.records())
    elif csv:
        print_csv(result.columns, result.rows)
    elif result.rows:
        show(table([_heading(result.rows, index, column) for index, column in enumerate(result.columns)], result.rows))
    else:
        note("no rows")
    if result.truncated:
        note(f"there are more rows than the {len(result.rows):,} shown; raise --limit for more")


def prepare(query: str, pairs: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return the Cypher of ``query`` and its parameters."""
    text, named = find_query(query)
    values = parse_parameters(pairs)
    if named is not None:
        _check_parameters(named, values)
    return text, values


def find_query(query: str) -> tuple[str, Query | None]:
    """Return the Cypher of ``query``, and its entry if it is in the cookbook.

    ``query`` is a name in the cookbook, else an existing file, else Cypher text.
    """
    queries = cookbook()
    name = query.removeprefix("explore/")
    if name in queries:
        return queries[name].text, queries[name]
    if len(query) < 4096 and "\n" not in query and "\0" not in query:
        path = Path(query)
        if path.is_file():
            try:
                return path.read_text(encoding="utf-8-sig"), None
            except UnicodeDecodeError as error:
                raise InputError(f"{query} is not UTF-8 text; give a Cypher file in UTF-8") from error
        if query.endswith((".cypher", ".cql")) and not any(mark in query for mark in " ({"):
            raise InputError(f"there is no file {query}")
    if query.replace("-", "_").replace("/", "_").isidentifier():
        advice = did_you_mean(name, queries, "tacit cypher --list shows the queries")
        raise InputError(f"{query!r} is neither a query of the cookbook nor a file; {advice}")
    if not query.strip():
        raise InputError("the query is empty; give Cypher, a file with Cypher, or a name from tacit cypher --list")
    return query, None


def parse_parameters(pairs: Sequence[str]) -> dict[str, Any]:
    """Return ``NAME=VALUE`` pairs as a mapping; a value is JSON if it parses as JSON, else text."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip().removeprefix("$")
        if not equals and name.isidentifier():
            raise InputError(f"--param {name} has no value; write --param {name}=VALUE")
        if not name.isidentifier():
            raise InputError(f"--param {pair} does not begin with the name of a parameter; write --param NAME=VALUE")
        if name in values:
            raise InputError(f"the parameter {name} is given twice; give it once")
        value = json_or_text(text)
        is_too_large = isinstance(value, int) and not -(2**63) <= value < 2**63  # for the engines
        values[name] = text if is_too_large else value
    return values


def _list_cookbook(json: bool, csv: bool) -> None:
    """Print the cookbook: names, parameters and summaries."""
    queries = cookbook().items()
    if json:
        print_json({"name": name, "summary": entry.summary, "parameters": entry.parameters} for name, entry in queries)
        return
    columns = ("name", "parameters", "answers")
    rows = [(name, " ".join(entry.parameters), entry.summary) for name, entry in queries]
    if csv:
        print_csv(columns, rows)
    else:
        show(table(columns, rows))


def _check_parameters(named: Query, values: dict[str, Any]) -> None:
    """Check that the parameters are those of a query of the cookbook."""
    name = named.name.removeprefix("explore/")
    missing = [parameter for parameter in named.parameters if parameter not in values]
    if missing:
        raise InputError(f"the query {name} needs {' '.join(f'--param {parameter}=...' for parameter in missing)}")
    extra = sorted(set(values) - set(named.parameters))
    if extra:
        raise InputError(f"the query {name} has no parameter {extra[0]}; it has {', '.join(named.parameters) or 'none'}")


def _heading(rows: Sequence[Sequence[Any]], index: int, column: str) -> str:
    """Return the heading of a column, marked for right alignment if the column has only numbers."""
    values = [row[index] for row in rows if row[index] is not None]
    numeric = bool(values) and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
    return f">{column}" if numeric else column


# The command ``guard``.


def guard(
    query: Annotated[str, argument("QUERY|FILE|NAME", "Cypher text, a file, or a name of the cookbook; - reads stdin.")],
    param: opts.Param = None,
    engine: Annotated[Literal["neo4j", "embedded"], typer.Option(help="The engine that will run the query.")] = "neo4j",
    json: opts.Json = False,
) -> None:
    """Check, without running it, that a Cypher query only reads; exit with 0 if it may run, with 2 and the reason if not."""
    from ...graph.query import check

    values = parse_parameters(param) if param else None
    text = _read_stdin() if query == "-" else find_query(query)[0]
    try:
        check(text, engine, values)
    except (QueryRefused, QueryInvalid) as error:
        if not json:
            raise
        kind = "refused" if isinstance(error, QueryRefused) else "invalid"
        print_json({"allowed": False, "kind": kind, "reason": str(error)})
        raise typer.Exit(2) from None
    if json:
        print_json({"allowed": True, "kind": None, "reason": None})
    else:
        note("the query only reads")


def _read_stdin() -> str:
    """Return the query on stdin."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("stdin is not UTF-8 text; give a Cypher query in UTF-8") from error
