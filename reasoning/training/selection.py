"""Training the head of response selection over pooled vectors of a frozen encoder; the loss is that of
:mod:`tacit.reasoning.training.towers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..coherence.head import SelectionHead
from ..extras import need
from .loop import Plan, fit
from .towers import HeadSettings, Rows, Towers

Halves = NDArray[np.float16]


def train_head(
    vectors: Halves,
    rows: Rows,
    *,
    seed: int = 0,
    settings: HeadSettings | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> SelectionHead:
    """Train a head.

    Args:
        vectors: pooled vectors of texts, shape (texts, d).
        rows: last turn, turn before it (-1: none) and response of each pair, as rows of ``vectors``, shape (pairs, 3).
        seed: of weights, order and dropout.
        progress: told how many steps are done, and how many there are.
    """
    torch = need("torch", "neural")
    settings = settings or HeadSettings()
    mean, scale = _moments(vectors)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        towers = Towers(mean, scale, settings)
    if len(rows):

        def loss(batch: Sequence[int], _: np.random.Generator) -> Any:
            some = rows[batch]
            return towers.loss([_standard(towers, vectors, some[:, column]) for column in range(3)], some)

        size = min(settings.batch, len(rows))
        plan = Plan(settings.epochs * -(-len(rows) // size), size, settings.rate, seed, schedule="cosine", clip=0)
        fit(
            towers.module, loss, len(rows), plan, groups=towers.groups(settings.rate),
            progress=None if progress is None else lambda step, steps, _: progress(step, steps),
        )  # fmt: skip
    return towers.head()


def _standard(towers: Towers, vectors: Halves, rows: Rows) -> Any:
    """Standardised vectors of texts, zeros for no text."""
    found = (vectors[np.maximum(rows, 0)].astype(np.float32) - towers.mean) / towers.scale
    found[rows < 0] = 0
    return towers.torch.from_numpy(found)


def _moments(vectors: Halves, step: int = 8192) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and standard deviation of each column."""
    total, squares = np.zeros(vectors.shape[1]), np.zeros(vectors.shape[1])
    for start in range(0, len(vectors), step):
        part = vectors[start : start + step].astype(np.float64)
        total += part.sum(axis=0)
        squares += (part**2).sum(axis=0)
    mean = total / max(len(vectors), 1)
    deviation = np.sqrt(np.maximum(squares / max(len(vectors), 1) - mean**2, 0)) + 1e-3
    return mean.astype(np.float32), deviation.astype(np.float32)
