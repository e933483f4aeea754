"""Registries of tacit's metrics, tuple scorers and extractors, and the functions that load them by name.

A metric of tacit is a module with a function that makes it, and an entry here; so is a tuple scorer, and an extractor of event
tuples. Names, options and their checks, help texts and the tables of the docs derive from the entries.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..graph.errors import InputError, PluginError
from .plugins import ExtractorKind, MetricKind, Range, Registry, ScorerKind, call_plugin, check_option, takes_graph

if TYPE_CHECKING:
    from ..graph.open import GraphLike
    from ..graph.protocol import KnowledgeGraph
    from .base import Metric
    from .metrics.accent.events import Extractor
    from .metrics.accent.scorers.base import Triple, TupleScore, TupleScorer
    from .metrics.accent.scorers.resources import ScorerResources

T = TypeVar("T")

ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
AT_LEAST_0: Range = (0, None)

#: Judgement sets, as ``tacit evaluate`` names them, on which parts or recipes of shipped models were chosen.
_COHERENCE_SETS = ("dailydialog_EVAL", "empatheticdialogues", "dailydialog-zhao", "fed-turn")
_TOPICAL = ("topical-chat",)
_COHERENCE_CORPORA = (*_TOPICAL, "en_ewt")

_NEURAL: dict[str, Any] = {"extra": "neural", "packages": ("torch", "transformers")}
_OF_ENCODER: dict[str, Any] = {
    **_NEURAL, "model": ENCODER, "get_model": f"hf download {ENCODER}", "find_model": "models.encoder:has_default",
}  # fmt: skip
_OF_JUDGE: dict[str, Any] = {
    "extra": "gguf", "packages": ("torch", "transformers", "gguf", "accelerate"),
    "model": "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", "get_model": "tacit fetch judge",
    "find_model": "metrics.judgement:has_default",
}  # fmt: skip

METRIC_REGISTRY = Registry(
    "metric",
    "tacit.metrics",
    MetricKind,
    {
        "grounding": MetricKind(
            home="metrics.grounding:make", graph=True, range="0 to 1",
            summary="How much closer the response's concepts are to the history's than expected by chance.",
            chosen_on=("dailydialog-gupta", "persona-zhao", "dailydialog-zhao", "fed-turn"), learnt_from=_TOPICAL,
            ranges={"max_hops": (0, 6)},
        ),
        "commonsense": MetricKind(
            home="metrics.commonsense.metric:make", graph=True, range="0 to 1",
            summary="How similar the graph's triples between history and response are to those of true responses.",
            chosen_on=("fed-turn", "dailydialog-zhao"), learnt_from=_TOPICAL,
            ranges={"evidence": AT_LEAST_0},
        ),
        "grade": MetricKind(
            home="metrics.grade.metric:make", graph=True, range="0 to 1", **_OF_ENCODER, learnt_from=_TOPICAL,
            summary="How coherent the response is, by a trained network over the graph of the dialogue's topics (GRADE).",
            choices={"profile": "metrics.grade.dialogue_graph:PROFILES"},
        ),
        "accent": MetricKind(
            home="metrics.accent.metric:make", graph=True, range="0 to 1", **_OF_ENCODER,
            summary="How plausible the events in the response are, by what the graph knows of events (ACCENT).",
            chosen_on=("deco-train",),
            ranges={"nearest": AT_LEAST_0, "threshold": (-1, 1)},
            choices={
                "extractor": lambda: EXTRACTOR_REGISTRY.names(), "scorer": lambda: SCORER_REGISTRY.names(),
                "profile": "metrics.accent.metric:PROFILES", "tuples": "metrics.accent.metric:TUPLES",
            },
        ),
        "coherence": MetricKind(
            home="metrics.coherence.metric:make",
            range="any number, log-odds; most between -8 and 8", **_OF_ENCODER,
            summary="How likely the response is what people said next, and neither a random response nor a repetition.",
            chosen_on=(*_COHERENCE_SETS, "dailydialog-gupta", "persona-zhao", "deco-train"), learnt_from=_COHERENCE_CORPORA,
        ),
        "judgement": MetricKind(
            home="metrics.judgement:make", range="0 to 1", **_OF_JUDGE,
            summary="Whether the response is natural, sensible and fitting, predicted by a linear probe of a language model's "
            "hidden states.",
            chosen_on=(*_COHERENCE_SETS, "dailydialog-gupta", "persona-zhao"), learnt_from=_TOPICAL,
        ),
        "overall": MetricKind(
            home="metrics.overall:make", combines=("judgement", "coherence"), **_OF_JUDGE,
            range="any number, in standard deviations; most between -3 and 3",
            summary="Whether the response makes sense and follows: the mean of `judgement`, twice, `coherence` and a likelihood.",
            chosen_on=(*_COHERENCE_SETS, "dailydialog-gupta", "persona-zhao", "deco-train"), learnt_from=_COHERENCE_CORPORA,
        ),
        "similarity": MetricKind(
            home="metrics.coherence.parts:make_similarity", range="-1 to 1", **_OF_ENCODER,
            summary="How similar the response is to the last turn, by the cosine of their sentence embeddings.",
        ),
        "association": MetricKind(
            home="metrics.coherence.parts:make_association", range="0 and more, in nats",
            summary="How strongly the words of the last turn predict the words of the response.",
            chosen_on=_COHERENCE_SETS, learnt_from=_COHERENCE_CORPORA,
        ),
        "selection": MetricKind(
            home="metrics.coherence.parts:make_selection", range="-1 to 1", **_OF_ENCODER,
            summary="How well the response matches the last two turns, by a response selection model.",
            chosen_on=_COHERENCE_SETS, learnt_from=_COHERENCE_CORPORA,
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
            home="metrics.baselines.references:make_bleu", range="0 to 100", reference=True,
            extra="baselines", packages=("sacrebleu",),
            summary="Share of the response's 1- to 4-grams that occur in a reference (BLEU).",
        ),
        "chrf": MetricKind(
            home="metrics.baselines.references:make_chrf", range="0 to 100", reference=True,
            extra="baselines", packages=("sacrebleu",),
            summary="F-score of the character n-grams that the response shares with a reference (chrF).",
        ),
        "rouge_l": MetricKind(
            home="metrics.baselines.references:make_rouge", range="0 to 1", reference=True,
            extra="baselines", packages=("rouge_score",),
            summary="How long the longest common subsequence of the response and a reference is (ROUGE-L).",
        ),
        "meteor": MetricKind(
            home="metrics.baselines.references:make_meteor", range="0 to 1", reference=True,
            extra="baselines", packages=("nltk",),
            summary="How many words, stems and synonyms the response shares with a reference (METEOR).",
        ),
        "bertscore": MetricKind(
            home="metrics.baselines.bertscore:make", range="-1 to 1, in practice 0 to 1", reference=True,
            **_NEURAL,
            summary="How close the response's tokens are to a reference's, by their contextual embeddings (BERTScore).",
            model="roberta-large", get_model="hf download roberta-large",
            ranges={"layer": AT_LEAST_0},
        ),
        "cross-encoder": MetricKind(
            home="metrics.baselines.cross_encoder:make", range="that of the ratings that it was trained on",
            **_NEURAL, model="an encoder trained on ratings", get_model="tacit train cross-encoder",
            find_model="metrics.baselines.cross_encoder:has_default",
            summary="People's rating, predicted by an encoder that you trained on ratings.",
        ),
        "fed": MetricKind(
            home="metrics.baselines.fed:make", range="any number, difference of log-likelihoods",
            **_NEURAL,
            summary="Log-likelihood of positive follow-ups minus that of negative ones, by a language model (FED).",
            model="microsoft/DialoGPT-large", get_model="hf download microsoft/DialoGPT-large",
            ranges={"max_length": (2, None)},
            choices={"quality": "metrics.baselines.fed:qualities", "scope": "metrics.baselines.fed:SCOPES"},
        ),
    },
)  # fmt: skip

SCORER_REGISTRY: Registry[ScorerKind] = Registry(
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
            summary="Mean of four normalised scores: equation 1 (if the head is in the graph), `support`, closeness and match.",
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
            home="metrics.accent.scorers.language_models:make_comet_loss", batch_size=64,
            summary="The likelihood that a COMET gives the tail (table 5 of the paper).",
        ),
        "kg-bert": ScorerKind(
            home="metrics.accent.scorers.kgbert:make_kgbert",
            summary="The probability that a classifier of your own gives the tuple (table 4 of the paper).",
        ),
        "cross-encoder": ScorerKind(
            home="metrics.accent.scorers.kgbert:make_cross_encoder",
            summary="The plausibility predicted by an encoder that you trained on people's labels (table 4 of the paper).",
        ),
        "llm-probe": ScorerKind(
            home="metrics.accent.scorers.language_models:make_llm_probe", batch_size=32,
            summary="Plausibility by a probe of a language model's states, fitted to judged tuples; agrees best with people.",
        ),
    },
)  # fmt: skip


def default_scorer(*, tails_asked: bool = False) -> str:
    """Return the tuple scorer of ``accent`` and ``tacit score-tuples`` when none is named.

    The one that agrees best with people (docs/accent.md): ``llm-probe`` where its language model is ready, else ``blend``, which
    needs no model beyond the encoder.

    Args:
        tails_asked: options of known tails were given, which ``llm-probe`` does not support.
    """
    from .describing import lacking

    return "blend" if tails_asked or lacking("judgement", graph=True)[0] else "llm-probe"


EXTRACTOR_REGISTRY: Registry[ExtractorKind] = Registry(
    "extractor",
    "",
    ExtractorKind,
    {
        "rules": ExtractorKind(
            home="metrics.accent.extractors.rules:make",
            summary="Discourse rules over the dependency parse of the shipped pipeline.",
        ),
        "t5": ExtractorKind(
            home="metrics.accent.extractors.t5:make",
            summary="A sequence-to-sequence model with twelve prompts a response.",
        ),
        "cskb": ExtractorKind(
            home="metrics.accent.extractors.keywords:make", graph=True,
            summary="Tuples of the graph that share keywords with both sides (the paper's baseline); needs a graph.",
        ),
    },
)  # fmt: skip

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
        ModelError: a pipeline or model cannot be opened. MissingExtra: a package that the metric needs is not installed.
        GraphError: there is no graph at the path or URL, or it cannot be opened.
        PluginError: it is a plugin that cannot be used.
    """
    kind = metric_kind(name)
    if kind.graph and graph is None:
        raise InputError(f"the metric {name} needs a graph; give one")
    known = metric_options(name)
    for option in options:
        if option not in known:
            choice = f"it has {', '.join(known)}" if known else "it has none"
            raise InputError(f"the metric {name} has no option {option!r}; {choice}")
        check_option(name, kind, option, options[option])
    if not kind.graph and isinstance(graph, (str, os.PathLike)):
        graph = None
    return over_graph(graph, lambda opened: _make_metric(name, kind, opened, options))


