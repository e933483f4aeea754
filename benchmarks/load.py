"""How fast a file in ConceptNet's format is filtered, next to the fastest that a pipe can do: ``gunzip -c FILE | wc -l``.

Writes a synthetic file (or takes one), runs every stage in a process of its own and prints lines a second, the ratio of the
stage's time to the pipe's, and the peak of resident memory. Stages: the English filter; the filter, the load into an embedded
graph and the build of its index; the filter and an index straight from its rows. With ``--whole``, on one graph in turn: the load
of all languages, the export for ``neo4j-admin import``, the build of the index, and a query each of the store and the index (5
million lines if no file is given; ``--lines 34000000`` are as many as ConceptNet 5.7 has). For a file of ATOMIC-2020
(``load.py atomic.tsv --stages "atomic2020,by a mapping"``): its own loader beside the table-driven one.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import conceptnet_file


class Measure(NamedTuple):
    """One stage: its name, seconds, processor seconds, peak resident MB (0 where not measured) and rows that came out."""

    stage: str
    seconds: float
    processor: float
    peak_mb: int
    rows: int


def processor_seconds() -> float:
    """Return the time that finished child processes have spent on processors; it says more than the clock on a busy machine."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def pipe(path: Path) -> Measure:
    """Time ``gunzip -c path | wc -l``."""
    started, used = time.perf_counter(), processor_seconds()
    with subprocess.Popen(["gunzip", "-c", str(path)], stdout=subprocess.PIPE) as gunzip:
        counted = subprocess.run(["wc", "-l"], stdin=gunzip.stdout, capture_output=True, check=True)
    return Measure("gunzip, wc -l", time.perf_counter() - started, processor_seconds() - used, 0, int(counted.stdout))


def english_filter(path: Path, _: Path) -> int:
    """Count the English assertions of ``path``."""
    from tacit.loaders import read_conceptnet

    return sum(1 for _row in read_conceptnet(path))


def load(path: Path, folder: Path) -> int:
    """Load the English assertions of ``path`` into an embedded graph."""
    from tacit.graph import open_graph
    from tacit.loaders import read_conceptnet

    reader = read_conceptnet(path)
    with open_graph(str(folder / "graph"), create=True) as graph:
        return graph.load(reader, entry=reader.entry).new


def filter_and_index(path: Path, folder: Path) -> int:
    """Build an index straight from the English assertions of ``path``, with no store between."""
    from tacit.graph.index import build_from_rows, open_index_directory
    from tacit.loaders import read_conceptnet

    with open_index_directory(build_from_rows(read_conceptnet(path), folder / "index")) as index:
        return index.counts().assertions


def load_and_index(path: Path, folder: Path) -> int:
    """Load as :func:`load` does, then build the index."""
    from tacit.graph import open_graph, open_index

    new = load(path, folder)
    with open_graph(str(folder / "graph")) as graph:
        open_index(graph).close()
    return new


def atomic2020(path: Path, _: Path) -> int:
    """Count the tuples of ``path``, a file of ATOMIC-2020, by its own loader."""
    from tacit.loaders import read_atomic

    return sum(1 for _row in read_atomic(path))


def by_a_mapping(path: Path, _: Path) -> int:
    """Count the tuples of ``path``, a file of ATOMIC-2020, by a mapping, duplicates included."""
    from tacit.loaders import read_triples
    from tacit.loaders.mapping import Columns, FileForm, Mapping, Nodes

    columns = ("head", "relation", "tail")
    form, nodes = FileForm(format="tsv", names=columns), Nodes(kind="event", none=("none",))
    return sum(1 for _row in read_triples(path, Mapping("atomic", file=form, columns=Columns(*columns), nodes=nodes)))


def load_whole(path: Path, folder: Path) -> int:
    """Load the assertions of ``path`` in all languages into an embedded graph."""
    from tacit.graph import open_graph
    from tacit.loaders import read_conceptnet

    reader = read_conceptnet(path, languages=None)
    with open_graph(str(folder / "graph"), create=True) as graph:
        return graph.load(reader, entry=reader.entry).new


def export_whole(_: Path, folder: Path) -> int:
    """Write the CSV files for ``neo4j-admin import``."""
    from tacit.graph import open_graph
    from tacit.graph.export import export_csv_import

    with open_graph(str(folder / "graph")) as graph:
        return export_csv_import(graph, folder / "export")


def index_whole(_: Path, folder: Path) -> int:
    """Build the index."""
    from tacit.graph import open_graph, open_index

    with open_graph(str(folder / "graph")) as graph, open_index(graph) as index:
        return index.counts().assertions


