"""Responses to dialogues: prompts for writing dialogues, a trained responder, and the choice among its samples by metrics.

Names are imported on first use, so that importing this package imports neither torch nor spaCy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph.lazy import lazy_names

if TYPE_CHECKING:
    from .prompts import Prompt as Prompt
    from .prompts import PromptFilter as PromptFilter
    from .reranking import Candidate as Candidate
    from .reranking import Reranked as Reranked
    from .reranking import rerank as rerank
    from .responder import Perplexity as Perplexity
    from .responder import Responder as Responder
    from .responder import open_responder as open_responder

_MODULES = {
    ".prompts": "Prompt PromptFilter",
    ".reranking": "Candidate Reranked rerank",
    ".responder": "Perplexity Responder open_responder",
}

__all__ = sorted(name for names in _MODULES.values() for name in names.split())
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
