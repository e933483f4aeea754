"""How long the command line takes to say its help, and where that time goes; the target is 0.3 s for ``tacit --help``."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

TARGET = 0.3
ROUNDS = 10


def seconds(words: list[str]) -> float:
    """Return the median time of a few runs."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        subprocess.run(words, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> None:
    """Print one line a command, and the imports that cost most."""
    program = str(Path(sys.executable).parent / "tacit")
    bare = seconds([sys.executable, "-c", "pass"])
    print(f"{'command':<32}{'median':>10}{'of target':>12}")
    print(f"{'python -c pass':<32}{bare:>8.3f} s")
    for words in (["--help"], ["--version"], ["hops", "--help"], ["score", "--help"], ["load", "conceptnet", "--help"]):
        taken = seconds([program, *words])
        print(f"{'tacit ' + ' '.join(words):<32}{taken:>8.3f} s{taken / TARGET:>11.2f}x")
    told = subprocess.run(
        [sys.executable, "-X", "importtime", program, "--help"], check=True, capture_output=True, text=True
    ).stderr.splitlines()
    costs = sorted(((int(line.split("|")[0].split(":")[1]), line.split("|")[2].strip()) for line in told[1:]), reverse=True)
    print("\nimports that cost most by themselves: " + ", ".join(f"{name} {cost / 1000:.1f} ms" for cost, name in costs[:6]))


if __name__ == "__main__":
    main()
