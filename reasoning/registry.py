"""Metrics by name. A metric's module is imported when it is asked for, so naming one costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..graph.errors import InputError

if TYPE_CHECKING:
    from ..graph.protocol import KnowledgeGraph
    from .language import Analyser
    from .score import Metric


def _grounding(
    graph: KnowledgeGraph,
    *,
    pipeline: Analyser | str | Path | None = None,
    max_hops: int = 6,
    language: str = "en",
    content_only: bool = True,
    cache_size: int = 20_000,
) -> Metric:
    from .grounding import Grounding
    from .language import load_pipeline
    from .linking import Linker

    analyser = load_pipeline(pipeline) if pipeline is None or isinstance(pipeline, (str, Path)) else pipeline
    linker = Linker(graph, analyser, language=language, content_only=content_only, cache_size=cache_size)
    return Grounding(graph, analyser, max_hops=max_hops, linker=linker)


_METRICS: dict[str, Callable[..., Metric]] = {"grounding": _grounding}

METRICS = tuple(_METRICS)


def load_metric(name: str, graph: KnowledgeGraph, **options: Any) -> Metric:
    """Return the metric ``name`` over ``graph``.

    Options of ``grounding``: ``pipeline`` (an :class:`~tacit.reasoning.language.Analyser`, or the name or folder of a spaCy
    pipeline; the shipped one by default), ``max_hops`` (0..6, default 6), ``language`` (default ``en``), ``content_only``
    (default True) and ``cache_size`` (utterances kept in memory, default 20,000).

    Raises:
        InputError: there is no such metric, or it has no such option, or the option's value makes no sense.
        ModelError: the pipeline cannot be opened.
    """
    if name not in _METRICS:
        raise InputError(f"there is no metric {name!r}; choose from {', '.join(METRICS)}")
    make = _METRICS[name]
    known = tuple(make.__kwdefaults__ or {})
    for option in options:
        if option not in known:
            raise InputError(f"the metric {name} has no option {option!r}; it has {', '.join(known)}")
    return make(graph, **options)
