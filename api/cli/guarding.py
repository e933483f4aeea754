"""The command ``guard``: checks, without running it, that a Cypher query only reads and calls no procedure that reaches out."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from ...graph.errors import InputError, QueryInvalid, QueryRefused
from .options import Json, Param


def guard(
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERY|FILE|NAME", show_default=False, help="Cypher text, a file, or a name of the cookbook; - reads stdin."
        ),
    ],
    param: Param = None,
    engine: Annotated[Literal["neo4j", "embedded"], typer.Option(help="The engine that will run the query.")] = "neo4j",
    json: Json = False,
) -> None:
    """Check, without running it, that a Cypher query only reads; exit with 0 if it may run, with 2 and the reason if not."""
    from ...graph.query import check
    from ..terminal.screen import note, print_json
    from .cypher import find_query, parse_parameters

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
    """Return the query on stdin.

    Raises:
        InputError: it is not UTF-8 text.
    """
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("stdin is not UTF-8 text; give a Cypher query in UTF-8") from error
