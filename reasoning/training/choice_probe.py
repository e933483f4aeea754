"""Training a probe for choices: logistic regression on differences between the states of right and of wrong choices."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.errors import InputError
from ...graph.questions import Instance
from ..inference.judges import PROBE, ChoicePrompt
from ..models.asking import States
from ..models.causal_lm import CausalModel
from ..models.layers import count_layers
from ..models.linear_probe import Probe
from ..models.modelfile import digest_of
from .corpora import k_folds
from .probes import (
    Pairs,
    Part,
    Progress,
    fitted,
    layers_to_try,
    logistic,
    read_parts,
    resampled,
    scale,
    share_in_order,
    try_layers,
)

FOLDS = 5
LEAST = 10
"""Fewest dialogues."""


def read_choices(
    instances: Sequence[Instance], causal: CausalModel, layers: Sequence[int], folder: Path, progress: Progress | None = None
) -> States:
    """Return the states of all choices of ``instances`` at ``layers``; those that ``folder`` has already are not computed
    again."""
    prompt = ChoicePrompt(causal)
    parts = []
    for one in instances:
        identity = [causal.files.digest, causal.dtype, list(layers), one.dialogue, one.target, one.question.value, one.choices]
        read = partial(prompt.read, [one], layers, margins=True)
        parts.append(Part(digest_of(json.dumps(identity).encode()), 1, read))
    return read_parts(parts, folder, progress)


def pairs_of(instances: Sequence[Instance]) -> Pairs:
    """Return the pairs of a right and a wrong choice of the same instance, with the instances' dialogues as groups."""
    rows: list[tuple[int, int, int, int]] = []
    groups: dict[str, int] = {}
    first = 0
    for number, one in enumerate(instances):
        wrong = [place for place in range(len(one.choices)) if place not in one.correct]
        if one.correct and wrong:
            group = groups.setdefault(one.id, len(groups))
            rows += [(first + right, first + other, number, group) for right in one.correct for other in wrong]
        first += len(one.choices)
    if len(groups) < LEAST:
        raise InputError(
            f"{len(groups)} dialogues have instances with right and wrong choices, too few; give {LEAST} dialogues or more"
        )
    return Pairs(*np.array(rows, np.int64).T)


def train_choice_probe(
    instances: Sequence[Instance],
    causal: CausalModel,
    folder: Path,
    *,
    seed: int = 0,
    facts: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Probe:
    """Return a probe of ``causal``, trained on right against wrong choices; instances count the same.

    Layer and penalty are chosen by the pairs of dialogues that are left out of the fit, in five folds. ``folder`` keeps the
    hidden states. A probe that puts no more left-out pairs in order than chance is an :class:`InputError`.
    """
    report = progress or (lambda *_: None)
    pairs = pairs_of(instances)
    depth = count_layers(causal.model)
    layers = layers_to_try(depth)
    states = read_choices(instances, causal, layers, folder, report)
    rounds = [(one.train, one.test) for one in k_folds(pairs.group, min(FOLDS, int(pairs.group.max()) + 1), seed)]
    chosen, variants = try_layers(states.hidden, pairs, rounds, seed, report)
    ordered = share_in_order(chosen.above, pairs.weights)
    # Held-out differences are smaller than fitted ones, so the scale comes from the former.
    slope = float(logistic(chosen.above[:, None], pairs.weights, 0.0)[0])
    if slope <= 0:
        raise InputError(
            f"the probe puts {ordered:.0%} of left-out pairs in order, no more than chance; train on more dialogues, or give "
            "another model"
        )
    spread = scale(states.hidden[:, chosen.column])
    weights = fitted(states.hidden[:, chosen.column] / spread, pairs, (chosen.penalty,))[0] / spread
    margins = states.margins[pairs.right] - states.margins[pairs.wrong]
    return Probe(
        PROBE, layers[chosen.column], (slope * weights).astype(np.float32), causal.files.signature, dtype=causal.dtype,
        facts={
            **(facts or {}), "instances": len(np.unique(pairs.owner)), "pairs": len(pairs.right),
            "dialogues": int(pairs.group.max()) + 1, "layers": depth, "penalty": chosen.penalty, "ordered": round(ordered, 4),
            "interval": np.percentile(resampled(chosen.above, pairs, seed), [2.5, 97.5]).round(4).tolist(),
            "yes_alone": round(share_in_order(margins, pairs.weights), 4), "variants": variants, "seed": seed,
        },
    ).written()  # fmt: skip
