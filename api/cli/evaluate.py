"""The command ``evaluate``: agreement of metrics with human ratings, as tables, JSON and plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ... import loaders, reasoning
from ...graph.errors import DamagedInput, InputError
from ..opening import readable
from ..terminal.faults import Faults
from ..terminal.output import check_output, write_file
from ..terminal.progress import Meter
from ..terminal.screen import count, note, plural, print_json, show, table
from . import options as opts
from .options import argument, option

if TYPE_CHECKING:
    from ...reasoning.evaluation import Agreement, Correlation, Judged, Ranking

_PLOTS = (".png", ".svg")


def evaluate(
    judgements: Annotated[
        list[str], argument("JUDGEMENTS", "Rated responses: JSON, CSV or Parquet; plain or gzip; - reads stdin.")
    ],
    metrics: opts.Metrics = None,
    graph: opts.Graph = None,
    column: opts.Columns = None,
    plot: Annotated[list[Path] | None, option("FILE", "Write a plot, .png or .svg; repeatable.")] = None,
    rating: Annotated[Literal["event_cs", "general_cs"], typer.Option(help="Which of DECO's two ratings to use.")] = "event_cs",
    resamples: opts.Resamples = 10_000,
    seed: opts.ResampleSeed = 0,
    option_values: opts.MetricOptions = None,
    pipeline: opts.Pipeline = None,
    engine: opts.EngineChoice = "auto",
    strict: opts.Strict = False,
    json: opts.Json = False,
    quiet: opts.Quiet = False,
) -> None:
    """Measure the agreement of metrics with human ratings: correlations, intervals, tests, ranking of systems.

    The first metric is the baseline with which the others are compared.
    JUDGEMENTS are DECO or GRADE files, {"history", "response", "rating"} as JSON lines or list, CSV or Parquet with these
    columns (--column names others), or dialogues with "turns" and "turn_ratings".
    """
    names, default = opts.chosen_metrics(metrics, graph)
    options = opts.metric_options(option_values, names, pipeline)
    plots = _plots(plot or (), judgements)
    collected = _collect(judgements, rating, strict, opts.named_columns(column, opts.RATED_FIELDS))
    opts.print_default(default, quiet)
    with opts.open_reasoner(names, options, opts.address_of(graph), engine, quiet=quiet) as reasoner:
        judged = _scored(collected, reasoner, quiet)
        signatures = reasoner.signatures
    collected.note()
    collected.faults.require(len(judged), f"none of {len(collected.judgements)} judgements can be scored")
    rows = collected.completed(_compared(judged, names, resamples, seed, quiet), names)
    if plots:
        from ...reasoning.evaluation.plot import draw

        for path in plots:
            write_file(path, draw(judged, rows, path.suffix.lower()[1:], resamples=resamples, seed=seed))
    if json:
        print_json(_json_row(row, collected, signatures, resamples, seed) for row in rows)
    else:
        show_agreements(rows, judged, collected.errors, resamples, seed)
    if not quiet:
        for signature in [] if json else signatures.values():
            note(f"signature {signature}")
        for path in plots:
            note(f"plot written to {path}")


@dataclass
class _Collected:
    """The judgements of all files, and the rows that were left out."""

    judgements: list[loaders.Judgement] = field(default_factory=list)
    # their files, in order of the first row; also without a judgement
    datasets: dict[str, list[str]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)  # rows left out, by data set
    faults: Faults = field(default_factory=Faults)

    def fault(self, dataset: str, sentence: str) -> None:
        """Count a row that is left out."""
        self.errors[dataset] += 1
        self.faults.add(sentence)

    def note(self) -> None:
        """Print notes on rows that are left out, on repeated responses, and on data sets that are in several files."""
        self.faults.note("left out")
        for dataset, repeated in self.repeated().items():
            note(
                f"{dataset}: {plural(repeated, 'row')} with the history, response and system of another, each a rating of its "
                "own; if they are of several people, give one row a response with their list in ratings"
            )
        for dataset, files in self.datasets.items():
            if len(files) > 1:
                note(f"the data set {dataset} is in {len(files)} files, which are merged: {', '.join(files)}")

    def repeated(self) -> Counter[str]:
        """Return by data set how many rows rate a response of the same system that a row before them rates."""
        rated = Counter((row.dataset, row.system, row.history, row.response) for row in self.judgements)
        repeated: Counter[str] = Counter()
        for (dataset, *_), number in rated.items():
            repeated[dataset] += number - 1
        return +repeated

    def completed(self, rows: Sequence[Agreement], metrics: Sequence[str]) -> list[Agreement]:
        """Return ``rows`` with a row for each metric and data set that has no judgement."""
        from ...reasoning.evaluation import Agreement
        from ...reasoning.evaluation.correlation import TOO_FEW

        datasets_with_rows = {row.dataset for row in rows}
        without_rows = [dataset for dataset in self.datasets if dataset not in datasets_with_rows]
        return [*rows, *(Agreement(metric, dataset, None, 0, note=TOO_FEW) for dataset in without_rows for metric in metrics)]


def _collect(files: Sequence[str], rating: str, strict: bool, columns: Mapping[str, str]) -> _Collected:
    """Read every file."""
    collected = _Collected()
    for file, name in zip(files, _names([readable(file) for file in files]), strict=True):
        datasets: dict[str, None] = {}
        for row in loaders.read_judgements(file, strict=strict, rating=rating, dataset=name, columns=columns):
            if isinstance(row, loaders.Judgement):
                datasets[row.dataset] = None
                collected.judgements.append(row)
            elif row.damage:
                raise DamagedInput(
                    f"{file} ends early, at record {row.line:,} ({row.reason}); correlations over a part of it would mislead, so "
                    "nothing is scored; get the complete file"
                )
            else:
                collected.fault(getattr(row, "dataset", name), f"{file}, row {row.line}: {row.reason}")
        for dataset in datasets or (name,):
            collected.datasets.setdefault(dataset, []).append(file)
    collected.faults.require(len(collected.judgements), f"{', '.join(files)} {'has' if len(files) == 1 else 'have'} no judgement")
    return collected


def _names(files: Sequence[str]) -> list[str]:
    """Return the name of each file's data set: its name, with as many parent folders as make the names unique."""
    from ...loaders.judgements import dataset_name

    paths = [Path(file) if file == "-" else Path(file).resolve() for file in files]
    for index, path in enumerate(paths):
        if path in paths[:index]:
            raise InputError(f"{files[index]} is given twice, so its judgements would count twice; give it once")
    names = [dataset_name(path) for path in paths]
    for depth in range(1, max(len(path.parts) for path in paths)):
        names = [
            "/".join((*path.parent.parts[-depth:], dataset_name(path))) if names.count(name) > 1 else name
            for name, path in zip(names, paths, strict=True)
        ]
    return [str(path) if names.count(name) > 1 else name for name, path in zip(names, paths, strict=True)]


