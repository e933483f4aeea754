"""Training the probe of the judge ``probe``: logistic regression on differences between states of right and of wrong choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.errors import InputError
from ...graph.questions import Instance
from ..evaluation.resampling import k_folds
from ..inference.language_judges import PROBE, ChoicePrompt
from ..models.asking import States
from ..models.causal_lm import CausalModel
from ..models.layers import count_layers
from ..models.linear_probe import Probe
from .checkpoints import StageProgress
from .corpora import clusters
from .probes import (
    Batch,
    Pairs,
    calibrating_slope,
    layers_to_try,
    read_batches,
    resampled,
    share_in_order,
    try_layers,
    weights_of,
)

FOLDS = 5
LEAST = 10
"""Fewest dialogues, those that share turns counted as one."""


def read_choices(
    instances: Sequence[Instance], causal: CausalModel, layers: Sequence[int], folder: Path, progress: StageProgress | None = None
) -> States:
    """Return the states of all choices of ``instances`` at ``layers``; those that ``folder`` has already are not computed
    again."""
    prompt = ChoicePrompt(causal)
    model = [causal.files.digest, causal.dtype, list(layers)]
    batches = []
    for instance in instances:
        identity = [*model, instance.dialogue, instance.target, instance.question.value, instance.choices]
        batches.append(Batch(identity, 1, partial(prompt.read, [instance], layers, margins=True)))
    return read_batches(batches, folder, progress)


def pairs_of(instances: Sequence[Instance]) -> Pairs:
    """Return the pairs of a right and a wrong choice of the same instance; dialogues that share turns are one group."""
    rows: list[tuple[int, int, int, int]] = []
    groups: dict[int, int] = {}
    first = 0
    for number, (instance, cluster) in enumerate(zip(instances, clusters(instances).tolist(), strict=True)):
        wrong = [index for index in range(len(instance.choices)) if index not in instance.correct]
        if instance.correct and wrong:
            group = groups.setdefault(cluster, len(groups))
            rows += [(first + right, first + wrong_choice, number, group) for right in instance.correct for wrong_choice in wrong]
        first += len(instance.choices)
    if len(groups) < LEAST:
        raise InputError(
            f"{len(groups)} dialogues that share no turn have instances with right and wrong choices; give {LEAST} or more"
        )
    return Pairs(*np.array(rows, np.int64).T)


def train_choice_probe(
    instances: Sequence[Instance],
    causal: CausalModel,
    folder: Path,
    *,
    seed: int = 0,
    facts: Mapping[str, Any] | None = None,
    progress: StageProgress | None = None,
) -> Probe:
    """Return a probe of ``causal``, trained on right against wrong choices; instances count the same.

    Layer and penalty are chosen by the pairs of dialogues that are left out of the fit, in five folds; dialogues that share turns
    are left out together. ``folder`` keeps the hidden states. A probe that puts no more left-out pairs in order than chance is
    an :class:`InputError`.
    """
    report = progress or (lambda *_: None)
    pairs = pairs_of(instances)
    depth = count_layers(causal.model)
    layers = layers_to_try(depth)
    states = read_choices(instances, causal, layers, folder, report)
    splits = k_folds(pairs.group, min(FOLDS, int(pairs.group.max()) + 1), seed)
    chosen, variants = try_layers(states.hidden, pairs, splits, seed, report)
    slope = calibrating_slope(chosen.predictions, pairs, "dialogues")
    weights = weights_of(states.hidden, pairs, chosen)
    margins = states.margins[pairs.right] - states.margins[pairs.wrong]
    return Probe(
        PROBE, layers[chosen.column], (slope * weights).astype(np.float32), causal.files.signature, dtype=causal.dtype,
        facts={
            **(facts or {}), "instances": len(np.unique(pairs.owner)), "pairs": len(pairs.right),
            "dialogues": len({instances[number].id for number in pairs.owner.tolist()}), "clusters": int(pairs.group.max()) + 1,
            "layers": depth, "penalty": chosen.penalty,
            "ordered": round(chosen.quality, 4),
            "interval": np.percentile(resampled(chosen.predictions, pairs, seed), [2.5, 97.5]).round(4).tolist(),
            "yes_alone": round(share_in_order(margins, pairs.weights), 4), "variants": variants, "seed": seed,
        },
    ).written()  # fmt: skip
