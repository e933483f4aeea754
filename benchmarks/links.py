"""How long ``tacit link`` takes and how fast questions across concepts and events are, on one graph.

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
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return f"{1000 * statistics.median(seconds):,.1f} ms", result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    with open_graph(given.graph, progress=False) as graph:
        graph.open_index()
        for run in ("first run", "second run"):
            begun, used = time.perf_counter(), time.process_time()
            linked = link_events(graph)
            wall, processor = time.perf_counter() - begun, time.process_time() - used
            print(f"{run}: {wall:.1f} s, {processor:.1f} s of processor time; {linked.counts}")
        print(linked.manifest.entry)
        begun = time.perf_counter()
        index = open_linked_index(graph)
        size = sum(file.stat().st_size for file in index.directory.iterdir())
        print(f"linked index: {time.perf_counter() - begun:.1f} s, {size / 1e6:.1f} MB, {index.counts()[:3]}")
        for name, parameters in QUERIES.items():
            text = query(f"explore/{name}").text
            took, result = timed(lambda text=text, held=parameters: graph.run(text, held, limit=10_000), given.repeat)  # type: ignore[misc]
            print(f"{name} {parameters}: {took}, {len(result.rows):,} rows")
        took, found = timed(lambda: graph.concept_tails("dog"), given.repeat)
        print(f"tails of dog: {took}, {len(found):,}")
        for source, target in ENDS:
            for engine, held in (("index", graph), ("store", linking_store(store_of(graph)))):
                took, found = timed(lambda held=held, ends=(source, target): held.linked_paths(*ends), given.repeat)  # type: ignore[misc]
                print(f"paths from {source} to {target}, {engine}: {took}, {len(found)}, {found[0].text() if found else ''}")


if __name__ == "__main__":
    main()
