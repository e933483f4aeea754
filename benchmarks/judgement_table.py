"""How well judgement agrees with people, and which share of sensible responses each metric puts above a tempting senseless one.

    python benchmarks/judgement_table.py DATA_DIR [--model MODEL] [--probe PROBE] [--sample NAME=N]... [--states FOLDER]
        [--graph GRAPH] [--resamples N] [--seed N] [--json FILE] [--speed]

DATA_DIR has the folder ``judgements``. The rows are ``judgement``, the yes or no of its language model alone, and ``coherence``,
``similarity`` and, with a graph, ``grounding`` on the same responses; for the pairs also ``overall``. ``--sample fed-turn=100``
measures the first histories in the order of the SHA-256 of their text that have 100 responses or more, since a language model is
slow without a GPU. Intervals
are 95% bootstrap intervals over conversations. The pairs are those of ``benchmarks/support/sensible-pairs.jsonl``: history,
sensible and senseless response, written for this purpose by hand or by rule. ``--states`` keeps hidden states, so that an
interrupted run continues. ``--speed`` measures items a second instead, beside the bare model that reads every prompt
from its beginning.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.special import expit
from support.correlating import agreement
from tacit.graph.item import Item
from tacit.graph.open import open_graph
from tacit.loaders import Judgement as Judged
from tacit.loaders import read_judgements
from tacit.reasoning import load_metric
from tacit.reasoning.base import Metric
from tacit.reasoning.evaluation.agreement import conversations
from tacit.reasoning.evaluation.correlation import spelt
from tacit.reasoning.metrics.coherence.metric import make as make_coherence
from tacit.reasoning.metrics.judgement import (
    MODEL_FILE,
    PROBE,
    TURNS,
    Judgement,
    JudgementPrompt,
    Pair,
    models_folder,
)
from tacit.reasoning.metrics.overall import Overall
from tacit.reasoning.models.asking import States
from tacit.reasoning.models.causal_lm import open_causal
from tacit.reasoning.models.layers import count_layers
from tacit.reasoning.models.linear_probe import Probe
from tacit.reasoning.training.judgement import read_states
from tacit.reasoning.training.probes import layers_to_try

PAIRS = Path(__file__).parent / "support" / "sensible-pairs.jsonl"
SETS = ("fed-turn", "grade-dailydialog-empathetic", "persona-zhao", "dailydialog-gupta", "dailydialog-zhao")


def sampled(judged: list[Judged], number: int | None) -> list[Judged]:
    """Return the responses to the first histories, by the SHA-256 of their text, that have ``number`` responses or more."""
    found: dict[str, list[Judged]] = {}
    for one in judged:
        text = "\n".join(turn for turn in one.history if turn.strip())
        if text and one.response.strip():
            found.setdefault(text, []).append(one)
    kept: list[Judged] = []
    for text in sorted(found, key=lambda text: hashlib.sha256(text.encode()).hexdigest()):
        if number is not None and len(kept) >= number:
            break
        kept += found[text]
    return kept


def read_pairs() -> list[dict[str, Any]]:
    """Return the published pairs."""
    return [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]


def pair_of(history: Any, response: str) -> Pair:
    """Return the turns that judgement reads, and the response."""
    return tuple(turn for turn in history if turn.strip())[-TURNS:], response


def judged_by(states: States, probe: Probe, layers: list[int]) -> dict[str, Any]:
    """Return the values of the metric, and the probability of yes alone."""
    column = layers.index(probe.layer)
    odds = probe.log_odds(states.hidden[:, column], states.margins)
    return {"judgement": expit(odds), "yes or no": expit(states.margins)}


def ordered(good: Any, bad: Any) -> float:
    """Return the share of pairs in which the sensible response has the higher score; equal and missing scores count half."""
    above, below = good > bad, good < bad
    return float(np.mean(above + 0.5 * ~(above | below)))


def speed(model: str, dtype: str, number: int) -> dict[str, float]:
    """Return items a second: histories with one response, with five, and the bare model that reads every prompt whole."""
    causal = open_causal(model, dtype=dtype)
    prompt = JudgementPrompt(causal)
    rows = read_pairs()[:number]
    replies = [row[side] for row in rows for side in ("sensible", "senseless")]
    histories = [
        (*rows[place]["history"], *rows[place - 1]["history"], *rows[place - 2]["history"])[-4:] for place in range(len(rows))
    ]
    layer = max(1, count_layers(causal.model) * 2 // 3)
    one = [(turns, replies[place]) for place, turns in enumerate(histories)]
    five = [
        (turns, replies[(place + 7 * step) % len(replies)]) for place, turns in enumerate(histories[::5]) for step in range(5)
    ]
    found = {}
    prompt.read(one[:2], [layer])
    for name, pairs in (("one response to a history", one), ("five responses to a history", five)):
        start = time.perf_counter()
        prompt.read(pairs, [layer])
        found[name] = len(pairs) / (time.perf_counter() - start)
        start = time.perf_counter()
        for turns, response in pairs:
            prompt.read([(turns, response)], [layer], margins=True)
        found[f"{name}, bare model, one by one"] = len(pairs) / (time.perf_counter() - start)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--model", default=str(models_folder() / MODEL_FILE))
    parser.add_argument("--probe")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--sample", action="append", default=[])
    parser.add_argument("--states", type=Path)
    parser.add_argument("--graph")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--speed", action="store_true")
    arguments = parser.parse_args()
    if arguments.speed:
        for name, rate in speed(arguments.model, arguments.dtype, 40).items():
            print(f"| {name} | {rate:.2f} |")
        return
    if arguments.data is None:
        print("not measured: name a folder of judgement files")
        return
    numbers = {name: int(number) for name, _, number in (one.partition("=") for one in arguments.sample)}
    files = {name: arguments.data / "judgements" / f"{name}.jsonl.gz" for name in SETS}
    sets = {
        name: sampled([row for row in read_judgements(path) if isinstance(row, Judged)], numbers.get(name))
        for name, path in files.items()
    }
    rows = read_pairs()
    sides = {side: [(tuple(row["history"]), row[side]) for row in rows] for side in ("sensible", "senseless")}
    causal = open_causal(arguments.model, dtype=arguments.dtype)
    probe, prompt, layers = PROBE.open(arguments.probe), JudgementPrompt(causal), layers_to_try(count_layers(causal.model))
    graph = None if arguments.graph is None else open_graph(arguments.graph)
    coherence = make_coherence()
    others: dict[str, Metric] = {"coherence": coherence, "similarity": load_metric("similarity")}
    if graph is not None:
        others["grounding"] = load_metric("grounding", graph)
    result: dict[str, Any] = {"sets": {}, "pairs": {}}
    with TemporaryDirectory() as scratch:
        folder = arguments.states or Path(scratch)
        both = [pair for good, bad in zip(sides["sensible"], sides["senseless"], strict=True) for pair in (good, bad)]
        values = judged_by(read_states(both, prompt, layers, folder), probe, layers)
        overall = Overall(Judgement(causal, probe, gains=True), coherence)
        for name, metric in {**others, "overall": overall}.items():
            values[name] = np.array([score.value for score in metric.score_batch(both)])
        kinds = np.array([row["kind"] for row in rows])
        print("| metric | all |", " | ".join(dict.fromkeys(kinds)), "|")
        for name, each in values.items():
            good, bad = each[0::2], each[1::2]
            shares = [ordered(good, bad), *(ordered(good[kinds == kind], bad[kinds == kind]) for kind in dict.fromkeys(kinds))]
            result["pairs"][name] = shares
            print(f"| {name} | {' | '.join(f'{share:.2f}' for share in shares)} |")
        for name, judged in sets.items():
            items = [Item(one.history, one.response) for one in judged]
            values = judged_by(
                read_states([pair_of(one.history, one.response) for one in judged], prompt, layers, folder), probe, layers
            )
            values |= {one: np.array([score.value for score in metric.score_batch(items)]) for one, metric in others.items()}
            ratings = np.array([one.rating for one in judged])
            talks = conversations([(one.history, one.response) for one in judged])
            found = {one: agreement(each, ratings, talks, arguments.resamples, arguments.seed) for one, each in values.items()}
            result["sets"][name] = {
                one: {kind: asdict(value) for kind, value in row.items()} if row else None for one, row in found.items()
            }
            print(f"\n{name}, {len(judged)} responses")
            for one, row in found.items():
                print(f"| {one} | {' | '.join(spelt(value) for value in row.values()) if row else 'not defined'} |")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1, default=str) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
