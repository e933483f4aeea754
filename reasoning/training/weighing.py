"""Weighing the parts of coherence: regressions that tell true responses from random ones and near copies of recent turns.

No person's rating is looked at. There is one regression for each set of parts, so that any of them can be switched off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...graph.item import Item
from ..coherence.checkpoint import PARTS
from ..coherence.parts import Part, items_at_a_time

Dialogue = tuple[str, ...]
Labels = NDArray[np.int64]
Matrix = NDArray[np.float64]
Column = NDArray[np.float64]

RECENT = 4
COPIES = 0.1

_LOST = 0.1
_CHUNK = 4_096
_STRENGTH = 1.0


@dataclass(frozen=True)
class Contrasts:
    """Responses in their context, 1 for a true one and 0 for another."""

    items: list[Item]
    labels: Labels


@dataclass(frozen=True)
class Measured:
    """What ``parts`` say of some contrasts, shape (n, parts); all of these together weigh ``weight`` in a regression."""

    features: Matrix
    labels: Labels
    weight: float
    parts: tuple[str, ...] = PARTS

    def of(self, part: str) -> Column:
        """What one part says, shape (n,)."""
        column: Column = self.features[:, self.parts.index(part)]
        return column


def contrasts(dialogues: Sequence[Dialogue], copies: float, random: np.random.Generator) -> Contrasts:
    """Return true responses and, for each, a random one of another dialogue and ``copies`` copies of a recent turn.

    A copy has lost one word in ten, since the copies that systems make are seldom exact.
    """
    places = [(number, turn) for number, turns in enumerate(dialogues) for turn in range(1, len(turns))]
    items: list[Item] = []
    labels: list[int] = []
    for number, turn in places:
        history, response = dialogues[number][:turn], dialogues[number][turn]
        other, elsewhere = places[int(random.integers(len(places)))]
        while other == number:
            other, elsewhere = places[int(random.integers(len(places)))]
        items += [Item(history, response), Item(history, dialogues[other][elsewhere])]
        labels += [1, 0]
        if random.random() < copies:
            recent = history[-RECENT:]
            words = recent[int(random.integers(len(recent)))].split()
            kept = [word for word in words if random.random() >= _LOST] or words
            items.append(Item(history, " ".join(kept)))
            labels.append(0)
    return Contrasts(items, np.array(labels))


def measure(
    found: Contrasts,
    parts: Mapping[str, Part],
    weight: float,
    progress: Callable[[int], object] | None = None,
    said: Mapping[str, Column] | None = None,
) -> Measured:
    """Ask every part about contrasts but those that ``said`` has, which nothing that was learnt moves.

    ``progress`` is told how many responses each chunk has brought.
    """
    said = said or {}
    columns = []
    asked = {name: part for name, part in parts.items() if name not in said}
    chunk = items_at_a_time(asked.values(), _CHUNK)
    for start in range(0, len(found.items), chunk):
        some = found.items[start : start + chunk]
        answers = {name: [one.value for one in part.measure(some, False)] for name, part in asked.items()}
        answers |= {name: column[start : start + chunk].tolist() for name, column in said.items()}
        columns.append(np.array([answers[name] for name in parts]).T)
        if progress is not None:
            progress(len(some))
    return Measured(np.concatenate(columns), found.labels, weight, tuple(parts))


def weigh(groups: Sequence[Measured]) -> dict[str, dict[str, float]]:
    """Fit the regression of every set of parts, which are the same in all groups.

    Returns:
        ``bias`` and a weight for each part, of the log-odds, by the names of the parts joined with ``+``.
    """
    from sklearn.linear_model import LogisticRegression

    features = np.concatenate([group.features for group in groups])
    labels = np.concatenate([group.labels for group in groups])
    weights = np.concatenate([np.full(len(group.labels), group.weight / len(group.labels)) for group in groups])
    weights *= len(labels) / weights.sum()
    scale = features.std(axis=0)
    scale[scale == 0] = 1.0
    found = {}
    parts = groups[0].parts
    for number in range(1, 2 ** len(parts)):
        chosen = [place for place in range(len(parts)) if number >> place & 1]
        model = LogisticRegression(C=_STRENGTH).fit(features[:, chosen] / scale[chosen], labels, sample_weight=weights)
        names = [parts[place] for place in chosen]
        coefficients = dict(zip(names, (model.coef_[0] / scale[chosen]).tolist(), strict=True))
        found["+".join(names)] = {"bias": float(model.intercept_[0]), **coefficients}
    return found


def areas(groups: Sequence[Measured]) -> dict[str, float]:
    """Return the area under the ROC curve of each part alone, the mean over ``groups``."""
    from sklearn.metrics import roc_auc_score

    return {
        name: float(np.mean([roc_auc_score(group.labels, group.features[:, place]) for group in groups]))
        for place, name in enumerate(groups[0].parts)
    }
