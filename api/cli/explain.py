"""The command ``explain``: the evidence of scores in words, as JSON, as a picture or as an HTML page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ... import loaders, reasoning
from ...graph.errors import DamagedInput, InputError
from ...graph.item import Item, ItemError
from ..opening import readable
from ..terminal.output import check_output, lines_to, write_file
from ..terminal.screen import json_text, visible
from . import options as opts
from .options import argument, option
from .settings import from_config

if TYPE_CHECKING:
    from ...reasoning.scorer import ItemScores

_SUFFIXES = (".svg", ".json", ".txt", ".html")


def explain(
    file: Annotated[str | None, argument("FILE", "JSON, CSV or Parquet, plain or gzip; - reads stdin.")] = None,
    graph: opts.Graph = None,
    metrics: opts.Metrics = None,
    column: opts.Columns = None,
    item: Annotated[str | None, option("ID", "The item to explain: its ID, or its number from 1.", default="the first")] = None,
    first: Annotated[int, option("N", "Explain the first N items.", min=1)] = 1,
    response: Annotated[str | None, option("TEXT", "The response, instead of FILE.")] = None,
    history: Annotated[
        list[str] | None, option("TEXT", "With --response: a turn of the history; repeatable, oldest first.")
    ] = None,
    output: Annotated[Path | None, option("FILE", "Write to this file: .svg, .html, .json or .txt.", "--output", "-o")] = None,
    cypher: Annotated[
        bool, typer.Option("--cypher", help="Show the claims, and the query that finds each of them in the graph.")
    ] = False,
    option_values: opts.MetricOptions = None,
    pipeline: opts.Pipeline = None,
    engine: opts.EngineChoice = "auto",
    json: opts.Json = False,
    quiet: opts.Quiet = False,
) -> None:
    """Explain the score of a response: the pieces of evidence, and the share of each.

    The response is an item of FILE (in the format of tacit score), or given by --response and --history. A picture (.svg) shows
    one item and one metric; the other formats any number.
    """
    names, default = opts.chosen_metrics(metrics, graph)
    form = _form(output, json)
    if form == ".svg" and default is not None:
        names, default = names[-1:], None  # the metric that explains by the graph, where there is one
    elif form == ".svg" and from_config("metrics"):
        names = names[:1]
    options = opts.metric_options(option_values, names, pipeline)
    items = _items(file, item, first, response, history, opts.named_columns(column))
    if form == ".svg" and (len(names) > 1 or first > 1):
        raise InputError("a picture shows one item and one metric; give one of each, or write a page (.html)")
    if output is not None:
        check_output(output, file or "-")
    records = list(items)
    opts.print_default(default, quiet)
    with opts.open_reasoner(names, options, opts.address_of(graph), engine, quiet=quiet) as reasoner:
        explained = [_explained(record, reasoner) for record in records]
    text = _written(explained, form, cypher, graph)
    if output is None:
        with lines_to(None) as write:
            write(text)
    else:
        write_file(output, text.encode())
    faults = [entry.row.fault for entry in explained if entry.row.fault is not None]
    if len(faults) == len(explained):
        raise InputError(f"no item can be explained; the first error: {faults[0]}")


@dataclass(frozen=True, slots=True)
class _Explained:
    """The row of an item, with its explanations by metric; empty if the row has an error."""

    row: ItemScores
    explanations: dict[str, reasoning.Explanation]


def _form(output: Path | None, json: bool) -> str:
    """Return the output format as a suffix."""
    if output is None:
        return ".json" if json else ".txt"
    if output.suffix not in _SUFFIXES:
        raise InputError(f"unknown output format of {output}; give a name that ends in {', '.join(_SUFFIXES)}")
    return output.suffix


def _items(
    file: str | None, item: str | None, first: int, response: str | None, history: list[str] | None, columns: dict[str, str]
) -> Iterator[Item | ItemError]:
    """Return the items to explain."""
    if (file is None) == (response is None):
        raise InputError("give a file of items, or a response with --response (and --history), not both")
    if response is not None:
        if item is not None or first > 1:
            raise InputError("--item and --first choose from a file; leave them out with --response")
        return iter([Item(history or (), response, id="1")])
    if history:
        raise InputError("--history goes with --response; in a file every item has its own")
    assert file is not None
    rows = loaders.read_items(readable(file), columns=columns)
    if item is None:
        first_rows = list(islice(rows, first))
        if not first_rows:
            raise InputError(f"{file} has no item")
        _check_end(first_rows[-1], file)
        return iter(first_rows)
    if first > 1:
        raise InputError("--item and --first cannot be given together; give one of them")
    return iter([_named(rows, item, file)])


def _named(rows: Iterator[Item | ItemError], name: str, file: str) -> Item | ItemError:
    """Return the item with the ID ``name``, or else with this number; the file is read once, as far as needed."""
    number = int(name) if name.isdecimal() and len(name) < 10 else 0
    count, by_number = 0, None
    for count, row in enumerate(rows, 1):
        if isinstance(row, Item) and row.id == name:
            return row
        _check_end(row, file)
        if count == number:
            by_number = row
    if by_number is None:
        raise InputError(f"{file} has no item {name!r} among its {count:,}; give an ID of it, or a number from 1")
    return by_number


def _check_end(row: Item | ItemError, file: str) -> None:
    """Check that the file does not end early at ``row``."""
    if isinstance(row, ItemError) and row.damage:
        raise DamagedInput(f"{file} ends early, at record {row.line:,} ({row.reason}); get the whole file or an earlier item")


def _explained(source: Item | ItemError, reasoner: reasoning.Reasoner) -> _Explained:
    (row,) = reasoner.stream([source], explain=True)
    item = row.item
    if item is None:
        return _Explained(row, {})
    return _Explained(
        row, {name: reasoning.Explanation(item.history, item.response, score) for name, score in row.scores.items()}
    )


def _written(explained: list[_Explained], form: str, cypher: bool, graph: str | None) -> str:
    """Return the explanations as text in the format ``form``."""
    if form == ".svg":
        return next((explanation.svg() for row in explained for explanation in row.explanations.values()), "")
    if form == ".html":
        from ..report.pages import explained_page

        return explained_page([(entry.row.item, entry.explanations, entry.row.fault) for entry in explained])
    if form == ".json":
        return json_text({"items": [_as_json(entry) for entry in explained]}) + "\n"
    from .score import in_words

    parts = [
        in_words(entry.row, first=not index) + (_claims(entry, graph) if cypher else "") for index, entry in enumerate(explained)
    ]
    return "".join(parts)


def _as_json(explained: _Explained) -> dict[str, Any]:
    """Return one item as JSON."""
    identity = explained.row.item.id if explained.row.item is not None else None
    if explained.row.fault is not None:
        return {"id": identity, "error": explained.row.fault}
    return {"id": identity, "explanations": {name: explanation.to_dict() for name, explanation in explained.explanations.items()}}


def _claims(explained: _Explained, graph: str | None) -> str:
    """Return the claims of an item, with a command that queries each."""
    from ...graph.cypher_store import claim_query

    lines: list[str] = []
    for name, explanation in explained.explanations.items():
        claims = explanation.claims
        lines += ["", f"  {name} claims {len(claims)} edges of the graph" + ("" if claims else "; its evidence is from a model")]
        for claim in claims:
            provenance = f"{claim.source} {claim.dataset}".strip()
            lines.append(f"    {claim.head_text} -{claim.relation}-> {claim.tail_text}  weight {claim.weight:g}, {provenance}")
            parameters = " ".join(f"--param {shlex.quote(f'{key}={value}')}" for key, value in claim.parameters.items())
            lines.append(f"      tacit cypher {shlex.quote(graph or 'GRAPH')} claim {parameters}")
    if any(explanation.claims for explanation in explained.explanations.values()):
        lines += ["", "  the query claim is", *(f"    {line}" for line in claim_query().text.splitlines())]
    return "".join(f"{visible(line)}\n" for line in lines)
