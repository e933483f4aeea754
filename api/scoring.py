"""The command ``score``: the responses of a dialogue file through one or more metrics, as a stream in input order.

A line that holds no item, or an item that cannot be scored, gives an output line with ``error`` in its place; the others go on.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..graph.errors import InputError
from .metrics import GraphOption, OptionOption, Pipeline, address_of, metric_names, metric_options, open_metrics
from .opening import readable
from .options import Database, Engine, EngineOption, Password, Quiet, User
from .output import check_output, lines_to
from .progress import Meter
from .telling import fault_of, in_json, in_words

if TYPE_CHECKING:
    from ..loaders.dialogues import Item, ItemError
    from ..reasoning.score import Metric
    from ..reasoning.scoring import ItemScores

_SHOWN_ERRORS = 10


def score(
    file: Annotated[
        str, typer.Argument(metavar="FILE", show_default=False, help="JSON lines, plain or gzip; - reads standard input.")
    ],
    graph: GraphOption = None,
    metrics: Annotated[str, typer.Option(metavar="NAME,...", help="Which metrics, separated by commas.")] = "grounding",
    explain: Annotated[bool, typer.Option("--explain", help="Give the evidence; on a terminal in words.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", show_default=False, help="Write here, whole or not at all.")
    ] = None,
    batch_size: Annotated[int, typer.Option(metavar="N", min=1, help="Items scored together; changes the speed alone.")] = 256,
    option: OptionOption = None,
    pipeline: Pipeline = None,
    engine: EngineOption = Engine.AUTO,
    strict: Annotated[bool, typer.Option("--strict", help="End at the first line that holds no item.")] = False,
    text: Annotated[bool, typer.Option("--text", help="Show the evidence in words, also off a terminal.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines, also on a terminal.")] = False,
    quiet: Quiet = False,
    user: User = None,
    password: Password = None,
    database: Database = None,
) -> None:
    """Score the responses of a dialogue file, one JSON line each.

    A line of FILE is {"history": [...], "response": "..."} or {"turns": [...]}: of those, every turn from the second on is scored
    against what came before. Lines come out in the same order: {"id", "scores", "signature"}, with --explain also "evidence".
    """
    if text and json:
        raise InputError("--text and --json exclude each other; give one of them")
    names = metric_names([metrics], "--metrics")
    options = metric_options(option, names, pipeline)
    readable(file)
    if output is not None:
        check_output(output, file)
    words = text or (explain and not json and output is None and sys.stdout.isatty())
    watched = not quiet and not (output is None and sys.stdout.isatty())  # a bar would run through what is shown
    with open_metrics(names, options, address_of(graph, user, password, database), engine, quiet=quiet) as chosen:
        stream = _Stream(file, strict)
        tally = Tally(names)
        with (
            lines_to(output, apart_from=file) as write,
            Meter("scoring", _total(file, watched), unit="items", noun="items", quiet=not watched) as meter,
        ):
            for number, (item, row) in enumerate(stream.scores(chosen, batch_size, explain or words)):
                write(in_words(item, row, first=not number) if words else in_json(row, explain))
                tally.add(row)
                meter.add(1)
    _report(tally, meter.seconds, [str(metric.signature) for metric in chosen], output, quiet)
    if tally.errors and not tally.scored:
        raise InputError(f"{file} holds nothing that can be scored; the first fault: {tally.faults[0]}")


@dataclass
class Tally:
    """What a run scored: items, errors (the first of them in words), and what each metric judged, and to what sum."""

    names: list[str]
    scored: int = 0
    errors: int = 0
    faults: list[str] = field(default_factory=list)
    judged: dict[str, int] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)

    def mean(self, name: str) -> float | None:
        """Mean of a metric over the items that it could judge, None when there was none."""
        return self.sums[name] / self.judged[name] if self.judged.get(name) else None

    def add(self, row: ItemScores | ItemError) -> None:
        """Count one row."""
        fault = fault_of(row)
        if fault is None:
            self.scored += 1
            for name, score in row.scores.items():  # type: ignore[union-attr]
                if not isnan(score.value):
                    self.judged[name] = self.judged.get(name, 0) + 1
                    self.sums[name] = self.sums.get(name, 0.0) + score.value
            return
        self.errors += 1
        if len(self.faults) < _SHOWN_ERRORS:
            self.faults.append(fault)


class _Stream:
    """The items of a file on their way through the metrics; lines without an item keep their place."""

    def __init__(self, file: str, strict: bool) -> None:
        from ..loaders import read_items

        self._rows = read_items(file, strict=strict)
        self._waiting: deque[Item | ItemError] = deque()

    def scores(
        self, metrics: list[Metric], batch_size: int, explain: bool
    ) -> Iterator[tuple[Item | None, ItemScores | ItemError]]:
        """Yield each item with its scores, or None with what is wrong with the line."""
        from ..loaders import ItemError
        from ..reasoning import score_items

        for row in score_items(self._items(), metrics, batch_size=batch_size, explain=explain):
            yield from self._faulty()
            item = self._waiting.popleft()
            assert not isinstance(item, ItemError)
            yield item, row
        yield from self._faulty()

    def _faulty(self) -> Iterator[tuple[None, ItemError]]:
        from ..loaders import ItemError

        while self._waiting and isinstance(self._waiting[0], ItemError):
            row = self._waiting.popleft()
            assert isinstance(row, ItemError)
            yield None, row

    def _items(self) -> Iterable[tuple[str, tuple[str, ...], str, tuple[str, ...]]]:
        from ..loaders import ItemError

        for row in self._rows:
            self._waiting.append(row)
            if not isinstance(row, ItemError):
                yield row.id, row.history, row.response, row.references


def _total(file: str, watched: bool) -> int | None:
    """The number of items, where somebody watches and the file can be read twice: reading is far cheaper than scoring."""
    if not watched or file == "-" or not sys.stderr.isatty() or not Path(file).is_file():
        return None
    from ..loaders import read_items

    return sum(1 for _ in read_items(file)) or None


def _report(tally: Tally, seconds: float, signatures: list[str], output: Path | None, quiet: bool) -> None:
    """The summary, on stderr so that it never mixes with the scores."""
    from .screen import note, show, table
    from .text import count, duration

    if tally.errors:
        shown = "" if tally.errors == len(tally.faults) else f", the first {len(tally.faults)} of {count(tally.errors)}"
        note(f"not scored{shown}:")
        for fault in tally.faults:
            note(f"  {fault}")
    if quiet:
        return
    sys.stdout.flush()
    rate = (tally.scored + tally.errors) / max(seconds, 1e-9)
    rows = [
        (name, tally.judged.get(name, 0), tally.mean(name), tally.errors, duration(seconds), f"{rate:,.0f}")
        for name in tally.names
    ]  # fmt: skip
    show(table(("metric", ">n", ">mean", ">errors", ">time", ">items/s"), rows), sys.stderr)
    for signature in signatures:
        note(f"signature {signature}")
    if output is not None:
        note(f"written to {output}")
