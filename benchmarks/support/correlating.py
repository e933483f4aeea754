"""Correlations of scores with ratings, with bootstrap intervals over conversations, for the tables of several programs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tacit.reasoning.evaluation.agreement import numbered
from tacit.reasoning.evaluation.correlation import Correlation, correlate, undefined, with_intervals
from tacit.reasoning.evaluation.resampling import correlations

Floats = NDArray[np.float64]


def agreement(
    scores: Floats, ratings: Floats, groups: NDArray[np.int64], resamples: int, seed: int = 0
) -> dict[str, Correlation] | None:
    """Return Pearson's and Spearman's correlation with intervals over ``groups``; None where they are undefined.

    Responses without a score are left out.

    Args:
        scores: NaN where a response has none; ratings: finite; groups: number of each response's conversation.
    """
    scored = np.isfinite(scores)
    scores, ratings = scores[scored], ratings[scored]
    if undefined(scores, ratings):
        return None
    resampled = correlations(scores, ratings, groups=numbered(groups[scored]), resamples=resamples, seed=seed)
    pearson, spearman, _ = with_intervals(correlate(scores, ratings), resampled)
    return {"pearson": pearson, "spearman": spearman}
