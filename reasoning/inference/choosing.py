"""Choosing among answers to CICERO's questions: scores of the choices, the shares of judges and edges of the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from os import PathLike, fspath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.cypher_store import claim_query
from ...graph.errors import InputError, did_you_mean
from ...graph.open import GraphLike
from ...graph.questions import Instance, Question
from ...graph.schema import Json, shape
from ..base import Signature
from ..registry import over_graph
from .choice_figures import chosen
from .graph_judge import EdgeEvidence, GraphJudge
from .head import Head, Heads, open_heads, shipped_heads
from .judges import AnswerOnly, Judge, Similarity
from .trained import TrainedModel, is_trained, open_trained

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...graph.protocol import KnowledgeGraph

VERSION = 2
NO_EDGE = "no edge"
_BATCH = 8
_CACHE_SIZE = 20_000
_CAUSAL_JUDGES = ("likelihood", "yes-no", "probe")

JUDGES: Mapping[str, str] = MappingProxyType(
    {
        "answers": "the choices alone: length, negation, words in common, typical words",
        "graph": "edges for and against a choice",
        "similarity": "cosines of a sentence encoder",
        "likelihood": "a language model: likelihood of a choice",
        "yes-no": "a language model: its yes or no to a choice",
        "probe": "a probe of tacit train choice-probe: a language model's hidden states",
        "trained": "a model of tacit train cicero: what it writes, or its number for a choice",
    }
)
"""The judges, by name."""


@shape("text", "score", "shares", "evidence", "note", optional=("note",))
@dataclass(frozen=True, slots=True)
class JudgedChoice:
    """A choice with its score.

    Attributes:
        score: higher is better; the mean over the choices of an instance is 0.
        shares: of the score, by judge; they add up to it.
        evidence: edges for and against it, strongest first; note: ``no edge`` where the graph has none.
    """

    text: str
    score: float
    shares: dict[str, float]
    evidence: tuple[EdgeEvidence, ...] = ()
    note: str = ""


@shape()
@dataclass(frozen=True, slots=True)
class Chosen(Json):
    """The judged choices of one instance.

    Attributes:
        id, target, question: as in the instance.
        scores: one number a choice, in order; higher is better.
        chosen: indices of the best choices.
        choices: with shares and evidence, in order.
        query: Cypher that finds an edge of the evidence, with its ``parameters``.
        signature: under which the scores are reproducible.
    """

    id: str
    target: str
    question: Question
    scores: tuple[float, ...]
    chosen: tuple[int, ...]
    choices: tuple[JudgedChoice, ...]
    query: str = field(default="", repr=False)
    signature: str = ""


class Chooser:
    """Scores choices by some judges and a head; :func:`load_chooser` opens it."""

    def __init__(self, judges: Mapping[str, Judge], head: Head | None = None, *, graph: str = "") -> None:
        """Combine ``judges``, by name, with ``head``, by default the one that ships for them; ``graph`` is its digest."""
        if not judges:
            raise InputError(f"there is no judge; name one of {', '.join(JUDGES)}")
        self.judges = dict(judges)
        features = features_of(judges)
        self.head = head or shipped_heads().head(features)
        if self.head.features != features:
            raise InputError(
                f"the head {self.head.name} has other features ({', '.join(self.head.features)}) than {', '.join(features)}"
            )
        self._owner = np.array([list(judges).index(name.partition(".")[0]) for name in features])
        self.signature = Signature(
            "choose",
            (
                *((("graph", graph),) if graph else ()),
                *((name, judge.signature) for name, judge in judges.items()),
                ("head", self.head.name),
            ),
            VERSION,
        )

    def values(self, instances: Sequence[Instance]) -> list[Any]:
        """Return the features of each instance's choices, shape (choices, features), for training and measurement."""
        parts = [judge.measure(instances) for judge in self.judges.values()]
        return [np.concatenate(columns, axis=1) for columns in zip(*parts, strict=True)]

    def choose(self, instances: Sequence[Instance], number: int | None = None) -> list[Chosen]:
        """Return the judged choices of each instance; its right answers are not looked at.

        Args:
            number: how many choices are taken as right; by default half of them, rounded up.

        Raises:
            InputError: ``number`` is below 1.
        """
        if number is not None and number < 1:
            raise InputError(f"the number of answers must be >= 1, not {number}")
        grounds: list[list[tuple[EdgeEvidence, ...]]] = [[()] * len(instance.choices) for instance in instances]
        parts = []
        for judge in self.judges.values():
            if isinstance(judge, GraphJudge):
                rows_of_grounds = [judge.grounds(instance) for instance in instances]
                parts.append([np.array([ground.values for ground in row], dtype=np.float64) for row in rows_of_grounds])
                grounds = [[ground.evidence for ground in row] for row in rows_of_grounds]
            else:
                parts.append(judge.measure(instances))
        query, signature = claim_query().text, str(self.signature)
        by_graph = any(isinstance(judge, GraphJudge) for judge in self.judges.values())
        rows = []
        for instance, evidence, *values in zip(instances, grounds, *parts, strict=True):
            shares = self.head.shares(np.concatenate(values, axis=1))
            judged = [
                self._judged(text, choice_shares, edges, by_graph)
                for text, choice_shares, edges in zip(instance.choices, shares, evidence, strict=True)
            ]
            scores = tuple(choice.score for choice in judged)
            best = chosen(scores, number)
            rows.append(Chosen(instance.id, instance.target, instance.question, scores, best, tuple(judged), query, signature))
        return rows

    def stream(self, instances: Iterable[Instance], number: int | None = None) -> Iterator[Chosen]:
        """Yield what :meth:`choose` returns for each instance, with one batch in memory."""
        rows = iter(instances)
        while batch := list(islice(rows, _BATCH)):
            yield from self.choose(batch, number)

    def _judged(self, text: str, shares: Any, evidence: tuple[EdgeEvidence, ...], by_graph: bool) -> JudgedChoice:
        by_judge = {name: float(shares[self._owner == index].sum()) for index, name in enumerate(self.judges)}
        return JudgedChoice(text, sum(by_judge.values()), by_judge, evidence, NO_EDGE if by_graph and not evidence else "")


