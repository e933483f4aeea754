"""Grounding with distances through events and links, beside grounding over concepts: the figures of the report.

    python benchmarks/linked_grounding.py GRAPH DATA_DIR [--resamples N] [--seed N]

GRAPH is a graph that ``tacit link`` linked, DATA_DIR a folder of judgement files. Concepts are found by the same linker in every
variant; distances, and the background of chance, are those of the graph of concepts, or of concepts, events and links. Prints the
mean Spearman correlation over the sets, and its difference to grounding over concepts with a paired interval over conversations.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from agreement import figures_of, mean_of, read_sets
from tacit.graph import Graph, KnowledgeGraph, open_graph
from tacit.graph.index.build import build_from_rows
from tacit.graph.index.open import open_index_directory
from tacit.graph.item import Item
from tacit.graph.links import Link
from tacit.reasoning.metrics.grounding import FARTHEST, Grounding
from tacit.reasoning.text.language import open_analyser
from tacit.reasoning.text.linking import Linker

VARIANTS: dict[str, tuple[int, Callable[[Link], bool] | None]] = {
    "concepts": (FARTHEST, None),
    "all links": (FARTHEST, lambda _: True),
    "all links, 2 hops": (2, lambda _: True),
    "all links, 4 hops": (4, lambda _: True),
    "mentions": (FARTHEST, lambda link: link.relation == "Mentions"),
    "subjects, objects, obliques": (FARTHEST, lambda link: link.role in ("subject", "object", "oblique")),
}
"""For each variant ``max_hops``, and which links are in the graph; None: neither links nor events."""


def joined(graph: Graph, keep: Callable[[Link], bool], folder: Path) -> KnowledgeGraph:
    """Return an index in which events are concepts, so that every assertion and the links that ``keep`` takes are in it."""

    def node(uri: str) -> str:
        return f"/c/event{uri[2:]}" if uri.startswith("/e/") else uri

    rows = [*graph.assertions(), *(link.assertion() for link in graph.links() if keep(link))]
    return open_index_directory(build_from_rows((row._replace(head=node(row.head), tail=node(row.tail)) for row in rows), folder))


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
    first: list[np.ndarray] = []
    with open_graph(given.graph) as graph, tempfile.TemporaryDirectory() as folder:
        for number, (name, (hops, keep)) in enumerate(VARIANTS.items()):
            over = graph if keep is None else joined(graph, keep, Path(folder) / str(number))
            metric = Grounding(over, analyser, max_hops=hops, linker=Linker(graph, analyser))
            figures, drawn = [], []
            for place, one in enumerate(sets):
                scores = metric.score_checked([Item(row.history, row.response) for row in one.judged], False)
                values = np.array([score.value for score in scores])
                found, resampled = figures_of(values, one, place, given.resamples, given.seed, "")
                figures.append(found)
                drawn.append(resampled)
            first = first or drawn
            paired = np.mean([one[:, 1] - other[:, 1] for one, other in zip(drawn, first, strict=True)], axis=0)
            low, high = np.percentile(paired, [2.5, 97.5])
            difference = "" if drawn is first else f"{paired.mean():+.4f} [{low:+.4f}, {high:+.4f}]"
            cells = " | ".join(f"{one.spearman.value:.3f}" for one in figures)
            print(f"| {name} | {cells} | {mean_of(figures, drawn).spearman.value:.4f} | {difference} |", flush=True)


if __name__ == "__main__":
    main()
