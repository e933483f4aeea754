"""Linear probes of a language model's hidden states: logistic regression on differences between right and wrong texts' states.

Shared by the trainings of probes (:mod:`.judgement`, :mod:`.choice_probe`, :mod:`.llm_probe`). The states are read once and kept
in files, and layer and penalty are chosen by what a fit has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from ...graph.errors import InputError
from ..evaluation.resampling import Indices, ratios
from ..models.asking import States
from .checkpoints import StageProgress, stored_arrays

Floats = NDArray[np.float64]

# Hidden states, stored a few texts at a time, so that an interrupted reading continues.

_DEPTHS = 14


def layers_to_try(depth: int) -> list[int]:
    """Return the layers whose states are read, from the middle of a model of ``depth`` layers to its top, at most 14."""
    return list(range(depth, (depth - 1) // 2, -max(1, depth // _DEPTHS)))[::-1]


class Batch(NamedTuple):
    """A few texts to read: what their states depend on, as JSON values, how many items they count as, and what reads them."""

    identity: Any
    items: int
    read: Callable[[], States]

    def arrays(self) -> dict[str, Any]:
        """Read the texts; hidden states are stored in half precision."""
        states = self.read()
        return {"hidden": states.hidden.astype(np.float16), "margins": states.margins}


def read_batches(batches: Sequence[Batch], folder: Path, progress: StageProgress | None = None) -> States:
    """Return the states of all batches, in order; those that are stored in ``folder`` are not computed again.

    ``progress`` is called with ``reading``, the number of items read, and their total.
    """
    parts, done, total = [], 0, sum(batch.items for batch in batches)
    for batch in batches:
        parts.append(stored_arrays(folder, batch.identity, batch.arrays))
        done += batch.items
        if progress is not None:
            progress("reading", done, total)
    hidden, margins = (np.concatenate([part[name] for part in parts]) for name in ("hidden", "margins"))
    return States(hidden.astype(np.float32), margins, np.full(len(margins), np.nan))


# Choice of layer and penalty by cross-validation.

PENALTIES = (1e-2, 0.1, 1.0, 10.0, 100.0)
"""L2 penalties, per group of pairs, of weights of standardised states."""

_RESAMPLES = 1_000


class Pairs(NamedTuple):
    """Pairs of a right and a wrong text.

    Attributes:
        right, wrong: their rows among the texts.
        owner: number of what the pair is of, a history or an instance; all of these count the same.
        group: number of the dialogue or corpus, whose pairs are left out together.
    """

    right: Indices
    wrong: Indices
    owner: Indices
    group: Indices

    @property
    def weights(self) -> Floats:
        """The weight of each pair, so that owners count the same; sums up to 1."""
        number = np.bincount(self.owner)
        return 1 / (number[self.owner] * np.count_nonzero(number))

    def subset(self, at: Indices) -> Pairs:
        """Return the pairs at these places."""
        return Pairs(self.right[at], self.wrong[at], self.owner[at], self.group[at])


class Trial(NamedTuple):
    """A layer (its index among those that were read) and a penalty, the predictions of probes that have not seen what they
    predict, and the quality of these, such as the share of pairs in order."""

    column: int
    penalty: float
    predictions: Floats
    quality: float


def choose_trial(trials: Sequence[Trial], standard_error: Callable[[Floats], float]) -> Trial:
    """Return the trial of the best layer with the largest penalty whose quality is within one standard error of the best (Breiman
    et al., 1984), since a smaller penalty may fit this data alone."""
    best = max(trials, key=lambda trial: trial.quality)
    enough = best.quality - standard_error(best.predictions)
    return max(
        (trial for trial in trials if trial.column == best.column and trial.quality >= enough), key=lambda trial: trial.penalty
    )


def try_layers(
    hidden: NDArray[np.float32], pairs: Pairs, splits: Sequence[tuple[Indices, Indices]], seed: int, progress: StageProgress
) -> tuple[Trial, int]:
    """Return the chosen layer and penalty, and the number of those that were tried.

    Args:
        hidden: states, shape (texts, layers, width).
        splits: pairs to fit and pairs to test; each pair is tested once.
        seed: of the bootstrap for the standard error.
        progress: called with ``fitting``, the number of layers done, and of all.
    """
    trials: list[Trial] = []
    for column in range(hidden.shape[1]):
        above = np.zeros((len(PENALTIES), len(pairs.right)))
        scaled = hidden[:, column] / scale(hidden[:, column])
        for train, test in splits:
            unseen = scaled[pairs.right[test]] - scaled[pairs.wrong[test]]
            for number, weights in enumerate(fitted(scaled, pairs.subset(train))):
                above[number, test] = unseen @ weights
        trials += [
            Trial(column, penalty, row, share_in_order(row, pairs.weights)) for penalty, row in zip(PENALTIES, above, strict=True)
        ]
        progress("fitting", column + 1, hidden.shape[1])
    return choose_trial(trials, lambda above: float(np.std(resampled(above, pairs, seed)))), len(trials)


def weights_of(hidden: NDArray[np.float32], pairs: Pairs, chosen: Trial) -> Floats:
    """Return the weights of a layer's states, fitted to all pairs with the chosen penalty, shape (width,)."""
    states = hidden[:, chosen.column]
    spread = scale(states)
    return fitted(states / spread, pairs, (chosen.penalty,))[0] / spread


