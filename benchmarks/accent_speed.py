"""Speed of ACCENT on whole responses, with the extractor ``rules`` and the tails of the graph.

python benchmarks/accent_speed.py GRAPH DIALOGUES [--responses N] [--stretches N] [--json]

GRAPH has ATOMIC, and DIALOGUES is a file as tacit score reads it. Embeddings are computed before the measurement; no other
result is cached between rounds. One thread; medians over rounds, in each of which every scorer runs once.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from itertools import islice
from typing import Any


def medians(tasks: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]], stretches: int) -> dict[str, float]:
    """Return the median seconds of each task, after one round to warm up; a task is a preparation, not timed, and the work."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for round_ in range(stretches + 1):
        for name, (prepare, work) in tasks.items():
            prepared = prepare()
            start = time.perf_counter()
            work(prepared)
            if round_:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def responses(graph: str, dialogues: str, count: int, stretches: int) -> dict[str, Any]:
    """Return the responses a second by scorer, and the share of responses with a tuple."""
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
    result: dict[str, Any] = {"responses": len(items)}

    def extractor() -> RuleExtractor:
        return RuleExtractor(Parser(shared.nlp, shared.digest))

    with open_graph(graph) as store:

        def metric(name: str) -> Callable[[], Any]:
            return lambda: load_metric("accent", store, scorer=name, extractor=extractor())

        scores = metric("compatibility")().score_batch(items)
        pieces = [score.evidence.pieces for score in scores]
        result["share with a tuple"] = sum(piece[0].kind == "tuple" for piece in pieces) / len(items)
        result["tuples"] = sum(piece.kind == "tuple" for score_pieces in pieces for piece in score_pieces)
        tasks: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
            "extraction alone": (extractor, lambda prepared: prepared.extract_batch(checked))
        }
        tasks |= {name: (metric(name), lambda prepared: prepared.score_batch(items)) for name in ("compatibility", "blend")}
        times = medians(tasks, stretches)
    return {**result, **{f"responses/s, {name}": len(items) / seconds for name, seconds in times.items()}}


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
        result = responses(arguments.graph, arguments.dialogues, arguments.responses, arguments.stretches)
    if arguments.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:28} {value:12,.3f}")


if __name__ == "__main__":
    main()
