"""How well judges choose among CICERO's answers, beside a judge that reads the choices alone.

    python benchmarks/cicero_table.py GRAPH FILE [--encoder ID] [--model ID] [--judge NAME]... [--but FILE] [--dialogues N]
        [--values FILE] [--resamples N] [--seed N]

Heads, and the words of the control, are fitted by ten folds; dialogues that share a turn of six words or more are in one fold, so
each instance is judged by a head that has not seen its dialogue. Intervals are 95% of a bootstrap over such groups; differences
to the control are paired. --but leaves out dialogues that share a turn with a file of dialogues. With --dialogues N, a
random N of the dialogues are judged, for slow models. What judges measure is kept in --values, so that an interrupted run
continues; --judge names the judges, of which ``answers`` is always one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support.choices import STRONGEST, print_tables, read_instances, rows_of, without_fit
from tacit.graph import open_graph
from tacit.graph.questions import Instance
from tacit.reasoning.evaluation.resampling import k_folds
from tacit.reasoning.inference.choice_figures import choice_measures
from tacit.reasoning.inference.choosing import load_chooser
from tacit.reasoning.inference.judges import FORM, form_of
from tacit.reasoning.training.choice_head import CONTROL, DEFAULTS, FOLDS, CrossFit, JudgeFeatures, fit_head, measure

Floats = NDArray[np.float64]


def tables_of(
    instances: list[Instance], groups: NDArray[np.int64], parts: dict[str, JudgeFeatures], seed: int
) -> dict[str, Floats]:
    """Return the figures of each row by folds, those of the control first."""
    rows = rows_of([CONTROL, *parts])
    small, shipped = f"{CONTROL}, four features", f"{CONTROL}, words as the judge that ships"
    scores: dict[str, list[list[float]]] = {" + ".join(row): [[]] * len(instances) for row in rows}
    scores |= {small: [[]] * len(instances), shipped: [[]] * len(instances)}
    form = [form_of(instance.choices) for instance in instances]
    for fold in k_folds(groups, FOLDS, seed):
        split = CrossFit(instances, groups, fold.train, fold.test, STRONGEST, seed)
        fold_scores = {" + ".join(row): split.scores(instances, parts, row) for row in rows}
        as_ships = CrossFit(instances, groups, fold.train, fold.test, DEFAULTS, seed)
        fold_scores[shipped] = as_ships.scores(instances, {}, [CONTROL])
        head = fit_head(FORM, [form[index] for index in split.train], [instances[index].correct for index in split.train])
        fold_scores[small] = [head.scores(form[index]).tolist() for index in split.test]
        for name, test_scores in fold_scores.items():
            for index, values in zip(split.test, test_scores, strict=True):
                scores[name][index] = values
    return {name: choice_measures(instances, rows) for name, rows in scores.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("file", type=Path)
    parser.add_argument("--encoder")
    parser.add_argument("--model")
    parser.add_argument("--judge", action="append", dest="judges")
    parser.add_argument("--but", type=Path)
    parser.add_argument("--dialogues", type=int)
    parser.add_argument("--values", type=Path)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    instances, groups = read_instances(arguments.file, arguments.but, arguments.dialogues)
    parts = {}
    with open_graph(arguments.graph) as graph, tempfile.TemporaryDirectory() as folder:
        chooser = load_chooser(graph, arguments.judges, encoder=arguments.encoder, model=arguments.model)
        for name, judge in chooser.judges.items():
            if name == CONTROL:
                continue
            started = time.perf_counter()
            values = measure(judge, instances, arguments.values or Path(folder))
            parts[name] = JudgeFeatures(judge.features, values)
            rate = len(instances) / (time.perf_counter() - started)
            print(f"{name}: {rate:,.1f} instances/s, those of --values included, {judge.signature}", flush=True)
    tables = tables_of(instances, groups, parts, arguments.seed)
    print_tables(without_fit(instances) | tables, instances, groups, tables[CONTROL], arguments.resamples)


if __name__ == "__main__":
    main()
