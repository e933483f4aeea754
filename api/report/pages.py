"""HTML pages of explained scores: self-contained files with all texts escaped.

They have no external links, and a Content-Security-Policy forbids loading anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from math import isnan
from typing import TYPE_CHECKING

from ..terminal.screen import plural
from .score_report import EXTREMES, MAX_VALUES, QUANTILES, Collected, Column, histogram

if TYPE_CHECKING:
    from ...graph.item import Item
    from ...reasoning import Explanation
    from ...reasoning.base import Score
    from ...reasoning.evaluation.comparing import ContrastedItem, PairedDifference, SystemComparison

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def explained_page(items: Sequence[tuple[Item | None, Mapping[str, Explanation], str | None]]) -> str:
    """Return a page of each item (None for a record without one) with its explanations by metric and its error, if any."""
    body = ["<h1>Explained scores</h1>"]
    for item, explanations, fault in items:
        body.append(f"<h2>{safe(item.id if item else 'no item')}</h2>")
        if fault is not None:
            body.append(f'<p class="fault">{safe(fault)}</p>')
        for explanation in explanations.values():
            body.append(explained(explanation))
    return page("Explained scores", body)


def report_page(
    title: str,
    collected: Collected,
    facts: Sequence[tuple[str, str]],
    signatures: Mapping[str, str],
    summaries: Mapping[str, str],
    explanations: Mapping[tuple[str, int], Explanation],
) -> str:
    """Return the report of a run, with ``explanations`` of the worst and the best items by metric and index in the input."""
    body = [f"<h1>{safe(title)}</h1>", as_table(("", ""), facts, numbers=0, with_head=False)]
    tally = collected.tally
    if tally.errors:
        first_of_them = "" if tally.errors == len(tally.faults) else f", the first {len(tally.faults)}"
        body.append(f"<h3>Not scored: {tally.errors:,}{first_of_them}</h3>")
        body += [f'<p class="fault">{safe(fault)}</p>' for fault in tally.faults]
    body.append("<h2>Scores</h2>")
    body.append(_summary(collected))
    for name, column in collected.columns.items():
        body.append(f'<h2 id="{safe(name)}">{safe(name)}</h2>')
        body.append(f"<p>{safe(summaries.get(name, ''))}</p>")
        body.append(f'<p class="signature">{safe(signatures.get(name, ""))}</p>')
        body += _not_judged(tally.unjudged.get(name, {}))
        body += _metric(name, column, explanations)
    body += _list(collected)
    return page(title, body)


def page(title: str, body: Sequence[str]) -> str:
    """Return a complete HTML document with this package's style and script."""
    package = files(__package__)
    style, script = (package.joinpath(f"report.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{safe(title)}</title>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n<main>\n" + "\n".join(body) + f"\n</main>\n<script>\n{script}</script>\n"
        "</body>\n</html>\n"
    )


def safe(text: object) -> str:
    """Escape a text, and remove characters that HTML does not allow."""
    from ...reasoning.explanation.svg import printable

    return escape(printable(str(text)))


def as_table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: int, *, with_head: bool = True) -> str:
    """Return a table whose columns from index ``numbers`` on are right-aligned numbers (0: none)."""

    def kind(index: int) -> str:
        return ' class="number"' if numbers and index >= numbers else ""

    heading_cells = "".join(f'<th scope="col"{kind(index)}>{safe(name)}</th>' for index, name in enumerate(columns))
    body_rows = [
        "<tr>" + "".join(f"<td{kind(index)}>{safe(cell)}</td>" for index, cell in enumerate(row)) + "</tr>" for row in rows
    ]
    head = f"<thead><tr>{heading_cells}</tr></thead>" if with_head else ""
    return f'<div class="scroll"><table>{head}<tbody>{"".join(body_rows)}</tbody></table></div>'


def _summary(collected: Collected) -> str:
    """Return the table of counts, means, standard deviations and quantiles by metric."""
    columns = (
        "metric",
        "n",
        "not judged",
        "mean",
        "mean percentile",
        "sd",
        *("minimum" if quantile == 0 else "maximum" if quantile == 1 else f"{quantile:.0%}" for quantile in QUANTILES),
    )
    rows = []
    for name, column in collected.columns.items():
        quantiles: Sequence[float | None] = column.quantiles() or [None] * len(QUANTILES)
        percentile = collected.tally.mean_percentile(name)
        numbers = [column.mean if column.number else None, percentile, column.deviation, *quantiles]
        not_judged = f"{collected.tally.not_judged(name):,}"
        rows.append([name, f"{column.number:,}", not_judged, *("" if number is None else f"{number:.3f}" for number in numbers)])
    note = ""
    if any(column.number > MAX_VALUES for column in collected.columns.values()):
        note = f'<p class="quiet">Quantiles and histograms are of a random sample of {MAX_VALUES:,} values.</p>'
    return as_table(columns, rows, 1) + note


def _not_judged(reasons: Mapping[str, int]) -> Iterator[str]:
    """Yield the number of items that a metric could not judge, with the reasons."""
    if reasons:
        listed = "; ".join(f"{reason} ({number:,})" for reason, number in reasons.items())
        yield f"<p>Not judged: {plural(sum(reasons.values()), 'item')}. {safe(listed)}</p>"


