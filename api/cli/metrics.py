"""The command ``metrics``: which there are, what each says, whether it is ready here, and which one to take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..opening import open_engine
from .options import Engine, GraphOption, Json, address_of

if TYPE_CHECKING:
    from ...reasoning.describing import MetricDescription
    from ...reasoning.evaluation.correlation import Correlation


def metrics(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", show_default=False, help="Tell more of this one.")] = None,
    graph: GraphOption = None,
    json: Json = False,
) -> None:
    """List the metrics: what each says and needs, whether it is ready here, how well it agrees with people, which to take.

    Agreement is Pearson's and Spearman's correlation with people's ratings, the mean over several sets with its 95% interval.
    """
    from ...reasoning.describing import describe_metrics, describe_options
    from ...reasoning.registry import METRIC_REGISTRY, SCORER_REGISTRY, metric_kind
    from ..terminal.screen import note, print_json

    if name is not None:
        metric_kind(name)
    address = address_of(graph)
    if address is None:
        rows = describe_metrics()
    else:
        with open_engine(address, Engine.STORE, quiet=True) as opened:
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
    _show_one(
        row, [(one.name, ", ".join(filter(None, (one.type, one.range))), _default(one.default), one.help) for one in options]
    )


def _show_all(rows: list[MetricDescription], graph: str | None) -> None:
    """The table of all metrics, the one to take marked, and what is missing for the others."""
    from ..terminal.screen import note, show, table

    cells = [
        (
            f"{'* ' if row.recommended else ''}{row.name}",
            f"{row.summary} {_reading(row)}",
            "yes" if row.ready else "no",
            _spelt(row.agreement.pearson) if row.agreement else "",
            _spelt(row.agreement.spearman) if row.agreement else "",
        )
        for row in rows
    ]
    for row in rows:
        if row.recommended:
            print(f"* Take {row.name}: {row.reason}.\n")
    show(table(("metric", "what it says, its range, what it needs", "ready", ">Pearson", ">Spearman"), cells))
    missing = [(row.name, row.missing, row.get) for row in rows if not row.ready]
    if missing:
        print("\nNot ready here:")
        show(table(("metric", "what is missing", "what brings it"), missing))
    if graph is None:
        note("metrics that need a graph are looked at with --graph GRAPH; tacit metrics NAME tells more of one")


def _show_one(row: MetricDescription, options: list[tuple[str, str, str, str]]) -> None:
    """All that is known of one metric."""
    from ..terminal.screen import facts, show, table

    ready = "yes" if row.ready else f"no, {row.missing} is missing; {row.get}"
    told: list[tuple[str, Any]] = [
        ("says", row.summary),
        *([("comes from", row.plugin)] if row.plugin else []),
        ("range", row.range),
        ("better", row.better or "neither"),
        ("needs", ", ".join(row.needs) or "nothing"),
        ("ready here", ready),
    ]
    if row.recommended:
        told.append(("take it", f"{row.reason}"))
    if row.percentiles is not None:
        one = row.percentiles
        told.append(
            (
                "percentiles",
                f"{one.label}; the median random response is at {one.random_median:g}, a true one is above a random one in "
                f"{one.above:.0%} of pairs",
            )
        )
    if row.learnt_from:
        told.append(("has learnt from", ", ".join(row.learnt_from)))
    show(facts(told, row.name))
    if row.agreement is not None:
        print("\nAgreement with people")
        lines = [
            (
                f"{one.name}{' (in-sample)' if one.name in row.in_sample else ''}",
                one.n,
                one.not_judged,
                one.conversations,
                _spelt(one.pearson),
                _spelt(one.spearman),
            )
            for one in row.agreement.sets
        ]
        mean = ("mean", row.agreement.ratings, None, None, _spelt(row.agreement.pearson), _spelt(row.agreement.spearman))
        show(table(("set", ">n", ">not judged", ">conversations", ">Pearson", ">Spearman"), [*lines, mean]))
        if row.in_sample:
            print("In-sample: what ships was chosen or tuned on this set, so the figure is flattering.")
    if options:
        print("\nOptions, given as -O METRIC.NAME=VALUE")
        show(table(("option", "type", "default", "what it does"), options))


def _reading(row: MetricDescription) -> str:
    """The metric's range, the better direction, and what it needs, as one sentence."""
    better = f"{row.better} is better" if row.better else "neither end is better"
    plugin = f"; from {row.plugin}" if row.plugin else ""
    return f"{row.range[:1].upper()}{row.range[1:]}; {better}; needs {', '.join(row.needs) or 'nothing'}{plugin}."


def _spelt(one: Correlation) -> str:
    """A correlation with its interval, as two decimals."""
    from ...reasoning.evaluation.correlation import spelt

    return spelt(one, 2)


def _default(value: Any) -> str:
    """A default as the command line takes it."""
    from ..terminal.screen import json_text

    return "" if value is None else value if isinstance(value, str) else json_text(value)
