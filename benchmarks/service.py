"""How fast the service answers: one item a request, scored by ``grounding``, over many connections at once.

    python benchmarks/service.py [GRAPH] [--dialogues FILE] [--connections 64] [--seconds 4] [--pace 500] [--rounds 3] [--lookups]

Every request has new texts, except where the table says "seen before". "Paced" sends a fixed number of requests a
second, whatever the speed of the answers; "as fast as can be" sends the next one on a connection when the last is answered. The
alternatives: the same service that scores one item at a time, and the library called in a loop. The graph is the real one of
the other benchmarks where its data is available, else a synthetic one. Medians over rounds. ``--lookups`` measures look-ups
in place of scores: those of the ConceptNet API beside ``/v1/concepts/``, for concepts drawn by degree.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import count, cycle
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple
from urllib.request import urlopen

from support.graphs import REPOSITORY, named_graph, say
from support.http import Figures, burst, drive, getting, post, scoring
from tacit.api.server.conceptnet.uris import assertion_uri
from tacit.graph import Assertion, Pattern, open_graph, open_index
from tacit.loaders import ItemError, read_items
from tacit.reasoning import Reasoner

SLOW = "MATCH (a:Concept)-[r]->(b:Concept)-[s]->(c:Concept)-[t]->(d:Concept) RETURN count(*) AS chains"
Items = list[tuple[tuple[str, ...], str]]
Row = tuple[float, float, float, float, int]


def dialogues(path: Path | None) -> Items:
    """Items to score: those of a file, else the sample's."""
    if path is not None:
        items = [row for row in read_items(str(path)) if not isinstance(row, ItemError)]
        return [(row.history[-4:], row.response) for row in items]
    sample = [row for row in read_items(str(REPOSITORY / "api/sample/dialogues.jsonl")) if not isinstance(row, ItemError)]
    return [(row.history, row.response) for row in sample]


def bodies(items: Items, *, again: bool = False) -> Iterator[bytes]:
    """Yield request bodies without end, one item each; later rounds add a number to the texts, unless they come ``again``."""
    for lap in count():
        mark = f" {lap}." if lap and not again else ""
        for history, response in items:
            texts = {"history": [turn + mark for turn in history], "response": response + mark}
            yield json.dumps({"items": [texts]}).encode()


class Service(NamedTuple):
    """A running service: where it listens, and its process."""

    port: int
    pid: int


@contextmanager
def serving(graph: str, *options: str) -> Iterator[Service]:
    """Run ``tacit serve`` on a free port, and wait until it is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = "import sys; from tacit.api.main import main; sys.argv[0] = 'tacit'; main()"
    command = [sys.executable, "-c", program, "serve", graph, "--port", str(port), *options]
    process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    while not ready(port):
        if process.poll() is not None:
            raise SystemExit("the service did not start")
        time.sleep(0.1)
    try:
        yield Service(port, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        if process.wait(60) != 0:
            say(f"the service ended with status {process.returncode}")


def ready(port: int) -> bool:
    """Whether the service on a port can answer."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def memory(pid: int) -> str:
    """Resident memory of a process, where the system tells."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return "unknown"
    match = re.search(r"VmRSS:\s+(\d+) kB", text)
    return f"{int(match[1]) / 1024:,.0f} MB" if match else "unknown"


def processor(pid: int) -> float:
    """Seconds of processor time that a process has used, not those of its children; NaN where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def with_slow_query(port: int, measure: Callable[[], Figures], seconds: float) -> Figures:
    """Measure while a query runs that takes all the time it is given."""
    stop = threading.Event()

    async def ask() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not stop.is_set():
            body = json.dumps({"query": SLOW, "timeout": min(seconds + 1, 30)}).encode()
            status = await post(reader, writer, "/v1/cypher", body)
            if status not in (200, 504):
                raise SystemExit(f"the slow query was answered with {status}")
        writer.close()

    thread = threading.Thread(target=lambda: asyncio.run(ask()), daemon=True)
    thread.start()
    time.sleep(0.5)
    figures = measure()
    stop.set()
    thread.join()
    return figures


def middle(rounds: list[Figures]) -> Row:
    """Median rate, p50, p99 and processor time a request of some rounds, and all errors."""
    return (
        median(figures.rate for figures in rounds),
        median(figures.milliseconds(50) for figures in rounds),
        median(figures.milliseconds(99) for figures in rounds),
        median(figures.processor / len(figures.seconds) * 1000 for figures in rounds),
        sum(figures.errors for figures in rounds),
    )


def one_by_one(graph: str, items: Items) -> Row:
    """The library in a loop."""
    with open_graph(graph) as store, open_index(store) as index:
        reasoner = Reasoner(index, ["grounding"])
        reasoner.score(*items[-1])
        figures = Figures()
        started, processor_started = time.perf_counter(), time.process_time()
        for history, response in items:
            start = time.perf_counter()
            reasoner.score(history, response)
            figures.seconds.append(time.perf_counter() - start)
        figures.span = time.perf_counter() - started
        figures.processor = time.process_time() - processor_started
    return middle([figures])