def features_of(judges: Mapping[str, Judge]) -> tuple[str, ...]:
    """Return the names of all features, ``judge.feature``."""
    return tuple(f"{name}.{feature}" for name, judge in judges.items() for feature in judge.features)


def load_chooser(
    graph: GraphLike | None,
    judges: Sequence[str] | None = None,
    *,
    head: Heads | str | PathLike[str] | None = None,
    encoder: Any = None,
    model: Any = None,
    probe: Any = None,
    nearest: int = 3,
    pipeline: Any = None,
    device: str | None = None,
) -> Chooser:
    """Return what chooses, over ``graph``: a path, a URL, an open graph, or None without the judge ``graph``.

    Args:
        judges: names out of :data:`JUDGES`; by default ``graph`` and ``probe`` where a ``probe`` is given, else ``answers`` and
            ``graph``, with ``trained`` or ``yes-no`` where a ``model`` is given; ``similarity`` too where an ``encoder`` is.
        head: a file or folder of ``tacit train choice-head``, or open heads; by default those that ship.
        encoder: folder or id of a sentence encoder, or ``default``; model: folder, GGUF file or id of a causal language model
            (``likelihood``, ``yes-no``, ``probe``), an open one, or ``default`` for that of ``tacit fetch judge``; or a folder of
            ``tacit train cicero`` (``trained``).
        probe: file or folder of a probe of ``model`` that ``tacit train choice-probe`` wrote, or an open one.
        nearest: number of like events to ask, as for :func:`.answers.load_inference`.
        pipeline: a spaCy pipeline with a parser; device: where models run.

    Raises:
        InputError: a judge is unknown, or lacks its graph or model, or an encoder, model or probe is given for no judge.
        GraphNotFound: there is no graph. ModelError: a model cannot be opened. MissingExtra: a package is not installed.
    """
    if isinstance(model, str) and model == "default":
        from ..metrics.judgement import fetched_model

        model = fetched_model()
    names = list(judges) if judges is not None else _default_judges(encoder, model, probe)
    for name in names:
        if name not in JUDGES:
            advice = did_you_mean(name, JUDGES, f"choose from {', '.join(JUDGES)}")
            raise InputError(f"unknown judge {name!r}; {advice}")
        if names.count(name) > 1:
            raise InputError(f"the judge {name} is named twice; name it once")
    if "graph" in names and graph is None:
        raise InputError("the judge graph needs a graph; give one, or leave the judge out")
    for name in (name for name in _CAUSAL_JUDGES if name in names and model is None):
        raise InputError(f"the judge {name} needs a language model; name a folder, a GGUF file or an id")
    if "probe" in names and probe is None:
        raise InputError("the judge probe needs a probe of its language model; make one with: tacit train choice-probe")
    if "probe" not in names and probe is not None:
        raise InputError("a probe is given, and the judge probe is not named; name it too, or leave the probe out")
    if "similarity" not in names and encoder is not None:
        raise InputError("an encoder is given, and the judge similarity is not named; name it too, or leave the encoder out")
    if model is not None and not {*_CAUSAL_JUDGES, "trained"} & {*names}:
        using = f"{', '.join(_CAUSAL_JUDGES)} or trained"
        raise InputError(f"a model is given, and no judge that uses it is named ({using}); name one, or leave the model out")
    if "trained" in names and not is_trained(model):
        raise InputError("the judge trained needs a model of tacit train cicero; name its folder")
    heads = shipped_heads() if head is None else head if isinstance(head, Heads) else open_heads(fspath(head))

    def make_chooser(graph: KnowledgeGraph | None) -> Chooser:
        judges = {
            name: AnswerOnly(heads.form)
            if name == "answers"
            else _judge(name, graph, encoder, model, probe, nearest, pipeline, device)
            for name in names
        }
        return Chooser(judges, heads.head(features_of(judges)), graph="" if graph is None else graph.manifest().digest)

    return over_graph(graph if "graph" in names else None, make_chooser)


