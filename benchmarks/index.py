"""What an index costs: time to build and to open, size on disk, resident memory, on real ConceptNet and on heavy hubs.

    python benchmarks/index.py [--graphs real,synthetic] [--nodes 1170000 --edges 3400000] [--repeats 9]

Building and opening run in processes of their own, so that neither profits from the other. Opening is timed from the call to the
open index, imports not counted; "first" adds the imports and one 10 x 10 matrix of distances. Resident memory after the
queries counts the pages of the maps that were touched.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from support.graphs import REPOSITORY, named_graph, say
from synthetic_graph import EDGES, NODES

# A child of a large process inherits that process's ru_maxrss, so Linux's own count of this program alone is asked first.
_PEAK = """
def peak():
    try:
        lines = open("/proc/self/status").read().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except OSError:
        import resource
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
"""

_BUILD = """
import json, sys, time
from pathlib import Path
from tacit.graph import open_graph
from tacit.graph.index import build_index
with open_graph(sys.argv[1]) as graph:
    begun = time.perf_counter()
    build_index(graph, Path(sys.argv[2]))
    seconds = time.perf_counter() - begun
print(json.dumps({"seconds": seconds, "peak": peak()}))
"""

_OPEN = """
import json, sys, time
from pathlib import Path
started = time.perf_counter()
from tacit.graph.index import open_index_directory
begun = time.perf_counter()
index = open_index_directory(Path(sys.argv[1]))
opened = time.perf_counter()
uris = [index.uri(node) for node in range(0, min(index.counts().concepts, 2000), 100)]
index.hop_distances(uris[:10], uris[10:20])
answered = time.perf_counter()
import numpy as np
for start in range(0, index.counts().concepts - 2000, 2000):
    index.hop_distances_of_ids(*(np.arange(start + shift, start + 2000, 97, dtype="int32") for shift in (0, 1)))
print(json.dumps({
    "open": 1000 * (opened - begun), "first": 1000 * (answered - started),
    "resident": peak(),
}))
"""


def ask(program: str, *arguments: str) -> dict[str, Any]:
    """Run ``program`` in a process of its own and return what it printed."""
    done = subprocess.run([sys.executable, "-c", _PEAK + program, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default="real,synthetic")
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--edges", type=int, default=EDGES)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--work", type=Path, default=REPOSITORY / "build" / "bench")
    options = parser.parse_args()
    columns = (
        "concepts",
        "assertions",
        "build s",
        "peak MB",
        "size MB",
        "bytes/edge",
        "open ms",
        "first ms",
        "resident MB",
    )
    print(f"{'':10}" + "".join(f"{column:>16}" for column in columns))
    for name in options.graphs.split(","):
        graph = named_graph(name, options.work, options.nodes, options.edges)
        if graph is None:
            say(f"{name}: not run, its data is not available; TACIT_TEST_DATA names its folder")
            continue
        with graph, tempfile.TemporaryDirectory() as folder:
            counts = graph.counts()
            built = ask(_BUILD, graph.url, f"{folder}/index")
            size = sum(file.stat().st_size for file in Path(folder, "index").iterdir())
            runs = [ask(_OPEN, f"{folder}/index") for _ in range(options.repeats)]
        opened, first, resident = (median(run[key] for run in runs) for key in ("open", "first", "resident"))
        numbers = (built["seconds"], built["peak"], size / 1e6, size / counts.assertions, opened, first, resident)
        cells = [f"{counts.concepts:,}", f"{counts.assertions:,}", *(f"{number:,.1f}" for number in numbers)]
        print(f"{name:10}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
