"""The HTML page of two systems compared: the table of differences, and the items that differ most, side by side."""

from __future__ import annotations

from ...reasoning import Explanation
from ...reasoning.base import Score
from ...reasoning.evaluation.comparing import ContrastedItem, PairedDifference, SystemComparison
from .page import as_table, explained, page, safe

_WIDTH = 640


def comparison_page(found: SystemComparison, first: str, second: str) -> str:
    """Return the page; ``first`` and ``second`` name the inputs."""
    heads = ("metric", "pairs", "A", "B", "B - A", "95% interval", "p", "B better", "equal", "A better")
    body = [
        "<h1>Two systems compared</h1>", as_table(("", ""), [("A", first), ("B", second)], numbers=0, head=False),
        as_table(heads, [_row(row) for row in found.metrics], numbers=1),
        '<p class="quiet">Intervals and p-values are of a bootstrap over conversations.</p>',
    ]  # fmt: skip
    body += [f'<p class="signature">{safe(signature)}</p>' for signature in found.signatures.values()]
    if found.largest:
        body.append(f"<h2>Largest differences by {safe(found.largest[0].metric)}</h2>")
    body += [_contrast(one) for one in found.largest]
    return page(f"{first} and {second}", body)


def _row(row: PairedDifference) -> tuple[str, ...]:
    def number(value: float | None, form: str = ".3f") -> str:
        return "" if value is None else format(value, form)

    between = "" if row.low is None or row.high is None else f"{row.low:+.3f} to {row.high:+.3f}"
    return (
        row.metric, f"{row.n:,}", number(row.first), number(row.second), number(row.difference, "+.3f"), between,
        number(row.p, ".4f"), f"{row.wins:,}", f"{row.ties:,}", f"{row.losses:,}",
    )  # fmt: skip


def _contrast(one: ContrastedItem) -> str:
    """Return a pair: the history above, the explanations of both responses beside each other."""
    turns = "".join(f"<p>{safe(turn)}</p>" for turn in one.history)
    sides = "".join(
        _side(*side, one.history) for side in (("A", one.first, one.first_score), ("B", one.second, one.second_score))
    )
    return f'<section class="contrast">{turns}<div class="sides">{sides}</div></section>'


def _side(name: str, response: str, score: Score, history: tuple[str, ...]) -> str:
    value = "no score" if score.value != score.value else f"{score.value:.3f}"
    return f"<div><h3>{name}: {value}</h3><p>{safe(response)}</p>{explained(Explanation(history, response, score), _WIDTH)}</div>"
