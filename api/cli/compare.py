"""The command ``compare``, which compares two systems by their responses to the same histories."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import loaders
from ...graph.errors import InputError
from ..opening import readable
from ..terminal.faults import read_all
from ..terminal.output import check_output, write_file
from ..terminal.progress import Meter
from ..terminal.screen import count, note, plural, print_json, show, table, visible
from . import options as opts
from .options import argument, option

if TYPE_CHECKING:
    from ...reasoning.evaluation.comparing import ContrastedItem, PairedDifference, SystemComparison


def compare(
    first: Annotated[str, argument("A", "Responses of one system, in a file as for tacit score.")],
    second: Annotated[str, argument("B", "Responses of the other system to the same histories.")],
    graph: opts.Graph = None,
    metrics: opts.Metrics = None,
    column: opts.Columns = None,
    show_items: Annotated[int, option("N", "Show the N items that differ most in favour of each system.", "--show", min=0)] = 3,
    html: Annotated[Path | None, option("FILE", "Write a page with the explanations side by side.")] = None,
    fail_under: Annotated[
        float | None, option("X", "Exit with 1 unless B's mean of the first metric is better than A's by X or more.")
    ] = None,
    resamples: opts.Resamples = 10_000,
    seed: opts.ResampleSeed = 0,
    option_values: opts.MetricOptions = None,
    pipeline: opts.Pipeline = None,
    engine: opts.EngineChoice = "auto",
    strict: opts.Strict = False,
    json: opts.Json = False,
    quiet: opts.Quiet = False,
) -> None:
    """Compare two systems on the same histories: the difference of each metric's means, with its paired interval.

    Intervals are over conversations. For CI: --fail-under -0.1 fails when B is worse than A by more than 0.1; for a
    metric where lower is better the sign is reversed.
    """
    if fail_under is not None and math.isnan(fail_under):
        raise InputError("--fail-under is not a number; give a number, e.g. -0.1")
    if html is not None:
        for file in (first, second):
            check_output(html, file)
    names, default = opts.chosen_metrics(metrics, graph)
    options = opts.metric_options(option_values, names, pipeline)
    columns = opts.named_columns(column)
    items_a, items_b = (
        read_all(loaders.read_items(readable(file), strict=strict, columns=columns), file, "an item") for file in (first, second)
    )
    opts.print_default(default, quiet)
    from ...reasoning.evaluation.comparing import compare_systems

    with (
        opts.open_reasoner(names, options, opts.address_of(graph), engine, quiet=quiet) as reasoner,
        Meter("scoring", None, noun="responses", quiet=quiet) as meter,
    ):
        comparison = compare_systems(
            items_a, items_b, reasoner, largest=show_items, resamples=resamples, seed=seed, progress=meter.add
        )
    if html is not None:
        from ..report.pages import comparison_page

        write_file(html, comparison_page(comparison, first, second).encode())
    if json:
        bootstrap = {"level": 0.95, "over": "conversations", "resamples": resamples, "seed": seed}
        print_json({"a": first, "b": second, "bootstrap": bootstrap, **comparison.to_dict()})
    else:
        _show(comparison, resamples, seed)
    if not quiet:
        _print_notes(comparison, html)
    gain = comparison.metrics[0].gain
    if fail_under is not None and (gain is None or gain < fail_under):
        raise typer.Exit(1)


def _show(comparison: SystemComparison, resamples: int, seed: int) -> None:
    """Print the table of differences, and the items that differ most."""
    from ...reasoning.evaluation.correlation import LEAST_CONVERSATIONS

    heads = ("metric", ">n", ">A", ">B", "B - A", ">p", ">B better", ">equal", ">A better")
    show(table(heads, [_line(row) for row in comparison.metrics]))
    if any(row.low is not None for row in comparison.metrics):
        print(f"\nIn brackets: 95% intervals from {count(resamples)} resamples of conversations (seed {seed}); *: it excludes 0")
    if any(row.difference is not None and row.low is None for row in comparison.metrics):
        print(f"\nFewer than {LEAST_CONVERSATIONS} conversations are too few for an interval")
    for pair in comparison.largest:
        print()
        for line in _contrast(pair):
            print(visible(line))


def _line(row: PairedDifference) -> tuple[object, ...]:
    if row.difference is None:
        return row.metric, row.n, "", "", "not judged", "", "", "", ""
    between = "" if row.low is None or row.high is None else f" [{row.low:+.3f}, {row.high:+.3f}]"
    sure = "*" if row.low is not None and row.high is not None and (row.low > 0 or row.high < 0) else ""
    p = "" if row.p is None else f"{row.p:.4f}"
    difference = f"{row.difference:+.3f}{between}{sure}"
    return row.metric, row.n, f"{row.first:.3f}", f"{row.second:.3f}", difference, p, row.wins, row.ties, row.losses


def _contrast(pair: ContrastedItem) -> list[str]:
    """Return the lines of a pair: the history, and each response with its score and evidence."""
    from ...reasoning.explanation import explain_pieces, explain_value

    lines = [f"    {turn}" for turn in pair.history]
    for name, response, score in (("A", pair.first, pair.first_score), ("B", pair.second, pair.second_score)):
        lines += [f"  {name} > {response}", f"      {explain_value(score)}"]
        lines += [f"        {line}" for line in explain_pieces(score.evidence.pieces)]
    return lines


def _print_notes(comparison: SystemComparison, html: Path | None) -> None:
    """Print to stderr what was left out, the signatures, and where the page is."""
    for name, number in zip("AB", comparison.unmatched, strict=True):
        if number:
            note(f"left out: {plural(number, 'response')} of {name} to a history that the other file does not have")
    for row in comparison.metrics:
        if row.left_out:
            note(f"left out: {plural(row.left_out, 'pair')} that {row.metric} cannot judge on both sides")
    for signature in comparison.signatures.values():
        note(f"signature {signature}")
    if html is not None:
        note(f"page written to {html}")
