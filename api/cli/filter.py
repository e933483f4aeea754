"""The command ``filter``: keeps the dialogues that have a triple of the graph between two consecutive turns, with the triples.

Dialogues are streamed in input order; a line without a dialogue is reported on stderr and counted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ... import loaders
from ...graph.errors import InputError
from ...graph.relations import check_known, relations_of
from ...graph.schema import dump
from ..opening import check_files, open_engine
from ..terminal.faults import Faults, Records
from ..terminal.output import lines_to
from ..terminal.progress import Meter, count_ahead, shows_progress
from ..terminal.screen import duration, json_text, note, print_json, show, table
from . import options as opts
from .options import argument, option
from .settings import print_settings

if TYPE_CHECKING:
    from ...reasoning.filtering import Match, TripleFilter

_BATCH = 64


def filter_dialogues(
    dialogues: Annotated[str, argument("DIALOGUES", "JSON, CSV or Parquet, plain or gzip; - reads stdin.")],
    graph: opts.GraphRequired,
    output: opts.Output = None,
    count: Annotated[
        Literal["triples", "pairs"],
        typer.Option("--count", help="List all triples, or the strongest one of each pair of concepts."),
    ] = "triples",
    relation: opts.Relations = None,
    exclude_relation: Annotated[list[str] | None, option("NAME", "Leave out this relation; repeatable.")] = None,
    pipeline: opts.Pipeline = None,
    engine: opts.EngineChoice = "auto",
    strict: opts.Strict = False,
    json: opts.JsonReport = False,
    quiet: opts.Quiet = False,
) -> None:
    """Keep the dialogues that have a triple of the graph between two consecutive turns.

    DIALOGUES has {"turns": [...]} or {"messages": [{"role", "content"}]}, with or without other fields, as JSON lines, a JSON
    list, CSV or Parquet. The output has the kept dialogues unchanged and in the same order, with "turns" and "triples":
    [{"turns": [i, i + 1], "head", "relation", "tail", ...}]; turns are numbered from 0.
    """
    opts.check_report(json, output)
    check_files(dialogues, output)
    from ...reasoning.filtering import TripleFilter
    from ...reasoning.text.language import open_analyser

    excluded = exclude_relation or []
    damaged = "nothing is written; get the whole file"
    tally = Tally(Records(loaders.read_dialogues(dialogues, strict=strict), dialogues, "a dialogue", damaged))
    print_settings(quiet)
    with open_engine(opts.address_at(graph), engine, quiet=quiet) as source:
        check_known([*(relation or ()), *excluded], relations_of(source))
        analyser = open_analyser(pipeline)
        triple_filter = TripleFilter(source, analyser, count=count, relations=relation or None, excluded=excluded)
        shown = shows_progress(output, quiet)
        total = count_ahead(dialogues, loaders.read_dialogues, shown=shown)
        with (
            lines_to(output, apart_from=dialogues) as write,
            Meter("filtering", total, noun="dialogues", quiet=not shown) as meter,
        ):
            for batch in _batches(dialogues, strict, tally):
                for line in _kept_lines(batch, triple_filter, tally):
                    write(line)
                meter.add(len(batch))
    _report(tally, meter.seconds, str(triple_filter.signature), output, json, quiet)
    if tally.faults.number:
        tally.faults.require(tally.read, f"{dialogues} has no dialogue")


@dataclass
class Tally:
    """Counts of a run: dialogues read and kept, triples in the kept ones, lines without a dialogue."""

    records: Records[loaders.Dialogue]
    read: int = 0
    kept: int = 0
    triples: int = 0

    @property
    def faults(self) -> Faults:
        """The lines without a dialogue that can be filtered."""
        return self.records.faults

    def row(self, seconds: float, signature: str) -> dict[str, Any]:
        """Return the report as JSON; shares of 0 dialogues are null."""
        from ...reasoning.filtering import wilson

        low, high = wilson(self.kept, self.read)
        return {
            "read": self.read,
            "kept": self.kept,
            "share": {"value": self.kept / self.read, "low": low, "high": high} if self.read else None,
            "triples": self.triples,
            "triples_per_dialogue": self.triples / self.kept if self.kept else None,
            "errors": self.faults.number,
            "faults": self.faults.first,
            "seconds": round(seconds, 3),
            "signature": signature,
        }


def _batches(path: str, strict: bool, tally: Tally) -> Iterator[list[loaders.Dialogue]]:
    """Yield the dialogues of a file in batches, counting records without one."""
    from ...reasoning.filtering import check_turns

    def dialogues() -> Iterator[loaders.Dialogue]:
        for row in tally.records:
            try:
                check_turns(row.turns)
            except InputError as error:
                if strict:
                    raise InputError(f"{path}:{row.line}: {error}") from error
                tally.faults.add(f"line {row.line}: {error}")
            else:
                yield row

    rows = dialogues()
    while batch := list(islice(rows, _BATCH)):
        yield batch


def _kept_lines(batch: list[loaders.Dialogue], triple_filter: TripleFilter, tally: Tally) -> Iterator[str]:
    """Yield a line of JSON for each dialogue that is kept."""
    for dialogue, matches in zip(batch, triple_filter.matches([dialogue.turns for dialogue in batch]), strict=True):
        tally.read += 1
        if matches:
            tally.kept += 1
            tally.triples += len(matches)
            yield json_text({**dialogue.record, "triples": [match_row(match) for match in matches]}) + "\n"


def match_row(match: Match) -> dict[str, Any]:
    """Return a triple as JSON: the two turns, the assertion, and the texts that mention its ends."""
    texts = {"source_text": match.earlier.text, "target_text": match.later.text}
    row = dump(match.assertion)
    head, tail = row.pop("head"), row.pop("tail")  # in this format "head" and "tail" are texts
    ends = {"head": row.pop("head_text"), "relation": row.pop("relation"), "tail": row.pop("tail_text")}
    uris = {"weight": row.pop("weight"), "head_uri": head, "tail_uri": tail}
    return {"turns": [match.turn, match.turn + 1], **ends, **uris, **row, **texts}


def _report(tally: Tally, seconds: float, signature: str, output: Path | None, json: bool, quiet: bool) -> None:
    """Print the summary: JSON to stdout, or a table to stderr."""
    row = tally.row(seconds, signature)
    if json:
        print_json(row)
        return
    tally.faults.note("lines without a dialogue")
    if quiet:
        return
    sys.stdout.flush()
    share = row["share"]
    cells = (
        tally.read, tally.kept,
        f"{share['value']:.1%}" if share else "", f"{share['low']:.1%} to {share['high']:.1%}" if share else "",
        tally.triples, f"{row['triples_per_dialogue']:.1f}" if tally.kept else "", tally.faults.number, duration(seconds),
    )  # fmt: skip
    columns = (">read", ">kept", ">share", ">95% interval", ">triples", ">per kept dialogue", ">errors", ">time")
    show(table(columns, [cells]), sys.stderr)
    note(f"signature {signature}")
    if output is not None:
        note(f"written to {output}")