def _plots(plots: Sequence[Path], files: Sequence[str]) -> list[Path]:
    """Check before any work that the plots can be drawn and written, and return their paths."""
    for path in plots:
        if path.suffix.lower() not in _PLOTS:
            raise InputError(f"--plot {path} is neither .png nor .svg; give a file name that ends in one of them")
        for file in files:
            check_output(path, file)
    if plots:
        from ...reasoning.evaluation.plot import check_plotting

        check_plotting()
    return list(plots)


def _scored(collected: _Collected, reasoner: reasoning.Reasoner, quiet: bool) -> list[Judged]:
    """Return the judgements that can be scored, with their scores; count the others."""
    from ...reasoning.evaluation.agreement import Judged, conversations

    items = ((rated.id, rated.history, rated.response, rated.references) for rated in collected.judgements)
    members: dict[str, list[int]] = {}  # judgements of each data set
    for index, rated in enumerate(collected.judgements):
        members.setdefault(rated.dataset, []).append(index)
    groups = [0] * len(collected.judgements)
    for indices in members.values():
        turns = [(collected.judgements[index].history, collected.judgements[index].response) for index in indices]
        for index, group in zip(indices, conversations(turns).tolist(), strict=True):
            groups[index] = group
    judged = []
    with Meter("scoring", len(collected.judgements), noun="judgements", quiet=quiet) as meter:
        rows = reasoner.stream(items)
        for judgement, conversation, row in zip(collected.judgements, groups, rows, strict=True):
            meter.add(1)
            if row.error is not None:
                collected.fault(judgement.dataset, f"{judgement.dataset}, judgement {judgement.id}: {row.error}")
                continue
            scores = {name: score.value for name, score in row.scores.items()}
            judged.append(Judged(judgement.dataset, judgement.system, judgement.rating, scores, conversation))
    return judged