def lookups(graph: str) -> dict[str, Callable[[], Iterator[str]]]:
    """Paths to ask for, by kind: each a maker of an endless stream over 2,000 assertions drawn with a fixed seed."""
    with open_graph(graph) as opened:
        index = opened.index
        assert index is not None
        related = (index.directory / "vectors").is_dir()
        rows = [row for row in index.select(Pattern(), 0, 1_000_000) if row.head.isascii() and row.tail.isascii()]
    sample = Random(0).sample(rows, min(2_000, len(rows)))

    def stream(write: Callable[[Assertion], str]) -> Callable[[], Iterator[str]]:
        return lambda: cycle(map(write, sample))

    kinds = {
        "/v1/concepts/TERM, 10 neighbours": stream(lambda row: f"/v1/concepts/{row.head}"),
        "TERM, 20 edges": stream(lambda row: row.head),
        "TERM?limit=1000": stream(lambda row: f"{row.head}?limit=1000"),
        "TERM?grouped=true": stream(lambda row: f"{row.head}?grouped=true"),
        "/a/…": stream(assertion_uri),
        "/query?node=TERM&other=TERM": stream(lambda row: f"/query?node={row.head}&other={row.tail}"),
        "/query?start=TERM&rel=RELATION": stream(lambda row: f"/query?start={row.head}&rel=/r/{row.relation}"),
        "RELATION, 20 edges": stream(lambda row: f"/r/{row.relation}"),
        "/uri": stream(lambda row: f"/uri?language=en&text={row.head.rpartition('/')[2]}"),
    }
    if related:
        kinds["/relatedness"] = stream(lambda row: f"/relatedness?node1={row.head}&node2={row.tail}")
        kinds["/related/TERM, 50 terms"] = stream(lambda row: f"/related{row.head}")
    return kinds


def print_lookups(graph: str, connections: int, seconds: float, number: int) -> None:
    """Measure each kind of look-up and print a table."""
    kinds = lookups(graph)
    print(f"{graph}, {connections} connections, medians of {number} rounds of {seconds:g} s")
    print(f"{'':38}{'requests/s':>12}{'p50 ms':>10}{'p99 ms':>10}{'CPU ms':>9}{'errors':>8}")
    with serving(graph, "--quiet", "--metrics", "length", "--conceptnet-api") as service:
        for name, paths in kinds.items():
            measurements = []
            for round_ in range(number + 1):  # the first one warms up
                processor_before = processor(service.pid)
                figures = asyncio.run(drive(service.port, getting(paths()), connections, seconds if round_ else 1))
                figures.processor = processor(service.pid) - processor_before
                measurements.append(figures)
            rate, p50, p99, used, errors = middle(measurements[1:])
            print(f"{name:38}{rate:>12,.0f}{p50:>10.1f}{p99:>10.1f}{used:>9.2f}{errors:>8}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?")
    parser.add_argument("--dialogues", type=Path)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--pace", type=float, default=500.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lookups", action="store_true")
    options = parser.parse_args()
    graph = options.graph
    if graph is None:
        work = REPOSITORY / "build" / "bench"
        store = named_graph("real", work, 0, 0) or named_graph("synthetic", work, 50_000, 150_000)
        assert store is not None
        graph = store.url
        store.close()
    if options.lookups:
        print_lookups(graph, options.connections, options.seconds, options.rounds)
        return
    real = REPOSITORY.parent / "shared" / "data" / "dialogues" / "dailydialog-test.jsonl.gz"
    items = dialogues(options.dialogues or (real if real.is_file() else None))
    rows: list[tuple[str, Row]] = []

    def measured(service: Service, work: Coroutine[Any, Any, Figures]) -> Figures:
        processor_before = processor(service.pid)
        figures = asyncio.run(work)
        figures.processor = processor(service.pid) - processor_before
        return figures

    def rounds(
        service: Service, texts: Iterator[bytes], pace: float | None = None, number: int = options.rounds
    ) -> list[Figures]:
        work = (drive(service.port, scoring(texts), options.connections, options.seconds, pace) for _ in range(number))
        return [measured(service, requests) for requests in work]

    say(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; {len(items):,} items")
    with serving(graph, "--quiet") as service:
        texts = bodies(items)
        rounds(service, texts, None, 1)
        paced, beside_slow_query = [], []
        for _ in range(options.rounds):
            paced += rounds(service, texts, options.pace, 1)
            beside_slow_query.append(
                with_slow_query(service.port, lambda: rounds(service, texts, options.pace, 1)[0], options.seconds)
            )
        rows.append((f"paced, {options.pace:.0f}/s", middle(paced)))
        rows.append(("paced, beside a slow Cypher query", middle(beside_slow_query)))
        rows.append(("as fast as can be, new texts", middle(rounds(service, texts))))
        rows.append(("as fast as can be, seen before", middle(rounds(service, bodies(items[:200], again=True)))))
        bursts = [measured(service, burst(service.port, texts, 1000)) for _ in range(options.rounds)]
        rows.append(("1,000 requests at once", middle(bursts)))
        resident = memory(service.pid)
    with serving(graph, "--quiet", "--limit", "batch_items=1") as service:
        texts = bodies(items)
        rounds(service, texts, None, 1)
        rows.append(("one item a batch, new texts", middle(rounds(service, texts))))
    rows.append(("library in a loop, new texts", one_by_one(graph, items)))
    base = rows[-2][1][0]
    print(f"\n{graph}, {options.connections} connections, medians of {options.rounds} rounds of {options.seconds:g} s")
    print(f"{'':38}{'requests/s':>12}{'p50 ms':>10}{'p99 ms':>10}{'CPU ms':>9}{'errors':>8}{'ratio':>8}")
    for name, (rate, p50, p99, used, errors) in rows:
        ratio = "" if name.startswith(("paced", "1,000")) else f"{rate / base:.2f}"
        print(f"{name:38}{rate:>12,.0f}{p50:>10.1f}{p99:>10.1f}{used:>9.2f}{errors:>8}{ratio:>8}")
    print("CPU ms: processor time of the service a request, which other work on the machine changes little")
    print(f"ratio: requests/s to {rows[-2][0]!r}; p99 beside a slow query is {rows[1][1][2] / rows[0][1][2]:.2f} x that without")
    print(f"resident memory of the service after all: {resident}; load of the machine now: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
