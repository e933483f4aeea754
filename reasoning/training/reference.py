"""Making a reference distribution: a metric scores true and random responses drawn from a corpus of dialogues.

A true response is a random turn of a random dialogue, with a random number (one to eight) of turns before it. Its random
counterpart is a response of another dialogue of the corpus, with the same history. The sample is determined by the dialogues,
their order, the number and the seed, so all metrics score the same responses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ...graph.errors import InputError
from ..base import Metric, Signature
from ..reference import Reference, quantiles_of
from .corpora import Dialogue, hold_out

LONGEST_HISTORY = 8
LEAST_JUDGED = 100

Progress = Callable[[int], object]


class Drawn(NamedTuple):
    """True responses and random ones with the same histories, as ``(history, response)``."""

    true: list[tuple[tuple[str, ...], str]]
    random: list[tuple[tuple[str, ...], str]]


def held_out_dialogues(corpora: Mapping[str, Sequence[Dialogue]], seed: int) -> dict[str, list[Dialogue]]:
    """Return the dialogues held out by :func:`.coherence.train_coherence` under ``seed``, since it scores its training data
    higher."""
    return {name: split.held_out for name, split in hold_out(corpora, np.random.default_rng(seed)).items()}


def draw(corpora: Mapping[str, Sequence[Dialogue]], number: int, seed: int) -> Drawn:
    """Draw ``number`` true responses, each once, and a random one for each, from corpora of at least two dialogues."""
    if number < 1 or seed < 0:
        raise InputError(f"{number} responses with seed {seed} cannot be drawn; the number must be >= 1, the seed >= 0")
    for name, dialogues in corpora.items():
        if len(dialogues) < 2:
            raise InputError(f"the corpus {name} has {len(dialogues)} dialogues; random responses need at least two")
    rng = np.random.default_rng(seed)
    positions = [
        (name, dialogue, turn)
        for name, dialogues in corpora.items()
        for dialogue, turns in enumerate(dialogues)
        for turn in range(1, len(turns))
    ]
    true, random = [], []
    for index in rng.permutation(len(positions))[:number].tolist():
        name, dialogue, turn = positions[index]
        turns = corpora[name][dialogue]
        history = tuple(turns[max(0, turn - int(rng.integers(1, LONGEST_HISTORY + 1))) : turn])
        other_dialogue = int(rng.integers(len(corpora[name]) - 1))
        elsewhere = corpora[name][other_dialogue + (other_dialogue >= dialogue)]
        true.append((history, turns[turn]))
        random.append((history, elsewhere[int(rng.integers(1, len(elsewhere)))]))
    return Drawn(true, random)


def make_reference(
    metric: Metric, drawn: Drawn, name: str, facts: Mapping[str, Any], *, batch_size: int = 256, progress: Progress | None = None
) -> Reference:
    """Score the responses and return the reference; responses without a score are left out and counted.

    The metric must score 100 of the true and of the random responses. ``name`` is that of the corpus; ``facts`` are stored.
    """
    values: dict[str, list[float]] = {}
    for kind, items in drawn._asdict().items():
        scores: list[float] = []
        for start in range(0, len(items), batch_size):
            part = items[start : start + batch_size]
            scores += [score.value for score in metric.score_batch(part)]
            if progress is not None:
                progress(len(part))
        values[kind] = [value for value in scores if isfinite(value)]
        if len(values[kind]) < LEAST_JUDGED:
            raise InputError(
                f"{metric.name} judges {len(values[kind])} of {len(items)} {kind} responses; a reference needs {LEAST_JUDGED},"
                " so give more dialogues"
            )
    counted = {
        "responses": {kind: len(scores) for kind, scores in values.items()},
        "not_judged": {kind: len(items) - len(values[kind]) for kind, items in drawn._asdict().items()},
    }
    return Reference(
        name,
        str(without_reference(metric.signature)),
        quantiles_of(values["true"]),
        quantiles_of(values["random"]),
        _share_above(values["true"], values["random"]),
        {**counted, **facts},
    )


def _share_above(true: Sequence[float], random: Sequence[float]) -> float:
    """Return the share of pairs in which the true value is greater, 0..1; ties count half: the area under the ROC curve."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score([1] * len(true) + [0] * len(random), [*true, *random]))


def without_reference(signature: Signature) -> Signature:
    """Return a signature without its reference."""
    parts = tuple(part for part in signature.parts if part[0] != "reference")
    return Signature(signature.metric, parts, signature.version)
