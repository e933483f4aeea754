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
from tacit.reasoning.evaluation.correlation import formatted
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
    by_history: dict[str, list[Judged]] = {}
    for row in judged:
        text = "\n".join(turn for turn in row.history if turn.strip())
        if text and row.response.strip():
            by_history.setdefault(text, []).append(row)
    sample: list[Judged] = []
    for text in sorted(by_history, key=lambda text: hashlib.sha256(text.encode()).hexdigest()):
        if number is not None and len(sample) >= number:
            break
        sample += by_history[text]
    return sample


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
        (*rows[index]["history"], *rows[index - 1]["history"], *rows[index - 2]["history"])[-4:] for index in range(len(rows))
    ]
    layer = max(1, count_layers(causal.model) * 2 // 3)
    single = [(turns, replies[index]) for index, turns in enumerate(histories)]
    five = [
        (turns, replies[(index + 7 * step) % len(replies)]) for index, turns in enumerate(histories[::5]) for step in range(5)
    ]
    rates = {}
    prompt.read(single[:2], [layer])
    for name, pairs in (("one response to a history", single), ("five responses to a history", five)):
        start = time.perf_counter()
        prompt.read(pairs, [layer])
        rates[name] = len(pairs) / (time.perf_counter() - start)
        start = time.perf_counter()
        for turns, response in pairs:
            prompt.read([(turns, response)], [layer], margins=True)
        rates[f"{name}, bare model, one by one"] = len(pairs) / (time.perf_counter() - start)
    return rates


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
    numbers = {name: int(number) for name, _, number in (option.partition("=") for option in arguments.sample)}
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
        for name, scores in values.items():
            good, bad = scores[0::2], scores[1::2]
            shares = [ordered(good, bad), *(ordered(good[kinds == kind], bad[kinds == kind]) for kind in dict.fromkeys(kinds))]
            result["pairs"][name] = shares
            print(f"| {name} | {' | '.join(f'{share:.2f}' for share in shares)} |")
        for name, judged in sets.items():
            items = [Item(row.history, row.response) for row in judged]
            values = judged_by(
                read_states([pair_of(row.history, row.response) for row in judged], prompt, layers, folder), probe, layers
            )
            values |= {other: np.array([score.value for score in metric.score_batch(items)]) for other, metric in others.items()}
            ratings = np.array([row.rating for row in judged])
            talks = conversations([(row.history, row.response) for row in judged])
            agreements = {
                metric: agreement(scores, ratings, talks, arguments.resamples, arguments.seed)
                for metric, scores in values.items()
            }
            result["sets"][name] = {
                metric: {kind: asdict(value) for kind, value in row.items()} if row else None
                for metric, row in agreements.items()
            }
            print(f"\n{name}, {len(judged)} responses")
            for score, row in agreements.items():
                print(f"| {score} | {' | '.join(formatted(value) for value in row.values()) if row else 'not defined'} |")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1, default=str) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
