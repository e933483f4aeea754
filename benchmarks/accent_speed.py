"""How fast ACCENT is: the nearest of 100,000 heads, and whole responses with the extractor rules and the tails of the graph.

python benchmarks/accent_speed.py [GRAPH DIALOGUES] [--heads N] [--responses N] [--stretches N] [--json]

The search is measured on made-up unit vectors of the spread that sentence embeddings have (a few directions hold most of
them), beside comparing all by one matrix product. GRAPH holds ATOMIC and DIALOGUES is a file as tacit score reads it; without
them the second part is left out. Its embeddings are made before the clock starts, as in a second run over like responses; what
nothing else is remembered from one stretch to the next. All on one thread; medians over stretches that take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tacit.reasoning.metrics.accent.tails.lookup import NearestVectors

WIDTH = 384
LIMIT = 80
THRESHOLD = 0.7


def made_vectors(count: int, seed: int) -> NDArray[np.float32]:
    """Unit vectors in clusters, whose spread falls from direction to direction."""
    random = np.random.default_rng(seed)
    spread = (1 + np.arange(WIDTH)) ** -0.5
    centres = random.normal(size=(2000, WIDTH)) * spread
    vectors = centres[random.integers(0, 2000, count)] + 0.7 * random.normal(size=(count, WIDTH)) * spread
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def medians(ways: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]], stretches: int) -> dict[str, float]:
    """Median seconds of each way, after one round to warm up; a way is what is made before the clock starts, and the work."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for stretch in range(stretches + 1):
        for name, (before, work) in ways.items():
            made = before()
            start = time.perf_counter()
            work(made)
            if stretch:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def search(heads: int, stretches: int) -> dict[str, float]:
    """Milliseconds a query, by the bounded search and by one matrix product with a partial sort."""
    vectors = made_vectors(heads + 256, seed=1)
    known, queries = vectors[:heads], vectors[heads:]
    nearest = NearestVectors(known)

    def whole(_: None) -> None:
        for start in range(0, len(queries), 32):
            cosines = queries[start : start + 32] @ known.T
            np.argpartition(-cosines, LIMIT, axis=1)

    def bounded(_: None) -> None:
        nearest.search(queries, LIMIT, THRESHOLD)

    taken = medians({"bounded search": (lambda: None, bounded), "matrix product": (lambda: None, whole)}, stretches)
    rows = {f"ms a query, {name}": 1000 * seconds / len(queries) for name, seconds in taken.items()}
    return {"heads": heads, **rows, "ratio": taken["matrix product"] / taken["bounded search"]}


def responses(graph: str, dialogues: str, count: int, stretches: int) -> dict[str, Any]:
    """Responses a second, by scorer, and the share that has a tuple."""
    from tacit.graph import open_graph
    from tacit.graph.item import Item
    from tacit.loaders import read_items
    from tacit.reasoning import load_metric
    from tacit.reasoning.metrics.accent.extractors.rules import RuleExtractor
    from tacit.reasoning.text.parsing import Parser, open_parser

    rows = (row for row in read_items(dialogues) if isinstance(row, Item))
    items = [(row.history, row.response) for row in islice(rows, count)]
    checked = [Item(*item) for item in items]
    shared = open_parser()
    found: dict[str, Any] = {"responses": len(items)}

    def extractor() -> RuleExtractor:
        return RuleExtractor(Parser(shared.nlp, shared.digest))

    with open_graph(graph) as store:

        def metric(name: str) -> Callable[[], Any]:
            return lambda: load_metric("accent", store, scorer=name, extractor=extractor())

        first = metric("compatibility")().score_batch(items)
        pieces = [score.evidence.pieces for score in first]
        found["share with a tuple"] = sum(piece[0].kind == "tuple" for piece in pieces) / len(items)
        found["tuples"] = sum(piece.kind == "tuple" for one in pieces for piece in one)
        ways: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
            "extraction alone": (extractor, lambda made: made.extract_batch(checked))
        }
        ways |= {name: (metric(name), lambda made: made.score_batch(items)) for name in ("compatibility", "blend")}
        taken = medians(ways, stretches)
    return {**found, **{f"responses/s, {name}": len(items) / seconds for name, seconds in taken.items()}}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?")
    parser.add_argument("dialogues", nargs="?")
    parser.add_argument("--heads", type=int, default=100_000)
    parser.add_argument("--responses", type=int, default=2000)
    parser.add_argument("--stretches", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        found: dict[str, Any] = {"search": search(arguments.heads, arguments.stretches)}
        if arguments.graph and arguments.dialogues and Path(arguments.dialogues).exists():
            import torch

            torch.set_num_threads(1)
            found["responses"] = responses(arguments.graph, arguments.dialogues, arguments.responses, arguments.stretches)
    if arguments.json:
        print(json.dumps(found))
        return
    for part, rows in found.items():
        print(f"\n{part}")
        for name, value in rows.items():
            print(f"  {name:28} {value:12,.3f}")


if __name__ == "__main__":
    main()
