"""The commands ``score-tuples``, event tuples through a tuple scorer in input order, and ``fold-in``, for what was learnt so.

A line that holds no tuple, or one with a relation that is unknown, gives an output line with ``error`` in its place; the
others go on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ...graph.errors import InputError
from ...reasoning.registry import SCORER_REGISTRY
from ..metrics import address_of
from ..opening import Address, open_engine, open_store, readable
from ..terminal.options import Database, Dtype, Engine, Graph, GraphNeeded, Json, Password, Quiet, User
from ..terminal.output import check_output, lines_to
from ..terminal.progress import Meter, waiting

if TYPE_CHECKING:
    from ...reasoning.accent.scorers.tuplescore import TupleScore, TupleScorer

_SHOWN_ERRORS = 10
_TOGETHER = 512  # of scorers that read with no language model, which takes a minute to open when it is large


def complete_scorers(incomplete: str) -> list[str]:
    """Names of tuple scorers for the shell."""
    return [name for name in SCORER_REGISTRY.names() if name.startswith(incomplete)]


def score_tuples(
    file: Annotated[
        str, typer.Argument(metavar="FILE", show_default=False, help="JSON lines, plain or gzip; - reads standard input.")
    ],
    graph: GraphNeeded,
    scorer: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=complete_scorers,
            help=f"What judges a tuple: {', '.join(SCORER_REGISTRY.own)}, or the name of a plugin's scorer.",
        ),
    ] = "compatibility",
    nearest: Annotated[
        int, typer.Option(metavar="N", min=0, help="compatibility: for unknown heads ask so many heads like them; 0 asks none.")
    ] = 0,
    threshold: Annotated[
        float, typer.Option(metavar="X", min=-1, max=1, help="Lowest cosine for a head to be like another.")
    ] = 0.8,
    comet: Annotated[
        str | None,
        typer.Option(metavar="ID|FOLDER|FILE.gguf", show_default=False, help="A COMET, for unknown heads and comet-loss."),
    ] = None,
    no_remember: Annotated[
        bool, typer.Option("--no-remember", help="Do not write what the COMET generates to the graph.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="ID|FOLDER|FILE", show_default=False, help="Of the retriever (default: tacit's own), kg-bert or llm-…."
        ),
    ] = None,
    probe: Annotated[
        str | None,
        typer.Option(metavar="FOLDER|FILE", show_default="tacit's own", help="llm-probe: what tacit train llm-probe wrote."),
    ] = None,
    dtype: Annotated[Dtype, typer.Option(help="llm-judge, llm-probe: numbers that the model works with.")] = Dtype.FLOAT32,
    encoder: Annotated[
        str | None, typer.Option(metavar="ID|FOLDER", show_default="all-MiniLM-L6-v2", help="The sentence encoder.")
    ] = None,
    device: Annotated[str | None, typer.Option(metavar="NAME", show_default=False, help="Where models run.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", show_default=False, help="Write here, whole or not at all.")
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, show_default="512, fewer for language models", help="Tuples scored together."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="End at the first line that cannot be scored.")] = False,
    quiet: Quiet = False,
    user: User = None,
    password: Password = None,
    database: Database = None,
) -> None:
    """Score event tuples, one JSON line each.

    A line of FILE is {"head": "...", "relation": "xWant", "tail": "..."}. Lines come out in the same order with "score", the
    "closest" known tails and where each came from, the "parts" that a language model's score is worked out from, and a "note"
    where something was missing.
    """
    kind = SCORER_REGISTRY.kind(scorer)
    readable(file)
    if output is not None:
        check_output(output, file)
    address = address_of(graph, user, password, database)
    assert address is not None
    watched = not quiet and not (output is None and sys.stdout.isatty())
    with open_engine(address, Engine.STORE, quiet=quiet) as store, Making(quiet) as making:
        from ...reasoning.accent.scorers.opening import Opener

        opener = Opener(store, encoder=encoder, device=device, dtype=dtype.value, progress=making.tell)
        tails = None
        if "tails" in kind.options():
            tails = opener.tails(nearest=nearest, threshold=threshold, comet=comet, remember=not no_remember)
        with waiting("opening the model", quiet=quiet or kind.together == _TOGETHER):
            judge = opener.scorer(scorer, tails=tails, model=model, probe=probe, comet=comet)
        making.done()
        known = judge.relations
        stream = _Stream(file, frozenset(opener.relations() if known is None else known), strict)
        scored, total = 0, 0.0
        with (
            lines_to(output, apart_from=file) as write,
            Meter("scoring", None, unit="tuples", noun="tuples", quiet=not watched) as meter,
        ):
            for row, score in stream.scores(judge, batch_size or kind.together):
                write(_line(row, score))
                meter.add(1)
                if score is not None:
                    scored += 1
                    total += score.value
        _report(stream, scored, total, meter, judge.signature, output, quiet)
    if stream.faults and not scored:
        raise InputError(f"{file} holds no tuple that can be scored; the first fault: {stream.faults[0]}")


def fold_in(
    graph: Graph,
    json: Json = False,
    quiet: Quiet = False,
    user: User = None,
    password: Password = None,
    database: Database = None,
) -> None:
    """Load what COMETs generated while scoring, and the journal beside GRAPH holds, into the graph itself."""
    from ...reasoning.accent.tails.journal import fold_in as fold
    from ..terminal.screen import note, print_json
    from ..terminal.text import count

    with open_store(Address(graph, user, password, database)) as store:
        counts = fold(store)
    if json:
        print_json(counts._asdict())
    elif not quiet:
        note(f"{count(counts.new)} generated tails are now in the graph, {count(counts.duplicate)} were there already")
    if counts.skipped:
        note(f"{count(counts.skipped)} lines of the journal hold nothing that a graph can hold; they were skipped and are gone")


class Making:
    """Shows what is made once for a graph, one thing after the other."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._meter: Meter | None = None

    def __enter__(self) -> Making:
        return self

    def __exit__(self, *error: Any) -> None:
        self.done()

    def tell(self, what: str, number: int) -> None:
        """Count ``number`` more of what is being made."""
        if self._meter is None or self._meter.label != what:
            self.done()
            noun = "assertions" if "events" in what else "texts"
            self._meter = Meter(what, None, unit=noun, noun=noun, quiet=self._quiet).__enter__()
        self._meter.add(number)

    def done(self) -> None:
        """Take the bar away."""
        if self._meter is not None:
            self._meter.__exit__(None, None, None)
            self._meter = None


