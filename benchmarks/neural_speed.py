"""Speed of coherence and GRADE compared with the bare sentence encoder on the same texts, and of GRADE's graph part alone.

    python benchmarks/neural_speed.py [DIALOGUES.jsonl[.gz]] [--graph GRAPH --grade FOLDER]
        [--checkpoint FOLDER] [--items N] [--rounds N] [--json]

Every turn from the second on is an item. A metric starts with empty caches and scores all items at once, and in a stream of 1,024
at a time as the command line does; the bare encoder, tacit's own and that of sentence-transformers, reads each distinct turn of
the items once. "Graph part" goes from keywords to tensors: dialogue graphs with their hops, concepts' rows, padding; keywords of
an utterance and rows of a concept are cached, as in any run over dialogues. Vectors of concepts are on the disk. Processor time
on one thread; ratios are medians over rounds, in each of which everything runs once. Without --grade GRADE is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from tacit.graph import open_graph, open_index
from tacit.graph.item import Item
from tacit.loaders import ItemError, read_items
from tacit.reasoning import load_metric, lru_cache
from tacit.reasoning.base import Metric
from tacit.reasoning.metrics.coherence.checkpoint import open_checkpoint, open_encoder_of
from tacit.reasoning.metrics.grade.metric import Grade
from tacit.reasoning.metrics.grade.network import graph_tensors
from tacit.reasoning.models.encoder import TextEncoder, open_encoder
from tacit.reasoning.scorer import score_items
from threadpoolctl import threadpool_limits

DATA = Path(os.environ.get("TACIT_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
TURNS = 2

Work = Callable[[], object]


def seconds(work: Work) -> float:
    """Return the processor time of one call; on one thread it is the wall time on an idle machine."""
    start = time.process_time()
    work()
    return time.process_time() - start


def library_encoder(encoder: TextEncoder) -> Callable[[list[str]], object] | None:
    """Return the function by which sentence-transformers encodes with the same model; None where it is not installed."""
    if find_spec("sentence_transformers") is None:
        return None
    from sentence_transformers import SentenceTransformer

    library = SentenceTransformer(str(encoder.files.folder), device="cpu", trust_remote_code=False)
    return partial(library.encode, show_progress_bar=False)


def stream(metric: Metric, items: list[Item]) -> None:
    """Score as the command line does."""
    for _ in score_items(items, [metric]):
        pass


def graph_part(metric: Grade, items: list[Item]) -> Work:
    """Return the work from keywords to tensors, after one run that fills its caches."""

    def work() -> None:
        for start in range(0, len(items), 128):
            graphs = [graph for _, graph in metric.graphs(items[start : start + 128])]
            graph_tensors(graphs, metric.weights, metric.around.rows)

    work()
    return work


def measure(metrics: dict[str, Metric], encoder: TextEncoder, items: list[Item], rounds: int) -> dict[str, float]:
    """Return items a second of everything, and ratios to the bare encoder."""
    texts = list(dict.fromkeys(text for item in items for text in (*item.history[-TURNS:], item.response)))
    works: dict[str, Work] = {"bare encoder": partial(encoder.pooled, texts)}
    library = library_encoder(encoder)
    if library is not None:
        works["bare encoder of sentence-transformers"] = partial(library, texts)
    for name, metric in metrics.items():
        works[name] = partial(metric.score_batch, items)
        works[f"{name}, in a stream"] = partial(stream, metric, items)
        metric.score_batch(items)  # vectors of concepts on the disk, kernels compiled
    times_of: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            lru_cache.clear_caches()
            times_of[name].append(seconds(work))
    result: dict[str, float] = {"items": len(items), "distinct turns": len(texts)}
    for name, times in times_of.items():
        result[f"{name}, items/s"] = len(items) / statistics.median(times)
    for name in list(works)[1:]:
        pairs = zip(times_of["bare encoder"], times_of[name], strict=True)
        result[f"{name} / bare encoder"] = statistics.median(bare / ours for bare, ours in pairs)
    for metric in metrics.values():
        if isinstance(metric, Grade):
            part = graph_part(metric, items)
            result["graph part of grade, items/s"] = len(items) / statistics.median(seconds(part) for _ in range(rounds))
    return result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dialogues", nargs="?", type=Path, default=DATA / "dialogues" / "dailydialog-test.jsonl.gz")
    parser.add_argument("--graph")
    parser.add_argument("--grade", type=Path, help="a folder that tacit train grade wrote")
    parser.add_argument("--checkpoint", type=Path, help="a folder that tacit train coherence wrote; else the one that ships")
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not arguments.dialogues.exists():
        print(f"the neural metrics are not measured: there is no {arguments.dialogues}; name a dialogue file")
        return
    if (arguments.graph is None) != (arguments.grade is None):
        parser.error("--graph and --grade go together")
    import torch

    torch.set_num_threads(1)
    rows = (row for row in read_items(arguments.dialogues) if not isinstance(row, ItemError))
    items = [Item(row.history, row.response) for row in islice(rows, arguments.items)]
    checkpoint = open_checkpoint(arguments.checkpoint)
    encoder = open_encoder_of(checkpoint, None, device="cpu")
    with threadpool_limits(1), ExitStack() as opened:
        metrics = {"coherence": load_metric("coherence", checkpoint=checkpoint, device="cpu")}
        if arguments.grade is not None:
            graph = opened.enter_context(open_index(opened.enter_context(open_graph(arguments.graph))))
            metrics["grade"] = load_metric("grade", graph, model=arguments.grade, encoder=open_encoder(device="cpu"))
        result = measure(metrics, encoder, items, arguments.rounds)
    if arguments.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:56} {value:>10,.{2 if ' / ' in name else 0}f}")


if __name__ == "__main__":
    main()
