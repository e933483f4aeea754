"""Agreement of a probe of a language model with people's labels of other data than it was trained on, and its speed.

    python benchmarks/llm_probe_table.py GRAPH DATA_DIR MODEL [--probe PROBE] [--dtype NAME] [--resamples N] [--json]

GRAPH has ATOMIC, DATA_DIR has judgements/deco-train.json.gz, and MODEL is the language model of the probe, which by default is
the one that ships. Three tables: the human tuples of DECO, and the whole metric on its responses, as in accent_table.py; seconds
a tuple. The command that trains a probe prints its agreement with the labels that it was trained on.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Sequence
from pathlib import Path

from accent_table import Rows, deco, metric, show
from tacit.api.terminal.progress import Meter
from tacit.graph import open_graph
from tacit.reasoning.metrics.accent.metric import Accent
from tacit.reasoning.metrics.accent.metric import make as make_accent
from tacit.reasoning.metrics.accent.scorers.base import Triple, TupleScore, TupleScorer
from tacit.reasoning.metrics.accent.scorers.language_models import LlmProbe, open_llm_probe
from tacit.reasoning.metrics.accent.scorers.resources import ScorerResources

_TIMED = 64
_TOGETHER = 16


class Watched:
    """A scorer by a language model, with a progress meter; each tuple is scored once."""

    relations = LlmProbe.relations

    def __init__(self, scorer: LlmProbe, meter: Meter) -> None:
        self.signature = scorer.signature
        self._scorer = scorer
        self._meter = meter
        self._known: dict[Triple, TupleScore] = {}

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the scores, computed in small batches."""
        new_tuples = [triple for triple in dict.fromkeys(tuples) if triple not in self._known]
        for start in range(0, len(new_tuples), _TOGETHER):
            batch = new_tuples[start : start + _TOGETHER]
            self._known.update(zip(batch, self._scorer.score(batch), strict=True))
            self._meter.add(len(batch))
        return [self._known[triple] for triple in tuples]


def speed(tuples: Sequence[Triple], scorer: TupleScorer) -> Rows:
    """Seconds a tuple, after a first one."""
    scorer.score(tuples[:1])
    started = time.perf_counter()
    scorer.score(tuples[1:])
    return [{"scorer": "llm-probe", "seconds a tuple": round((time.perf_counter() - started) / (len(tuples) - 1), 3)}]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?")
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--probe")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.model is None:
        print("nothing is measured: name a graph that holds ATOMIC, the folder of the data, and a language model")
        return
    with gzip.open(arguments.data / "judgements" / "deco-train.json.gz", "rt", encoding="utf-8") as file:
        dialogues = json.load(file)
    opened = open_llm_probe(arguments.model, arguments.probe, dtype=arguments.dtype)
    tuples = list(dict.fromkeys(tuple(tuple_) for row in dialogues for tuple_ in (*row["tuples_single"], *row["tuples_pair"])))
    with open_graph(arguments.graph) as graph, Meter("scoring", noun="tuples") as meter:
        probe = Watched(opened, meter)
        closeness = ScorerResources(graph).scorer("retriever")
        blend = make_accent(graph, scorer="blend")
        probing = Accent(graph, blend.extractor, probe)
        tables: dict[str, Rows] = {
            "deco": deco({"retriever: closeness": closeness, "llm-probe": probe}, dialogues, arguments.resamples),
            "metric": metric({"blend": blend, "llm-probe": probing}, dialogues, arguments.resamples),
        }
    del opened, probe, probing
    tables["speed"] = speed(tuples[:_TIMED], open_llm_probe(arguments.model, arguments.probe, dtype=arguments.dtype))
    if arguments.json:
        print(json.dumps(tables))
        return
    for name, table in tables.items():
        show(name, table)


if __name__ == "__main__":
    main()
