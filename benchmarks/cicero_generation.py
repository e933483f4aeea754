"""How like people's answers are those of a model of ``tacit train cicero``, and the graph's best ones, by CICERO's subtasks.

    python benchmarks/cicero_generation.py FILE [--model FOLDER] [--graph GRAPH] [--encoder ID] [--dialogues N] [--seed N]

The references of an answer are the right choices of its instance. The graph answers the question about the target, in one way for
subtasks with the same question; an answer that it does not have is blank. ``another dialogue`` is the control: a right answer to
the same question about the next dialogue that has one. With --dialogues N, a random N of the dialogues are asked about.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tacit.graph import open_graph
from tacit.graph.questions import Instance
from tacit.loaders import read_cicero
from tacit.reasoning.evaluation.generation import Pair, measure
from tacit.reasoning.inference import load_inference
from tacit.reasoning.inference.inputs import SUBTASKS, Example, generation_examples
from tacit.reasoning.inference.trained import open_trained


def drawn(instances: Sequence[Instance], dialogues: int | None, seed: int) -> list[Instance]:
    """Return the instances of some dialogues, all without a number."""
    names = sorted({one.id for one in instances})
    kept = np.random.default_rng(seed).permutation(len(names))[:dialogues]
    some = {names[place] for place in kept.tolist()}
    return [one for one in instances if one.id in some]


def told(name: str, subtask: str, pairs: Sequence[Pair], encoder: Any) -> None:
    """Print one line of the table."""
    found = measure(pairs, encoder)
    share = np.mean([bool(text.strip()) for text, _ in pairs])
    cells = " | ".join(f"{value:.3f}" for value in found.values.values())
    print(f"| {name} | {subtask} | {len(pairs):,} | {share:.3f} | {cells} |", flush=True)


def from_graph(address: str, instances: Sequence[Instance]) -> dict[str, str]:
    """Return the graph's best answer to each instance, by its key; blank where it has none."""
    found = {}
    with open_graph(address) as graph:
        inference = load_inference(graph)
        for one in instances:
            [turn] = inference.answer(one.dialogue, one.place, [one.question], limit=1)
            found[key(one)] = next((answer.text for answer in turn.answers[one.question]), "")
    return found


def of_others(instances: Sequence[Instance]) -> dict[str, str]:
    """Return for each instance, by its key, the first right answer to the same question in the next dialogue that has one."""
    found = {}
    for place, one in enumerate(instances):
        after = (*instances[place + 1 :], *instances[:place])
        other = next((each for each in after if each.question is one.question and each.id != one.id), one)
        found[key(one)] = other.choices[other.correct[0]]
    return found


def key(one: Instance) -> str:
    """Return what identifies an instance."""
    return f"{one.id} {one.question.value} {one.target}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--graph")
    parser.add_argument("--encoder")
    parser.add_argument("--dialogues", type=int)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"{hashlib.sha256(arguments.file.read_bytes()).hexdigest()}  {arguments.file.name}")
    rows = [one for one in read_cicero(arguments.file, strict=True) if isinstance(one, Instance) and one.correct]
    instances = drawn(rows, arguments.dialogues, arguments.seed)
    print(f"{len(instances):,} instances of {len({one.id for one in instances}):,} dialogues")
    encoder = None
    if arguments.encoder is not None:
        from tacit.reasoning.models.encoder import open_encoder

        encoder = open_encoder(None if arguments.encoder == "default" else arguments.encoder)
    sets = [("another dialogue", of_others(instances))]
    if arguments.graph is not None:
        started = time.perf_counter()
        sets.append(("graph", from_graph(arguments.graph, instances)))
        print(f"graph: {len(instances) / (time.perf_counter() - started):.1f} instances/s")
    model = open_trained(arguments.model) if arguments.model is not None else None
    print(measure([("a", ["a"])], encoder).signature)
    names = list(measure([("a", ["a"])], encoder).values)
    print(f"\n| answers | subtask | number | answered | {' | '.join(names)} |\n|{'---|' * (len(names) + 4)}")
    seconds, asked = 0.0, 0
    for subtask in SUBTASKS:
        fits = None if model is None else model.fits
        some: list[tuple[Instance, Example]] = []
        for one in instances:
            if one.question is subtask.question:
                near = [one, *(other for other in instances if (other.id, other.target) == (one.id, one.target))]
                some += [(one, each) for each in generation_examples(near, [subtask], fits=fits)[:1]]
        if not some:
            continue
        for name, texts in sets:
            told(name, subtask.value, [(texts[key(one)], example.answers) for one, example in some], encoder)
        if model is not None:
            started = time.perf_counter()
            written = model.write([example.source for _, example in some])
            seconds, asked = seconds + time.perf_counter() - started, asked + len(some)
            told("model", subtask.value, list(zip(written, [example.answers for _, example in some], strict=True)), encoder)
    if model is not None:
        print(f"\nmodel {model.signature}: {asked / seconds:.2f} answers/s")


if __name__ == "__main__":
    main()
