"""How fast dialogues are scored: items a second with and without remembered analysis, beside the bare pipeline, and memory.

    python benchmarks/scoring.py GRAPH DIALOGUES.jsonl[.gz] [--limit N] [--json]

Every turn from the second on is an item, scored through the index against the turns before it. "Fresh" starts with an empty
memory; "remembered" scores the same items again; "bare pipeline" is spaCy alone over the distinct turns with the same components.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tacit.graph import open_graph, open_index
from tacit.reasoning import score_items
from tacit.reasoning.metrics.grounding import Grounding
from tacit.reasoning.text.language import load_pipeline
from tacit.reasoning.text.linking import Linker


def items(path: Path, limit: int | None) -> Iterator[tuple[str, list[str], str]]:
    """Yield the items of a dialogue file, at most ``limit`` of them."""
    count = 0
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            for turn in range(1, len(row["turns"])):
                if limit is not None and count >= limit:
                    return
                count += 1
                yield f"{row['id']}:{turn}", row["turns"][:turn], row["turns"][turn]


def resident_megabytes() -> float:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("dialogues", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    work = list(items(arguments.dialogues, arguments.limit))
    turns = list(dict.fromkeys(text for _, history, response in work for text in (*history, response)))
    result: dict[str, Any] = {"items": len(work), "distinct turns": len(turns)}
    start = time.perf_counter()
    analyser = load_pipeline()
    result["pipeline opens in ms"] = 1000 * (time.perf_counter() - start)

    with open_graph(arguments.graph) as store, open_index(store) as graph:
        graph.resolve(["dog"])
        graph.hop_distances(["/c/en/dog"], ["/c/en/bone"])
        seconds = {}
        start = time.perf_counter()
        words = sum(len(document) for document in analyser.nlp.pipe(turns, batch_size=256))
        seconds["bare pipeline"] = time.perf_counter() - start
        metric = Grounding(graph, analyser, linker=Linker(graph, analyser, cache_size=max(len(turns), 1)))
        for name in ("fresh", "remembered"):
            start = time.perf_counter()
            for _ in score_items(work, [metric]):
                pass
            seconds[name] = time.perf_counter() - start
        explained = work[:500]
        start = time.perf_counter()
        for _ in score_items(explained, [metric], explain=True):
            pass
        result["explained, items/s"] = len(explained) / (time.perf_counter() - start)
    result["words/s, bare pipeline"] = words / seconds["bare pipeline"]
    result["items/s, bare pipeline"] = len(work) / seconds["bare pipeline"]
    result["items/s, fresh"] = len(work) / seconds["fresh"]
    result["items/s, remembered"] = len(work) / seconds["remembered"]
    result["fresh / bare pipeline (time)"] = seconds["fresh"] / seconds["bare pipeline"]
    result["resident MB"] = resident_megabytes()
    if arguments.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:32} {value:12,.2f}" if isinstance(value, float) else f"{name:32} {value:12,}")


if __name__ == "__main__":
    main()
