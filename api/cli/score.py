"""The command ``score``: the responses of a dialogue file through one or more metrics, in input order, here or on a cluster.

For a line without an item, or an item that cannot be scored, the output has a line with ``error`` in its place. Output to a
terminal or a pipe is streamed; a run from a file to a file is scored in shards, so that it can be resumed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ... import loaders
from ...graph.errors import DamagedInput, InputError
from ..opening import EngineName, readable
from ..scoring import LINES
from ..terminal.faults import note_faults
from ..terminal.output import check_output, lines_to
from ..terminal.progress import Meter, count_ahead, shows_progress
from ..terminal.screen import console, count, duration, note, plural, show, table, visible
from . import options as opts
from .options import option

if TYPE_CHECKING:
    from ...reasoning.scorer import ItemScores
    from ..scoring.plan import Observe, Plan
    from ..scoring.rows import OutputFormat
    from ..scoring.running import RunResult


RunEngine = Literal["auto", "store", "index", "ray"]
"""The engine for concept queries, or a Ray cluster whose workers use ``auto``."""


def score(
    file: opts.RecordFile,
    graph: opts.Graph = None,
    metrics: opts.Metrics = None,
    column: opts.Columns = None,
    explain: Annotated[bool, typer.Option("--explain", help="Add the evidence; on a terminal in words.")] = False,
    output: opts.Output = None,
    form: Annotated[
        Literal["jsonl", "parquet", "csv", "tsv"] | None,
        typer.Option("--format", show_default="by the output's name", help="Format of the output."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run into the same output.")] = False,
    batch_size: opts.BatchSize = None,
    shard_lines: Annotated[int, option("N", "Records per shard, the unit that --resume keeps.", min=1)] = LINES,
    html: Annotated[Path | None, option("FILE", "Write an HTML report too, with the worst and best items explained.")] = None,
    option_values: opts.MetricOptions = None,
    pipeline: opts.Pipeline = None,
    engine: Annotated[
        RunEngine,
        typer.Option(
            "--engine",
            help="index: compiled, built when missing; store: the database itself; auto: the index where it can be kept; "
            "ray: as auto, in the workers of a Ray cluster.",
        ),
    ] = "auto",
    address: Annotated[
        str | None,
        option("HOST:PORT", "With --engine ray: address of the cluster, or auto.", default="a new one on this machine"),
    ] = None,
    workers: Annotated[int | None, option("N", "With --engine ray: number of workers.", default="one per CPU", min=1)] = None,
    strict: opts.Strict = False,
    text: Annotated[
        bool, typer.Option("--text", help="Print the scores and evidence in words, even without a terminal.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines, even on a terminal.")] = False,
    quiet: opts.Quiet = False,
) -> None:
    """Score the responses of a dialogue file, one JSON line each.

    Without --metrics, the metric that is ready and agrees best with human ratings; with a graph, also grounding.

    FILE has {"history": [...], "response": "..."}, {"turns": [...]} or {"messages": [{"role", "content"}]} as JSON lines, JSON
    list, CSV or Parquet; --column is for columns with other names. Each turn from the second on is scored as the response to the
    turns before it; of messages, those of the assistant.

    The output (JSON lines, Parquet, CSV or TSV) has one row per item, in order: {"id", "scores", "percentiles", "signature"},
    with --explain also "evidence". A percentile is the share of human responses of a reference corpus with this score or less,
    null without a reference.

    An interrupted run from file to file keeps its rows in OUTPUT.partial, and --resume continues from there.
    """
    from ..report.score_report import Reporting
    from ..scoring.plan import Plan
    from ..scoring.rows import OutputFormat
    from ..scoring.running import Cluster, run_plan

    if text and json:
        raise InputError("--text and --json exclude each other; give one of them")
    names, default = opts.chosen_metrics(metrics, graph)
    options = opts.metric_options(option_values, names, pipeline)
    columns = opts.named_columns(column)
    readable(file)
    target = None if output is None else check_output(output, file)
    output_form = _form(output, form, text or json)
    concepts: EngineName = "auto" if engine == "ray" else engine
    plan = Plan(
        file, tuple(names), options, opts.address_of(graph), concepts, explain=explain, with_evidence=explain, strict=strict,
        batch_size=batch_size, lines=shard_lines, form=output_form, columns=columns or None,
    )  # fmt: skip
    observers: list[Observe] = []
    report = None if html is None else Reporting(html, names, file, output)
    sees_every_row = not resume and engine != "ray"  # every row goes through this process, now
    if report is not None and sees_every_row:
        observers.append(report.collected.add)
    sharded = target is not None and (not target.exists() or target.is_file()) and not text and Path(file).is_file()
    _check_run(file, output, sharded, resume, engine, address, workers)
    if Path(file).is_file():
        # an unreadable file is an error before any output
        next(iter(loaders.read_items(file, strict=strict, columns=columns)), None)
    opts.print_default(default, quiet, not_run=False)
    if target is not None and (sharded or output_form is OutputFormat.PARQUET):
        cluster = Cluster(address, workers) if engine == "ray" else None
        done = run_plan(plan, target, resume=resume, cluster=cluster, observers=observers, progress=not quiet, tell=note)
    else:
        as_text = text or (explain and not (json or output_form.delimited) and output is None and sys.stdout.isatty())
        plan = replace(plan, explain=explain or as_text)
        done = _stream(plan, output, as_text, observers, quiet)
    _report(done, output, quiet, "" if default is None else default.not_run)
    if done.damage is not None:
        raise DamagedInput(
            f"{file} ends early, at record {done.damage.line:,} ({done.damage.error}): only what comes before that was scored; "
            "get the whole file, and score from a file into a file (--output) to keep what was scored"
        )
    if report is not None and done.tally.scored:
        if not sees_every_row and target is not None:
            report.read(done.plan, target, quiet=quiet)
        report.finish(done.plan, done.signatures, quiet=quiet)
    if done.tally.errors and not done.tally.scored:
        raise InputError(f"{file} has nothing that can be scored; the first error: {done.tally.faults[0]}")


def _stream(plan: Plan, output: Path | None, as_text: bool, observers: list[Observe], quiet: bool) -> RunResult:
    """Score to stdout, a pipe or a file, row by row."""
    from ..scoring.rows import delimited_line, heading, json_line
    from ..scoring.running import RunResult
    from ..scoring.statistics import Tally

    def one_line(row: ItemScores) -> str:
        if plan.form.delimited:
            return delimited_line(row, plan.names, plan.with_evidence, plan.form)
        return json_line(row, plan.with_evidence)

    tally = Tally()
    damage = None
    items = loaders.read_items(plan.file, strict=plan.strict, columns=plan.columns)
    shown = shows_progress(output, quiet)
    total = count_ahead(plan.file, partial(loaders.read_items, columns=plan.columns), shown=shown)
    try:
        with (
            plan.open(quiet=quiet) as reasoner,
            lines_to(output, apart_from=plan.file) as write,
            Meter("scoring", total, noun="items", quiet=not shown) as meter,
        ):
            if plan.form.delimited:
                write(heading(plan.names, plan.with_evidence, plan.form))
            for row in reasoner.stream(items, batch_size=plan.batch_size, explain=plan.explain):
                write(in_words(row, first=not tally.rows) if as_text else one_line(row))
                tally.add(row)
                meter.add(1)
                for observe in observers:
                    observe(row)
                if row.damage:
                    damage = row
            return RunResult(plan, tally, tally.rows, meter.seconds, reasoner.signatures, damage)
    except KeyboardInterrupt:
        note(f"stopped after {plural(tally.rows, 'row')}; only a run from a file into a file (--output) keeps them for --resume")
        raise


def _form(output: Path | None, named: str | None, printed: bool) -> OutputFormat:
    """Return the format of the rows: as given, or by the suffix of the output."""
    from ..scoring.rows import OutputFormat

    form = OutputFormat.of(output, named)
    if form is OutputFormat.PARQUET:
        if printed:
            raise InputError(
                "--text and --json print text, so they cannot be combined with Parquet; leave them out, or write .jsonl"
            )
        if output is None or (output.exists() and not output.is_file()):
            raise InputError("Parquet needs a regular file to write to; name one with --output")
    if form.delimited and printed:
        raise InputError("--text and --json print rows in another form than CSV; leave them out, or write .jsonl")
    return form


def _check_run(
    file: str, output: Path | None, sharded: bool, resume: bool, engine: RunEngine, address: str | None, workers: int | None
) -> None:
    """Check that a run with --resume or on a cluster is from file to file, and that options of a cluster come with one."""
    if engine != "ray" and (address is not None or workers is not None):
        name = "--address" if address is not None else "--workers"
        raise InputError(f"{name} needs --engine ray; add it, or leave the option out")
    if (resume or engine == "ray") and not sharded:
        name = "--resume" if resume else "--engine ray"
        where = "standard input" if file == "-" else "standard output" if output is None else "such an output"
        raise InputError(f"{name} scores a file into a file of rows, not {where}; name both as files, without --text")


def _report(done: RunResult, output: Path | None, quiet: bool, not_run: str) -> None:
    """Print the summary to stderr; ``not_run``: default metrics that are not ready."""
    from ...reasoning.base import Signature
    from ...reasoning.metrics.baselines.references import NO_REFERENCE
    from ...reasoning.reference import other_graph, references_of

    tally = done.tally
    note_faults("not scored", tally.faults, tally.errors)
    if quiet:
        return
    sys.stdout.flush()
    if done.complete:
        note(f"{output} is complete: its {plural(tally.rows, 'row')} were scored before; without --resume they are scored again")
        return
    if done.fresh < tally.rows:
        note(f"{count(tally.rows - done.fresh)} of {count(tally.rows)} rows were scored before")
    rate = f"{done.fresh / max(done.seconds, 1e-9):,.0f}"
    rows = [
        (
            name,
            tally.judged.get(name, 0),
            tally.not_judged(name),
            tally.mean(name),
            tally.mean_percentile(name),
            tally.errors,
            duration(done.seconds),
            rate,
        )
        for name in done.plan.names
    ]
    columns = ("metric", ">n", ">not judged", ">mean", ">mean percentile", ">errors", ">time", ">items/s")
    show(table(columns, rows), sys.stderr)
    unreferenced = [
        name for name, reasons in tally.unjudged.items() if list(reasons) == [NO_REFERENCE] and not tally.judged.get(name)
    ]
    for name in unreferenced:
        note(f"{name} scored no item: it compares with references, and no record has any; add reference or references to each")
    for name, reasons in tally.unjudged.items():
        if name not in unreferenced:
            notes = "; ".join(f"{reason} ({count(number)})" for reason, number in reasons.items())
            note(f"{name} could not judge {plural(tally.not_judged(name), 'item')}: {notes}")
    for name, signature in done.signatures.items():
        if tally.judged.get(name) and tally.mean_percentile(name) is None and references_of(name):
            note(f"{name} has no percentiles: no reference is for these options; tacit train reference makes one")
        if tally.judged.get(name) and other_graph(Signature.from_text(signature)):
            note(f"percentiles of {name} are against a reference of another graph; tacit train reference makes one of this graph")
        note(f"signature {signature}")
    if not_run:
        note(f"not run: {not_run}")
    if output is not None:
        note(f"written to {output}")


# A scored item in words: its texts, and each score with its evidence.

_DEEPER = 4


def in_words(row: ItemScores, *, first: bool = True) -> str:
    """Return an item's texts and below them each score with its evidence; on a terminal wrapped and with styles."""
    lines = [_styled(line, style) for line, style in _lines(row)]
    return ("" if first else "\n") + "".join(lines)


