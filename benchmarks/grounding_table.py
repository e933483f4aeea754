"""How well grounding agrees with people, corrected for chance and not, per data set and system.

    python benchmarks/grounding_table.py GRAPH JUDGEMENTS... [--resamples N] [--seed N]

"Closeness" is what grounding was before: the mean over the response's concepts of 1 / (1 + hops to the nearest concept of the
history), within 6 hops. Both come from one reading of the texts. Intervals are 95% of a cluster bootstrap: conversations are
drawn with replacement, and both scores are correlated on the same draws. Responses without a score of grounding are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tacit.graph import open_graph, open_index
from tacit.graph.storage import file_sha256
from tacit.loaders import Judgement, read_judgements
from tacit.reasoning.base import Score
from tacit.reasoning.evaluation.agreement import conversations
from tacit.reasoning.evaluation.correlation import Correlation, correlate, formatted, interval
from tacit.reasoning.evaluation.resampling import correlations
from tacit.reasoning.metrics.grounding import Grounding
from tacit.reasoning.text.language import load_pipeline

Values = NDArray[np.float64]
FARTHEST = 6
BY_SYSTEM = ("dailydialog_EVAL", "empatheticdialogues")  # GRADE's file; DECO has a dozen systems with few responses each


def closeness(score: Score) -> float:
    """Return the mean of 1 / (1 + hops) over the concepts of a response, 0 without any."""
    values = [0.0 if piece.hops is None else 1 / (1 + piece.hops) for piece in score.evidence.pieces]
    return sum(values) / len(values) if values else 0.0


def row(name: str, judged: Sequence[Judgement], old: Values, new: Values, resamples: int, seed: int) -> str:
    """Return one line of the table."""
    ratings = np.array([judgement.rating for judgement in judged], np.float64)
    groups = conversations([(judgement.history, judgement.response) for judgement in judged])
    closeness_resamples, grounding_resamples = (
        correlations(values, ratings, groups=groups, resamples=resamples, seed=seed)[:, 0] for values in (old, new)
    )
    closeness_value, grounding_value = (correlate(values, ratings)[0].value or 0.0 for values in (old, new))
    cells = [
        formatted(Correlation(closeness_value, *interval(closeness_resamples))),
        formatted(Correlation(grounding_value, *interval(grounding_resamples))),
        formatted(Correlation(grounding_value - closeness_value, *interval(grounding_resamples - closeness_resamples))),
    ]
    return f"| {name} | {len(judged):,} ({groups.max() + 1:,}) | {' | '.join(cells)} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("judgements", nargs="+", type=Path)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    analyser = load_pipeline()
    lines = []
    with open_graph(arguments.graph) as store, open_index(store) as graph:
        metric = Grounding(graph, analyser)
        far = Grounding(graph, analyser, max_hops=FARTHEST, linker=metric.linker)
        print(f"signature {metric.signature}\n")
        for file in arguments.judgements:
            print(f"{file_sha256(file)}  {file.name}")
            judged = [judgement for judgement in read_judgements(file) if isinstance(judgement, Judgement)]
            items = [(judgement.history, judgement.response) for judgement in judged]
            old = np.array([closeness(score) for score in far.score_batch(items)])
            new = np.array([score.value for score in metric.score_batch(items)])
            names = [
                f"{judgement.dataset}, {judgement.system}"
                if judgement.system and judgement.dataset in BY_SYSTEM
                else judgement.dataset
                for judgement in judged
            ]
            for name in dict.fromkeys(names):
                indices = [index for index, group in enumerate(names) if group == name and np.isfinite(new[index])]
                selected = [judged[index] for index in indices]
                lines.append(row(name, selected, old[indices], new[indices], arguments.resamples, arguments.seed))
    print("\n| Pearson | responses (conversations) | closeness | grounding | difference |\n|---|---|---|---|---|")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
