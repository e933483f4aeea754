"""How an evaluation is shown to people: correlations with intervals, what was left out, systems ranked, metrics compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..terminal.screen import show, table
from ..terminal.text import count, plural

if TYPE_CHECKING:
    from ...reasoning.evaluation import Agreement, Correlation, Ranking

_KINDS = ("Pearson", "Spearman", "Kendall")
_SIGNIFICANT = 0.05
_WIDEST = 28
LEAST_SYSTEMS = 3


def show_agreements(rows: Sequence[Agreement], errors: Mapping[str, int], resamples: int, seed: int) -> None:
    """Print the tables; ``errors`` are rows and responses left out before any metric saw them, by data set."""
    whole = [row for row in rows if row.system is None]
    show(table(("data set", ">n", *_KINDS), _lines(rows)))
    print(f"\nIn brackets: 95% bootstrap intervals from {count(resamples)} resamples (seed {seed}); *: p < .05")
    for line in _remarks(whole, errors):
        print(line)
    if any(row.ranking and len(row.ranking.systems) > 1 for row in whole):
        print()
        _show_rankings(whole)
    compared = [row for row in whole if row.against and row.against.difference["pearson"].value is not None]
    if compared:
        print()
        _show_comparisons(compared)


def _lines(rows: Iterable[Agreement]) -> Iterator[tuple[Any, ...]]:
    """One line a row, below a line for its data set."""
    dataset = None
    for row in rows:
        if row.dataset != dataset:
            dataset = row.dataset
            yield _short(dataset), None, None, None, None
        name = f" {row.metric}" if row.system is None else f"  {row.system}"
        yield _short(name), row.n, *(_cell(one) for one in row.correlations)


def _cell(one: Correlation) -> str:
    """A correlation with its interval, so that points stand under points."""
    from ...reasoning.evaluation.correlation import decimal

    if one.value is None:
        return "    –"
    star = "*" if one.p is not None and one.p < _SIGNIFICANT else " "
    bounds = "" if one.low is None or one.high is None else f" [{decimal(one.low, 2):>4}, {decimal(one.high, 2):>4}]"
    return f"{decimal(one.value):>5}{star}{bounds}".rstrip()


def _remarks(rows: Iterable[Agreement], errors: Mapping[str, int]) -> Iterator[str]:
    """Why a whole data set has no correlation, and what was left out."""
    for row in rows:
        left = []
        if errors.get(row.dataset):
            left.append(plural(errors[row.dataset], "faulty row"))
        if row.unscored:
            left.append(f"{plural(row.unscored, 'response')} that it cannot judge")
        parts = [part for part in (row.note, f"left out: {', '.join(left)}" if left else "") if part]
        if parts:
            yield f"{row.dataset}, {row.metric}: {'; '.join(parts)}"


def _show_rankings(rows: Sequence[Agreement]) -> None:
    """The systems of each data set, the one that people like best first, with each metric's mean and place."""
    metrics = list(dict.fromkeys(row.metric for row in rows))
    systems: list[tuple[Any, ...]] = []
    means: list[tuple[Any, ...]] = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        rankings = {row.metric: row.ranking for row in rows if row.dataset == dataset and row.ranking}
        people: dict[str, tuple[int, float]] = {}
        for ranking in rankings.values():
            for one in ranking.systems:
                people.setdefault(one.system, (one.n, one.human))
        if len(people) < 2:
            continue
        systems.append((_short(dataset), None, None, *(None for _ in metrics)))
        places = {metric: _places(ranking) for metric, ranking in rankings.items()}
        for system, (n, human) in sorted(people.items(), key=lambda entry: (-entry[1][1], entry[0])):
            systems.append((_short(f" {system}"), n, f"{human:.3f}", *(places.get(metric, {}).get(system) for metric in metrics)))
        if len(people) >= LEAST_SYSTEMS:
            means.append((_short(dataset), None, None, None, None))
            means += [
                (_short(f" {metric}"), len(ranking.systems), *(_with_p(one) for one in ranking.correlations))
                for metric, ranking in rankings.items()
            ]
    show(table(("systems, best first", ">n", ">people", *(f">{metric}" for metric in metrics)), systems))
    if means:
        print()
        show(table(("over the systems' means", ">systems", *_KINDS), means))


def _places(ranking: Ranking) -> dict[str, str]:
    """The metric's mean of each system, and which place that is."""
    values = sorted((one.metric for one in ranking.systems), reverse=True)
    return {one.system: f"{one.metric:.3f} ({values.index(one.metric) + 1})" for one in ranking.systems}


def _with_p(one: Correlation) -> str:
    """A correlation with its p-value."""
    from ...reasoning.evaluation.correlation import decimal

    return "    –" if one.value is None else f"{decimal(one.value):>5} (p {_p_text(one.p)})"


def _show_comparisons(rows: Sequence[Agreement]) -> None:
    """What a metric has over the first one, and how sure that is."""
    lines: list[tuple[Any, ...]] = []
    dataset = None
    first = ""
    for row in rows:
        if row.against is None:
            continue
        first = row.against.metric
        if row.dataset != dataset:
            dataset = row.dataset
            lines.append((_short(dataset), None, None, None, None, None))
        for kind in _KINDS:
            difference = row.against.difference[kind.lower()]
            test = row.against.williams.get(kind.lower())
            name = _short(f" {row.metric}") if kind == _KINDS[0] else ""
            t, p = ("", "") if test is None else (f"{test.t:.2f}", _p_text(test.p))
            lines.append((name, row.against.n if kind == _KINDS[0] else None, kind, _cell(difference), t, p))
    show(table((f"against {first}", ">n", "correlation", "difference", ">Williams t", ">p"), lines))


def _p_text(p: float | None) -> str:
    """A p-value as papers print it."""
    if p is None:
        return ""
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _short(name: str) -> str:
    """``name`` in the width that leaves the line below 100 columns."""
    return name if len(name) <= _WIDEST else f"{name[: _WIDEST - 1]}…"
