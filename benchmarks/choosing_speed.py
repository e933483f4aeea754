"""Speed of the judges of ``tacit choose`` that ask a language model, compared with the bare model; and of ``tacit infer``.

    python benchmarks/choosing_speed.py GRAPH FILE --model ID [--instances N] [--turns N]

``bare`` reads the tokens of an instance's prompt and of its choices in one sequence, the least that a judge computes. ``probe``
has random weights at three quarters of the layers; the layers above are removed. Times are processor seconds of one thread, since
the machine may be busy; models are opened, and one instance is judged, before the measurement.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tacit.graph import open_graph
from tacit.graph.questions import Instance
from tacit.loaders import read_cicero
from tacit.reasoning.inference import load_inference
from tacit.reasoning.inference.language_judges import PROBE, ChoicePrompt, Likelihood, ProbeJudge, YesNo, proposal
from tacit.reasoning.models.causal_lm import CausalModel, open_causal
from tacit.reasoning.models.layers import count_layers
from tacit.reasoning.models.linear_probe import Probe


def timed(name: str, run: Callable[[Sequence[Instance]], Any], instances: Sequence[Instance]) -> None:
    """Print the rate of ``run``."""
    run(instances[:1])
    started = time.process_time()
    run(instances[1:])
    print(f"| {name} | {(len(instances) - 1) / (time.process_time() - started):.2f} |", flush=True)


def bare(causal: CausalModel, instances: Sequence[Instance]) -> int:
    """Read the instances with the model alone; return the number of tokens."""
    before, after = ChoicePrompt(causal).template
    number = 0
    for instance in instances:
        parts = [before + proposal(instance), *(f" {choice}{after}" for choice in instance.choices)]
        row = [token for part in causal.tokens(parts) for token in part]
        number += len(row)
        with torch.inference_mode():
            causal.model(torch.tensor([row], device=causal.model.device), logits_to_keep=1)
    return number


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--instances", type=int, default=6)
    parser.add_argument("--turns", type=int, default=200)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = [instance for instance in read_cicero(arguments.file, strict=True) if isinstance(instance, Instance)]
    sample = rows[:: max(1, len(rows) // arguments.instances)][: arguments.instances + 1]
    print("| | instances a processor second |\n|---|---|")
    causal = open_causal(arguments.model, dtype="bfloat16")
    timed("bare, bfloat16", lambda part: print(f"| tokens an instance | {bare(causal, part) / len(part):.0f} |"), sample)
    timed("yes-no", YesNo(causal).measure, sample)
    timed("likelihood, bfloat16", Likelihood(causal).measure, sample)
    layer = count_layers(causal.model) * 3 // 4
    weights = np.random.default_rng(0).normal(size=causal.model.config.hidden_size).astype(np.float32)
    probe = Probe(PROBE, layer, weights, causal.files.signature, dtype=causal.dtype)
    timed(f"probe, layer {layer}", ProbeJudge(causal, probe, cut=True).measure, sample)
    with open_graph(arguments.graph) as graph:
        inference = load_inference(graph)
        turns = [(instance.dialogue, instance.target_index) for instance in rows[: arguments.turns]]
        inference.answer(*turns[0])
        started = time.process_time()
        for dialogue, index in turns:
            inference.answer(dialogue, index)
        print(f"\ninfer: {len(turns) / (time.process_time() - started):.1f} turns a processor second, five questions each")


if __name__ == "__main__":
    main()