def over_graph(graph: GraphLike | None, make: Callable[[Any], T]) -> T:
    """Return what ``make`` gives for an open graph; one that is opened here, from its path or URL, is closed when the result is
    no longer referenced."""
    if not isinstance(graph, (str, os.PathLike)):
        return make(graph)
    from ..graph.open import open_graph

    opened = open_graph(graph)
    try:
        result = make(opened)
    except BaseException:
        opened.close()
        raise
    weakref.finalize(result, opened.close)
    return result


def _make_metric(name: str, kind: MetricKind, graph: Any, options: Mapping[str, Any]) -> Metric:
    """Make a metric; a plugin's metric is checked, and its signature names the plugin."""

    def make() -> Any:
        maker = kind.maker()
        return maker(graph, **options) if takes_graph(maker) else maker(**options)

    metric: Metric
    if not kind.plugin:
        metric = make()
        return metric
    from .base import BatchScoring

    opened = call_plugin(f"the metric {name}", kind, make)
    usable = isinstance(opened, BatchScoring) and type(opened).signature is BatchScoring.signature
    if not usable or getattr(opened, "name", None) != name:
        raise PluginError(
            f"the metric {name} of {kind.plugin} cannot be used; it must be a tacit.reasoning.BatchScoring that is "
            f"named {name!r} and sets self.signature in __init__"
        )
    opened.plugin = kind.plugin
    metric = opened
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
    arguments = {option: value for option, value in options.items() if option in known and value is not None}
    if kind.plugin:
        return _PluggedScorer(
            name, kind, call_plugin(f"the tuple scorer {name}", kind, lambda: kind.maker()(resources, **arguments))
        )
    scorer: TupleScorer = kind.maker()(resources, **arguments)
    return scorer


