"""How well a language model that is asked, and a probe of its states, choose among CICERO's answers.

    python benchmarks/choice_probe.py FILE --model ID --states FOLDER [--graph GRAPH] [--encoder ID] [--but FILE] [--dialogues N]
        [--values FILE] [--dtype NAME] [--seed N] [--resamples N]

The dialogues are halved at random; those that share a turn of six words or more are in one half. Layer, penalty, probe, words of
the control and heads are fitted on one half, and everything is measured on the other. Differences are to the control, which reads
the choices alone, with 95% intervals of a bootstrap over groups of dialogues. A probe is added to the head of the others with the
weight 1, since it knows the half that the head is fitted on. Rows ``as ships`` have the words and weights as ``tacit train
choice-head`` fits them to the half. The states go into --states and what other judges measure into --values, so that an
interrupted run continues. --but leaves out dialogues that share a turn with a file of dialogues.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support.choices import STRONGEST, print_tables, read_instances, rows_of, without_fit
from tacit.graph.questions import Instance
from tacit.reasoning.inference.choice_figures import choice_measures
from tacit.reasoning.inference.choosing import load_chooser
from tacit.reasoning.models.causal_lm import open_causal
from tacit.reasoning.models.layers import count_layers
from tacit.reasoning.training.choice_head import CONTROL, DEFAULTS, CrossFit, JudgeFeatures, measure
from tacit.reasoning.training.choice_probe import pairs_of, read_choices, train_choice_probe
from tacit.reasoning.training.probes import layers_to_try

Floats = NDArray[np.float64]


def halves(groups: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the instances of one half of the groups, and of the other."""
    shuffled = np.random.default_rng(seed).permutation(int(groups.max()) + 1)
    first = np.isin(groups, shuffled[: len(shuffled) // 2])
    return np.flatnonzero(first), np.flatnonzero(~first)


def judged(
    split: CrossFit, instances: Sequence[Instance], parts: dict[str, JudgeFeatures], group: Sequence[str], odds: Sequence[Floats]
) -> Floats:
    """Return the figures of judges on the second half; a probe is added with the weight 1."""
    others = [name for name in group if name != "probe"]
    scores = [np.array(values) for values in split.scores(instances, parts, others)] if others else [0.0 for _ in split.test]
    if "probe" in group:
        scores = [values + odds[index] - odds[index].mean() for values, index in zip(scores, split.test, strict=True)]
    return choice_measures([instances[index] for index in split.test], [np.asarray(values).tolist() for values in scores])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--states", type=Path, required=True)
    parser.add_argument("--graph")
    parser.add_argument("--encoder")
    parser.add_argument("--but", type=Path)
    parser.add_argument("--dialogues", type=int)
    parser.add_argument("--values", type=Path)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    instances, groups = read_instances(arguments.file, arguments.but, arguments.dialogues)
    causal = open_causal(arguments.model, dtype=arguments.dtype)
    layers = layers_to_try(count_layers(causal.model))
    number_before, started = len(list(arguments.states.glob("*"))), time.perf_counter()
    states = read_choices(instances, causal, layers, arguments.states)
    if number_read := len(list(arguments.states.glob("*"))) - number_before:
        print(
            f"{number_read / (time.perf_counter() - started):.2f} instances/s through all layers, {causal.signature}", flush=True
        )
    boundaries = np.cumsum([len(instance.choices) for instance in instances])[:-1]
    first, second = halves(groups, arguments.seed)
    probe = train_choice_probe([instances[index] for index in first.tolist()], causal, arguments.states, seed=arguments.seed)
    facts = probe.facts
    print(
        f"probe of the first half: layer {probe.layer}, penalty {facts['penalty']:g}, {facts['ordered']:.3f} "
        f"{facts['interval']} of the left-out pairs in order; of {facts['variants']} layers and penalties"
    )
    hidden = states.hidden[:, layers.index(probe.layer)].astype(np.float64)
    odds = np.split(hidden @ probe.weights.astype(np.float64), boundaries)
    parts = {"yes-no": JudgeFeatures(("yes",), [values[:, None] for values in np.split(states.margins, boundaries)])}
    names = [*(["graph"] if arguments.graph else []), *(["similarity"] if arguments.encoder else [])]
    with tempfile.TemporaryDirectory() as folder:
        values_folder = arguments.values or Path(folder)
        if names:
            chooser = load_chooser(arguments.graph, names, encoder=arguments.encoder)  # it holds the graph open
            for name, judge in chooser.judges.items():
                parts[name] = JudgeFeatures(judge.features, measure(judge, instances, values_folder))
    control = CrossFit(instances, groups, first, second, STRONGEST, arguments.seed)
    shipped = CrossFit(instances, groups, first, second, DEFAULTS, arguments.seed)
    tables = {
        " + ".join(group): judged(control, instances, parts, group, odds)
        for group in rows_of([CONTROL, *names, "yes-no", "probe"])
    }
    defaults = [(CONTROL,), *([(CONTROL, "graph"), (CONTROL, "graph", "yes-no"), ("graph", "yes-no")] if arguments.graph else [])]
    tables |= {f"{' + '.join(group)}, as ships": judged(shipped, instances, parts, group, odds) for group in defaults}
    test_instances = [instances[index] for index in second.tolist()]
    print(f"\n{len(test_instances):,} instances of the second half; {len(tables)} rows")
    print_tables(without_fit(test_instances) | tables, test_instances, groups[second], tables[CONTROL], arguments.resamples)
    pairs = pairs_of(instances)
    margins = states.margins[pairs.right] - states.margins[pairs.wrong]
    print(f"\nyes-no puts {np.average(margins > 0, weights=pairs.weights):.3f} of all pairs in order")


if __name__ == "__main__":
    main()
