"""Time of ``tacit link``, and of queries that cross between concepts and events, on one graph.

    python benchmarks/links.py GRAPH [--repeat N]

GRAPH is a folder or a server's URL; it is linked. Prints the time of a first run (where the graph had no links) and of a second
one, the numbers of nodes and edges, the size of the linked index, and the median time of each query of the cookbook that crosses
the border, of the tails of a concept and of linked paths, from the index and from the store.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from tacit.cypher import query
from tacit.graph import open_graph
from tacit.graph.index.open import open_linked_index
from tacit.graph.open import linking_store, store_of
from tacit.reasoning.event_links import link_events

QUERIES: dict[str, dict[str, Any]] = {
    "wants_after_mentioning": {"words": ["lose", "wallet"]},
    "feelings_about": {"concept": "dog"},
    "hindrances_of": {"goal": "money"},
    "events_mentioning": {"concept": "dog"},
    "next_events": {"event": "PersonX finds a dog"},
}
ENDS = [("dog", "satisfied"), ("wallet", "police"), ("umbrella", "PersonX is happy")]


def timed(work: Callable[[], Any], repeat: int) -> tuple[str, Any]:
    """Return the median time of ``work`` in words, after one call that is not counted, and its result."""
    result = work()
    seconds = []
    for _ in range(repeat):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return f"{1000 * statistics.median(seconds):,.1f} ms", result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    with open_graph(arguments.graph, progress=False) as graph:
        graph.open_index()
        for run in ("first run", "second run"):
            started, processor_started = time.perf_counter(), time.process_time()
            linked = link_events(graph)
            wall, processor = time.perf_counter() - started, time.process_time() - processor_started
            print(f"{run}: {wall:.1f} s, {processor:.1f} s of processor time; {linked.counts}")
        print(linked.manifest.entry)
        started = time.perf_counter()
        index = open_linked_index(graph)
        size = sum(file.stat().st_size for file in index.directory.iterdir())
        print(f"linked index: {time.perf_counter() - started:.1f} s, {size / 1e6:.1f} MB, {index.counts()[:3]}")
        for name, parameters in QUERIES.items():
            text = query(f"explore/{name}").text
            duration, result = timed(partial(graph.run, text, parameters, limit=10_000), arguments.repeat)
            print(f"{name} {parameters}: {duration}, {len(result.rows):,} rows")
        duration, result = timed(partial(graph.concept_tails, "dog"), arguments.repeat)
        print(f"tails of dog: {duration}, {len(result):,}")
        for source, target in ENDS:
            for engine_name, engine in (("index", graph), ("store", linking_store(store_of(graph)))):
                duration, result = timed(partial(engine.linked_paths, source, target), arguments.repeat)
                first = result[0].text() if result else ""
                print(f"paths from {source} to {target}, {engine_name}: {duration}, {len(result)}, {first}")


if __name__ == "__main__":
    main()
