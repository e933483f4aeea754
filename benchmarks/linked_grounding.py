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
    given = parser.parse_args()
    sets, analyser = read_sets(given.data), open_analyser()
    print(f"| Spearman | {' | '.join(one.name for one in sets)} | mean | difference |")
    print("|---" * (len(sets) + 3) + "|")
    concepts: list[np.ndarray] = []
    with open_graph(given.graph) as graph:
        linker = Linker(graph, analyser)
        for name, events in (("concepts", False), ("events = true", True)):
            metric = Grounding(graph, analyser, events=events, linker=linker)
            figures, drawn = [], []
            for place, one in enumerate(sets):
                scores = metric.score_checked([Item(row.history, row.response) for row in one.judged], False)
                values = np.array([score.value for score in scores])
                found, resampled = figures_of(values, one, place, given.resamples, given.seed, "")
                figures.append(found)
                drawn.append(resampled)
            concepts = concepts or drawn
            paired = np.mean([one[:, 1] - other[:, 1] for one, other in zip(drawn, concepts, strict=True)], axis=0)
            low, high = np.percentile(paired, [2.5, 97.5])
            difference = f"{paired.mean():+.4f} [{low:+.4f}, {high:+.4f}]" if events else ""
            cells = " | ".join(f"{one.spearman.value:.3f}" for one in figures)
            print(f"| {name} | {cells} | {mean_of(figures, drawn).spearman.value:.4f} | {difference} |", flush=True)


if __name__ == "__main__":
    main()
