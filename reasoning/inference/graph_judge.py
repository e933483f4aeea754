"""The judge ``graph``: edges of the graph that support or contradict a choice.

Wrong choices of CICERO are counterfactuals made of the target's own words, which similarity rewards. So edges may also contradict
a choice: ``HinderedBy``, ``NotDesires``, ``Antonym`` and other negations; and a choice may deny what the dialogue states.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...graph.model import FoundPath, Path
from ...graph.path_search import counted_chains
from ...graph.questions import Instance, Question, without_speaker
from ...graph.schema import shape
from ..text.linking import first_mentions
from .answers import Inference, listener_rank, worded
from .emotions import emotion_of, valence
from .judges import DENIAL, Matrix, words_in
from .lookup import ANSWER_PATTERNS, OPPOSING_PATTERNS, Hit, RelationPattern

if TYPE_CHECKING:
    from ..text.linking import Linker

_NEGATIONS = "Desires CapableOf Causes HasProperty IsA UsedFor HasA MadeOf"
AGAINST_RELATIONS = frozenset(("Antonym", "DistinctFrom", "ObstructedBy", *(f"Not{name}" for name in _NEGATIONS.split())))
_SHOWN = 3
_ANSWERS = 40


@shape("text", "speaks=direction", "weight", "edge", "parameters")
@dataclass(frozen=True, slots=True)
class EdgeEvidence:
    """An edge that supports or contradicts a choice.

    Attributes:
        text: the edge as one line; direction: ``for`` or ``against`` the choice.
        weight: how much of the choice it covers, in 0..1.
        edge: the assertion.
    """

    text: str
    direction: str
    weight: float
    edge: FoundPath

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters of :func:`tacit.graph.cypher_store.claim_query` that find the edge."""
        row = self.edge.assertions[0]
        return {"head": row.head, "relation": row.relation, "tail": row.tail}


class Grounds(NamedTuple):
    """The graph's evidence on one choice: its features, and the edges behind them, strongest first."""

    values: tuple[float, ...]
    evidence: tuple[EdgeEvidence, ...]


class _GraphAnswer(NamedTuple):
    """An answer of the graph to the question."""

    text: str
    supports: bool  # it supports the choices that are like it
    of_listener: bool  # as a reaction, it is the listener's
    pattern: RelationPattern
    hit: Hit


class GraphJudge:
    """EdgeEvidence of the graph for and against a choice.

    ``answered``: how well the best answer of the graph to the question covers the choice; ``hindered``: the same for what the
    graph says keeps the event from happening or is not wanted; ``joined``: log of the number of concept pairs between dialogue
    and choice that an edge joins; ``opposed``: the same for antonyms and negated relations; ``denied``: whether the choice denies
    a word that the dialogue states; ``feeling``: whether its emotion is as pleasant (1) or not (-1) as the graph's reaction.
    """

    features: tuple[str, ...] = ("answered", "hindered", "joined", "opposed", "denied", "feeling")

    def __init__(self, inference: Inference, linker: Linker) -> None:
        """Measure by the answers of ``inference`` and the concepts of ``linker``, over one graph."""
        self.inference = inference
        self.linker = linker

    @property
    def signature(self) -> str:
        return f"graph-1({self.inference.signature})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        return [np.array([ground.values for ground in self.grounds(instance)], dtype=np.float64) for instance in instances]

    def grounds(self, instance: Instance) -> list[Grounds]:
        """Return the graph's evidence on each choice."""
        turns = [without_speaker(turn) for turn in instance.dialogue]
        events = self.inference.extractor.events_batch([turns[instance.target_index]])[0]
        lookup = self.inference.lookup
        patterns = [(pattern, "for") for pattern in ANSWER_PATTERNS[instance.question]]
        patterns += [
            (pattern, "against")
            for pattern in OPPOSING_PATTERNS[instance.question]
            if pattern not in ANSWER_PATTERNS[instance.question]
        ]
        answers = []
        for event in events:
            for pattern, direction in patterns:
                for hit in self.inference.hits(event, pattern)[:_ANSWERS]:
                    supports = direction == "for" and not pattern.negated
                    text, of_listener = worded(hit.text, pattern, event), not listener_rank(event, pattern)
                    answers.append(_GraphAnswer(text, supports, of_listener, pattern, hit))
        reactions = [emotion_of(answer.text) for answer in answers if answer.supports and answer.of_listener]
        valences = [valence(name) for name in reactions if name is not None]
        mood = float(np.sign(sum(valences))) if instance.question is Question.REACTION else 0.0
        concepts = [
            [mention.concept for mention in first_mentions(mentions)]
            for mentions in self.linker.link_batch(list(instance.choices))
        ]
        in_dialogue = [mention.concept for mentions in self.linker.link_batch(turns) for mention in first_mentions(mentions)]
        stated = _affirmed_words(turns)
        grounds = []
        for choice, in_choice in zip(instance.choices, concepts, strict=True):
            evidence: list[EdgeEvidence] = []
            best = {True: 0.0, False: 0.0}
            for answer in answers:
                fit = answer.hit.likeness * lookup.word_similarity(choice, answer.text)
                fit = -fit if bool(DENIAL.search(choice)) != bool(DENIAL.search(answer.text)) else fit
                for_it = answer.supports == (fit >= 0)
                best[for_it] = max(best[for_it], abs(fit))
                if abs(fit) > 0.2 and (path := self.inference.path_of(answer.hit, answer.pattern)) is not None:
                    evidence.append(_evidence(path, "for" if for_it else "against", abs(fit)))
            pairs = {True: 0, False: 0}
            for path in counted_chains(self.inference.graph, list(dict.fromkeys(in_dialogue)), in_choice, 1, "pairs", 200):
                for_it = path.assertions[0].relation not in AGAINST_RELATIONS
                pairs[for_it] += 1
                evidence.append(_evidence(path, "for" if for_it else "against", 0.1))
            emotion = emotion_of(choice)
            feeling = 0.0 if emotion is None else mood * valence(emotion)
            values = (best[True], best[False], log1p(pairs[True]), log1p(pairs[False]), _denied(choice, stated), feeling)
            grounds.append(Grounds(values, _strongest(evidence)))
        return grounds


def _evidence(path: Path, direction: str, weight: float) -> EdgeEvidence:
    return EdgeEvidence(path.text(), direction, weight, FoundPath(path.nodes, path.assertions))


def _strongest(evidence: Sequence[EdgeEvidence]) -> tuple[EdgeEvidence, ...]:
    """Return the strongest edges, each once; among equals contradicting edges come first, since they are rarer."""
    ranked = sorted(evidence, key=lambda item: (-item.weight, item.direction, -item.edge.strength, item.text))
    first: dict[str, EdgeEvidence] = {}
    for item in ranked:
        first.setdefault(item.text, item)
    return tuple(first.values())[:_SHOWN]


def _affirmed_words(turns: Sequence[str]) -> frozenset[str]:
    """Return the words of the sentences that deny nothing."""
    sentences = [part for turn in turns for part in re.split(r"[.!?,;]", turn) if not DENIAL.search(part)]
    return frozenset(_stem(word) for sentence in sentences for word in words_in(sentence))


def _denied(choice: str, stated: frozenset[str]) -> float:
    """Return 1 when the choice denies a word of three letters or more right after the denial that the dialogue states."""
    for denial in DENIAL.finditer(choice):
        after = words_in(choice[denial.end() :])[:3]
        if any(len(word) > 2 and _stem(word) in stated for word in after):
            return 1.0
    return 0.0


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)]
    return word
