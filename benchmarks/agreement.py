"""How well each metric agrees with people, on every judgement file: the figures that ``tacit metrics`` shows.

    python benchmarks/agreement.py GRAPH DATA [--metrics NAME,...] [--resamples N] [--seed N] [-O METRIC.NAME=VALUE]...
        [--scores FOLDER] [--write]

DATA is a judgement file, a folder of them, or one with a folder ``judgements`` of them, in the forms that ``tacit evaluate``
reads. GRAPH is a graph that ``tacit load`` made. Every metric that is ready here and needs no references scores every response
with its default options, or those that ``-O`` gives. Scores are kept in the folder of ``--scores`` until the run is complete, so
that a run that was stopped continues. A set is a data set that a file names, else the file. Intervals are 95% percentile
bootstrap intervals over conversations: responses to one history, and turns of one conversation, are drawn together. The last
column is the mean over the sets, each of which counts the same; its interval draws the conversations of every set anew and does
not say what other sets would give. ``*`` marks a set on which what ships was chosen or tuned. ``--write`` puts the figures where
``tacit metrics`` finds them, and into the tables of README and docs/metrics.md; metrics that were not measured keep theirs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tacit.api.cli.options import metric_options, open_reasoner
from tacit.api.opening import Address
from tacit.api.terminal.progress import Meter
from tacit.graph.atomic import write_file
from tacit.graph.errors import InputError
from tacit.graph.item import Item
from tacit.graph.storage import file_sha256
from tacit.loaders import Judgement, read_judgements
from tacit.reasoning.base import Metric
from tacit.reasoning.describing import describe_metrics, needs_of
from tacit.reasoning.evaluation.agreement import conversations
from tacit.reasoning.evaluation.correlation import (
    FILE,
    Correlation,
    Figures,
    SetFigures,
    correlate,
    formatted,
    interval,
    shipped_figures,
    undefined,
    with_intervals,
)
from tacit.reasoning.evaluation.resampling import correlations
from tacit.reasoning.plugins import Kind
from tacit.reasoning.reference import SHIPPED, references_of
from tacit.reasoning.registry import EXTRACTOR_REGISTRY, KINDS, SCORER_REGISTRY
from tacit.reasoning.training.reference import without_reference

SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".json.gz", ".csv", ".csv.gz")
BATCH = 128
HEAVY = ("overall", "judgement")
"""Metrics over a language model of 1.5 billion weights; they share its readings, so the second costs nothing more."""
Floats = NDArray[np.float64]


@dataclass
class Set:
    """The judged responses of one set, and which conversation each is of."""

    name: str
    file: Path
    judged: list[Judgement]

    @property
    def ratings(self) -> Floats:
        return np.array([row.rating for row in self.judged], np.float64)

    @property
    def groups(self) -> NDArray[np.int64]:
        return conversations([(row.history, row.response) for row in self.judged])


def read_sets(data: Path) -> list[Set]:
    """Return the sets of a judgement file, or of all in a folder by name; in a folder, files without ratings are left out.

    Raises:
        InputError: the file cannot be read.
    """
    sets: dict[tuple[str, str], Set] = {}
    inside = data / "judgements" if (data / "judgements").is_dir() else data
    paths = [data] if data.is_file() else sorted(path for path in inside.glob("*") if path.name.endswith(SUFFIXES))
    for path in paths:
        try:
            rows = list(read_judgements(path))
        except InputError:
            if data.is_file():
                raise
            continue
        for row in rows:
            if not isinstance(row, Judgement):
                continue
            try:
                Item(row.history, row.response)
            except InputError:
                continue
            sets.setdefault((path.name, row.dataset), Set(row.dataset, path, [])).judged.append(row)
    return list(sets.values())


class Scores:
    """The values of one metric, kept in a folder by batch, so that a run that was stopped continues.

    Attributes:
        read_again: number of values that were on disk already.
    """

    def __init__(self, metric: Metric, folder: Path) -> None:
        self.metric, self.folder, self.read_again = metric, folder, 0
        self.signature = str(without_reference(metric.signature))

    def of(self, judged: list[Judgement]) -> list[float]:
        """Return the values of a batch of responses; NaN where the metric has no score."""
        batch = [(row.history, row.response) for row in judged]
        name = hashlib.sha256(json.dumps([self.signature, batch]).encode()).hexdigest()[:24]
        path = self.folder / f"{self.metric.name}.{name}.json"
        if path.is_file():
            self.read_again += len(batch)
            return [float(value) for value in json.loads(path.read_text(encoding="utf-8"))]
        values = [float(score.value) for score in self.metric.score_batch(batch)]
        self.folder.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps(values).encode())
        return values


def figures_of(values: Floats, dataset: Set, number: int, resamples: int, seed: int, signature: str) -> tuple[SetFigures, Floats]:
    """Return the figures of one metric on set ``number``, and the two correlations in each resample."""
    known = np.isfinite(values)
    ratings, groups = dataset.ratings[known], np.unique(dataset.groups[known], return_inverse=True)[1]
    n, clusters = int(known.sum()), int(groups.max() + 1) if known.any() else 0
    if undefined(values[known], ratings):
        return SetFigures(dataset.name, n, len(values) - n, clusters, Correlation(), Correlation(), signature), np.empty((0, 2))
    drawn = correlations(values[known], ratings, groups=groups, resamples=resamples, seed=seed + number)
    pearson, spearman, _ = with_intervals(correlate(values[known], ratings), drawn)
    return SetFigures(dataset.name, n, len(values) - n, clusters, pearson, spearman, signature), drawn[:, :2]


def mean_of(sets: list[SetFigures], drawn: list[Floats]) -> Figures:
    """Return the figures of a metric: the mean over its sets within each resample gives the interval of the mean."""
    counted = [(figures, part) for figures, part in zip(sets, drawn, strict=True) if len(part)]
    if not counted:
        return Figures(Correlation(), Correlation(), tuple(sets))
    within = np.mean([part for _, part in counted], axis=0)
    means = [
        Correlation(float(np.mean([getattr(figures, kind).value for figures, _ in counted])), *interval(within[:, column]))
        for column, kind in enumerate(("pearson", "spearman"))
    ]
    return Figures(means[0], means[1], tuple(sets))


def rounded(figures: Figures) -> dict[str, Any]:
    """Return figures as plain values for JSON: correlations and intervals with four decimals, without p-values."""
    row = figures.to_dict()
    for figures_row in (row, *row["sets"]):
        for kind in ("pearson", "spearman"):
            values = figures_row[kind].items()
            figures_row[kind] = {name: None if value is None else round(value, 4) for name, value in values}
    return row


def table(figures_of_metrics: dict[str, Figures], kind: str) -> Iterator[str]:
    """Yield the lines of a Markdown table: a row for each metric, a column for each set, and the mean."""
    names = [of_set.name for of_set in next(iter(figures_of_metrics.values())).sets]
    yield f"| {kind.title()} | {' | '.join(names)} | mean |"
    yield "|---" * (len(names) + 2) + "|"
    for metric, figures in sorted(figures_of_metrics.items(), key=lambda row: -row[1].mean):
        chosen_on = KINDS[metric].chosen_on
        cells = [formatted(getattr(of_set, kind)) + ("*" if of_set.name in chosen_on else "") for of_set in figures.sets]
        yield f"| `{metric}` | {' | '.join(cells)} | {formatted(getattr(figures, kind))} |"


def write(measured: dict[str, Figures], sets: list[Set], graph: list[dict[str, str]], resamples: int, seed: int) -> None:
    """Put the figures beside those of metrics that were measured before; a run without a graph keeps the graph of those."""
    stored = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {"metrics": {}, "graph": []}
    before = stored["metrics"]
    paths = {dataset.file for dataset in sets}
    files = {path.name: file_sha256(path) for path in sorted(paths)}
    rows = {name: rounded(measured[name]) if name in measured else before[name] for name in KINDS if name in measured | before}
    head = {"command": "python benchmarks/agreement.py GRAPH DATA_DIR --write", "resamples": resamples, "seed": seed}
    text = json.dumps({**head, "files": files, "graph": graph or stored["graph"], "metrics": rows}, indent=1)
    FILE.write_text(text + "\n", encoding="utf-8")


def report() -> str:
    """Return the part of benchmarks/REPORT.md that follows from the figures and references that ship."""
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    figures = dict(shipped_figures())
    tables = ["\n".join(table(figures, kind)) for kind in ("pearson", "spearman")]
    files = ["| file | sha256 |", "|---|---|", *(f"| {name} | `{digest}` |" for name, digest in stored["files"].items())]
    references = [
        "| reference | true | random | true above random | percentile of the median random response |",
        "|---|---|---|---|---|",
    ]
    for name in KINDS:
        for reference in references_of(name, [SHIPPED]):
            above = f"{reference.above:.3f}".removeprefix("0")
            numbers = (*reference.facts["responses"].values(), above, f"{reference.random_median:g}")
            references.append(f"| `{name}`, {reference.label} | {' | '.join(map(str, numbers))} |")
    return "\n\n".join([*tables, "\n".join(files), "\n".join(references)])


def choice_table(brief: bool = False) -> str:
    """Return the metrics as a Markdown table, those with the best agreement first; independent of what is installed here.

    A ``brief`` table has the metrics with known agreement of which higher is better; it has no columns of range, direction, needs
    and random responses.
    """
    measured = shipped_figures()
    names = sorted(KINDS, key=lambda name: -measured[name].mean if name in measured else 2.0)
    heads = ["metric", "what it says", *([] if brief else ["range", "better", "needs"]), "Pearson", "Spearman"]
    heads += [] if brief else ["median random response"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name in names:
        kind, figures = KINDS[name], measured.get(name)
        if brief and (figures is None or kind.better != "higher"):
            continue
        star = "*" if figures and {of_set.name for of_set in figures.sets} & set(kind.chosen_on) else ""
        agreement = (
            [formatted(correlation, 2) + star for correlation in (figures.pearson, figures.spearman)] if figures else ["", ""]
        )
        cells = [f"`{name}`", kind.summary.removesuffix("."), *agreement]
        if not brief:
            cells[2:2] = [kind.range, kind.better or "neither", ", ".join(needs_of(kind)) or "nothing"]
            references = references_of(name, [SHIPPED])
            cells.append(f"percentile {references[0].random_median:g}" if references else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def summaries(noun: str, kinds: Mapping[str, Kind]) -> str:
    """Return tuple scorers, or extractors of event tuples, as a Markdown table."""
    rows = (f"| `{name}` | {kind.summary.removesuffix('.')} |" for name, kind in kinds.items())
    return "\n".join([f"| {noun} | what |", "|---|---|", *rows])


def pages() -> list[tuple[str, str, str]]:
    """Return each page with a table between marks: its path, the name in the marks, and the table."""
    return [
        ("README.md", "metrics", choice_table(True)),
        ("docs/metrics.md", "metrics", choice_table()),
        ("docs/accent.md", "scorers", summaries("scorer", SCORER_REGISTRY.own)),
        ("docs/accent-extraction.md", "extractors", summaries("extractor", EXTRACTOR_REGISTRY.own)),
        ("benchmarks/REPORT.md", "metrics", report()),
    ]


def write_pages() -> None:
    """Put the tables of README, docs/metrics.md, docs/accent.md and benchmarks/REPORT.md between their marks."""
    for page, name, text in pages():
        path = Path(__file__).parents[1] / page
        before, mark, rest = path.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
        after = rest.partition(f"<!-- end of {name} -->")[2]
        path.write_text(f"{before}{mark}{text}\n<!-- end of {name} -->{after}", encoding="utf-8")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?", default="")
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--pages", action="store_true", help="measure nothing; put the tables of the pages right")
    parser.add_argument("--metrics", default="")
    parser.add_argument("-O", "--option", action="append", default=[])
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scores", type=Path, default=Path("build/agreement"), help="folder for scores while it runs")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if arguments.pages:
        write_pages()
        return
    if arguments.data is None:
        print("not measured: name a graph and a judgement file, or a folder of them")
        return
    sets = read_sets(arguments.data)
    if not sets:
        print(f"not measured: there are no judgement files in {arguments.data}")
        return
    with_options = [option.partition(".")[0] for option in arguments.option]
    asked = [name for name in arguments.metrics.split(",") if name]
    names = asked or [
        metric.name
        for metric in describe_metrics()
        if "references" not in metric.needs and (metric.ready or metric.missing == "a graph" or metric.name in with_options)
    ]
    names.sort(key=lambda name: HEAVY.index(name) if name in HEAVY else -1)
    responses = sum(len(dataset.judged) for dataset in sets)
    measured: dict[str, Figures] = {}
    graph: list[dict[str, str]] = []
    for name in names:
        with open_reasoner(
            [name], metric_options([option for option in arguments.option if option.startswith(f"{name}.")], [name], None),
            Address(arguments.graph, None, None, None), "auto", quiet=True,
        ) as reasoner:  # fmt: skip
            [metric] = reasoner.metrics
            if reasoner.graph is not None:
                loads: list[Any] = list(reasoner.graph.manifest().loads)
                graph = [{"loader": load.loader, "file": Path(load.file).name, "sha256": load.sha256} for load in loads]
            scores = Scores(metric, arguments.scores)
            rows, drawn = [], []
            start = time.perf_counter()
            with Meter(name, responses, noun="responses", quiet=not sys.stderr.isatty()) as meter:
                for number, dataset in enumerate(sets):
                    values: list[float] = []
                    for start_of_batch in range(0, len(dataset.judged), BATCH):
                        batch = dataset.judged[start_of_batch : start_of_batch + BATCH]
                        values += scores.of(batch)
                        meter.add(len(batch))
                    row, within = figures_of(
                        np.array(values), dataset, number, arguments.resamples, arguments.seed, scores.signature
                    )
                    rows.append(row)
                    drawn.append(within)
            kept = f", {scores.read_again:,} of its scores kept from before" if scores.read_again else ""
            print(f"{name}: {time.perf_counter() - start:.0f} s{kept}", file=sys.stderr, flush=True)
        measured[name] = mean_of(rows, drawn)
    for kind in ("pearson", "spearman"):
        print("\n".join(table(measured, kind)), end="\n\n")
    print(f"{responses:,} ratings, {len(sets)} sets; {arguments.resamples:,} resamples over conversations, seed {arguments.seed}")
    if arguments.write:
        write(measured, sets, graph, arguments.resamples, arguments.seed)
        shipped_figures.cache_clear()
        write_pages()
        print(f"written to {FILE}, README.md, docs/metrics.md and benchmarks/REPORT.md")
    for path in [path for name in names for path in arguments.scores.glob(f"{name}.*.json")]:
        path.unlink()


if __name__ == "__main__":
    main()