def ask_store(_: Path, folder: Path) -> int:
    """Count the assertions of the concept with most of them by Cypher."""
    from tacit.graph import open_graph

    counted = "MATCH (c:Concept {uri: $uri})-[r]-(:Concept) RETURN count(r) AS assertions"
    with open_graph(str(folder / "graph")) as graph:
        return int(graph.run(counted, {"uri": HUB}, timeout=300).rows[0][0])


def ask_index(_: Path, folder: Path) -> int:
    """Compute the distances of 50 x 50 concepts by the index."""
    from tacit.graph import open_graph, open_index

    with open_graph(str(folder / "graph")) as graph, open_index(graph) as index:
        concepts = [neighbour.uri for neighbour in index.neighbours(HUB, limit=100)]
        return int((index.hop_distances(concepts[:50], concepts[50:]) > 0).sum())


HUB = "/c/en/person"
"""A concept with many assertions in every file of ConceptNet's format that has the real ones."""
STAGES = {
    "English filter": english_filter,
    "filter + index": filter_and_index,
    "filter + load": load,
    "filter + load + index": load_and_index,
    "atomic2020": atomic2020,
    "by a mapping": by_a_mapping,
    "load, all languages": load_whole,
    "export for neo4j-admin": export_whole,
    "index": index_whole,
    "Cypher query of a hub": ask_store,
    "2,500 distances": ask_index,
}
OF_CONCEPTNET = ("English filter", "filter + index", "filter + load", "filter + load + index")
ON_ONE_GRAPH = ("load, all languages", "export for neo4j-admin", "index", "Cypher query of a hub", "2,500 distances")


def stage(name: str, path: Path, shared: Path | None = None) -> Measure:
    """Run a stage in a process of its own, so that its memory is its own, in a new folder or in a ``shared`` one."""
    with nullcontext(shared) if shared else tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(Path(__file__)), str(path), "--stage", name, "--folder", str(folder)]
        started, used = time.perf_counter(), processor_seconds()
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        seconds, used = time.perf_counter() - started, processor_seconds() - used
    if result.returncode:
        return Measure(f"{name}: failed", seconds, used, 0, 0)
    outcome = json.loads(result.stdout.splitlines()[-1])
    return Measure(name, seconds, used, outcome["peak_mb"], outcome["rows"])


def table(measures: list[Measure], lines: int) -> str:
    """Return the measures as a Markdown table; ratios are to the first."""
    rows = [
        "| stage | seconds | lines/s | ratio to the pipe | processor s | peak MB | rows |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, seconds, processor, peak, count in measures:
        ratio = seconds / measures[0].seconds
        rows.append(
            f"| {name} | {seconds:.1f} | {lines / seconds:,.0f} | {ratio:.2f} | {processor:.1f} | {peak or ''} | {count:,} |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", type=Path, nargs="?", help="a file in ConceptNet's format; written where it does not exist")
    parser.add_argument("--lines", type=int, default=5_000_000, help="lines of the synthetic file")
    parser.add_argument("--stages", default=",".join(OF_CONCEPTNET), help="comma-separated: " + ", ".join(STAGES))
    parser.add_argument("--whole", action="store_true", help="load all languages, export, index and query, on one graph")
    parser.add_argument("--real", type=Path, help="a real file whose lines are to be among those of the synthetic one")
    parser.add_argument("--work", type=Path, help="folder for the graph of --whole, which is kept there")
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        rows = STAGES[arguments.stage](arguments.file, arguments.folder)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(json.dumps({"rows": rows, "peak_mb": peak}))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.file or Path(folder) / "conceptnet.csv.gz"
        if not path.exists():
            size = conceptnet_file.write(path, arguments.lines, real=arguments.real)
            print(f"wrote {arguments.lines:,} lines, {size:,} bytes, {path.stat().st_size:,} compressed", file=sys.stderr)
        measures = [pipe(path)]
        if arguments.whole:
            shared = arguments.work or Path(folder)
            for name in ON_ONE_GRAPH:
                measures.append(stage(name, path, shared))
                print(table(measures[-1:], measures[0].rows), file=sys.stderr, flush=True)
            for folder_name in ("graph", "export"):
                size = sum(file.stat().st_size for file in (shared / folder_name).rglob("*") if file.is_file())
                print(f"{folder_name}: {size:,} bytes", file=sys.stderr)
        else:
            measures += [stage(name.strip(), path) for name in arguments.stages.split(",")]
        print(table(measures, measures[0].rows))


if __name__ == "__main__":
    main()
