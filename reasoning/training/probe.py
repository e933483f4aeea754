"""Training a probe: ridge regression, from what layers of a language model make of tuples to whether people call them plausible.

States and labels are taken relative to the mean of their relation, so what is learnt is which tuples of a relation are plausible,
and not which relations often are. The layer is the one that tells best on heads that were not learnt from, the penalty the
heaviest there within a standard error of the best (Breiman et al., 1984): what little more a lighter one would gain on tuples
like these, it may lose on others. Platt's scaling (1999) of what was said of those heads makes chances of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression

from ...graph.errors import InputError
from ..metrics.accent.events import head_form
from ..metrics.accent.scorers.language_models import Asking, Probe, from_bytes, to_bytes
from ..metrics.accent.verbalise import reading
from ..models.causal_lm import CausalModel
from ..models.layers import count_layers
from .corpora import k_folds
from .loop import digest_of

FOLDS = 5
PENALTIES = (0.3, 1.0, 3.0, 10.0)
"""Weights of the ridge, for each tuple learnt from."""

_TOGETHER = 64
_RESAMPLES = 1000
_DEPTHS = 14
"""Layers are tried at steps of one part of so many, from the middle of the model up."""

Floats = NDArray[np.float64]
Labelled = tuple[str, str, str, bool]
Progress = Callable[[str, int, int], None]


class _Data(NamedTuple):
    """Judged tuples: whether people call them plausible, and the numbers of their relations and heads."""

    labels: Floats
    relations: NDArray[np.int64]
    heads: NDArray[np.int64]


class _Tried(NamedTuple):
    """A layer and a penalty, what is said by them of tuples whose heads were not learnt from, and how well it agrees."""

    layer: int
    penalty: float
    said: Floats
    auc: float


class _Line(NamedTuple):
    """A direction in states: what is taken off them first, and their weights."""

    off: Floats
    weights: Floats

    def along(self, states: Floats) -> Floats:
        return (states - self.off) @ self.weights


def train_probe(
    judged: Sequence[Labelled],
    causal: CausalModel,
    *,
    seed: int = 0,
    facts: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Probe:
    """Return a probe of ``causal`` that was trained on judged tuples (head, relation, tail, whether people call it plausible).

    Args:
        judged: of ATOMIC-2020's relations between events; of equal ones the first counts, and none where they disagree.
        seed: of the folds and of the resamples that the interval comes from.
        facts: more to write down in the probe beside what is measured here: the mean of the relations' AUCs, weighted by
            tuples, on heads that were not learnt from.
        progress: told the stage, how much of it is done, and how much there is.

    Raises:
        InputError: there are too few heads, or no relation with tuples of both kinds; the model's layers cannot be told apart.
        ModelError: the model gives no number, or reads too few tokens.
    """
    told = progress or (lambda *_: None)
    kept = _agreed(judged)
    data = _numbered(kept)
    rounds = [(one.train, one.test) for one in k_folds(data.heads, FOLDS, seed)]
    depth = count_layers(causal.model)
    layers = list(range(depth, (depth - 1) // 2, -max(1, depth // _DEPTHS)))[::-1]
    states = _states(kept, causal, layers, told)
    tried: list[_Tried] = []
    for number, layer in enumerate(layers):
        for penalty, said in zip(PENALTIES, _unseen(states[:, number], data, rounds), strict=True):
            tried.append(_Tried(layer, penalty, said, agreement(data.labels, data.relations, said)))
        told("fitting", number + 1, len(layers))
    best = max(tried, key=lambda one: one.auc)
    enough = best.auc - float(np.nanstd(_resampled(data, best.said, seed)))
    layer, penalty, said, auc = max(
        (one for one in tried if one.layer == best.layer and one.auc >= enough), key=lambda one: one.penalty
    )
    interval = np.nanpercentile(_resampled(data, said, seed), [2.5, 97.5]).round(3).tolist()
    data_digest = digest_of([tuple(map(str, one)) for one in kept])
    (line,) = _lines(states[:, layers.index(layer)].astype(np.float64), data, (penalty,))
    slope, bias = _scaling(said, data.labels)
    probe = Probe(
        layer,
        (slope * line.weights).astype(np.float32),
        bias - slope * float(line.off @ line.weights),
        causal.files.signature,
        {
            **(facts or {}), "tuples": len(kept), "left_out": len(judged) - len(kept), "heads": int(data.heads.max()) + 1,
            "plausible": round(float(data.labels.mean()), 4), "data": data_digest, "layers": depth, "penalty": penalty,
            "auc": round(auc, 4), "interval": interval, "best": round(best.auc, 4), "variants": len(tried), "seed": seed,
        },
    )  # fmt: skip
    return from_bytes(to_bytes(probe), "probe")


def agreement(labels: NDArray[Any], relations: NDArray[Any], said: Floats) -> float:
    """Return the mean of the relations' areas under the curve, weighted by tuples; relations of one label have none.

    Over relations together the area would tell how well relations are told apart (see docs/accent.md).

    Args:
        labels: 1 and 0; relations: names or numbers; said: numbers that should be higher where the label is 1; all of shape (n,).
    """
    areas, weights = [], []
    for relation in np.unique(relations):
        mine = relations == relation
        true = int(labels[mine].sum())
        false = int(mine.sum()) - true
        if true and false:
            above = rankdata(said[mine])[labels[mine] == 1].sum() - true * (true + 1) / 2
            areas.append(above / (true * false))
            weights.append(true + false)
    return float(np.average(areas, weights=weights)) if areas else float("nan")


def _agreed(judged: Sequence[Labelled]) -> list[Labelled]:
    """Each tuple once, sorted, without those that were called both."""
    labels: dict[tuple[str, str, str], set[bool]] = {}
    for head, relation, tail, plausible in judged:
        labels.setdefault((head, relation, tail), set()).add(bool(plausible))
    return [(*one, found.pop()) for one, found in sorted(labels.items()) if len(found) == 1]


def _numbered(kept: Sequence[Labelled]) -> _Data:
    heads: dict[str, int] = {}
    relations: dict[str, int] = {}
    for head, relation, *_ in kept:
        heads.setdefault(head_form(head), len(heads))
        relations.setdefault(relation, len(relations))
    data = _Data(
        np.array([plausible for *_, plausible in kept], np.float64),
        np.array([relations[relation] for _, relation, *_ in kept], np.int64),
        np.array([heads[head_form(head)] for head, *_ in kept], np.int64),
    )
    if len(heads) < 2 * FOLDS or np.isnan(agreement(data.labels, data.relations, data.labels)):
        raise InputError(
            f"{len(kept)} judged tuples of {len(heads)} heads tell too little; give {2 * FOLDS} heads or more, and tuples of one "
            "relation that are plausible and others that are not"
        )
    return data


def _states(kept: Sequence[Labelled], causal: CausalModel, layers: Sequence[int], told: Progress) -> NDArray[np.float32]:
    """What each layer makes of each tuple, shape (tuples, layers, width)."""
    asking = Asking(causal)
    parts = []
    for start in range(0, len(kept), _TOGETHER):
        rows = asking.rows([reading(*one[:3]) for one in kept[start : start + _TOGETHER]])
        parts.append(asking.continuation.states(rows, layers))
        told("reading", min(start + _TOGETHER, len(kept)), len(kept))
    return np.concatenate(parts)


def _unseen(states: NDArray[np.float32], data: _Data, rounds: Sequence[tuple[Any, Any]]) -> list[Floats]:
    """For each penalty what is said of each tuple by a probe that did not learn from its head."""
    found = [np.empty(len(states)) for _ in PENALTIES]
    for train, test in rounds:
        part = _Data(*(array[train] for array in data))
        seen, unseen = states[train].astype(np.float64), states[test].astype(np.float64)
        for said, line in zip(found, _lines(seen, part, PENALTIES), strict=True):
            said[test] = line.along(unseen)
    return found


def _lines(states: Floats, data: _Data, penalties: Sequence[float]) -> Iterator[_Line]:
    """The direction by each penalty: ridge regression within relations on states of one spread."""
    mean, spread = states.mean(0), states.std(0)
    spread[spread <= 1e-9 * max(float(spread.max()), 1e-300)] = np.inf  # what never changes tells nothing
    inputs, wanted = (states - mean) / spread, data.labels.copy()
    for relation in np.unique(data.relations):
        mine = data.relations == relation
        inputs[mine] -= inputs[mine].mean(0)
        wanted[mine] -= wanted[mine].mean()
    values, vectors = np.linalg.eigh(inputs.T @ inputs)
    along = vectors.T @ (inputs.T @ wanted)
    for penalty in penalties:
        yield _Line(mean, (vectors @ (along / (np.maximum(values, 0) + penalty * len(states)))) / spread)


def _scaling(said: Floats, labels: Floats) -> tuple[float, float]:
    """Slope and offset that make log odds of what was said, with Platt's targets, which are short of 0 and 1."""
    spread = float(said.std()) or 1.0
    true = labels.sum()
    wanted = np.where(labels == 1, (true + 1) / (true + 2), 1 / (len(labels) - true + 2))
    twice = np.tile(said / spread, 2)[:, None]
    fitted = LogisticRegression(C=1e6).fit(twice, np.repeat([1, 0], len(said)), np.concatenate([wanted, 1 - wanted]))
    return float(fitted.coef_[0, 0]) / spread, float(fitted.intercept_[0])


def _resampled(data: _Data, said: Floats, seed: int) -> list[float]:
    """The agreement when tuples are drawn again within relations, many times."""
    random = np.random.default_rng(seed)
    groups = [np.flatnonzero(data.relations == relation) for relation in np.unique(data.relations)]
    found = []
    for _ in range(_RESAMPLES):
        drawn = np.concatenate([random.choice(group, len(group)) for group in groups])
        found.append(agreement(data.labels[drawn], data.relations[drawn], said[drawn]))
    return found
