"""What a short command costs: ``tacit --help`` (target 0.3 s), and with a graph one scored item and a script of six lines.

Targets for one item with ``grounding`` over real ConceptNet: 1.2 s of processor time (user and system), 3 s in a new
environment, that is without any machine code of earlier runs. With ``--before PYTHON``, another installation's interpreter, each
measurement is made with both in turn, and their ratio is shown.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TARGET = 0.3
ROUNDS = 10
ITEM = (
    '{"history": ["My dog ran away this morning.", "Did you look in the park?"], '
    '"response": "Yes, and the children who play there helped me to find the animal."}\n'
)
SCRIPT = """import sys, tacit
graph = tacit.open_graph(sys.argv[1])
print(graph.hop_distances(["dog", "wallet"], ["park", "police"]).tolist(), graph.paths("dog", "park", limit=3))
reasoner = tacit.Reasoner(graph, ["grounding"])
print(reasoner.score(["My dog ran."], "Did you look in the park?"), reasoner.explain(["My dog ran."], "Look in the park!"))
print(graph.run("MATCH (:Concept {text: $text})-[:IsA]->(b) RETURN b.text LIMIT 5", {"text": "dog"}).rows)
"""


def seconds(words: list[str]) -> float:
    """Return the median time of a few runs."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        subprocess.run(words, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def once(words: list[str], *, fresh: bool) -> tuple[float, float]:
    """Return the processor time and the time of one run; ``fresh``: without machine code of earlier runs."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, **({"NUMBA_CACHE_DIR": cache} if fresh else {})}
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(words, check=True, capture_output=True, env=environment)
        elapsed, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, elapsed


def with_graph(graph: str, pythons: list[str], rounds: int, fresh_rounds: int) -> None:
    """Print medians of one item and of the script, by each interpreter in turn."""
    with tempfile.TemporaryDirectory() as folder:
        item, script = Path(folder) / "item.jsonl", Path(folder) / "script.py"
        item.write_text(ITEM)
        script.write_text(SCRIPT)
        print(f"\n{'processor seconds (seconds)':<46}" + "".join(f"{name:>18}" for name in ("after", "before")[: len(pythons)]))
        for name in ("tacit score, one item", "script of six lines"):
            for fresh in (False, True):
                times: list[list[tuple[float, float]]] = [[] for _ in pythons]
                for number in range((fresh_rounds if fresh else rounds) + 1):
                    for python, times_of in zip(pythons, times, strict=True):
                        program = str(Path(python).parent / "tacit")
                        words = [program, "score", str(item), "--graph", graph, "--metrics", "grounding", "--quiet"]
                        duration = once(words if name.startswith("tacit") else [python, str(script), graph], fresh=fresh)
                        if number:  # the first run reads files that are not in memory yet
                            times_of.append(duration)
                medians = [tuple(statistics.median(column) for column in zip(*times_of, strict=True)) for times_of in times]
                ratio = f"{medians[1][0] / medians[0][0]:>8.1f}x" if len(medians) > 1 else ""
                label = f"{name}, {'new environment' if fresh else 'warm'}"
                print(f"{label:<46}" + "".join(f"{f'{cpu:.2f} ({wall:.2f})':>18}" for cpu, wall in medians) + ratio, flush=True)


def main() -> None:
    """Print one line a command, and the imports that cost most; with a graph, what one item and a script cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?", help="a graph, which also needs to have been used once")
    parser.add_argument("--before", metavar="PYTHON", help="interpreter of another installation to compare with")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--fresh-rounds", type=int, default=3)
    options = parser.parse_args()
    program = str(Path(sys.executable).parent / "tacit")
    bare = seconds([sys.executable, "-c", "pass"])
    print(f"{'command':<32}{'median':>10}{'of target':>12}")
    print(f"{'python -c pass':<32}{bare:>8.3f} s")
    for words in (["--help"], ["--version"], ["hops", "--help"], ["score", "--help"], ["load", "conceptnet", "--help"]):
        duration = seconds([program, *words])
        print(f"{'tacit ' + ' '.join(words):<32}{duration:>8.3f} s{duration / TARGET:>11.2f}x")
    import_lines = subprocess.run(
        [sys.executable, "-X", "importtime", program, "--help"], check=True, capture_output=True, text=True
    ).stderr.splitlines()
    costs = sorted(
        ((int(line.split("|")[0].split(":")[1]), line.split("|")[2].strip()) for line in import_lines[1:]), reverse=True
    )
    print("\nimports that cost most by themselves: " + ", ".join(f"{name} {cost / 1000:.1f} ms" for cost, name in costs[:6]))
    if options.graph:
        pythons = [sys.executable, *([options.before] if options.before else [])]
        with_graph(options.graph, pythons, options.rounds, options.fresh_rounds)


if __name__ == "__main__":
    main()
