"""How well a language model that is asked, and a probe of its states, choose among CICERO's answers.

    python benchmarks/choice_probe.py FILE --model ID --states FOLDER [--graph GRAPH] [--encoder ID] [--but FILE] [--dialogues N]
        [--dtype NAME] [--seed N] [--resamples N]

The dialogues are halved at random. Layer, penalty, probe and heads are fitted on one half, and everything is measured on the
other. Differences are to the fitted head of the answer-only judge, with 95% intervals of a bootstrap over dialogues. ``shipped``
has the weights that ship; so has every row with the probe, which knows the half that a head would be fitted on. The states go
into --states, so that an interrupted reading continues and a second run reads nothing. --but names a file of dialogues: those of
CICERO that share a turn of seven words or more with it are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.choices import CONTROL, joined, print_tables
from tacit.graph.questions import Instance, without_speaker
from tacit.loaders import read_cicero, read_dialogues
from tacit.loaders.dialogues import Dialogue
from tacit.reasoning.inference.choice_figures import chance, figures
from tacit.reasoning.inference.choosing import load_chooser
from tacit.reasoning.inference.head import fit, fixed_head
from tacit.reasoning.models.causal_lm import open_causal
from tacit.reasoning.models.layers import count_layers
from tacit.reasoning.training.choice_probe import pairs_of, read_choices, train_choice_probe
from tacit.reasoning.training.probes import layers_to_try

Floats = NDArray[np.float64]
Features = list[Floats]
LEAST_WORDS = 7


def known_turns(file: Path) -> set[str]:
    """Return the turns of a file of dialogues as words, those of seven words or more."""
    turns = (_words(turn) for row in read_dialogues(str(file)) if isinstance(row, Dialogue) for turn in row.turns)
    return {turn for turn in turns if turn.count(" ") >= LEAST_WORDS - 1}


def _words(turn: str) -> str:
    return " ".join(re.findall(r"\w+", without_speaker(turn).lower()))


def halves(instances: Sequence[Instance], seed: int) -> tuple[list[int], list[int]]:
    """Return the places of the instances of one half of the dialogues, and of the other."""
    names = sorted({one.id for one in instances})
    drawn = np.random.default_rng(seed).permutation(len(names))
    first = {names[place] for place in drawn[: len(names) // 2].tolist()}
    places = range(len(instances))
    return [place for place in places if instances[place].id in first], [p for p in places if instances[p].id not in first]


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
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"{hashlib.sha256(arguments.file.read_bytes()).hexdigest()}  {arguments.file.name}")
    rows = [one for one in read_cicero(arguments.file, strict=True) if isinstance(one, Instance)]
    instances = [one for one in rows if 0 < len(one.correct) < len(one.choices)]
    if arguments.but is not None:
        known = known_turns(arguments.but)
        shared = {one.id for one in instances if any(_words(turn) in known for turn in one.dialogue)}
        instances = [one for one in instances if one.id not in shared]
        print(f"{len(shared):,} dialogues share a turn with {arguments.but.name} and are left out")
    if arguments.dialogues is not None:
        names = sorted({one.id for one in instances})
        kept = {names[place] for place in np.random.default_rng(0).permutation(len(names))[: arguments.dialogues].tolist()}
        instances = [one for one in instances if one.id in kept]
    number = len({one.id for one in instances})
    print(f"{len(instances):,} instances of {number:,} dialogues; an exact match by chance {chance(instances):.3f}", flush=True)

    causal = open_causal(arguments.model, dtype=arguments.dtype)
    layers = layers_to_try(count_layers(causal.model))
    before, started = len(list(arguments.states.glob("*"))), time.perf_counter()
    states = read_choices(instances, causal, layers, arguments.states)
    if read := len(list(arguments.states.glob("*"))) - before:
        print(f"{read / (time.perf_counter() - started):.2f} instances/s through all layers, {causal.signature}", flush=True)
    ends = np.cumsum([len(one.choices) for one in instances])[:-1]
    first, second = halves(instances, arguments.seed)
    probe = train_choice_probe([instances[p] for p in first], causal, arguments.states, seed=arguments.seed)
    facts = probe.facts
    print(
        f"probe of the first half: layer {probe.layer}, penalty {facts['penalty']:g}, {facts['ordered']:.3f} "
        f"{facts['interval']} of the left-out pairs in order; of {facts['variants']} layers and penalties"
    )
    hidden = states.hidden[:, layers.index(probe.layer)].astype(np.float64)
    parts: dict[str, Features] = {
        "yes-no": [each[:, None] for each in np.split(states.margins, ends)],
        "probe": [each[:, None] for each in np.split(hidden @ probe.weights.astype(np.float64), ends)],
    }
    names = ["answers", *(["graph"] if arguments.graph else []), *(["similarity"] if arguments.encoder else [])]
    chooser = load_chooser(arguments.graph, names, encoder=arguments.encoder)
    features = {"yes-no": ["yes-no.yes"], "probe": ["probe.odds"]}
    for name, judge in chooser.judges.items():
        parts[name] = judge.measure(instances)
        features[name] = [f"{name}.{one}" for one in judge.features]
    mine = [instances[place] for place in second]

    def measured(group: Sequence[str], fitted: bool) -> Floats:
        values, columns = joined(parts, group), [one for name in group for one in features[name]]
        head: Any = fixed_head(columns)
        if fitted:
            head = fit(columns, [values[place] for place in first], [instances[place].correct for place in first])
        return figures(mine, [head.scores(values[place]).tolist() for place in second])

    control = measured([CONTROL], True)
    groups = [[name] for name in (*names, "yes-no", "probe")]
    groups += [["answers", "yes-no"], ["answers", "probe"], ["answers", "yes-no", "probe"]]
    for extra in names[1:]:
        groups += [["answers", extra], ["answers", extra, "yes-no"], [extra, "probe"], ["answers", extra, "probe"]]
    tables = {" + ".join(group): measured(group, True) for group in groups if "probe" not in group}
    mixed = [group for group in groups if len(group) > 1 or group in (["answers"], ["probe"])]
    tables |= {f"{' + '.join(group)}, shipped": measured(group, False) for group in mixed}
    print(f"\n{len(mine):,} instances of the second half; {len(tables)} rows")
    print_tables(tables, mine, control, arguments.resamples)
    everything = pairs_of(instances)
    margins = states.margins[everything.right] - states.margins[everything.wrong]
    print(f"\nyes-no puts {np.average(margins > 0, weights=everything.weights):.3f} of all pairs in order")


if __name__ == "__main__":
    main()
