"""How fast ACCENT is: whole responses with the extractor rules and the tails of the graph.

python benchmarks/accent_speed.py GRAPH DIALOGUES [--responses N] [--stretches N] [--json]

GRAPH holds ATOMIC, and DIALOGUES is a file as tacit score reads it. Embeddings are computed before the clock starts; no other
result is cached from one round to the next. One thread; medians over rounds in which the scorers take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from itertools import islice
from typing import Any


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
    parser.add_argument("graph")
    parser.add_argument("dialogues")
    parser.add_argument("--responses", type=int, default=2000)
    parser.add_argument("--stretches", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    with threadpool_limits(1):
        found = responses(arguments.graph, arguments.dialogues, arguments.responses, arguments.stretches)
    if arguments.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name:28} {value:12,.3f}")


if __name__ == "__main__":
    main()
