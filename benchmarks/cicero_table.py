"""How well judges choose among CICERO's answers, beside a judge that reads the choices alone.

    python benchmarks/cicero_table.py GRAPH FILE [--encoder ID] [--model ID] [--judge NAME]... [--dialogues N]
        [--resamples N] [--seed N]

Heads are fitted by ten folds over dialogues; each instance is judged by a head that has not seen its dialogue. Intervals are 95%
of a bootstrap over dialogues; differences to the answer-only judge are paired. ``shipped`` has the weights that ship.
With --dialogues N, a random N of the dialogues are judged, for slow models; --judge names the judges, of which ``answers`` must
be one. The weights of the heads are printed as mean and range over the folds.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.choices import CONTROL, joined, print_tables
from tacit.graph import open_graph
from tacit.graph.questions import Instance
from tacit.loaders import read_cicero
from tacit.reasoning.inference.choice_figures import chance, figures, folds
from tacit.reasoning.inference.choosing import Chooser, load_chooser
from tacit.reasoning.inference.head import fit, fixed_head

Floats = NDArray[np.float64]


def fitted(
    instances: Sequence[Instance], values: Sequence[Floats], features: Sequence[str], seed: int, told: bool = False
) -> Floats:
    """Return the figures of heads fitted by folds over dialogues, shape (instances, measures); with ``told`` print weights."""
    scores: list[list[float]] = [[]] * len(instances)
    weights = []
    for part in folds([one.id for one in instances], seed=seed):
        held = set(part.tolist())
        rest = [place for place in range(len(instances)) if place not in held]
        head = fit(features, [values[place] for place in rest], [instances[place].correct for place in rest])
        weights.append(head.weights)
        for place in held:
            scores[place] = head.scores(values[place]).tolist()
    for name, each in zip(features, np.transpose(weights) if told else (), strict=False):
        print(f"weight of {name}: {each.mean():+.2f} [{each.min():+.2f}, {each.max():+.2f}]")
    return figures(instances, scores)


def measured(chooser: Chooser, instances: Sequence[Instance]) -> dict[str, list[Any]]:
    """Return the features of each judge, and print its rate."""
    found = {}
    for name, judge in chooser.judges.items():
        started = time.perf_counter()
        found[name] = judge.measure(instances)
        print(f"{name}: {len(instances) / (time.perf_counter() - started):,.1f} instances/s, {judge.signature}", flush=True)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("file", type=Path)
    parser.add_argument("--encoder")
    parser.add_argument("--model")
    parser.add_argument("--judge", action="append", dest="judges")
    parser.add_argument("--dialogues", type=int)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.judges and CONTROL not in arguments.judges:
        parser.error(f"the judges {', '.join(arguments.judges)} have no control beside them; add --judge {CONTROL}")
    print(f"{hashlib.sha256(arguments.file.read_bytes()).hexdigest()}  {arguments.file.name}")
    rows = [one for one in read_cicero(arguments.file, strict=True) if isinstance(one, Instance)]
    instances = [one for one in rows if 0 < len(one.correct) < len(one.choices)]
    if arguments.dialogues is not None:
        names = sorted({one.id for one in instances})
        kept = np.random.default_rng(arguments.seed).permutation(len(names))[: arguments.dialogues]
        some = {names[place] for place in kept.tolist()}
        instances = [one for one in instances if one.id in some]
    number = len({one.id for one in instances})
    print(f"{len(instances):,} instances of {number:,} dialogues; an exact match by chance {chance(instances):.3f}")
    with open_graph(arguments.graph) as graph:
        chooser = load_chooser(graph, arguments.judges, encoder=arguments.encoder, model=arguments.model)
        parts = measured(chooser, instances)
    features = {name: [f"{name}.{one}" for one in judge.features] for name, judge in chooser.judges.items()}

    def columns(names: Sequence[str]) -> tuple[list[Floats], list[str]]:
        return joined(parts, names), [one for name in names for one in features[name]]

    judges = list(parts)
    control = fitted(instances, *columns([CONTROL]), arguments.seed)
    chosen = [group for size in range(1, len(judges) + 1) for group in combinations(judges, size)]
    tables: dict[str, Floats] = {}
    for group in chosen:
        print(f"\n{' + '.join(group)}")
        tables[" + ".join(group)] = (
            control if group == (CONTROL,) else fitted(instances, *columns(group), arguments.seed, told=True)
        )
    pairs = [(CONTROL, one) for one in judges if one != CONTROL and one in ("graph", judges[-1])]
    for group in dict.fromkeys([(CONTROL,), *pairs, tuple(judges)]):
        values, names = columns(group)
        head = fixed_head(names)
        tables[f"{' + '.join(group)}, shipped"] = figures(instances, [head.scores(each).tolist() for each in values])
    print_tables(tables, instances, control, arguments.resamples)


if __name__ == "__main__":
    main()
