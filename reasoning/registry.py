"""Registries of metrics and tuple scorers: names, options and their checks, help texts and the tables of the docs derive from
here.

A metric of tacit is a module with a function that makes it, and an entry here; so is a tuple scorer. Other distributions add
their own by the entry points ``tacit.metrics`` and ``tacit.tuple_scorers``, each of which refers to a :class:`MetricKind` or a
:class:`ScorerKind` (docs/plugins.md). Modules are imported when first used. Entry points are read only when a name is not one
of tacit's own, or when all names are listed.
"""

from __future__ import annotations

import importlib
import math
import os
import re
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Integral, Real
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..graph.errors import InputError, PluginError, TacitError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from ..graph.open import GraphLike
    from .base import Metric
    from .metrics.accent.scorers.base import Triple, TupleScore, TupleScorer
    from .metrics.accent.scorers.registry import ScorerResources

Range = tuple[float | None, float | None]
"""Least and greatest value of a number; None for a bound that does not exist or depends on the model."""

ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
AT_LEAST_0: Range = (0, None)
AT_LEAST_1: Range = (1, None)

#: Judgement sets, as ``tacit evaluate`` names them, on which parts or recipes of shipped models were chosen.
_COHERENCE_SETS = ("dailydialog_EVAL", "empatheticdialogues", "dailydialog-zhao", "fed-turn")
_TOPICAL = ("topical-chat",)
_COHERENCE_CORPORA = (*_TOPICAL, "en_ewt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a registry knows about a metric or tuple scorer without opening it.

    Attributes:
        home: the function that makes it, or ``module:function`` within this package; its keyword-only arguments are the
            options.
        summary: one plain sentence, ending in a period.
        ranges: least and greatest value of each numeric option; None for a bound that does not exist or depends on the model.
        plugin: distribution and version that it comes from, e.g. ``tacit-vowels 0.1``; empty for tacit's own. Set by tacit.
    """

    home: str | Callable[..., Any]
    summary: str
    ranges: Mapping[str, Range] = field(default_factory=dict)
    plugin: str = ""

    def maker(self) -> Callable[..., Any]:
        """Import and return the function that makes it."""
        made: Callable[..., Any] = _function(self.home)
        return made

    def options(self) -> dict[str, Any]:
        """Return the options with their defaults."""
        return dict(getattr(self.maker(), "__kwdefaults__", None) or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricKind(Kind):
    """What the registry knows about a metric; ``home`` is ``function(graph, *, option=default, …)``.

    Attributes:
        summary: what the metric measures.
        range: range of its values, with their unit where they have one.
        better: ``higher`` or ``lower``; empty where neither end of the range is better.
        graph: it needs a graph; reference: it needs reference responses.
        extra: the optional dependencies of tacit that it needs, empty for none; packages: the modules of them that it imports.
        model: the model that it needs and that is not part of the package, as a hub id or a description.
        get_model: the command that fetches or trains that model; empty where installing ``extra`` is enough.
        combines: metrics whose scores it combines, so that it needs what they need.
        find_model: a function, or ``module:function``, that returns whether the model is on this machine without opening it; by
            default a hub id is looked up in the local cache.
        chosen_on: judgement sets on which the shipped model or recipe was chosen or tuned, so that agreement on them is
            optimistic.
        learnt_from: corpora that the shipped model was trained on.
    """

    range: str
    better: str
    graph: bool = False
    reference: bool = False
    extra: str = ""
    packages: tuple[str, ...] = ()
    model: str = ""
    get_model: str = ""
    combines: tuple[str, ...] = ()
    find_model: str | Callable[[], bool] = ""
    chosen_on: tuple[str, ...] = ()
    learnt_from: tuple[str, ...] = ()

    def has_model(self) -> bool:
        """Return whether the model that the metric needs by default is on this machine; true when it needs none."""
        if not self.model:
            return True
        if self.find_model:
            return bool(_function(self.find_model)())
        from .models.hub import is_cached

        return is_cached(self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerKind(Kind):
    """What the registry knows about a tuple scorer; ``home`` is ``function(resources, *, option=default, …)``.

    ``resources`` is the :class:`.metrics.accent.scorers.registry.ScorerResources` over the graph. Of the options ``tails`` (the
    known tails to compare with), ``model``, ``probe`` and ``comet`` the function receives those that it has.

    Attributes:
        summary: what its score of a tuple is.
        together: batch size of ``tacit score-tuples``; affects speed only.
    """

    together: int = 512


K = TypeVar("K", bound=Kind)


class Registry(Generic[K]):
    """Kinds by name: tacit's own, and those of plugins.

    Attributes:
        own: tacit's own, in the order in which they are listed.
    """

    def __init__(self, what: str, group: str, kind: type[K], own: Mapping[str, K]) -> None:
        """Make a registry of ``own``.

        Args:
            what: the noun for an entry in error messages.
            group: the entry point group of plugins.
            kind: the class that each entry must be an instance of.
        """
        self.own: Mapping[str, K] = own
        self._what, self._group, self._kind = what, group, kind

    def names(self) -> tuple[str, ...]:
        """Return all names, tacit's own first. Plugins are not imported, so one of them may be broken."""
        return (*self.own, *sorted(name for name in self._points() if name not in self.own))

    def kind(self, name: str) -> K:
        """Return the kind called ``name``.

        Raises:
            InputError: the name is unknown.
            PluginError: it is a plugin that cannot be used.
        """
        if name in self.own:
            return self.own[name]
        points = self._points().get(name)
        if points is None:
            advice = did_you_mean(name, self.names(), f"choose from {', '.join(self.names())}")
            raise InputError(f"unknown {self._what} {name!r}; {advice}")
        return self._loaded(name, points)

    def kinds(self) -> dict[str, K]:
        """Return all usable kinds by name, tacit's own first; :meth:`faults` describes the others."""
        return self._all()[0]

    def faults(self) -> list[str]:
        """Return an error message for each plugin that cannot be used."""
        return self._all()[1]

    def summary(self, name: str) -> str:
        """Return the summary of the kind called ``name``; empty when there is no usable kind of that name."""
        try:
            return self.kind(name).summary
        except TacitError:
            return ""

    @staticmethod
    def refresh() -> None:
        """Clear the cached entry points, so that newly installed packages are found."""
        _entry_points.cache_clear()

    def _all(self) -> tuple[dict[str, K], list[str]]:
        kinds, faults = dict(self.own), []
        for name, points in sorted(self._points().items()):
            if name in self.own:
                faults += [f"the {self._what} {name} of {_of(point)} is ignored, since tacit has a {self._what} of that name; "
                           f"ask its authors to rename it, or uninstall {_distribution(point)}" for point in points]  # fmt: skip
                continue
            try:
                kinds[name] = self._loaded(name, points)
            except PluginError as error:
                faults.append(str(error))
        return kinds, faults

    def _points(self) -> dict[str, list[EntryPoint]]:
        return _entry_points(self._group, tuple(sys.path))

    def _loaded(self, name: str, points: Sequence[EntryPoint]) -> K:
        """Import a plugin's kind.

        Raises:
            PluginError: its name is invalid, two distributions define it, it cannot be imported, or it is not a kind of this
                registry.
        """
        point = points[0]
        if len(points) > 1:
            raise PluginError(f"{' and '.join(map(_of, points))} both have a {self._what} {name}; uninstall one of them")
        if not re.fullmatch(r"\w[\w-]*", name):
            raise PluginError(
                f"{_of(point)} defines a {self._what} with the invalid name {name!r}; a name has letters, digits, _ and -, "
                f"so uninstall or repair {_distribution(point)}"
            )
        try:
            found = point.load()
        except Exception as error:
            raise PluginError(
                f"the {self._what} {name} of {_of(point)} cannot be imported ({type(error).__name__}: {error}); "
                f"repair {_distribution(point)} or uninstall it"
            ) from error
        if not isinstance(found, self._kind):
            raise PluginError(
                f"the {self._what} {name} of {_of(point)} is a {type(found).__name__}; its entry point must refer to a "
                f"tacit.reasoning.{self._kind.__name__}"
            )
        for attribute in ("home", "find_model"):
            value = getattr(found, attribute, None)
            if value and not callable(value):
                raise PluginError(
                    f"the {self._what} {name} of {_of(point)} has {attribute} = {value!r}; it must be a function, so repair "
                    f"{_distribution(point)} or uninstall it"
                )
        return replace(found, plugin=_of(point))


@lru_cache(maxsize=8)
def _entry_points(group: str, _path: tuple[str, ...]) -> dict[str, list[EntryPoint]]:
    """Return the entry points of a group by name; cached for each ``sys.path``, on which they are searched."""
    from importlib.metadata import entry_points

    found: dict[str, list[EntryPoint]] = {}
    for point in sorted(entry_points(group=group), key=_of):
        found.setdefault(point.name, []).append(point)
    return found


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _of(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value


def _function(place: str | Callable[..., Any]) -> Any:
    """Import and return the function that ``module:function`` refers to within this package; return a function unchanged."""
    if not isinstance(place, str):
        return place
    module, function = place.split(":")
    return getattr(importlib.import_module(f".{module}", __package__), function)


_NEURAL = ("torch", "transformers")
_OF_ENCODER: dict[str, Any] = {
    "extra": "neural", "packages": _NEURAL, "model": ENCODER, "get_model": f"hf download {ENCODER}",
    "find_model": "models.encoder:has_default",
}  # fmt: skip

METRIC_REGISTRY = Registry(
    "metric",
    "tacit.metrics",
    MetricKind,
    {
        "grounding": MetricKind(
            home="metrics.grounding:make", graph=True, range="0 to 1", better="higher",
            summary="How much nearer the response's concepts are to the history's than chance brings them.",
            chosen_on=("dailydialog-gupta", "persona-zhao", "dailydialog-zhao", "fed-turn"), learnt_from=_TOPICAL,
            ranges={"max_hops": (0, 6), "cache_size": AT_LEAST_0},
        ),
        "commonsense": MetricKind(
            home="metrics.commonsense.metric:make", graph=True, range="0 to 1", better="higher",
            summary="How far the graph's triples between history and response look like those before true responses.",
            chosen_on=("fed-turn", "dailydialog-zhao"), learnt_from=_TOPICAL,
            ranges={"evidence": AT_LEAST_0, "cache_size": AT_LEAST_0},
        ),
        "grade": MetricKind(
            home="metrics.grade.metric:make", graph=True, range="0 to 1", better="higher", **_OF_ENCODER, learnt_from=_TOPICAL,
            summary="How coherent the response is, by a trained network over the graph of the dialogue's topics (GRADE).",
            ranges={"cache_size": AT_LEAST_0},
        ),
        "accent": MetricKind(
            home="metrics.accent.metric:make", graph=True, range="0 to 1", better="higher", **_OF_ENCODER,
            summary="How plausible the events in the response are, by what the graph knows of events (ACCENT).",
            chosen_on=("deco-train",),
            ranges={"nearest": AT_LEAST_0, "threshold": (-1, 1), "cache_size": AT_LEAST_0},
        ),
        "coherence": MetricKind(
            home="metrics.coherence.metric:make",
            range="any number, log-odds; most between -8 and 8", better="higher", **_OF_ENCODER,
            summary="How likely the response is what people said next, and neither a random response nor a repetition.",
            chosen_on=(*_COHERENCE_SETS, "dailydialog-gupta", "persona-zhao", "deco-train"), learnt_from=_COHERENCE_CORPORA,
            ranges={"cache_size": AT_LEAST_0},
        ),
        "judgement": MetricKind(
            home="metrics.judgement:make", range="0 to 1", better="higher",
            extra="gguf", packages=(*_NEURAL, "gguf", "accelerate"),
            summary="Whether the response is natural, sensible and fitting, as a language model's hidden states tell it.",
            model="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", get_model="tacit fetch judge",
            find_model="metrics.judgement:has_default",
            chosen_on=(*_COHERENCE_SETS, "dailydialog-gupta", "persona-zhao"), learnt_from=_TOPICAL,
        ),
        "overall": MetricKind(
            home="metrics.overall:make", combines=("judgement", "coherence"),
            range="any number, in standard deviations; most between -3 and 3", better="higher",
            extra="gguf", packages=(*_NEURAL, "gguf", "accelerate"),
            summary="Whether the response makes sense and keeps to the subject: the mean of `coherence` and, twice, `judgement`.",
            model="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", get_model="tacit fetch judge",
            find_model="metrics.judgement:has_default",
            chosen_on=(*_COHERENCE_SETS, "dailydialog-gupta", "persona-zhao", "deco-train"), learnt_from=_COHERENCE_CORPORA,
            ranges={"cache_size": AT_LEAST_0},
        ),
        "similarity": MetricKind(
            home="metrics.coherence.parts:make_similarity", range="-1 to 1", better="higher", **_OF_ENCODER,
            summary="How like the last turn the response is, by the cosine of their sentence embeddings.",
            ranges={"cache_size": AT_LEAST_0},
        ),
        "association": MetricKind(
            home="metrics.coherence.learned:make_association", range="0 and more, in nats", better="higher",
            summary="How strongly the words of the last turn call for the words of the response.",
            chosen_on=_COHERENCE_SETS, learnt_from=_COHERENCE_CORPORA,
        ),
        "selection": MetricKind(
            home="metrics.coherence.learned:make_selection", range="-1 to 1", better="higher", **_OF_ENCODER,
            summary="Whether the response would be picked among others as what follows the last two turns.",
            chosen_on=_COHERENCE_SETS, learnt_from=_COHERENCE_CORPORA,
            ranges={"cache_size": AT_LEAST_0},
        ),
        "expectation": MetricKind(
            home="metrics.coherence.parts:make_expectation", range="at most 1; 0 for no more than by chance", better="higher",
            extra="neural", packages=_NEURAL,
            summary="How much of the response a language model expected after the history.",
            model="HuggingFaceTB/SmolLM2-135M-Instruct", get_model="hf download HuggingFaceTB/SmolLM2-135M-Instruct",
            chosen_on=_COHERENCE_SETS,
        ),
        "repetition": MetricKind(
            home="metrics.coherence.parts:make_repetition", range="0 to 1", better="lower",
            summary="How much the response repeats one of the last four turns.",
        ),
        "length": MetricKind(
            home="metrics.baselines.references:make_length", range="0 and more, in words", better="",
            summary="How many words the response has.",
        ),
        "bleu": MetricKind(
            home="metrics.baselines.references:make_bleu", range="0 to 100", better="higher", reference=True,
            extra="baselines", packages=("sacrebleu",),
            summary="Which share of the response's runs of one to four words stands in a reference (BLEU).",
        ),
        "chrf": MetricKind(
            home="metrics.baselines.references:make_chrf", range="0 to 100", better="higher", reference=True,
            extra="baselines", packages=("sacrebleu",),
            summary="How many runs of characters the response shares with a reference (chrF).",
        ),
        "rouge_l": MetricKind(
            home="metrics.baselines.references:make_rouge", range="0 to 1", better="higher", reference=True,
            extra="baselines", packages=("rouge_score",),
            summary="How long the longest common subsequence of the response and a reference is (ROUGE-L).",
        ),
        "meteor": MetricKind(
            home="metrics.baselines.references:make_meteor", range="0 to 1", better="higher", reference=True,
            extra="baselines", packages=("nltk",),
            summary="How many words, stems and synonyms the response shares with a reference (METEOR).",
        ),
        "bertscore": MetricKind(
            home="metrics.baselines.bertscore:make", range="-1 to 1, in practice 0 to 1", better="higher", reference=True,
            extra="neural", packages=_NEURAL,
            summary="How near the response's tokens are to a reference's by their contextual embeddings (BERTScore).",
            model="roberta-large", get_model="hf download roberta-large",
            ranges={"layer": AT_LEAST_0, "batch_tokens": AT_LEAST_1},
        ),
        "cross-encoder": MetricKind(
            home="metrics.baselines.cross_encoder:make", range="that of the ratings that it was trained on", better="higher",
            extra="neural", packages=_NEURAL, model="an encoder trained on ratings", get_model="tacit train cross-encoder",
            find_model="metrics.baselines.cross_encoder:has_default",
            summary="Which rating people would give, by an encoder that you trained on theirs.",
        ),
        "fed": MetricKind(
            home="metrics.baselines.fed:make", range="any number, difference of log-likelihoods", better="higher",
            extra="neural", packages=_NEURAL,
            summary="How likely a language model takes good follow-ups to be, such as praise, beside bad ones (FED).",
            model="microsoft/DialoGPT-large", get_model="hf download microsoft/DialoGPT-large",
            ranges={"batch_tokens": AT_LEAST_1, "max_length": (2, None)},
        ),
    },
)  # fmt: skip

SCORER_REGISTRY = Registry(
    "tuple scorer",
    "tacit.tuple_scorers",
    ScorerKind,
    {
        "compatibility": ScorerKind(
            home="metrics.accent.scorers.compatibility:make_compatibility",
            summary="Equation 1, as the paper has it: the largest cosine with a known tail; for unknown heads the retriever's.",
        ),
        "blend": ScorerKind(
            home="metrics.accent.scorers.compatibility:make_blend",
            summary="Mean of equation 1 where the graph knows the head, `support`, closeness and match, each on its own scale.",
        ),
        "retriever": ScorerKind(
            home="metrics.accent.scorers.retriever:make_retriever",
            summary="The largest cosine with one of the 500 tails that the compact model expects (closeness).",
        ),
        "support": ScorerKind(
            home="metrics.accent.scorers.retriever:make_support",
            summary="Pointwise mutual information of head and tail under a kernel density of known triples, in nats.",
        ),
        "comet-loss": ScorerKind(
            home="metrics.accent.scorers.language_models:make_comet_loss", together=64,
            summary="The likelihood that a COMET gives the tail (table 5 of the paper).",
        ),
        "kg-bert": ScorerKind(
            home="metrics.accent.scorers.kgbert:make_kgbert",
            summary="The probability that a classifier of your own gives the tuple (table 4 of the paper).",
        ),
        "cross-encoder": ScorerKind(
            home="metrics.accent.scorers.kgbert:make_cross_encoder",
            summary="The plausibility that an encoder predicts which you trained on labels of people (table 4 of the paper).",
        ),
        "llm-probe": ScorerKind(
            home="metrics.accent.scorers.language_models:make_llm_probe", together=32,
            summary="What a probe fitted to judged tuples reads in a language model's states; agrees best with people.",
        ),
    },
)  # fmt: skip

#: The tuple scorer that is taken when none is named, by ``accent`` and by ``tacit score-tuples`` alike: of those that need no
#: model beyond the encoder, the best on judged triples (docs/accent.md).
DEFAULT_SCORER = "blend"

KINDS = METRIC_REGISTRY.own
METRICS = tuple(KINDS)


def metric_kind(name: str) -> MetricKind:
    """Return what the registry knows about the metric ``name``, tacit's own or a plugin's.

    Raises:
        InputError: unknown metric.
        PluginError: it is a plugin that cannot be used.
    """
    return METRIC_REGISTRY.kind(name)


def metric_options(name: str) -> dict[str, Any]:
    """Return the options of the metric ``name`` with their defaults.

    Raises:
        InputError: unknown metric.
        PluginError: it is a plugin that cannot be used.
    """
    return metric_kind(name).options()


def load_metric(name: str, graph: GraphLike | None = None, **options: Any) -> Metric:
    """Return the metric ``name`` over ``graph``; metrics that do not need a graph ignore it.

    ``graph`` is an open graph, or the path or URL of one. A path or URL is opened (:func:`tacit.graph.open_graph`) when the
    metric needs a graph, and closed when the metric is no longer referenced.

    The options of a metric are the keyword arguments of the function that makes it, e.g. :func:`.metrics.grounding.make`;
    :func:`metric_options` lists them. The signature of a plugin's metric names its distribution and version.

    Raises:
        InputError: unknown metric or option, no graph for a metric that needs one, or an option's value of the wrong type or
            out of range.
        ModelError: a pipeline or model cannot be opened.
        GraphError: there is no graph at the path or URL, or it cannot be opened.
        PluginError: it is a plugin that cannot be used.
    """
    kind = metric_kind(name)
    if kind.graph and graph is None:
        raise InputError(f"the metric {name} needs a graph; give one")
    known = metric_options(name)
    for option in options:
        if option not in known:
            some = f"it has {', '.join(known)}" if known else "it has none"
            raise InputError(f"the metric {name} has no option {option!r}; {some}")
        check_option(name, option, options[option], kind.maker(), kind.ranges.get(option))
    if not isinstance(graph, (str, os.PathLike)):
        return _made(name, kind, graph, options)
    if not kind.graph:
        return _made(name, kind, None, options)
    from ..graph.open import open_graph

    opened = open_graph(graph)
    try:
        metric = _made(name, kind, opened, options)
    except BaseException:
        opened.close()
        raise
    weakref.finalize(metric, opened.close)
    return metric


def _made(name: str, kind: MetricKind, graph: Any, options: Mapping[str, Any]) -> Metric:
    """Make a metric; a plugin's metric is checked, and its signature names the plugin."""
    metric: Metric
    if not kind.plugin:
        metric = kind.maker()(graph, **options)
        return metric
    from .base import BatchScoring

    made = _plugged(f"the metric {name}", kind, lambda: kind.maker()(graph, **options))
    usable = isinstance(made, BatchScoring) and type(made).signature is BatchScoring.signature
    if not usable or getattr(made, "name", None) != name:
        raise PluginError(
            f"the metric {name} of {kind.plugin} cannot be used; it must be a tacit.reasoning.BatchScoring that is "
            f"named {name!r} and sets self.signature in __init__"
        )
    made.plugin = kind.plugin
    metric = made
    return metric


def load_scorer(name: str, resources: ScorerResources, **options: Any) -> TupleScorer:
    """Return the tuple scorer ``name``; it receives those of ``options`` that it has and that are not None.

    Raises:
        InputError: unknown scorer, or it needs a model and none is given.
        ModelError: a model cannot be opened.
        PluginError: it is a plugin that cannot be used.
    """
    kind = SCORER_REGISTRY.kind(name)
    known = kind.options()
    given = {option: value for option, value in options.items() if option in known and value is not None}
    if kind.plugin:
        return _PluggedScorer(name, kind, _plugged(f"the tuple scorer {name}", kind, lambda: kind.maker()(resources, **given)))
    scorer: TupleScorer = kind.maker()(resources, **given)
    return scorer


class _PluggedScorer:
    """A plugin's tuple scorer; its signature and its errors name the plugin."""

    def __init__(self, name: str, kind: ScorerKind, scorer: Any) -> None:
        self._name, self._kind, self._scorer = f"the tuple scorer {name}", kind, scorer
        lacking = [part for part in ("signature", "relations", "score") if not hasattr(scorer, part)]
        if lacking:
            raise PluginError(f"{self._name} of {kind.plugin} has no {lacking[0]}; it must be a TupleScorer of tacit")
        self.relations: frozenset[str] | None = scorer.relations
        self.signature = f"{scorer.signature}@{kind.plugin.replace(' ', '-')}"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Score the tuples.

        Raises:
            PluginError: the plugin fails, or returns another number of scores than there are tuples.
        """
        scores: list[TupleScore] = _plugged(self._name, self._kind, lambda: list(self._scorer.score(tuples)), "fails")
        if len(scores) != len(tuples):
            raise PluginError(f"{self._name} of {self._kind.plugin} returns {len(scores)} scores for {len(tuples)} tuples")
        return scores


def _plugged(what: str, kind: Kind, call: Callable[[], Any], fails: str = "cannot be opened") -> Any:
    """Return the result of a plugin's function.

    Raises:
        PluginError: it fails with an error that is not a :class:`TacitError`.
    """
    try:
        return call()
    except TacitError:
        raise
    except Exception as error:
        raise PluginError(
            f"{what} of {kind.plugin} {fails} ({type(error).__name__}: {error}); report it to its authors, or do not use it"
        ) from error


# Checks of options. Types are read from the signature of the function that makes the metric, ranges from its entry above.

FOR_PROGRAMS = frozenset(("progress",))  # callbacks, which only the Python API can pass
_TYPE_NAMES = {
    "int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text", "Sequence[str]": "a list of texts",
    "None": "null",
}  # fmt: skip
_TESTS: Mapping[str, Callable[[Any], bool]] = {
    "int": lambda value: isinstance(value, Integral) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value),
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str | PurePath),
    "Sequence[str]": lambda value: isinstance(value, list | tuple) and all(isinstance(one, str) for one in value),
    "None": lambda value: value is None,
}
_JSON_TYPES = (bool, int, float, str, list, tuple, dict)


def annotated_types(make: Callable[..., Any], option: str) -> list[str]:
    """Return the members of the union type that ``option`` has in the signature of ``make``; ``["Any"]`` without a type."""
    found = make.__annotations__.get(option, "Any")
    return [part.strip() for part in (found.__name__ if isinstance(found, type) else str(found)).split("|")]


def option_types(make: Callable[..., Any], option: str) -> list[str]:
    """Return the types that ``option`` takes, as keys of ``_TYPE_NAMES``; ``object`` for values that only the Python API can
    pass.
    """
    known = {name: [name] for name in _TYPE_NAMES} | {"Path": ["str"], "FilePath": ["str"]}
    known["Any"] = ["object", "None"] if option in FOR_PROGRAMS else ["str", "object", "None"]
    return list(dict.fromkeys(kind for name in annotated_types(make, option) for kind in known.get(name, ["object"])))


def check_option(metric: str, option: str, value: Any, make: Callable[..., Any], limits: Range | None = None) -> None:
    """Check the value of an option of ``metric``, which ``make`` makes; a number must be within ``limits``.

    Raises:
        InputError: the value is of the wrong type or out of range.
    """
    kinds = option_types(make, option)
    if ("object" in kinds and not isinstance(value, _JSON_TYPES)) or any(_TESTS[kind](value) for kind in kinds if kind in _TESTS):
        low, high = limits or (None, None)
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or ((low is None or value >= low) and (high is None or value <= high)):
            return
    wanted = [_TYPE_NAMES[kind] + (_range(limits) if kind in ("int", "float") else "") for kind in kinds if kind in _TYPE_NAMES]
    raise InputError(f"the option {option} of {metric} must be {' or '.join(wanted) or 'set by a program'}, not {value!r}")


def _range(limits: Range | None) -> str:
    low, high = limits or (None, None)
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    return f" of {low:g} or more" if low is not None else ""