class _Row(NamedTuple):
    """A line of the input: its number, what it holds, and why it cannot be scored (empty when it can)."""

    number: int
    data: dict[str, Any]
    error: str


class _Stream:
    """The tuples of a file on their way through a scorer; lines without one keep their place."""

    def __init__(self, file: str, relations: frozenset[str], strict: bool) -> None:
        self.faults: list[str] = []
        self.errors = 0
        self._file = file
        self._relations = relations
        self._strict = strict

    def scores(self, scorer: TupleScorer, batch_size: int) -> Iterator[tuple[_Row, TupleScore | None]]:
        """Yield each line with its score, None where there is none."""
        rows = self._rows()
        while batch := list(islice(rows, batch_size)):
            good = [row for row in batch if not row.error]
            scores = iter(scorer.score([(row.data["head"], row.data["relation"], row.data["tail"]) for row in good]))
            for row in batch:
                yield row, None if row.error else next(scores)

    def _rows(self) -> Iterator[_Row]:
        from ...loaders.json_rows import json_rows

        for number, data, fault in json_rows(self._file):
            error = fault or _fault(data, self._relations)
            if error:
                self.errors += 1
                if self._strict:
                    raise InputError(f"{self._file}:{number}: {error}")
                if len(self.faults) < _SHOWN_ERRORS:
                    self.faults.append(f"line {number}: {error}")
            yield _Row(number, data, error)


def _fault(data: dict[str, Any], relations: frozenset[str]) -> str:
    """Why a line holds no tuple that can be scored; empty when it does."""
    for name in ("head", "relation", "tail"):
        if not isinstance(data.get(name), str):
            return f"{name} is {'missing' if name not in data else 'no text'}; expected head, relation and tail"
        if not data[name].strip():
            return f"{name} is empty"
    if data["relation"] not in relations:
        return f"there is no relation {data['relation']!r} between events; choose from {', '.join(sorted(relations))}"
    return ""


def _line(row: _Row, score: TupleScore | None) -> str:
    from ..terminal.screen import json_text

    if score is None:
        return json_text({**row.data, "line": row.number, "error": row.error}) + "\n"
    added: dict[str, Any] = {"score": score.value, "closest": [close.to_dict() for close in score.closest]}
    if score.parts:
        added["parts"] = dict(score.parts)
    if score.note:
        added["note"] = score.note
    return json_text({**row.data, **added}) + "\n"


def _report(stream: _Stream, scored: int, total: float, meter: Meter, signature: str, output: Path | None, quiet: bool) -> None:
    """The summary, on stderr so that it never mixes with the scores."""
    from ..terminal.screen import note, show, table
    from ..terminal.text import count, duration, rate

    if stream.errors:
        shown = "" if stream.errors == len(stream.faults) else f", the first {len(stream.faults)} of {count(stream.errors)}"
        note(f"not scored{shown}:")
        for fault in stream.faults:
            note(f"  {fault}")
    if quiet:
        return
    sys.stdout.flush()
    speed = rate((scored + stream.errors) / max(meter.seconds, 1e-9))
    row = (scored, total / scored if scored else None, stream.errors, duration(meter.seconds), speed)
    show(table((">tuples", ">mean", ">errors", ">time", ">tuples/s"), [row]), sys.stderr)
    note(f"signature {signature}")
    if output is not None:
        note(f"written to {output}")
