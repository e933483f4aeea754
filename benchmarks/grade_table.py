"""How far GRADE agrees with people: Pearson and Spearman with intervals, by data set and system, beside plain similarity.

    python benchmarks/grade_table.py GRAPH JUDGEMENTS... --model FOLDER... [--resamples N] [--json]

Every checkpoint named is a metric; ``similarity`` is the cosine of the sentence encoder's embeddings of the last
turn and the response. A set's mean is that of Pearson and Spearman over its systems. Numbers of the paper (Huang et al., EMNLP
2020, table 1, mean over systems and both correlations): GRADE .294 on DailyDialog and .298 on EmpatheticDialogues, BERT-RUBER
.184 and -.080, BLEURT .284 and .090.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from tacit.graph import open_graph, open_index
from tacit.loaders import Judgement, read_judgements
from tacit.reasoning.evaluation import Agreement, Judged, evaluate
from tacit.reasoning.evaluation.agreement import conversations
from tacit.reasoning.evaluation.correlation import formatted
from tacit.reasoning.metrics.grade.metric import make
from tacit.reasoning.models.encoder import TextEncoder, open_encoder


def similarity(encoder: TextEncoder, rows: list[Judgement]) -> list[float]:
    """Cosine of the last turn and the response, 0 without a history."""
    last_turns = encoder.encode([row.history[-1] if row.history else "" for row in rows])
    responses = encoder.encode([row.response for row in rows])
    values = (last_turns * responses).sum(axis=1)
    return [float(value) if row.history else 0.0 for value, row in zip(values, rows, strict=True)]


def mean_of(rows: list[Agreement], metric: str, dataset: str) -> float | None:
    """Mean of Pearson and Spearman over a set's systems, or over the whole set when it names none."""
    of_set = [row for row in rows if row.metric == metric and row.dataset == dataset]
    systems = [row for row in of_set if row.system is not None] or of_set
    values = [
        correlation.value for row in systems for correlation in (row.pearson, row.spearman) if correlation.value is not None
    ]
    return statistics.fmean(values) if values else None


def main() -> None:
    """Score, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("judgements", nargs="+")
    parser.add_argument("--model", nargs="+", type=Path, required=True)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    judged = [row for file in arguments.judgements for row in read_judgements(file) if isinstance(row, Judgement)]
    encoder = open_encoder()
    names = ["similarity", *(path.name for path in arguments.model)]
    scores: dict[str, Any] = {"similarity": similarity(encoder, judged)}
    with open_graph(arguments.graph) as store, open_index(store) as index:
        for path in arguments.model:
            metric = make(index, model=path, encoder=encoder)
            scores[path.name] = [score.value for score in metric.score_batch([(row.history, row.response) for row in judged])]
    talks = conversations([(row.history, row.response) for row in judged]).tolist()
    items = [
        Judged(row.dataset, row.system, row.rating, {name: float(scores[name][number]) for name in names}, talks[number])
        for number, row in enumerate(judged)
    ]
    rows = evaluate(items, names, resamples=arguments.resamples)
    sets = list(dict.fromkeys(row.dataset for row in judged))
    if arguments.json:
        means = {name: {dataset: mean_of(rows, name, dataset) for dataset in sets} for name in names}
        print(json.dumps({"means": means, "rows": [row.to_dict() for row in rows]}, default=float))
        return
    print("| | " + " | ".join(sets) + " |\n|---" * 1 + "|" + "---|" * len(sets))
    for name in names:
        means_of = [mean_of(rows, name, dataset) for dataset in sets]
        print(f"| {name} | " + " | ".join("–" if value is None else f"{value:.3f}" for value in means_of) + " |")
    print("\n| metric | data set | system | n | Pearson | Spearman |\n|---|---|---|---|---|---|")
    for row in rows:
        cells = (
            row.metric,
            row.dataset,
            row.system or "all",
            row.n,
            formatted(row.pearson) or "–",
            formatted(row.spearman) or "–",
        )
        print("| " + " | ".join(map(str, cells)) + " |")
    for name in names[1:]:
        spread = float(np.nanstd(scores[name]))
        print(
            f"\n{name}: mean {float(np.nanmean(scores[name])):.3f}, standard deviation {spread:.3f} over"
            f" {int(np.isfinite(scores[name]).sum()):,} of {len(judged):,} responses, which it can judge"
        )


if __name__ == "__main__":
    main()