def scale(states: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the spread of states; that of constant ones is infinite, so that they get no weight."""
    spread: NDArray[np.float32] = states.std(0)
    spread[spread <= 1e-6 * float(spread.max())] = np.inf
    return spread


def fitted(states: NDArray[np.float32], pairs: Pairs, penalties: Sequence[float] = PENALTIES) -> list[Floats]:
    """Return the weights of standardised states for each penalty."""
    differences = (states[pairs.right] - states[pairs.wrong]).astype(np.float64)
    weights = pairs.weights
    return [logistic(differences, weights, penalty) for penalty in penalties]


def logistic(differences: Floats, weights: Floats, penalty: float, **options: float) -> Floats:
    """Return the coefficients of a logistic regression without intercept, for which every difference is a success; ``options``
    are those of L-BFGS-B, by default at most 200 steps."""

    def loss(coefficients: Floats) -> tuple[float, Floats]:
        along = differences @ coefficients
        value = float(weights @ np.logaddexp(0, -along)) + penalty / 2 * float(coefficients @ coefficients)
        return value, penalty * coefficients - differences.T @ (weights * expit(-along))

    result = minimize(loss, np.zeros(differences.shape[1]), jac=True, method="L-BFGS-B", options=options or {"maxiter": 200})
    return np.asarray(result.x)


def calibrating_slope(above: Floats, pairs: Pairs, more: str) -> float:
    """Return the slope that turns the predictions of left-out pairs into log-odds; it is fitted to these because differences of
    pairs in the fit are larger.

    Raises:
        InputError: no more pairs are in order than by chance; ``more`` is what the message advises to train on.
    """
    slope = float(logistic(above[:, None], pairs.weights, 0.0)[0])
    if slope <= 0:
        raise InputError(
            f"the probe puts {share_in_order(above, pairs.weights):.0%} of left-out pairs in order, no more than chance; train"
            f" on more {more}, or give another model"
        )
    return slope


def share_in_order(above: Floats, weights: Floats) -> float:
    """Return the weighted share of pairs in which the right text is above the wrong one; equal ones count half."""
    return float(np.average((above > 0) + 0.5 * (above == 0), weights=weights))


def share_with_error(above: Floats, pairs: Pairs, seed: int) -> tuple[float, float]:
    """Return the share of pairs in order, and its standard error over owners."""
    return share_in_order(above, pairs.weights), float(np.std(resampled(above, pairs, seed)))


def resampled(above: Floats, pairs: Pairs, seed: int) -> Floats:
    """Return the share of pairs in order on bootstrap samples of owners."""
    number = int(pairs.owner.max()) + 1
    right = np.bincount(pairs.owner, weights=pairs.weights * ((above > 0) + 0.5 * (above == 0)), minlength=number)
    total = np.bincount(pairs.owner, weights=pairs.weights, minlength=number)
    return ratios(right, total, resamples=_RESAMPLES, seed=seed)
