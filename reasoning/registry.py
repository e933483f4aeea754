"""Metrics by name. A metric's module is imported when it is asked for, so naming one costs nothing."""

from __future__ import annotations

import importlib
import os
import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..graph.errors import InputError
from .options import check_option

if TYPE_CHECKING:
    from ..graph.opening import GraphLike
    from .score import Metric


ENCODER = "sentence-transformers/all-MiniLM-L6-v2"

#: Judgement sets, as ``tacit evaluate`` names them, on which parts or recipes of shipped models were chosen.
_COHERENCE_SETS = ("dailydialog_EVAL", "empatheticdialogues", "dailydialog-zhao", "fed-turn")
_TOPICAL = ("topical-chat",)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricKind:
    """What is known of a metric before it is opened: the one place that help, documentation and the service take it from.

    Attributes:
        home: ``module:function`` within this package that makes it: ``function(graph, *, option=default, …)``.
        summary: what it says of a response, as one plain sentence.
        range: of its values, with their unit where they have one.
        better: ``higher`` or ``lower``; empty where a value is neither good nor bad.
        graph: it needs a graph; reference: it needs reference responses.
        extra: the optional dependencies of tacit that it needs, empty for none; packages: the modules of them that it imports.
        model: the model that it needs and that does not come with the package ``tacit``, an id of the hub or a description.
        get_model: the command that brings that model; empty where ``extra`` does.
        find_model: ``module:function`` that says whether the model lies on this machine, without opening it; by default an id
            is looked for in the local cache of the hub.
        chosen_on: judgement sets on which what ships was chosen or tuned, so that its agreement there flatters it.
        learnt_from: corpora that a model that ships has learnt from.
    """

    home: str
    summary: str
    range: str
    better: str
    graph: bool = False
    reference: bool = False
    extra: str = ""
    packages: tuple[str, ...] = ()
    model: str = ""
    get_model: str = ""
    find_model: str = ""
    chosen_on: tuple[str, ...] = ()
    learnt_from: tuple[str, ...] = ()

    def maker(self) -> Callable[..., Metric]:
        """Import and return the function that makes it."""
        make: Callable[..., Metric] = _function(self.home)
        return make

    def has_model(self) -> bool:
        """Return whether the model that it needs by default lies on this machine; true where it needs none."""
        if not self.model:
            return True
        if self.find_model:
            return bool(_function(self.find_model)())
        from .models import is_cached

        return is_cached(self.model)


def _function(place: str) -> Any:
    """Import and return what ``module:function`` names within this package."""
    module, function = place.split(":")
    return getattr(importlib.import_module(f".{module}", __package__), function)


_NEURAL = ("torch", "transformers")
_OF_ENCODER: dict[str, Any] = {
    "extra": "minilm", "packages": _NEURAL, "model": ENCODER, "find_model": "encoder:has_default",
}  # fmt: skip

