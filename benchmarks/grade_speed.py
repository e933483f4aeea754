"""How fast GRADE is: its graph part alone, and scoring beside the bare sentence encoder on the same texts.

    python benchmarks/grade_speed.py GRAPH DIALOGUES.jsonl[.gz] --model FOLDER [--items N] [--rounds N] [--vector-cache FOLDER]

"Graph part" goes from keywords to tensors: dialogue graphs with their hops, concepts' rows, padding; keywords of an utterance are
remembered, as in any run over dialogues. "Scoring" starts with nothing remembered: words, keywords, graphs, texts, network; the
bare encoder reads the same distinct turns. Medians over rounds of processor time on one thread.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacit.graph import open_graph, open_index
from tacit.loaders import ItemError, read_items
from tacit.reasoning.encoder import open_encoder
from tacit.reasoning.grade.keywords import KeywordFinder
from tacit.reasoning.grade.metric import POS, Grade, make
from tacit.reasoning.grade.neighbourhood import Neighbourhood
from tacit.reasoning.grade.tensors import context_of, graph_tensors
from tacit.reasoning.linking import Linker
from tacit.reasoning.score import CheckedItem, check_item


def seconds(work: Callable[[], object]) -> float:
    """Processor time of the work, once: on one thread, what the clock would say on a machine that does nothing else."""
    start = time.process_time()
    work()
    return time.process_time() - start


def forget(metric: Grade) -> None:
    """Empty the memories of keywords, words, rows and texts; vectors of concepts on disk stay."""
    analyser, config = metric.finder.linker.analyser, metric.config
    linker = Linker(metric.graph, analyser, pos=POS, max_words=1)
    metric.finder = KeywordFinder(linker, metric.checkpoint.idf, threshold=config.threshold, most=config.most)
    metric.around = Neighbourhood(metric.graph, metric.around.vectors, limits=config.limits, by=config.neighbours_by)
    metric.encoder._cache = type(metric.encoder._cache)(metric.encoder._cache.size)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("dialogues")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--vector-cache", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    rows = (row for row in read_items(arguments.dialogues) if not isinstance(row, ItemError))
    items = [check_item(row.history, row.response) for row, _ in zip(rows, range(arguments.items), strict=False)]
    with open_graph(arguments.graph) as store, open_index(store) as index:
        metric = make(index, model=arguments.model, encoder=open_encoder(), vector_cache=arguments.vector_cache)
        result = measure(metric, items, arguments.rounds)
    if arguments.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:46} {value:>10,.2f}" if isinstance(value, float) else f"{name:46} {value:>10,}")


def measure(metric: Grade, items: list[CheckedItem], rounds: int) -> dict[str, Any]:
    """Return items, distinct turns, and the medians."""
    turns = list(
        dict.fromkeys(text for item in items for text in (*context_of(item.history, metric.config.turns), item.response))
    )
    metric.score_checked(items, explain=False)  # vectors of concepts on disk, kernels compiled

    def to_tensors() -> None:
        for start in range(0, len(items), 128):
            graphs = [graph for _, graph in metric.graphs(items[start : start + 128])]
            graph_tensors(graphs, metric.weights, metric.around.rows)

    part, whole, bare = [], [], []
    for _ in range(rounds):
        part.append(seconds(to_tensors))
        forget(metric)
        bare.append(seconds(lambda: metric.encoder.pooled(turns)))
        forget(metric)
        whole.append(seconds(lambda: metric.score_checked(items, explain=False)))
    rates = {name: len(items) / statistics.median(times) for name, times in (("part", part), ("whole", whole), ("bare", bare))}
    return {
        "items": len(items), "distinct turns": len(turns), "graph part, items a second": rates["part"],
        "scoring, items a second": rates["whole"], "bare encoder on its turns, items a second": rates["bare"],
        "scoring over bare encoder": rates["whole"] / rates["bare"],
    }  # fmt: skip


if __name__ == "__main__":
    main()
