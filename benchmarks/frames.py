"""How fast a data frame is scored beside a file of the same items.

    python benchmarks/frames.py GRAPH DIALOGUES.jsonl[.gz] [--limit 3000] [--metrics grounding] [--rounds 3] [--json]

Every turn from the second on is an item. ``score_file`` reads and writes Parquet in one process, ``score_frame`` takes a pandas
data frame and gives an Arrow table; both open the metrics, and the caches are cleared before each. Medians of ``--rounds`` rounds
that alternate; the ratio is of the rates, frame to file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from tacit.api import score_file, score_frame
from tacit.reasoning import Reasoner
from tacit.reasoning.lru_cache import clear_caches


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("dialogues", type=Path)
    parser.add_argument("--limit", type=int, default=3_000)
    parser.add_argument("--metrics", default="grounding")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    names = arguments.metrics.split(",")
    with gzip.open(arguments.dialogues, "rt") if arguments.dialogues.suffix == ".gz" else arguments.dialogues.open() as file:
        turns = [json.loads(line)["turns"] for line in file]
    rows = [{"history": dialogue[:index], "response": dialogue[index]} for dialogue in turns for index in range(1, len(dialogue))]
    frame = pd.DataFrame(rows[: arguments.limit])
    with TemporaryDirectory() as folder:
        source = Path(folder) / "in.parquet"
        pq.write_table(pa.table(frame), source)

        def by_file() -> None:
            score_file(source, Path(folder) / "out.parquet", arguments.graph, names)

        def by_frame() -> None:
            with Reasoner(arguments.graph, names) as reasoner:
                score_frame(frame, reasoner)

        seconds: dict[str, list[float]] = {"score_file": [], "score_frame": []}
        calls: list[Callable[[], None]] = [by_file, by_frame]
        for _ in range(arguments.rounds + 1):  # the first round warms up
            for name, call in zip(seconds, calls, strict=True):
                clear_caches()
                start = time.perf_counter()
                call()
                seconds[name].append(time.perf_counter() - start)
    rates = {name: len(frame) / median(times[1:]) for name, times in seconds.items()}
    result = {"items": len(frame), **{name: round(rate, 1) for name, rate in rates.items()},
             "ratio": round(rates["score_frame"] / rates["score_file"], 3)}  # fmt: skip
    print(json.dumps(result) if arguments.json else "\n".join(f"{name:12} {value:>10,}" for name, value in result.items()))


if __name__ == "__main__":
    main()
