"""How long the adapters of evaluation frameworks take to import beyond their frameworks (target 0.2 s each).

Measured in the environment of ``make frameworks`` where it is there, else in this one; a framework that is not installed is left
out. Each import happens in a new process, first the framework and then the adapter; the medians of a few are shown.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

TARGET = 0.2
ROUNDS = 7
INSTALLED = Path(__file__).parents[1] / "build" / "frameworks" / "bin" / "python"
ADAPTERS = {  # what an adapter imports of its framework
    "inspect_scorer": "import anyio.to_thread, inspect_ai.scorer, inspect_ai.solver",
    "deepeval_metrics": "import deepeval.metrics, deepeval.test_case",
    "mlflow_scorer": "import mlflow.entities, mlflow.genai.scorers",
    "promptfoo_assert": "pass",
    "otel_events": "import opentelemetry._logs, opentelemetry.context",
}
PROGRAM = """
from time import perf_counter
start = perf_counter()
try:
    {framework}
except ModuleNotFoundError:
    raise SystemExit(3)
middle = perf_counter()
import tacit.api.frameworks.{adapter}
print(middle - start, perf_counter() - middle)
"""


def measured(python: str, adapter: str, framework: str) -> tuple[float, float] | None:
    """Return the median seconds that framework and adapter take to import; None where the framework is not installed."""
    times = []
    environment = {**os.environ, "DEEPEVAL_TELEMETRY_OPT_OUT": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}
    for number in range(ROUNDS + 1):
        program = PROGRAM.format(framework=framework, adapter=adapter)
        done = subprocess.run([python, "-c", program], check=False, capture_output=True, text=True, env=environment)
        if done.returncode == 3:
            return None
        done.check_returncode()
        if number:  # the first run compiles modules and reads files that are not in memory yet
            times.append(tuple(map(float, done.stdout.split()[-2:])))
    first, second = (statistics.median(column) for column in zip(*times, strict=True))
    return first, second


def main() -> None:
    """Print one line for each adapter; exit with 1 if one takes longer than the target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=str(INSTALLED if INSTALLED.is_file() else sys.executable), help="interpreter to use")
    python = parser.parse_args().python
    print(f"{'adapter':<20}{'framework':>12}{'adapter':>12}{'of target':>12}")
    slow = []
    for adapter, framework in ADAPTERS.items():
        times = measured(python, adapter, framework)
        if times is None:
            print(f"{adapter:<20}  the framework is not installed; run: make frameworks")
            continue
        framework_seconds, adapter_seconds = times
        slow += [adapter] if adapter_seconds > TARGET else []
        print(
            f"{adapter:<20}{framework_seconds:>10.3f} s{adapter_seconds:>10.3f} s{adapter_seconds / TARGET:>11.2f}x", flush=True
        )
    if slow:
        raise SystemExit(f"slower than {TARGET} s: {', '.join(slow)}")


if __name__ == "__main__":
    main()