def _compared(judged: Sequence[Judged], names: Sequence[str], resamples: int, seed: int, quiet: bool) -> list[Agreement]:
    """Compute the agreement, with a progress bar of the resampling."""
    import scipy.stats  # noqa: F401 (imported before the progress bar starts, since it takes longer than the work)

    from ...reasoning.evaluation import evaluate, resampling  # noqa: F401 (likewise)

    with Meter("resampling", None, noun="resamples", quiet=quiet) as meter:

        def progress(finished: int, total: int) -> None:
            meter.add(finished - meter.number, total=total)

        return evaluate(judged, names, resamples=resamples, seed=seed, progress=progress)


def _json_row(row: Agreement, collected: _Collected, signatures: dict[str, str], resamples: int, seed: int) -> dict[str, Any]:
    """Return a row as JSON; rows of whole data sets have the signature and the settings of the bootstrap too."""
    plain = row.to_dict()
    if row.system is None:
        plain["left_out"] = {"errors": collected.errors[row.dataset], **plain["left_out"]}
        plain["signature"] = signatures[row.metric]
        plain["bootstrap"] = {"level": 0.95, "over": "conversations", "resamples": resamples, "seed": seed}
    return plain


# Tables of an evaluation: correlations with intervals, rows left out, ranking of systems, comparison of metrics.

_KINDS = ("Pearson", "Spearman", "Kendall")
_WIDEST = 28
MIN_SYSTEMS = 3


def show_agreements(
    rows: Sequence[Agreement], judged: Sequence[Judged], errors: Mapping[str, int], resamples: int, seed: int
) -> None:
    """Print the tables; ``errors``: by data set, the number of rows that no metric scored."""
    dataset_rows = [row for row in rows if row.system is None]
    show(table(("data set", ">n", *_KINDS), _lines(rows)))
    print(f"\nIn brackets: 95% intervals from {count(resamples)} resamples of conversations (seed {seed}); *: it excludes 0")
    for line in _remarks(dataset_rows, errors):
        print(line)
    if any(row.ranking and len(row.ranking.systems) > 1 for row in dataset_rows):
        print()
        _show_rankings(dataset_rows, judged)
    compared = [row for row in dataset_rows if row.against and row.against.difference["pearson"].value is not None]
    if compared:
        print()
        _show_comparisons(compared)


def _lines(rows: Iterable[Agreement]) -> Iterator[tuple[Any, ...]]:
    """Yield one line per row, below a line for its data set."""
    dataset = None
    for row in rows:
        if row.dataset != dataset:
            dataset = row.dataset
            yield _short(dataset), None, None, None, None
        name = f" {row.metric}" if row.system is None else f"  {row.system}"
        yield _short(name), row.n, *(_cell(correlation) for correlation in row.correlations)


def _cell(correlation: Correlation) -> str:
    """Return a correlation with its interval, aligned at the decimal point."""
    from ...reasoning.evaluation.correlation import decimal

    if correlation.value is None:
        return "    –"
    star, bounds = " ", ""
    if correlation.low is not None and correlation.high is not None:
        star = "*" if correlation.low > 0 or correlation.high < 0 else " "
        bounds = f" [{decimal(correlation.low, 2):>4}, {decimal(correlation.high, 2):>4}]"
    return f"{decimal(correlation.value):>5}{star}{bounds}".rstrip()