def _default_judges(encoder: Any, model: Any, probe: Any) -> list[str]:
    names = ["graph", "probe"] if probe is not None else ["answers", "graph"]  # a probe is influenced by the form of choices too
    if model is not None and probe is None:
        names.append("trained" if is_trained(model) else "yes-no")
    return names + ["similarity"] * (encoder is not None)


def _judge(name: str, graph: Any, encoder: Any, model: Any, probe: Any, nearest: int, pipeline: Any, device: str | None) -> Judge:
    if name == "similarity":
        from ..models.encoder import open_encoder

        if hasattr(encoder, "pooled"):
            return Similarity(encoder)
        return Similarity(open_encoder(None if encoder == "default" else encoder, device=device))
    if name == "trained":
        return model if isinstance(model, TrainedModel) else open_trained(model, device=device)
    if name in _CAUSAL_JUDGES:
        from ..models.causal_lm import CausalModel, open_causal
        from ..models.linear_probe import Probe
        from .language_judges import PROBE, Likelihood, ProbeJudge, YesNo

        own = not isinstance(model, CausalModel)

        def causal(dtype: str) -> CausalModel:
            return open_causal(model, device=device, dtype=dtype) if own else model

        if name == "probe":
            opened = probe if isinstance(probe, Probe) else PROBE.open(probe)
            return ProbeJudge(causal(opened.dtype), opened, cut=own)
        return Likelihood(causal("float32")) if name == "likelihood" else YesNo(causal("bfloat16"))
    from ..text.language import open_analyser
    from ..text.linking import concept_linker
    from .answers import load_inference

    linker = concept_linker(graph, open_analyser(pipeline), _CACHE_SIZE)
    return GraphJudge(load_inference(graph, nearest=nearest, pipeline=pipeline), linker)
