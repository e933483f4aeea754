"""Hop distances a second: the index beside the embedded engine, Neo4j and igraph, on real ConceptNet and on heavy hubs.

    python benchmarks/hops.py [--graphs real,synthetic] [--nodes 1170000 --edges 3400000] [--seconds 8] [--neo4j URL | --no-neo4j]
    python benchmarks/hops.py --growth

Pairs are drawn by degree, as the words of dialogues are; distances go up to six hops. "pairs" asks for a list of pairs, "10 x 10"
for all distances between two sets of ten, as scoring does. A measurement ends after about ``--seconds``; each rate is the median
of five stretches, ratios are to the fastest batch of a Cypher engine. Before anything is timed, the engines must give equal
answers on a sample. A second table asks for the ten best neighbours at two hops and counts two-hop triples between two sets of
ten. networkit is measured where it is installed (``pip install networkit``). Neo4j is a server of the benchmark's own, started by
the script that TACIT_NEO4J_SERVER names, or the one at ``--neo4j`` (or TACIT_BENCH_NEO4J) if it has the same graph.

``--growth`` measures the index alone, on synthetic graphs of a tenth, three tenths and all of ``--nodes`` and ``--edges``.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from support.engines import Igraph, Networkit, Work, batches, one_by_one, unwound
from support.graphs import REPOSITORY, named_graph, neo4j_holding, neo4j_script, say
from synthetic_graph import EDGES, NODES, synthetic_rows
from tacit.graph import GraphError, KnowledgeGraph, open_graph, open_index
from tacit.graph.index import IndexGraph, build_from_rows, open_index_directory

STRETCHES = 5
LISTED = 100_000  # pairs handed to the index at a time
GROWTH = (0.1, 0.3, 1)
UNWOUND = (200, 1_000, 5_000)  # pairs in one UNWIND

Rates = tuple[str, tuple[float | None, float | None]]


class Clock:
    """Measures rates, about ``seconds`` each."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds / STRETCHES

    def rate(self, ask: Callable[[Any], Any], questions: Sequence[Any], worth: int) -> float:
        """Return answers a second, the median of five stretches, when each question gives ``worth`` answers."""
        ask(questions[0])
        rates, index = [], 1
        for _ in range(STRETCHES):
            started, answered = time.perf_counter(), 0
            while not answered or time.perf_counter() - started < self._seconds:
                ask(questions[index % len(questions)])
                index += 1
                answered += worth
            rates.append(answered / (time.perf_counter() - started))
        return median(rates)


def check(name: str, got: Sequence[Any], want: Sequence[Any]) -> None:
    """Stop when an engine's answers differ from the index's."""
    if list(got) != list(want)[: len(got)]:
        raise SystemExit(f"{name} and the index disagree: {list(got)} against {list(want)[: len(got)]}")


def show(title: str, columns: tuple[str, str], rows: Sequence[Rates], base: str) -> None:
    """Print rates and how many times the rate of the row ``base`` they are."""
    by_name = dict(rows)
    print(f"\n{title}\n{'':36}{columns[0]:>16}{'ratio':>10}{columns[1]:>22}{'ratio':>10}")
    for name, rates in rows:
        cells = f"{name:36}"
        for column, (rate, width) in enumerate(zip(rates, (16, 22), strict=True)):
            against = by_name[base][column] or by_name[base][0]
            number = (
                "not run" if rate is None else "failed" if rate != rate else f"{rate:,.0f}" if rate >= 100 else f"{rate:,.1f}"
            )
            ratio = rate / against if rate and against else float("nan")
            cells += f"{number:>{width}}{'' if ratio != ratio else f'{ratio:,.1f}' if ratio >= 1 else f'{ratio:.3f}':>10}"
        print(cells)
    print(f"ratio: to {base}", flush=True)


def distances(index: IndexGraph, embedded: KnowledgeGraph, server: KnowledgeGraph | None, work: Work, clock: Clock) -> None:
    """Compare and time hop distances."""
    engine, sample = Igraph(index), work.pairs[:300]
    sources, targets = zip(*sample, strict=True)
    expected = index.hop_pairs(sources, targets).tolist()
    check("igraph", engine.pairs(sample[:100]), expected)
    check("embedded", one_by_one(embedded, sample[:4]), expected)
    check("the index asked one by one", one_by_one(index, sample), expected)
    if server:
        check("Neo4j", unwound(server, sample[:60]), expected)

    def numbers(batch: Any) -> Any:
        return index.hop_pairs_of_ids(*batch)

    def uris(batch: Any) -> Any:
        return index.hop_pairs(*batch)

    def matrix_of_numbers(sets: Any) -> Any:
        return index.hop_distances_of_ids(*sets)

    def matrix(sets: Any) -> Any:
        return index.hop_distances(*sets)

    labelled: list[Rates] = []
    try:
        landmarks = Networkit(index)
    except ImportError:
        say("networkit is not measured, since it is not installed")
    else:
        check("networkit", landmarks.pairs(work.numbers[:300]), expected)
        labelled = [("networkit, landmark labels", (clock.rate(landmarks.pairs, batches(work.numbers, 1000), 1000), None))]

    single = batches(work.pairs, 1)
    columns = [np.ascontiguousarray(batch.T) for batch in batches(work.numbers, LISTED)]
    listed = [tuple(zip(*batch, strict=True)) for batch in batches(work.pairs, LISTED)]
    matrices = [tuple(map(index.ids, sets)) for sets in work.sets]
    rows: list[Rates] = [
        (
            "index, numbers",
            (clock.rate(numbers, columns, LISTED), clock.rate(matrix_of_numbers, matrices, 100)),
        ),
        ("index, URIs", (clock.rate(uris, listed, LISTED), clock.rate(matrix, work.sets, 100))),
        *labelled,
        ("igraph", (clock.rate(engine.pairs, single, 1), clock.rate(engine.matrix, work.sets, 100))),
        ("embedded, SHORTEST", (clock.rate(lambda batch: one_by_one(embedded, batch), single, 1), None)),
        (
            "Neo4j, shortestPath one by one",
            (clock.rate(lambda batch: unwound(server, batch), single, 1) if server else None, None),
        ),
        *(
            (
                f"Neo4j, shortestPath UNWIND of {size:,}",
                (clock.rate(lambda batch: unwound(server, batch), batches(work.pairs, size), size) if server else None, None),
            )
            for size in UNWOUND
        ),
    ]
    cypher = [row for row in rows if row[0].startswith(("embedded", "Neo4j"))]
    best = max(cypher, key=lambda row: row[1][0] or 0)[0]
    show("hop distances up to six, pairs a second", ("pairs", "10 x 10"), rows, best)


