"""Judges of a choice: what can be measured by a sentence encoder, and in the graph.

Each judge gives every choice of an instance some features. Wrong choices of CICERO are counterfactuals made of the target's own
words, which similarity rewards; so the graph speaks against a choice too: by ``HinderedBy``, ``NotDesires``, ``Antonym`` and
other negations, and where the choice denies what the dialogue states.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...graph.model import FoundPath, Path
from ...graph.path_search import counted_chains
from ...graph.questions import Instance, Question, without_speaker
from ...graph.schema import shape
from ..metrics.grounding import first_mentions
from .answer_only import DENIAL, words_in
from .answers import Inference, not_of_listener, worded
from .emotions import emotion_of, valence
from .lookup import Hit
from .readings import AGAINST, READINGS, Reading

if TYPE_CHECKING:
    from ..models.encoder import TextEncoder
    from ..text.linking import Linker

Matrix = NDArray[np.float64]


class Judge(Protocol):
    """Measures choices; ``signature`` changes whenever the measurements may change."""

    features: tuple[str, ...]

    @property
    def signature(self) -> str:
        """Identifies the judge."""

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return for each instance the features of its choices, shape (choices, features)."""


class Similarity:
    """Cosines by a sentence encoder: of a choice with the target, the mean and the nearest of the turns, and the next turn."""

    features: tuple[str, ...] = ("target", "dialogue", "nearest turn", "next turn")

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder = encoder

    @property
    def signature(self) -> str:
        return f"similarity-1({self.encoder.signature})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the cosines of each choice; each distinct text is encoded once."""
        turns = [[without_speaker(turn) or turn for turn in one.dialogue] for one in instances]
        texts = sorted({text for one, each in zip(instances, turns, strict=True) for text in (*each, one.target, *one.choices)})
        vectors = dict(zip(texts, self.encoder.encode(texts), strict=True))
        found = []
        for one, each in zip(instances, turns, strict=True):
            choices = np.array([vectors[choice] for choice in one.choices])
            dialogue = choices @ np.array([vectors[turn] for turn in each]).T
            following = dialogue[:, min(one.place + 1, len(each) - 1)]
            columns = (choices @ vectors[one.target], dialogue.mean(1), dialogue.max(1), following)
            found.append(np.stack(columns, axis=1).astype(np.float64))
        return found


# The graph.

_NEGATIONS = "Desires CapableOf Causes HasProperty IsA UsedFor HasA MadeOf"
AGAINST_RELATIONS = frozenset(("Antonym", "DistinctFrom", "ObstructedBy", *(f"Not{name}" for name in _NEGATIONS.split())))
_SHOWN = 3
_ANSWERS = 40


@shape("text", "speaks", "weight", "edge", "parameters")
@dataclass(frozen=True, slots=True)
class Evidence:
    """An edge that speaks for or against a choice.

    Attributes:
        text: the edge as one line; speaks: ``for`` or ``against``.
        weight: how much of the choice it covers, in 0..1.
        edge: the assertion.
    """

    text: str
    speaks: str
    weight: float
    edge: FoundPath

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters of :func:`tacit.graph.cypher_store.claim_query` that find the edge."""
        row = self.edge.assertions[0]
        return {"head": row.head, "relation": row.relation, "tail": row.tail}


class Grounds(NamedTuple):
    """What the graph says of one choice: its features, and the edges behind them, strongest first."""

    values: tuple[float, ...]
    evidence: tuple[Evidence, ...]


class GraphJudge:
    """Evidence of the graph for and against a choice.

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
        return [np.array([ground.values for ground in self.grounds(one)], dtype=np.float64) for one in instances]

    def grounds(self, one: Instance) -> list[Grounds]:
        """Return what the graph says of each choice."""
        turns = [without_speaker(turn) for turn in one.dialogue]
        place = one.place
        events = self.inference.extractor.events_batch([turns[place]])[0]
        lookup = self.inference.lookup
        readings = [(reading, "for") for reading in READINGS[one.question]]
        readings += [(reading, "against") for reading in AGAINST[one.question] if reading not in READINGS[one.question]]
        known: list[tuple[str, bool, bool]] = []  # an answer, whether it speaks for, whether it is the listener's
        behind: list[tuple[Reading, Hit]] = []
        for event in events:
            for reading, speaks in readings:
                for hit in self.inference.hits(event, reading)[:_ANSWERS]:
                    good = speaks == "for" and not reading.negated
                    known.append((worded(hit.text, reading, event), good, not not_of_listener(event, reading)))
                    behind.append((reading, hit))
        felt = [valence(name) for text, good, own in known if good and own and (name := emotion_of(text)) is not None]
        mood = float(np.sign(sum(felt))) if one.question is Question.REACTION and felt else 0.0
        concepts = [[mention.concept for mention in first_mentions(found)] for found in self.linker.link_batch(list(one.choices))]
        heard = [mention.concept for found in self.linker.link_batch(turns) for mention in first_mentions(found)]
        stated = _stated(turns)
        grounds = []
        for choice, its in zip(one.choices, concepts, strict=True):
            evidence: list[Evidence] = []
            best = {True: 0.0, False: 0.0}
            for (text, good, _), (reading, hit) in zip(known, behind, strict=True):
                fit = hit.likeness * lookup.likeness(choice, text)
                fit = -fit if bool(DENIAL.search(choice)) != bool(DENIAL.search(text)) else fit
                for_it = good == (fit >= 0)
                best[for_it] = max(best[for_it], abs(fit))
                if abs(fit) > 0.2 and (path := self.inference.path_of(hit, reading)) is not None:
                    evidence.append(_evidence(path, "for" if for_it else "against", abs(fit)))
            pairs = {True: 0, False: 0}
            for path in counted_chains(self.inference.graph, list(dict.fromkeys(heard)), its, 1, "pairs", 200):
                for_it = path.assertions[0].relation not in AGAINST_RELATIONS
                pairs[for_it] += 1
                evidence.append(_evidence(path, "for" if for_it else "against", 0.1))
            emotion = emotion_of(choice)
            feeling = 0.0 if emotion is None else mood * valence(emotion)
            values = (best[True], best[False], log1p(pairs[True]), log1p(pairs[False]), _denied(choice, stated), feeling)
            grounds.append(Grounds(values, _strongest(evidence)))
        return grounds


def _evidence(path: Path, speaks: str, weight: float) -> Evidence:
    return Evidence(path.text(), speaks, weight, FoundPath(path.nodes, path.assertions))


def _strongest(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the strongest edges, each once; what speaks against comes first among equals, since it is rarer."""
    ranked = sorted(evidence, key=lambda one: (-one.weight, one.speaks, -one.edge.strength, one.text))
    first: dict[str, Evidence] = {}
    for one in ranked:
        first.setdefault(one.text, one)
    return tuple(first.values())[:_SHOWN]


def _stated(turns: Sequence[str]) -> frozenset[str]:
    """Return the words of the sentences that deny nothing."""
    sentences = [part for turn in turns for part in re.split(r"[.!?,;]", turn) if not DENIAL.search(part)]
    return frozenset(_stem(word) for sentence in sentences for word in words_in(sentence))


def _denied(choice: str, stated: frozenset[str]) -> float:
    """Return 1 when the choice denies a word of three letters or more right after the denial that the dialogue states."""
    for found in DENIAL.finditer(choice):
        after = words_in(choice[found.end() :])[:3]
        if any(len(word) > 2 and _stem(word) in stated for word in after):
            return 1.0
    return 0.0


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)]
    return word