def _lines(row: ItemScores) -> Iterator[tuple[str, str]]:
    """Yield the lines with their styles; with several metrics the first line has the value of the first of them."""
    from ...reasoning.explanation import explain_pieces, explain_value

    item = row.item
    if item is None or row.fault is not None:
        yield row.fault or "", "red"
        return
    headline = next(iter(row.scores.values()), None) if len(row.scores) > 1 else None
    yield str(item.id) + (f": {explain_value(headline)}" if headline is not None else ""), "bold"
    for turn in item.history:
        yield f"    {turn}", "dim"
    yield f"  > {item.response}", ""
    for score in row.scores.values():
        yield f"  {explain_value(score)}", "cyan"
        for line in explain_pieces(score.evidence.pieces):
            yield f"    {line}", ""


def _styled(line: str, style: str) -> str:
    """Return ``line`` for output: on a terminal wrapped between words with a hanging indent, else unwrapped."""
    line = visible(line)
    if not sys.stdout.isatty():
        return f"{line}\n"
    from textwrap import wrap

    from rich.text import Text

    screen = console(sys.stdout)
    indent = " " * (len(line) - len(line.lstrip()) + _DEEPER)
    parts = wrap(line, screen.width - 1, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]
    with screen.capture() as captured:
        for part in parts:
            screen.print(Text(part, style), soft_wrap=True)
    return captured.get()
