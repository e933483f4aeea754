"""How well a model that was fine-tuned on CICERO chooses among its answers: the judge ``trained``, beside the control.

    python benchmarks/choice_training.py FILE --model ID|FOLDER [--graph GRAPH] [--but FILE] [--epochs N] [--rate X] [--seeds N]
        [--dialogues N] [--resamples N]

The dialogues are halved as in choice_probe.py. For each seed a model is trained on one half (``train_cicero``, task choose), and
everything is measured on the other half. Differences are to the control, which reads the choices alone and is fitted on the first
half, with 95% intervals of a bootstrap over groups of dialogues. ``all seeds`` is the mean of the models' scores.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from choice_probe import halves
from numpy.typing import NDArray
from support.choices import STRONGEST, print_tables, read_instances, without_fit
from tacit.api.terminal.progress import Meter
from tacit.graph.questions import Instance
from tacit.reasoning.inference.choice_figures import choice_measures
from tacit.reasoning.inference.trained import open_trained
from tacit.reasoning.training.choice_head import CONTROL, CrossFit
from tacit.reasoning.training.cicero import train_cicero
from tacit.reasoning.training.recipe import CiceroRecipe

Floats = NDArray[np.float64]


def scores_of(train: list[Instance], test: list[Instance], model: str, recipe: CiceroRecipe) -> list[Floats]:
    """Return the scores of the choices of ``test`` by a model trained on ``train``, in standard deviations over all of them."""
    with tempfile.TemporaryDirectory() as folder:
        train_cicero(train, model, Path(folder) / "model", recipe, task="choose")
        scores = [values[:, 0].astype(np.float64) for values in open_trained(Path(folder) / "model").measure(test)]
    centred = [values - values.mean() for values in scores]
    deviation = float(np.concatenate(centred).std())
    return [values / deviation for values in centred]


def main() -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--but", type=Path)
    parser.add_argument("--dialogues", type=int)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rate", type=float, default=5e-6)
    parser.add_argument("--source", type=int, default=512, help="longest input in tokens")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--resamples", type=int, default=10_000)
    arguments = parser.parse_args()
    if arguments.file is None or arguments.model is None:
        print("nothing is measured: name a file of CICERO, and a model with --model")
        return
    instances, groups = read_instances(arguments.file, arguments.but, arguments.dialogues)
    first, second = halves(groups, 0)
    train, test = ([instances[index] for index in half.tolist()] for half in (first, second))
    control = choice_measures(test, CrossFit(instances, groups, first, second, STRONGEST, 0).scores(instances, {}, [CONTROL]))
    tables, by_seed = without_fit(test) | {CONTROL: control}, []
    with Meter("training", arguments.seeds, noun="models") as meter:
        for seed in range(arguments.seeds):
            recipe = CiceroRecipe(
                epochs=arguments.epochs,
                rate=arguments.rate,
                source=arguments.source,
                optimizer="adamw",
                checkpoint_every=0,
                seed=seed,
            )
            by_seed.append(scores_of(train, test, arguments.model, recipe))
            tables[f"trained, seed {seed}"] = choice_measures(test, [scores.tolist() for scores in by_seed[-1]])
            meter.add(1)
    if arguments.seeds > 1:
        means = [np.mean(scores, 0).tolist() for scores in zip(*by_seed, strict=True)]
        tables["trained, all seeds"] = choice_measures(test, means)
    print(f"\n{len(train):,} instances to train on, {len(test):,} to judge; {arguments.epochs} epochs at {arguments.rate:g}")
    print_tables(tables, test, groups[second], control, arguments.resamples)


if __name__ == "__main__":
    main()
