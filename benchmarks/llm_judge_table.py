"""How well a language model that is asked about tuples agrees with people, beside the scorers that ship.

python benchmarks/llm_judge_table.py GRAPH DATA_DIR MODEL [--rows N] [--dtype NAME] [--resamples N] [--json]

GRAPH holds ATOMIC; DATA_DIR holds judgements/cskb-dev.csv.gz and judgements/deco-train.json.gz; MODEL is a folder, a GGUF file or
an id. Of the judged triples N are drawn, since a processor takes about a second for each. What is summed is brought to one scale
over 240 triples of the graph whose tails were exchanged. accent_table.py tells the measures.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from accent_table import SEED, Rows, at_random, cskb, deco, judged, show, summed, written
from tacit.api.terminal.progress import Meter
from tacit.graph import open_graph
from tacit.reasoning.metrics.accent.events import RELATIONS
from tacit.reasoning.metrics.accent.scorers.base import Triple, TupleScore, TupleScorer
from tacit.reasoning.metrics.accent.scorers.language_models import SAVED, YES, VerbalisedScorer, open_llm_judge
from tacit.reasoning.metrics.accent.scorers.registry import ScorerResources
from tacit.reasoning.metrics.accent.scorers.retriever import Match

_TOGETHER = 16


class Watched:
    """A scorer by a language model, telling how far it is; each tuple is asked once."""

    relations = VerbalisedScorer.relations

    def __init__(self, judge: VerbalisedScorer, meter: Meter) -> None:
        self.signature = judge.signature
        self._judge = judge
        self._meter = meter
        self._known: dict[Triple, TupleScore] = {}
        self.seconds = 0.0

    @property
    def asked(self) -> int:
        """How many tuples it was asked."""
        return len(self._known)

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """As the scorer has it."""
        fresh = [one for one in dict.fromkeys(tuples) if one not in self._known]
        before = time.perf_counter()
        for start in range(0, len(fresh), _TOGETHER):
            some = fresh[start : start + _TOGETHER]
            self._known.update(zip(some, self._judge.score(some), strict=True))
            self._meter.add(len(some))
        self.seconds += time.perf_counter() - before
        return [self._known[one] for one in tuples]


class _Part:
    """One of the numbers that the judge's score is worked out from, alone."""

    relations = VerbalisedScorer.relations

    def __init__(self, judge: Watched, name: str) -> None:
        self.signature = f"{name}({judge.signature})"
        self._judge = judge
        self._name = name

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """The number by that name."""
        return [TupleScore(dict(score.parts)[self._name]) for score in self._judge.score(tuples)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?")
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.model is None:
        print("nothing is measured: name a graph that holds ATOMIC, the folder of the judgements, and a language model")
        return
    rows = judged(arguments.data / "judgements" / "cskb-dev.csv.gz")
    rows = [rows[place] for place in np.sort(np.random.default_rng(SEED).permutation(len(rows))[: arguments.rows])]
    with gzip.open(arguments.data / "judgements" / "deco-train.json.gz", "rt", encoding="utf-8") as file:
        dialogues = json.load(file)
    opened = open_llm_judge(arguments.model, dtype=arguments.dtype)
    with open_graph(arguments.graph) as graph, Meter("judging", unit="tuples", noun="tuples") as meter:
        judge = Watched(opened, meter)
        resources = ScorerResources(graph)
        triples = resources.table.triples(RELATIONS)
        retriever: Any = resources.scorer("retriever")
        support, match = resources.scorer("support"), Match(retriever)
        unjudged = at_random(triples, 240)
        scorers: dict[str, TupleScorer] = {
            "retriever: closeness": retriever,
            "closeness, match, support": summed(unjudged, closeness=retriever, match=match, support=support),
            "llm-judge": judge,
            **{f"llm-judge: {name} alone": _Part(judge, name) for name in (YES, SAVED)},
            "closeness and llm-judge": summed(unjudged, closeness=retriever, judge=judge),
            "closeness, match, support, llm-judge": summed(
                unjudged, closeness=retriever, match=match, support=support, judge=judge
            ),
        }
        found: dict[str, Rows] = {
            "deco": deco(scorers, dialogues, arguments.resamples),
            "cskb": cskb(scorers, rows, {written(one) for one in triples}, arguments.resamples),
        }
    if arguments.json:
        print(json.dumps(found))
        return
    print(f"{judge.signature}: {judge.asked:,} tuples, {judge.seconds / judge.asked:.2f} s each")
    for name, table in found.items():
        show(name, table)


if __name__ == "__main__":
    main()