def open_extractor(name: str, graph: KnowledgeGraph | None = None, **options: Any) -> Extractor:
    """Return the extractor ``name``; ``options`` are the keyword arguments of the function that makes it.

    Args:
        graph: required by ``cskb``, ignored by the others.

    Raises:
        InputError: the extractor or an option is unknown, or the extractor needs a graph and has none.
        ModelError: a pipeline or model cannot be opened. MissingExtra: a package that the metric needs is not installed.
    """
    kind = EXTRACTOR_REGISTRY.kind(name)
    known = kind.options()
    for option in options:
        if option not in known:
            raise InputError(f"the extractor {name} has no option {option!r}; it has {', '.join(known)}")
        check_option(name, kind, option, options[option])
    if kind.graph and graph is None:
        raise InputError(f"the extractor {name} searches a graph; give one")
    extractor: Extractor = kind.maker()(*([graph] if kind.graph else []), **options)
    return extractor


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
        """Score the tuples; raise :class:`PluginError` when the plugin fails or returns another number of scores."""
        scores: list[TupleScore] = call_plugin(self._name, self._kind, lambda: list(self._scorer.score(tuples)), "fails")
        if len(scores) != len(tuples):
            raise PluginError(f"{self._name} of {self._kind.plugin} returns {len(scores)} scores for {len(tuples)} tuples")
        return scores