def surroundings(index: IndexGraph, embedded: KnowledgeGraph, server: KnowledgeGraph | None, work: Work, clock: Clock) -> None:
    """Compare and time two-hop neighbours and two-hop counts."""
    words: list[Any] = [source for source, _ in work.pairs[:2000]]

    def nearest(graph: KnowledgeGraph) -> Callable[[Any], Any]:
        return lambda word: graph.neighbours(word, 2, 10)

    def counted(graph: KnowledgeGraph) -> Callable[[Any], Any]:
        return lambda sets: graph.count_triples(sets[0], sets[1], 2)

    rows: list[Rates] = []
    for name, graph in (("index", index), ("embedded", embedded), ("Neo4j", server)):
        rates: list[float | None] = []
        for ask, questions in ((nearest, words), (counted, work.sets)):
            try:
                if graph:
                    check(f"{name}: {ask.__name__}", *(list(map(ask(which), questions[:3])) for which in (graph, index)))
                rates.append(clock.rate(ask(graph), questions, 1) if graph else None)
            except GraphError as error:
                say(f"{name}: {ask.__name__} failed: {error}")
                rates.append(float("nan"))
        rows.append((name, (rates[0], rates[1])))
    base = "Neo4j" if server else "embedded"
    show("questions a second", ("2 hops, 10 best", "2-hop counts, 10 x 10"), rows, base)


def growth(work: Path, nodes: int, edges: int) -> None:
    """Print how the time of a distance and the size of the labels grow with the graph."""
    print(f"\n{'assertions':>12}{'concepts':>12}{'built in s':>12}{'labels, MB':>12}{'a node':>10}{'ns a pair':>11}{'ratio':>8}")
    first = 0.0
    for fraction in GROWTH:
        size = round(nodes * fraction), round(edges * fraction)
        folder = work / f"growth-{size[1]}"
        started = time.process_time()
        build_from_rows(synthetic_rows(*size), folder)
        built = time.process_time() - started
        with open_index_directory(folder) as index:
            labels = sum(index._arrays[name].nbytes for name in ("root", "near", "label", "label_start"))
            sources, targets = np.ascontiguousarray(Work(index, 4 * LISTED).numbers.T)
            nanoseconds = []
            for _ in range(1 + STRETCHES):  # the first one reads the index into memory
                started = time.process_time()
                index.hop_pairs_of_ids(sources, targets)
                nanoseconds.append((time.process_time() - started) / len(sources) * 1e9)
        took_median = median(nanoseconds[1:])
        first = first or took_median
        print(
            f"{size[1]:>12,}{size[0]:>12,}{built:>12.0f}{labels / 1e6:>12.0f}{labels / size[0]:>10.0f}"
            f"{took_median:>11.0f}{took_median / first:>8.2f}",
            flush=True,
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default="real,synthetic")
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--edges", type=int, default=EDGES)
    parser.add_argument("--seconds", type=float, default=8.0, help="for each measurement")
    parser.add_argument("--work", type=Path, default=REPOSITORY / "build" / "bench")
    parser.add_argument("--neo4j", default=os.environ.get("TACIT_BENCH_NEO4J"), help="URL of a server with the graph")
    parser.add_argument("--no-neo4j", action="store_true")
    parser.add_argument("--growth", action="store_true", help="how the index grows with the graph, nothing else")
    options = parser.parse_args()
    if options.growth:
        growth(options.work, options.nodes, options.edges)
        return
    script = None if options.no_neo4j else neo4j_script()
    for name in options.graphs.split(","):
        with ExitStack() as stack:
            embedded = named_graph(name, options.work, options.nodes, options.edges)
            if embedded is None:
                say(f"{name}: not run, its data is not available; TACIT_TEST_DATA names its folder")
                continue
            stack.enter_context(embedded)
            index = stack.enter_context(open_index(embedded))
            server: KnowledgeGraph | None = None
            if options.neo4j and not options.no_neo4j:
                server = stack.enter_context(open_graph(options.neo4j, engine="store"))
                if server.manifest().digest != embedded.manifest().digest:
                    server = None
            elif script:
                server = stack.enter_context(neo4j_holding(embedded, script, Path(f"{embedded.url}-neo4j")))
            counts = index.counts()
            print(f"\n{name}: {counts.concepts:,} concepts, {counts.assertions:,} assertions", flush=True)
            work, clock = Work(index, 4 * LISTED), Clock(options.seconds)
            distances(index, embedded, server, work, clock)
            surroundings(index, embedded, server, work, clock)


if __name__ == "__main__":
    main()
