"""How well a probe of a language model agrees with people who judged none of what it learnt from, and how fast it is.

python benchmarks/llm_probe_table.py GRAPH DATA_DIR MODEL [--probe PROBE] [--dtype NAME] [--resamples N] [--json]

GRAPH holds ATOMIC; DATA_DIR holds judgements/deco-train.json.gz;
MODEL is the language model of the probe, by default of the one that ships. Three tables: the human tuples of DECO, and the whole
metric on its responses, as accent_table.py has them; seconds a tuple, next to llm-judge. How well a probe agrees with what it
learnt from, the command that trains it tells.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Sequence
from pathlib import Path

from accent_table import Rows, deco, metric, show
from llm_judge_table import Watched
from tacit.api.terminal.progress import Meter
from tacit.graph import open_graph
from tacit.reasoning import load_metric
from tacit.reasoning.metrics.accent.metric import Accent
from tacit.reasoning.metrics.accent.scorers.base import Triple, TupleScorer
from tacit.reasoning.metrics.accent.scorers.language_models import open_llm_judge, open_llm_probe
from tacit.reasoning.metrics.accent.scorers.registry import ScorerResources

_TIMED = 64


def speeds(tuples: Sequence[Triple], model: str, probe: str | None, dtype: str) -> Rows:
    """Seconds a tuple of the two, each with what it reads first behind it."""
    rows: Rows = []
    for name in ("llm-judge", "llm-probe"):
        judging = name == "llm-judge"
        opened: TupleScorer = open_llm_judge(model, dtype=dtype) if judging else open_llm_probe(model, probe, dtype=dtype)
        opened.score(tuples[:1])
        before = time.perf_counter()
        opened.score(tuples[1:])
        rows.append({"scorer": name, "seconds a tuple": round((time.perf_counter() - before) / (len(tuples) - 1), 3)})
    rows[1]["times as fast"] = round(rows[0]["seconds a tuple"] / rows[1]["seconds a tuple"], 1)
    return [{"times as fast": 1.0, **row} for row in rows]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?")
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--probe")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.model is None:
        print("nothing is measured: name a graph that holds ATOMIC, the folder of the data, and a language model")
        return
    with gzip.open(arguments.data / "judgements" / "deco-train.json.gz", "rt", encoding="utf-8") as file:
        dialogues = json.load(file)
    opened = open_llm_probe(arguments.model, arguments.probe, dtype=arguments.dtype)
    tuples = list(dict.fromkeys(tuple(one) for row in dialogues for one in (*row["tuples_single"], *row["tuples_pair"])))
    with open_graph(arguments.graph) as graph, Meter("scoring", unit="tuples", noun="tuples") as meter:
        probe = Watched(opened, meter)
        closeness = ScorerResources(graph).scorer("retriever")
        usual = load_metric("accent", graph)
        probing = Accent(graph, usual.extractor, probe)
        found: dict[str, Rows] = {
            "deco": deco({"retriever: closeness": closeness, "llm-probe": probe}, dialogues, arguments.resamples),
            "metric": metric({"blend": usual, "llm-probe": probing}, dialogues, arguments.resamples),
        }
    del opened, probe, probing
    found["speed"] = speeds(tuples[:_TIMED], arguments.model, arguments.probe, arguments.dtype)
    if arguments.json:
        print(json.dumps(found))
        return
    for name, table in found.items():
        show(name, table)


if __name__ == "__main__":
    main()
