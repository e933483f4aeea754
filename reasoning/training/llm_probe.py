"""Training a linear probe: ridge regression from a layer's hidden states of a language model to plausibility labels of tuples.

States and labels are centred by relation, so that the probe separates tuples of one relation, not relations. Layer and penalty
are chosen by the agreement on held-out heads (:func:`.probes.choose_trial`). Platt scaling (1999) of the held-out predictions
gives probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression

from ...graph.errors import InputError
from ..evaluation.resampling import TrainTestSplit, k_folds
from ..metrics.accent.events import head_form
from ..metrics.accent.scorers.language_models import PROBE, PlausibilityPrompt
from ..metrics.accent.verbalise import Verbalised, verbalise
from ..models.causal_lm import CausalModel
from ..models.layers import count_layers
from ..models.linear_probe import Probe
from .checkpoints import StageProgress, stored_arrays
from .loop import examples_digest
from .probes import Trial, choose_trial, layers_to_try

FOLDS = 5
PENALTIES = (0.3, 1.0, 3.0, 10.0)
"""Ridge penalties, per training tuple."""

_TOGETHER = 64
_RESAMPLES = 1000

Floats = NDArray[np.float64]
Labelled = tuple[str, str, str, bool]


class _Data(NamedTuple):
    """Labelled tuples: plausible or not, and the numbers of their relations and heads."""

    labels: Floats
    relations: NDArray[np.int64]
    heads: NDArray[np.int64]


class _Linear(NamedTuple):
    """A linear function of states: their mean, which is subtracted first, and weights."""

    mean: Floats
    weights: Floats

    def predict(self, states: Floats) -> Floats:
        return (states - self.mean) @ self.weights


def train_probe(
    judged: Sequence[Labelled],
    causal: CausalModel,
    folder: Path,
    *,
    seed: int = 0,
    facts: dict[str, Any] | None = None,
    progress: StageProgress | None = None,
) -> Probe:
    """Return a probe of ``causal``, trained on labelled tuples (head, relation, tail, plausible).

    Args:
        judged: of ATOMIC-2020's relations between events; duplicates count once, and contradicting ones are left out.
        folder: for the hidden states; those that it has already are not computed again.
        seed: of the folds and of the bootstrap for the interval.
        facts: further facts for the probe, beside the measured ones: the AUC on held-out heads, averaged over relations weighted
            by tuples.
        progress: called with the stage, the amount done, and the total.

    Raises:
        InputError: there are too few heads, no relation has tuples with both labels, the model's layers cannot be identified, or
            predictions for held-out heads do not rise with the labels.
        ModelError: the model's output is not finite, or its context is too short.
    """
    report = progress or (lambda *_: None)
    rows = _agreed(judged)
    data = _numbered(rows)
    folds = k_folds(data.heads, FOLDS, seed)
    depth = count_layers(causal.model)
    layers = layers_to_try(depth)
    states = _states(rows, causal, layers, folder, report)
    trials: list[Trial] = []
    for column in range(len(layers)):
        for penalty, predictions in zip(PENALTIES, _cross_validated(states[:, column], data, folds), strict=True):
            trials.append(Trial(column, penalty, predictions, agreement(data.labels, data.relations, predictions)))
        report("fitting", column + 1, len(layers))
    chosen = choose_trial(trials, lambda predictions: float(np.nanstd(_resampled(data, predictions, seed))))
    interval = np.nanpercentile(_resampled(data, chosen.predictions, seed), [2.5, 97.5]).round(3).tolist()
    data_digest = examples_digest([tuple(map(str, row)) for row in rows])
    (linear,) = _ridge(states[:, chosen.column].astype(np.float64), data, (chosen.penalty,))
    slope, bias = _platt_scaling(chosen.predictions, data.labels)
    if slope <= 0:
        raise InputError(
            f"the probe separates tuples with held-out heads with an AUC of {chosen.quality:.2f}, no better than chance; train on"
            " more tuples, or give another model"
        )
    return Probe(
        PROBE, layers[chosen.column], (slope * linear.weights).astype(np.float32), causal.files.signature,
        bias=bias - slope * float(linear.mean @ linear.weights),
        facts={
            **(facts or {}), "tuples": len(rows), "left_out": len(judged) - len(rows), "heads": int(data.heads.max()) + 1,
            "plausible": round(float(data.labels.mean()), 4), "data": data_digest, "layers": depth, "penalty": chosen.penalty,
            "auc": round(chosen.quality, 4), "interval": interval, "best": round(max(trial.quality for trial in trials), 4),
            "variants": len(trials), "seed": seed,
        },
    ).written()  # fmt: skip


def agreement(labels: NDArray[Any], relations: NDArray[Any], predictions: Floats) -> float:
    """Return the AUC averaged over relations, weighted by tuples; relations with one label are left out.

    An AUC over all relations together would also measure how well relations are separated (see docs/accent.md).

    Args:
        labels: 1 and 0; relations: names or numbers; predictions: predictions, higher for label 1; all of shape (n,).
    """
    areas, weights = [], []
    for relation in np.unique(relations):
        in_relation = relations == relation
        if np.ptp(labels[in_relation]):
            areas.append(_auc(labels[in_relation], predictions[in_relation]))
            weights.append(int(in_relation.sum()))
    return float(np.average(areas, weights=weights)) if areas else float("nan")


def _auc(labels: NDArray[Any], predictions: Floats) -> float:
    """The AUC from the ranks of label 1 (Mann-Whitney U); scikit-learn's function spends most of its time on checks."""
    positive = labels == 1
    count = int(positive.sum())
    ranks = rankdata(predictions)
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(labels) - count)))


