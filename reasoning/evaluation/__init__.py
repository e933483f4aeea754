"""Agreement of metrics with human ratings: correlations with bootstrap intervals, tests between metrics, rankings of systems,
plots.

:func:`evaluate` takes responses with ratings and scores, and returns rows.
"""

from __future__ import annotations

from .agreement import Agreement, Comparison, Judged, Ranking, SystemMean, evaluate
from .correlation import Correlation

__all__ = ["Agreement", "Comparison", "Correlation", "Judged", "Ranking", "SystemMean", "evaluate"]