def _metric(name: str, column: Column, explanations: Mapping[tuple[str, int], Explanation]) -> Iterator[str]:
    """Yield the histogram of a metric and its extremes."""
    if not column.number:
        yield '<p class="quiet">No item could be judged.</p>'
        return
    yield f'<div class="scroll">{histogram(column.values, name)}</div>'
    worst, best = column.worst, column.best
    if column.number <= EXTREMES:
        worst = []
    shown_positions = {position for _, position, _ in worst}
    for title, rows in (("Worst", worst), ("Best", [row for row in best if row[1] not in shown_positions])):
        if rows:
            yield f"<h3>{title}</h3>"
        for value, position, item in rows:
            explanation = explanations.get((name, position))
            label = f"{value:.3f}"
            if explanation is not None and explanation.score.percentile is not None:
                label += f", percentile {explanation.score.percentile:g}"
            yield f'<p><b>{safe(item.id)}</b> <span class="quiet">{label}</span></p>'
            if explanation is not None:
                yield explained(explanation)


def explained(explanation: Explanation, width: int = 960) -> str:
    """Return one explanation: the picture, and collapsible the text and the claims."""
    claims = explanation.claims
    text = "\n".join([*explanation.history, f"> {explanation.response}", "", explanation.text()])
    details = f"<details><summary>In words</summary><pre>{safe(text)}</pre></details>"
    if claims:
        query = explanation.to_dict()["query"]
        edges = "\n".join(
            f"{claim.head_text} -{claim.relation}-> {claim.tail_text}  weight {claim.weight:g}, {claim.source} {claim.dataset}"
            for claim in claims
        )
        details += (
            f"<details><summary>Claims: {plural(len(claims), 'edge')} of the graph</summary><pre>{safe(edges)}</pre>"
            f"<p>This query returns a claim, given its ends and its relation:</p><pre>{safe(query)}</pre></details>"
        )
    return f'<div class="item"><figure class="scroll">{explanation.svg(width)}</figure>{details}</div>'


def _list(collected: Collected) -> Iterator[str]:
    """Yield the sortable and searchable table of items."""
    names = list(collected.columns)
    rows = sorted(collected.listed, key=lambda row: row.index)
    sampled = "" if len(rows) == collected.tally.scored else f", a random sample of {len(rows):,} of {collected.tally.scored:,}"
    yield f'<section class="list"><h2>Items{sampled}</h2>'
    yield '<p><label>Search <input type="search" autocomplete="off"></label> <span class="quiet" role="status"></span></p>'
    headings = [("id", ""), ("last turn", ""), ("response", ""), *((name, ' class="number"') for name in names)]
    heading_cells = "".join(f'<th scope="col"{kind}><button>{safe(name)}</button></th>' for name, kind in headings)
    yield f'<div class="scroll"><table><thead><tr>{heading_cells}</tr></thead><tbody>'
    for row in rows:
        cells = "".join(f"<td>{safe(cell)}</td>" for cell in (row.id, row.last, row.response))
        for name in names:
            value = row.values.get(name, float("nan"))
            sort_key = "" if isnan(value) else f"{value!r}"
            label = "" if isnan(value) else f"{value:.3f}"
            if name in row.percentiles:
                label += f' <small title="percentile">{row.percentiles[name]:g}</small>'
            cells += f'<td class="number" data-value="{sort_key}">{label}</td>'
        yield f"<tr>{cells}</tr>"
    yield "</tbody></table></div></section>"


# Two systems compared: the table of differences, and the items that differ most, side by side.

_SIDE = 480  # width of a picture beside another, in pixels


def comparison_page(comparison: SystemComparison, first: str, second: str) -> str:
    """Return the page; ``first`` and ``second`` name the inputs."""
    heads = ("metric", "pairs", "A", "B", "B - A", "95% interval", "p", "B better", "equal", "A better")
    body = [
        "<h1>Two systems compared</h1>", as_table(("", ""), [("A", first), ("B", second)], numbers=0, with_head=False),
        as_table(heads, [_difference(row) for row in comparison.metrics], numbers=1),
        '<p class="quiet">Intervals and p-values are of a bootstrap over conversations.</p>',
    ]  # fmt: skip
    body += [f'<p class="signature">{safe(signature)}</p>' for signature in comparison.signatures.values()]
    if comparison.largest:
        body.append(f"<h2>Largest differences by {safe(comparison.largest[0].metric)}</h2>")
    body += [_contrast(pair) for pair in comparison.largest]
    return page(f"{first} and {second}", body)


def _difference(row: PairedDifference) -> tuple[str, ...]:
    def number(value: float | None, form: str = ".3f") -> str:
        return "" if value is None else format(value, form)

    interval = "" if row.low is None or row.high is None else f"{row.low:+.3f} to {row.high:+.3f}"
    return (
        row.metric, f"{row.n:,}", number(row.first), number(row.second), number(row.difference, "+.3f"), interval,
        number(row.p, ".4f"), f"{row.wins:,}", f"{row.ties:,}", f"{row.losses:,}",
    )  # fmt: skip


def _contrast(pair: ContrastedItem) -> str:
    """Return a pair: the history above, the explanations of both responses beside each other."""
    turns = "".join(f"<p>{safe(turn)}</p>" for turn in pair.history)
    sides = "".join(
        _side(name, response, score, pair.history)
        for name, response, score in (("A", pair.first, pair.first_score), ("B", pair.second, pair.second_score))
    )
    return f'<section class="contrast">{turns}<div class="sides">{sides}</div></section>'


def _side(name: str, response: str, score: Score, history: tuple[str, ...]) -> str:
    from ...reasoning import Explanation

    value = "no score" if score.value != score.value else f"{score.value:.3f}"
    return f"<div><h3>{name}: {value}</h3><p>{safe(response)}</p>{explained(Explanation(history, response, score), _SIDE)}</div>"
