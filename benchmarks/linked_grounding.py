"""Grounding with distances through events and links, beside grounding over concepts alone: figures of the report.

    python benchmarks/linked_grounding.py GRAPH DATA_DIR [--resamples N] [--seed N]

GRAPH is a graph that ``tacit link`` linked, DATA_DIR a folder of judgement files. Prints the Spearman correlation on each set,
the mean, and the difference of the means with a paired interval over conversations.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from agreement import figures_of, mean_of, read_sets
from tacit.graph import open_graph
from tacit.graph.item import Item
from tacit.reasoning.metrics.grounding import Grounding
from tacit.reasoning.text.language import open_analyser
from tacit.reasoning.text.linking import Linker


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("data", type=Path)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sets, analyser = read_sets(arguments.data), open_analyser()
    print(f"| Spearman | {' | '.join(judgement_set.name for judgement_set in sets)} | mean | difference |")
    print("|---" * (len(sets) + 3) + "|")
    concepts: list[np.ndarray] = []
    with open_graph(arguments.graph) as graph:
        linker = Linker(graph, analyser)
        for name, events in (("concepts", False), ("events = true", True)):
            metric = Grounding(graph, analyser, events=events, linker=linker)
            figures, resamples = [], []
            for index, judgement_set in enumerate(sets):
                scores = metric.score_checked([Item(row.history, row.response) for row in judgement_set.judged], False)
                values = np.array([score.value for score in scores])
                set_figures, resampled = figures_of(values, judgement_set, index, arguments.resamples, arguments.seed, "")
                figures.append(set_figures)
                resamples.append(resampled)
            concepts = concepts or resamples
            differences = np.mean(
                [resampled[:, 1] - base[:, 1] for resampled, base in zip(resamples, concepts, strict=True)], axis=0
            )
            low, high = np.percentile(differences, [2.5, 97.5])
            difference = f"{differences.mean():+.4f} [{low:+.4f}, {high:+.4f}]" if events else ""
            cells = " | ".join(f"{entry.spearman.value:.3f}" for entry in figures)
            print(f"| {name} | {cells} | {mean_of(figures, resamples).spearman.value:.4f} | {difference} |", flush=True)


if __name__ == "__main__":
    main()