KINDS: Mapping[str, MetricKind] = types.MappingProxyType(
    {
        "grounding": MetricKind(
            home="grounding:make", graph=True, range="0 to 1", better="higher",
            summary="How much nearer the response's concepts are to the history's than chance brings them.",
            chosen_on=("dailydialog-gupta", "persona-zhao", "dailydialog-zhao", "fed-turn"), learnt_from=_TOPICAL,
        ),
        "commonsense": MetricKind(
            home="commonsense.metric:make", graph=True, range="0 to 1", better="higher",
            summary="How far the graph's triples between history and response look like those before true responses.",
            chosen_on=("fed-turn", "dailydialog-zhao"), learnt_from=_TOPICAL,
        ),
        "grade": MetricKind(
            home="grade.metric:make", graph=True, range="0 to 1", better="higher", extra="neural", packages=_NEURAL,
            summary="How coherent the response is, by a trained network over the graph of the dialogue's topics (GRADE).",
            model="a GRADE checkpoint", get_model="tacit train grade DIALOGUES --graph GRAPH --output FOLDER",
        ),
        "accent": MetricKind(
            home="accent.metric:make", graph=True, range="0 to 1", better="higher", **_OF_ENCODER,
            summary="How plausible the events in the response are, by what the graph knows of events (ACCENT).",
            chosen_on=("deco-train",),
        ),
        "coherence": MetricKind(
            home="coherence.metric:make", range="any number, log-odds; most between -8 and 8", better="higher", **_OF_ENCODER,
            summary="How likely the response is what people said next, and neither a random response nor a repetition.",
            chosen_on=_COHERENCE_SETS, learnt_from=(*_TOPICAL, "commonsense-dialogues"),
        ),
        "similarity": MetricKind(
            home="coherence.similarity:make", range="-1 to 1", better="higher", **_OF_ENCODER,
            summary="How like the last turn the response is, by the cosine of their sentence embeddings.",
        ),
        "association": MetricKind(
            home="coherence.association:make", range="0 and more, in nats", better="higher",
            summary="How strongly the words of the last turn call for the words of the response.",
            chosen_on=_COHERENCE_SETS, learnt_from=(*_TOPICAL, "commonsense-dialogues"),
        ),
        "selection": MetricKind(
            home="coherence.selection:make", range="-1 to 1", better="higher", **_OF_ENCODER,
            summary="Whether the response would be picked among others as what follows the last two turns.",
            chosen_on=_COHERENCE_SETS, learnt_from=(*_TOPICAL, "commonsense-dialogues"),
        ),
        "expectation": MetricKind(
            home="coherence.expectation:make", range="at most 1; 0 for no more than by chance", better="higher",
            extra="neural", packages=_NEURAL,
            summary="How much of the response a language model expected after the history.",
            model="HuggingFaceTB/SmolLM2-135M-Instruct", get_model="hf download HuggingFaceTB/SmolLM2-135M-Instruct",
            chosen_on=_COHERENCE_SETS,
        ),
        "repetition": MetricKind(
            home="coherence.repetition:make", range="0 to 1", better="lower",
            summary="How much the response repeats one of the last four turns.",
        ),
        "length": MetricKind(
            home="baselines.length:make", range="0 and more, in words", better="",
            summary="How many words the response has.",
        ),
        "bleu": MetricKind(
            home="baselines.overlap:make_bleu", range="0 to 100", better="higher", reference=True,
            extra="baselines", packages=("sacrebleu",),
            summary="Which share of the response's runs of one to four words stands in a reference (BLEU).",
        ),
        "chrf": MetricKind(
            home="baselines.overlap:make_chrf", range="0 to 100", better="higher", reference=True,
            extra="baselines", packages=("sacrebleu",),
            summary="How many runs of characters the response shares with a reference (chrF).",
        ),
        "rouge_l": MetricKind(
            home="baselines.rouge:make", range="0 to 1", better="higher", reference=True,
            extra="baselines", packages=("rouge_score",),
            summary="How long the longest common subsequence of the response and a reference is (ROUGE-L).",
        ),
        "meteor": MetricKind(
            home="baselines.meteor:make", range="0 to 1", better="higher", reference=True,
            extra="baselines", packages=("nltk",),
            summary="How many words, stems and synonyms the response shares with a reference (METEOR).",
        ),
        "bertscore": MetricKind(
            home="baselines.bertscore:make", range="-1 to 1, in practice 0 to 1", better="higher", reference=True,
            extra="neural", packages=_NEURAL,
            summary="How near the response's tokens are to a reference's by their contextual embeddings (BERTScore).",
            model="roberta-large", get_model="hf download roberta-large",
        ),
        "fed": MetricKind(
            home="baselines.fed:make", range="any number, difference of log-likelihoods", better="higher",
            extra="neural", packages=_NEURAL,
            summary="How likely a language model takes good follow-ups to be, such as praise, beside bad ones (FED).",
            model="microsoft/DialoGPT-large", get_model="hf download microsoft/DialoGPT-large",
        ),
    }
)  # fmt: skip

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


def load_metric(name: str, graph: GraphLike | None = None, **options: Any) -> Metric:
    """Return the metric ``name`` over ``graph``, which metrics that reason over no graph do without.

    ``graph`` is an open graph, or the path or URL of one: that is opened (:func:`tacit.graph.open_graph`) when the metric needs
    a graph, and closed when the metric is no longer referenced.

    The options of a metric are the keyword arguments of the function that makes it, e.g. :func:`tacit.reasoning.grounding.make`;
    :func:`metric_options` lists them.

    Raises:
        InputError: there is no such metric, it needs a graph and has none, it has no such option, or the option's value has
            another type than the option takes or is out of its range.
        ModelError: a pipeline or model cannot be opened.
        GraphError: there is no graph at the path or URL, or it cannot be opened.
    """
    kind = metric_kind(name)
    if kind.graph and graph is None:
        raise InputError(f"the metric {name} reasons over a graph; give one")
    known = metric_options(name)
    for option in options:
        if option not in known:
            some = f"it has {', '.join(known)}" if known else "it has none"
            raise InputError(f"the metric {name} has no option {option!r}; {some}")
        check_option(name, option, options[option], kind.maker())
    if not isinstance(graph, (str, os.PathLike)):
        return kind.maker()(graph, **options)
    if not kind.graph:
        return kind.maker()(None, **options)
    from ..graph.opening import open_graph

    opened = open_graph(graph)
    try:
        metric = kind.maker()(opened, **options)
    except BaseException:
        opened.close()
        raise
    weakref.finalize(metric, opened.close)
    return metric
