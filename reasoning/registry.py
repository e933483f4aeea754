"""Metrics by name. A metric's module is imported when it is asked for, so naming one costs nothing."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..graph.errors import InputError

if TYPE_CHECKING:
    from ..graph.protocol import KnowledgeGraph
    from .score import Metric


@dataclass(frozen=True, slots=True)
class MetricKind:
    """What is known of a metric before it is opened.

    Attributes:
        home: ``module:function`` within this package that makes it: ``function(graph, *, option=default, …)``.
        summary: what it measures, in a few words.
        graph: it needs a graph; reference: it needs reference responses; model: it needs a model that does not ship with tacit.
    """

    home: str
    summary: str
    graph: bool = False
    reference: bool = False
    model: bool = False

    def maker(self) -> Callable[..., Metric]:
        """Import and return the function that makes it."""
        module, function = self.home.split(":")
        make: Callable[..., Metric] = getattr(importlib.import_module(f".{module}", __package__), function)
        return make


KINDS: Mapping[str, MetricKind] = types.MappingProxyType(
    {
        "grounding": MetricKind("grounding:make", "how near the response's concepts are to the history's", graph=True),
        "commonsense": MetricKind(
            "commonsense.metric:make", "how people would rate it, from triples, length and losses", graph=True
        ),
        "grade": MetricKind(
            "grade.metric:make", "coherence, by a trained network over the graph of topics", graph=True, model=True
        ),
        "accent": MetricKind("accent.metric:make", "event commonsense, against what is known of events", graph=True, model=True),
        "coherence": MetricKind(
            "coherence.metric:make", "whether it follows: likely what people said, not random or repeated", model=True
        ),
        "similarity": MetricKind("coherence.similarity:make", "how like the last turn it is", model=True),
        "association": MetricKind("coherence.association:make", "whether the last turn's words call for its words"),
        "selection": MetricKind("coherence.selection:make", "whether it would be picked as what follows", model=True),
        "expectation": MetricKind(
            "coherence.expectation:make", "how much of it was to be expected, by a language model", model=True
        ),
        "repetition": MetricKind("coherence.repetition:make", "how much of a recent turn it says again"),
        "length": MetricKind("baselines.length:make", "how many words the response has"),
        "bleu": MetricKind("baselines.overlap:make_bleu", "runs of words shared with references", reference=True),
        "chrf": MetricKind("baselines.overlap:make_chrf", "runs of characters shared with references", reference=True),
        "rouge_l": MetricKind("baselines.rouge:make", "longest common subsequence with a reference", reference=True),
        "meteor": MetricKind("baselines.meteor:make", "words, stems and synonyms shared with a reference", reference=True),
        "bertscore": MetricKind("baselines.bertscore:make", "tokens like a reference's in context", reference=True, model=True),
        "fed": MetricKind("baselines.fed:make", "how likely good follow-ups are beside bad ones", model=True),
    }
)

METRICS = tuple(KINDS)


def metric_kind(name: str) -> MetricKind:
    """Return what is known of the metric ``name``.

    Raises:
        InputError: there is no such metric.
    """
    if name not in KINDS:
        raise InputError(f"there is no metric {name!r}; choose from {', '.join(METRICS)}")
    return KINDS[name]


def metric_options(name: str) -> dict[str, Any]:
    """Return the options of the metric ``name`` with their defaults.

    Raises:
        InputError: there is no such metric.
    """
    return dict(metric_kind(name).maker().__kwdefaults__ or {})


def load_metric(name: str, graph: KnowledgeGraph | None = None, **options: Any) -> Metric:
    """Return the metric ``name`` over ``graph``, which metrics that reason over no graph do without.

    The options of a metric are the keyword arguments of the function that makes it, e.g. :func:`tacit.reasoning.grounding.make`;
    :func:`metric_options` lists them.

    Raises:
        InputError: there is no such metric, it needs a graph and has none, it has no such option, or the option's value makes no
            sense.
        ModelError: a pipeline or model cannot be opened.
    """
    kind = metric_kind(name)
    if kind.graph and graph is None:
        raise InputError(f"the metric {name} reasons over a graph; give one")
    known = metric_options(name)
    for option in options:
        if option not in known:
            some = f"it has {', '.join(known)}" if known else "it has none"
            raise InputError(f"the metric {name} has no option {option!r}; {some}")
    return kind.maker()(graph, **options)