def _agreed(judged: Sequence[Labelled]) -> list[Labelled]:
    """The distinct tuples, sorted, without those with contradicting labels."""
    labels: dict[tuple[str, str, str], set[bool]] = {}
    for head, relation, tail, plausible in judged:
        labels.setdefault((head, relation, tail), set()).add(bool(plausible))
    return [
        (*triple, labels_of_triple.pop()) for triple, labels_of_triple in sorted(labels.items()) if len(labels_of_triple) == 1
    ]


def _numbered(rows: Sequence[Labelled]) -> _Data:
    heads: dict[str, int] = {}
    relations: dict[str, int] = {}
    for head, relation, *_ in rows:
        heads.setdefault(head_form(head), len(heads))
        relations.setdefault(relation, len(relations))
    data = _Data(
        np.array([plausible for *_, plausible in rows], np.float64),
        np.array([relations[relation] for _, relation, *_ in rows], np.int64),
        np.array([heads[head_form(head)] for head, *_ in rows], np.int64),
    )
    if len(heads) < 2 * FOLDS or np.isnan(agreement(data.labels, data.relations, data.labels)):
        raise InputError(
            f"{len(rows)} judged tuples of {len(heads)} heads are too few; give {2 * FOLDS} heads or more, and plausible and "
            "implausible tuples of one relation"
        )
    return data


def _states(
    rows: Sequence[Labelled], causal: CausalModel, layers: Sequence[int], folder: Path, report: StageProgress
) -> NDArray[np.float32]:
    """Return the hidden states of each tuple at each layer, shape (tuples, layers, width)."""
    prompt = PlausibilityPrompt(causal)
    model = [causal.files.digest, causal.dtype, list(layers)]
    parts = []
    for start in range(0, len(rows), _TOGETHER):
        texts = [verbalise(*row[:3]) for row in rows[start : start + _TOGETHER]]
        parts.append(stored_arrays(folder, [*model, texts], partial(_compute, prompt, texts, layers))["states"])
        report("reading", start + len(texts), len(rows))
    return np.concatenate(parts)


def _compute(prompt: PlausibilityPrompt, texts: Sequence[Verbalised], layers: Sequence[int]) -> dict[str, Any]:
    return {"states": prompt.states(texts, layers)}


def _cross_validated(states: NDArray[np.float32], data: _Data, folds: Sequence[TrainTestSplit]) -> list[Floats]:
    """For each penalty, predictions for each tuple by a probe that was trained without its head."""
    result = [np.empty(len(states)) for _ in PENALTIES]
    for train, test in folds:
        part = _Data(data.labels[train], data.relations[train], data.heads[train])
        training, test_states = states[train].astype(np.float64), states[test].astype(np.float64)
        for predictions, linear in zip(result, _ridge(training, part, PENALTIES), strict=True):
            predictions[test] = linear.predict(test_states)
    return result


def _ridge(states: Floats, data: _Data, penalties: Sequence[float]) -> Iterator[_Linear]:
    """The linear function for each penalty: ridge regression on standardised states, centred by relation."""
    mean, spread = states.mean(0), states.std(0)
    spread[spread <= 1e-9 * max(float(spread.max()), 1e-300)] = np.inf  # constant states get no weight
    inputs, targets = (states - mean) / spread, data.labels.copy()
    for relation in np.unique(data.relations):
        in_relation = data.relations == relation
        inputs[in_relation] -= inputs[in_relation].mean(0)
        targets[in_relation] -= targets[in_relation].mean()
    values, vectors = np.linalg.eigh(inputs.T @ inputs)
    projected = vectors.T @ (inputs.T @ targets)
    for penalty in penalties:
        yield _Linear(mean, (vectors @ (projected / (np.maximum(values, 0) + penalty * len(states)))) / spread)


def _platt_scaling(predictions: Floats, labels: Floats) -> tuple[float, float]:
    """Slope and offset that turn predictions into log-odds, fitted to Platt's smoothed targets."""
    spread = float(predictions.std()) or 1.0
    true = labels.sum()
    targets = np.where(labels == 1, (true + 1) / (true + 2), 1 / (len(labels) - true + 2))
    twice = np.tile(predictions / spread, 2)[:, None]
    fitted = LogisticRegression(C=1e6).fit(twice, np.repeat([1, 0], len(predictions)), np.concatenate([targets, 1 - targets]))
    return float(fitted.coef_[0, 0]) / spread, float(fitted.intercept_[0])


def _resampled(data: _Data, predictions: Floats, seed: int) -> list[float]:
    """Agreements on bootstrap samples of tuples within relations."""
    random = np.random.default_rng(seed)
    groups = [np.flatnonzero(data.relations == relation) for relation in np.unique(data.relations)]
    result = []
    for _ in range(_RESAMPLES):
        drawn = np.concatenate([random.choice(group, len(group)) for group in groups])
        result.append(agreement(data.labels[drawn], data.relations[drawn], predictions[drawn]))
    return result
