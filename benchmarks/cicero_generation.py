"""Similarity to people's answers of those of a model of ``tacit train cicero`` and of the graph, by CICERO's subtasks.

    python benchmarks/cicero_generation.py FILE [--model FOLDER] [--graph GRAPH] [--encoder ID] [--dialogues N] [--seed N]

The references of an answer are the right choices of its instance. The graph answers the question about the target, in one way for
subtasks with the same question; an answer that it does not have is blank. ``another dialogue`` is the control: a right answer to
the same question about the next dialogue that has one. With --dialogues N, a random N of the dialogues are asked about.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tacit.graph import open_graph
from tacit.graph.questions import Instance
from tacit.graph.storage import file_sha256
from tacit.loaders import read_cicero
from tacit.reasoning.evaluation.generation import Pair, measure
from tacit.reasoning.inference import load_inference
from tacit.reasoning.inference.inputs import SUBTASKS, Example, generation_examples
from tacit.reasoning.inference.trained import open_trained


def drawn(instances: Sequence[Instance], dialogues: int | None, seed: int) -> list[Instance]:
    """Return the instances of some dialogues, all without a number."""
    names = sorted({instance.id for instance in instances})
    indices = np.random.default_rng(seed).permutation(len(names))[:dialogues]
    names_drawn = {names[index] for index in indices.tolist()}
    return [instance for instance in instances if instance.id in names_drawn]


def print_row(name: str, subtask: str, pairs: Sequence[Pair], encoder: Any) -> None:
    """Print one line of the table."""
    measured = measure(pairs, encoder)
    share = np.mean([bool(text.strip()) for text, _ in pairs])
    cells = " | ".join(f"{value:.3f}" for value in measured.values.values())
    print(f"| {name} | {subtask} | {len(pairs):,} | {share:.3f} | {cells} |", flush=True)


def from_graph(address: str, instances: Sequence[Instance]) -> dict[str, str]:
    """Return the graph's best answer to each instance, by its key; blank where it has none."""
    answers = {}
    with open_graph(address) as graph:
        inference = load_inference(graph)
        for instance in instances:
            [turn] = inference.answer(instance.dialogue, instance.target_index, [instance.question], limit=1)
            answers[key(instance)] = next((answer.text for answer in turn.answers[instance.question]), "")
    return answers


def of_others(instances: Sequence[Instance]) -> dict[str, str]:
    """Return for each instance, by its key, the first right answer to the same question in the next dialogue that has one."""
    answers = {}
    for index, instance in enumerate(instances):
        candidates = (*instances[index + 1 :], *instances[:index])
        other = next(
            (candidate for candidate in candidates if candidate.question is instance.question and candidate.id != instance.id),
            instance,
        )
        answers[key(instance)] = other.choices[other.correct[0]]
    return answers


def key(instance: Instance) -> str:
    """Return what identifies an instance."""
    return f"{instance.id} {instance.question.value} {instance.target}"


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
    print(f"{file_sha256(arguments.file)}  {arguments.file.name}")
    rows = [
        instance for instance in read_cicero(arguments.file, strict=True) if isinstance(instance, Instance) and instance.correct
    ]
    instances = drawn(rows, arguments.dialogues, arguments.seed)
    print(f"{len(instances):,} instances of {len({instance.id for instance in instances}):,} dialogues")
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
    seconds, answers_written = 0.0, 0
    for subtask in SUBTASKS:
        fits = None if model is None else model.fits
        examples: list[tuple[Instance, Example]] = []
        for instance in instances:
            if instance.question is subtask.question:
                related = [
                    instance,
                    *(other for other in instances if (other.id, other.target) == (instance.id, instance.target)),
                ]
                examples += [(instance, example) for example in generation_examples(related, [subtask], fits=fits)[:1]]
        if not examples:
            continue
        for name, texts in sets:
            print_row(name, subtask.value, [(texts[key(instance)], example.answers) for instance, example in examples], encoder)
        if model is not None:
            started = time.perf_counter()
            written = model.write([example.source for _, example in examples])
            seconds, answers_written = seconds + time.perf_counter() - started, answers_written + len(examples)
            print_row(
                "model", subtask.value, list(zip(written, [example.answers for _, example in examples], strict=True)), encoder
            )
    if model is not None:
        print(f"\nmodel {model.signature}: {answers_written / seconds:.2f} answers/s")


if __name__ == "__main__":
    main()
