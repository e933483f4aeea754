"""The command ``metrics``: lists the metrics: what they measure and need, agreement with ratings, a recommendation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from ...reasoning.registry import METRIC_REGISTRY, SCORER_REGISTRY, metric_kind
from ..opening import open_engine
from ..terminal.screen import facts, json_text, note, print_json, show, table
from . import options as opts
from .options import argument

if TYPE_CHECKING:
    from ...reasoning.describing import MetricDescription
    from ...reasoning.evaluation.correlation import Interval


def metrics(
    name: Annotated[str | None, argument("NAME", "Show the details and options of this metric.")] = None,
    graph: opts.Graph = None,
    json: opts.Json = False,
) -> None:
    """List the metrics: what they measure and need, whether they are ready to use, their agreement with human ratings.

    Agreement is Pearson's and Spearman's correlation with human ratings, the mean over several data sets with its 95% interval.
    """
    from ...reasoning.describing import describe_metrics, describe_options

    if name is not None:
        metric_kind(name)
    address = opts.address_of(graph)
    if address is None:
        rows = describe_metrics()
    else:
        with open_engine(address, "store", quiet=True) as opened:
            rows = describe_metrics(opened)
    if name is None:
        if json:
            print_json(row.to_dict() for row in rows)
        else:
            _show_all(rows, graph)
        for fault in (*METRIC_REGISTRY.faults(), *SCORER_REGISTRY.faults()):
            note(fault)
        return
    [row] = [row for row in rows if row.name == name]
    options = describe_options(name)
    if json:
        print_json({**row.to_dict(), "options": [option.to_dict() for option in options]})
        return
    _show_details(
        row,
        [
            (
                option.name,
                option.range if option.choices else ", ".join(filter(None, (option.type, option.range))),
                _default(option.default),
                option.help,
            )
            for option in options
        ],
    )


def _show_all(rows: list[MetricDescription], graph: str | None) -> None:
    """Print the table of all metrics with the recommended one marked, and what is missing for those that are not ready."""
    for row in rows:
        if row.recommended:
            show(f"* Recommended: {row.name}, since {row.reason}.\n")
    cells = [
        (
            f"{'* ' if row.recommended else ''}{row.name}",
            "yes" if row.ready else "no",
            *([_short(interval) for interval in (row.agreement.pearson, row.agreement.spearman)] if row.agreement else ["", ""]),
            row.summary.removesuffix(".") + (f" (from {row.plugin})" if row.plugin else ""),
        )
        for row in rows
    ]
    show(table(("metric", "ready", ">Pearson", ">Spearman", "what it measures"), cells))
    missing = [(row.name, row.missing, row.get) for row in rows if not row.ready]
    if missing:
        print("\nNot ready:")
        show(table(("metric", "what is missing", "how to get it"), missing))
    if graph is None:
        note("give --graph GRAPH to check metrics that need a graph")
    note("tacit metrics NAME shows the range, needs, agreement on every set and options of one")


def _show_details(row: MetricDescription, options: list[tuple[str, str, str, str]]) -> None:
    """Print the details of one metric."""
    ready = "yes" if row.ready else f"no, {row.missing} is missing; {row.get}"
    details: list[tuple[str, Any]] = [
        ("measures", row.summary),
        *([("plugin", row.plugin)] if row.plugin else []),
        ("range", row.range),
        ("better", row.better or "neither"),
        ("needs", ", ".join(row.needs) or "nothing"),
        ("ready", ready),
    ]
    if row.recommended:
        details.append(("recommended", row.reason))
    if row.percentiles is not None:
        reference = row.percentiles
        graph = dict(reference.own_signature.parts).get("graph")
        details.append(
            (
                "percentiles",
                f"{reference.label}{f', made with the graph {graph}' if graph else ''}; the median random response is at "
                f"{reference.random_median:g}, a true one is above a random one in {reference.above:.0%} of pairs",
            )
        )
    if row.learnt_from:
        details.append(("trained on", ", ".join(row.learnt_from)))
    show(facts(details, row.name))
    if row.agreement is not None:
        print("\nAgreement with human ratings")
        lines = [
            (
                f"{dataset.name}{' (in-sample)' if dataset.name in row.in_sample else ''}",
                dataset.n,
                dataset.not_judged,
                dataset.conversations,
                _formatted(dataset.pearson),
                _formatted(dataset.spearman),
            )
            for dataset in row.agreement.sets
        ]
        mean = ("mean", row.agreement.ratings, None, None, _formatted(row.agreement.pearson), _formatted(row.agreement.spearman))
        show(table(("set", ">n", ">not judged", ">conversations", ">Pearson", ">Spearman"), [*lines, mean]))
        if row.in_sample:
            print("In-sample: the shipped model was selected or tuned on this data set, so its figure is too high.")
    if options:
        print("\nOptions, set with -O METRIC.NAME=VALUE")
        show(table(("option", "type", "default", "what it does"), options))


def _short(interval: Interval) -> str:
    """Return a correlation with two decimals, without its interval."""
    from ...reasoning.evaluation.correlation import decimal

    return "" if interval.value is None else decimal(interval.value, 2)


def _formatted(interval: Interval) -> str:
    """Return a correlation with its interval, with two decimals."""
    from ...reasoning.evaluation.correlation import formatted

    return formatted(interval, 2)


def _default(value: Any) -> str:
    """Return a default value in the syntax of the command line."""
    return "" if value is None else value if isinstance(value, str) else json_text(value)
