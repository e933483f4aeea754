"""How long the tails of one event take, by the query for one node and by the query for many nodes with one of them.

    python benchmarks/tails.py GRAPH [--events N] [--repeat N]

GRAPH is a folder or a server's URL with ATOMIC-2020. Events are spread evenly over those of the graph. Prints medians over the
events of the processor time of this process and of the wall time, and the ratio of the two queries.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from tacit.graph import open_graph
from tacit.graph.protocol import LinksEvents, TailsInBulk
from tacit.graph.relations import relations_of


def medians(work: Callable[[str], Any], events: list[str], repeat: int) -> tuple[float, float]:
    """Return the median processor and wall time of a call in milliseconds, after one call that is not counted."""
    work(events[0])
    processor, wall = [], []
    for event in events * repeat:
        started, processor_started = time.perf_counter(), time.process_time()
        work(event)
        wall.append(time.perf_counter() - started)
        processor.append(time.process_time() - processor_started)
    return 1000 * statistics.median(processor), 1000 * statistics.median(wall)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("--events", type=int, default=60)
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    with open_graph(arguments.graph, engine="store") as store:
        if not (isinstance(store, TailsInBulk) and isinstance(store, LinksEvents)):
            raise SystemExit(f"not measured: {arguments.graph} does not answer for many events at once")
        bulk, relations = store, sorted(relations_of(store))
        all_events = sorted(store.events())
        events = all_events[:: max(1, len(all_events) // arguments.events)][: arguments.events]
        for event in events:
            if sorted(store.tails(event)) != sorted(bulk.tails_many([event], relations)):
                raise SystemExit(f"the two queries differ on {event}")
        rows = {
            "one node": medians(store.tails, events, arguments.repeat),
            "many nodes, given one": medians(lambda event: bulk.tails_many([event], relations), events, arguments.repeat),
        }
    print(f"{len(events)} of {len(all_events):,} events, {arguments.repeat} calls each\n")
    print("| query | ms of processor time | ms |\n|---|---|---|")
    for name, (processor, wall) in rows.items():
        print(f"| {name} | {processor:.2f} | {wall:.2f} |")
    (_, single), (_, in_bulk) = rows.values()
    print(f"\nthe query for one node takes {single / in_bulk:.4f} of the time")


if __name__ == "__main__":
    main()