def _remarks(rows: Iterable[Agreement], errors: Mapping[str, int]) -> Iterator[str]:
    """Yield why a data set has no correlation, and what was left out."""
    for row in rows:
        left_out = []
        if errors.get(row.dataset):
            left_out.append(plural(errors[row.dataset], "faulty row"))
        if row.unscored:
            left_out.append(f"{plural(row.unscored, 'response')} that it cannot judge")
        parts = [part for part in (row.note, f"left out: {', '.join(left_out)}" if left_out else "") if part]
        if parts:
            yield f"{row.dataset}, {row.metric}: {'; '.join(parts)}"


def _show_rankings(rows: Sequence[Agreement], judged: Sequence[Judged]) -> None:
    """Print the systems of each data set, best mean rating of all their responses first, with each metric's mean and rank."""
    ratings: dict[str, dict[str, list[float]]] = {}
    for item in judged:
        if item.system is not None:
            ratings.setdefault(item.dataset, {}).setdefault(item.system, []).append(item.rating)
    metrics = list(dict.fromkeys(row.metric for row in rows))
    systems: list[tuple[Any, ...]] = []
    means: list[tuple[Any, ...]] = []
    for dataset in dict.fromkeys(row.dataset for row in rows):
        rankings = {row.metric: row.ranking for row in rows if row.dataset == dataset and row.ranking}
        people = {system: (len(given), fmean(given)) for system, given in ratings.get(dataset, {}).items()}
        if len(people) < 2:
            continue
        systems.append((_short(dataset), None, None, *(None for _ in metrics)))
        ranks = {metric: _means_with_ranks(ranking, people) for metric, ranking in rankings.items()}
        for system, (n, human) in sorted(people.items(), key=lambda entry: (-entry[1][1], entry[0])):
            systems.append((_short(f" {system}"), n, f"{human:.3f}", *(ranks.get(metric, {}).get(system) for metric in metrics)))
        if len(people) >= MIN_SYSTEMS:
            means.append((_short(dataset), None, None, None, None))
            means += [
                (_short(f" {metric}"), len(ranking.systems), *(_with_p(correlation) for correlation in ranking.correlations))
                for metric, ranking in rankings.items()
            ]
    show(table(("systems, best first", ">n", ">people", *(f">{metric}" for metric in metrics)), systems))
    if means:
        print()
        show(table(("over the systems' means", ">systems", *_KINDS), means))


def _means_with_ranks(ranking: Ranking, people: Mapping[str, tuple[int, float]]) -> dict[str, str]:
    """Return the metric's mean and rank of each system, with the number of responses when it could not judge all."""
    values = sorted((system.metric for system in ranking.systems), reverse=True)
    return {
        entry.system: f"{entry.metric:.3f} ({values.index(entry.metric) + 1})"
        + (f" n {entry.n}" if entry.n < people[entry.system][0] else "")
        for entry in ranking.systems
    }


def _with_p(correlation: Correlation) -> str:
    """Return a correlation with its p-value."""
    from ...reasoning.evaluation.correlation import decimal

    return "    –" if correlation.value is None else f"{decimal(correlation.value):>5} (p {_p_text(correlation.p)})"


def _show_comparisons(rows: Sequence[Agreement]) -> None:
    """Print the differences of the metrics' correlations to the first metric's, with intervals and p-values."""
    lines: list[tuple[Any, ...]] = []
    dataset = None
    first = ""
    for row in rows:
        if row.against is None:
            continue
        first = row.against.metric
        if row.dataset != dataset:
            dataset = row.dataset
            lines.append((_short(dataset), None, None, None, None))
        for kind in _KINDS:
            difference = row.against.difference[kind.lower()]
            name = _short(f" {row.metric}") if kind == _KINDS[0] else ""
            n = row.against.n if kind == _KINDS[0] else None
            lines.append((name, n, kind, _cell(difference), _p_text(difference.p)))
    show(table((f"against {first}", ">n", "correlation", "difference", ">p"), lines))


def _p_text(p: float | None) -> str:
    """Return a p-value in the usual notation."""
    if p is None:
        return ""
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _short(name: str) -> str:
    """Return ``name``, shortened so that the table is below 100 columns wide."""
    return name if len(name) <= _WIDEST else f"{name[: _WIDEST - 1]}…"
