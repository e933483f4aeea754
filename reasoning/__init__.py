"""Linking utterances to concepts of the graph, and dialogue metrics whose scores can be explained.

Names are imported on first use, so that ``import tacit.reasoning`` is fast and imports no language library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph.lazy import lazy_names

if TYPE_CHECKING:
    from ..graph.item import Item as Item
    from .base import BatchScoring as BatchScoring
    from .base import Evidence as Evidence
    from .base import Metric as Metric
    from .base import Piece as Piece
    from .base import Score as Score
    from .base import Signature as Signature
    from .describing import DefaultMetrics as DefaultMetrics
    from .describing import MetricDescription as MetricDescription
    from .describing import MetricOption as MetricOption
    from .describing import default_metrics as default_metrics
    from .describing import describe_metrics as describe_metrics
    from .describing import describe_options as describe_options
    from .explanation import Explanation as Explanation
    from .explanation import explain as explain
    from .explanation.path_picture import draw_paths as draw_paths
    from .explanation.svg import Picture as Picture
    from .explanation.turn_picture import draw_turns as draw_turns
    from .inference import Chooser as Chooser
    from .inference import Inference as Inference
    from .inference import load_chooser as load_chooser
    from .inference import load_inference as load_inference
    from .metrics.grounding import Grounding as Grounding
    from .plugins import MetricKind as MetricKind
    from .plugins import ScorerKind as ScorerKind
    from .registry import METRICS as METRICS
    from .registry import load_metric as load_metric
    from .registry import metric_kind as metric_kind
    from .registry import metric_options as metric_options
    from .scorer import ItemScores as ItemScores
    from .scorer import Reasoner as Reasoner
    from .scorer import score_items as score_items
    from .text.language import Analyser as Analyser
    from .text.language import Token as Token
    from .text.language import load_pipeline as load_pipeline
    from .text.linking import Linker as Linker
    from .text.linking import Mention as Mention

_MODULES = {
    "..graph.item": "Item",
    ".describing": "DefaultMetrics MetricDescription MetricOption default_metrics describe_metrics describe_options",
    ".explanation": "Explanation explain",
    ".explanation.path_picture": "draw_paths",
    ".explanation.svg": "Picture",
    ".explanation.turn_picture": "draw_turns",
    ".inference": "Chooser Inference load_chooser load_inference",
    ".metrics.grounding": "Grounding",
    ".text.language": "Analyser Token load_pipeline",
    ".text.linking": "Linker Mention",
    ".plugins": "MetricKind ScorerKind",
    ".registry": "METRICS load_metric metric_kind metric_options",
    ".base": "BatchScoring Evidence Metric Piece Score Signature",
    ".scorer": "ItemScores Reasoner score_items",
}

__all__ = sorted(name for names in _MODULES.values() for name in names.split())
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
