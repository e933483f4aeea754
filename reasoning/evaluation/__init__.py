"""Metrics against human judgement: correlations with bootstrap intervals, tests between metrics, rankings of systems, plots.

:func:`evaluate` takes responses with ratings and scores, and gives rows; where they come from is not its business.
"""

from __future__ import annotations

from .agreement import Agreement, Comparison, Judged, Ranking, SystemMean, evaluate
from .correlation import Correlation, Williams, williams

__all__ = ["Agreement", "Comparison", "Correlation", "Judged", "Ranking", "SystemMean", "Williams", "evaluate", "williams"]
