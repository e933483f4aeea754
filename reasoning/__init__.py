"""From utterances to concepts, and from concepts to scores that can be explained.

Names are imported when they are used, so ``import tacit.reasoning`` is light and brings in no language library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..graph.item import Item as Item
    from .describing import MetricDescription as MetricDescription
    from .describing import MetricOption as MetricOption
    from .describing import describe_metrics as describe_metrics
    from .describing import describe_options as describe_options
    from .explanation import Explanation as Explanation
    from .explanation import explain as explain
    from .grounding import Grounding as Grounding
    from .language import Analyser as Analyser
    from .language import Token as Token
    from .language import load_pipeline as load_pipeline
    from .linking import Linker as Linker
    from .linking import Mention as Mention
    from .reasoner import Reasoner as Reasoner
    from .registry import METRICS as METRICS
    from .registry import MetricKind as MetricKind
    from .registry import ScorerKind as ScorerKind
    from .registry import load_metric as load_metric
    from .registry import metric_kind as metric_kind
    from .registry import metric_options as metric_options
    from .score import BatchScoring as BatchScoring
    from .score import Evidence as Evidence
    from .score import Metric as Metric
    from .score import Piece as Piece
    from .score import Score as Score
    from .score import Signature as Signature
    from .scoring import ItemScores as ItemScores
    from .scoring import score_items as score_items

_HOMES = {
    "..graph.item": ("Item",),
    ".describing": ("MetricDescription", "MetricOption", "describe_metrics", "describe_options"),
    ".explanation": ("Explanation", "explain"),
    ".grounding": ("Grounding",),
    ".language": ("Analyser", "Token", "load_pipeline"),
    ".linking": ("Linker", "Mention"),
    ".reasoner": ("Reasoner",),
    ".registry": ("METRICS", "MetricKind", "ScorerKind", "load_metric", "metric_kind", "metric_options"),
    ".score": ("BatchScoring", "Evidence", "Metric", "Piece", "Score", "Signature"),
    ".scoring": ("ItemScores", "score_items"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name], __name__), name)


def __dir__() -> list[str]:
    return list(__all__)
