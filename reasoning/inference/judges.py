"""Judges of a choice: by a sentence encoder, by the graph, by the choices alone, and by a language model.

Each judge gives every choice of an instance some features. Wrong choices of CICERO are counterfactuals made of the target's own
words, which similarity rewards; so the graph speaks against a choice too: by ``HinderedBy``, ``NotDesires``, ``Antonym`` and
other negations, and where the choice denies what the dialogue states.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log, log1p
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...graph.model import FoundPath, Path
from ...graph.path_search import counted_chains
from ...graph.questions import Instance, Question, without_speaker
from ...graph.schema import shape
from ..metrics.grounding import first_mentions
from ..models.asking import States, YesNoPrompt
from ..models.causal_lm import CausalModel
from ..models.linear_probe import Probe, ProbeKind
from ..models.packed import PackedReader
from .answers import Inference, not_of_listener, worded
from .emotions import emotion_of, valence
from .lookup import AGAINST, READINGS, Hit, Reading

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
        turns = [[without_speaker(turn) or turn for turn in instance.dialogue] for instance in instances]
        texts = sorted(
            {
                text
                for instance, turns_of in zip(instances, turns, strict=True)
                for text in (*turns_of, instance.target, *instance.choices)
            }
        )
        vectors = dict(zip(texts, self.encoder.encode(texts), strict=True))
        result = []
        for instance, turns_of in zip(instances, turns, strict=True):
            choices = np.array([vectors[choice] for choice in instance.choices])
            dialogue = choices @ np.array([vectors[turn] for turn in turns_of]).T
            following = dialogue[:, min(instance.target_index + 1, len(turns_of) - 1)]
            columns = (choices @ vectors[instance.target], dialogue.mean(1), dialogue.max(1), following)
            result.append(np.stack(columns, axis=1).astype(np.float64))
        return result


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
    """The graph's evidence on one choice: its features, and the edges behind them, strongest first."""

    values: tuple[float, ...]
    evidence: tuple[Evidence, ...]


class _GraphAnswer(NamedTuple):
    """An answer of the graph to the question."""

    text: str
    supports: bool  # it speaks for the choices that are like it
    of_listener: bool  # as a reaction, it is the listener's
    reading: Reading
    hit: Hit


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
        return [np.array([ground.values for ground in self.grounds(instance)], dtype=np.float64) for instance in instances]

    def grounds(self, instance: Instance) -> list[Grounds]:
        """Return the graph's evidence on each choice."""
        turns = [without_speaker(turn) for turn in instance.dialogue]
        events = self.inference.extractor.events_batch([turns[instance.target_index]])[0]
        lookup = self.inference.lookup
        readings = [(reading, "for") for reading in READINGS[instance.question]]
        readings += [(reading, "against") for reading in AGAINST[instance.question] if reading not in READINGS[instance.question]]
        answers = []
        for event in events:
            for reading, speaks in readings:
                for hit in self.inference.hits(event, reading)[:_ANSWERS]:
                    supports = speaks == "for" and not reading.negated
                    text, of_listener = worded(hit.text, reading, event), not not_of_listener(event, reading)
                    answers.append(_GraphAnswer(text, supports, of_listener, reading, hit))
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
            evidence: list[Evidence] = []
            best = {True: 0.0, False: 0.0}
            for answer in answers:
                fit = answer.hit.likeness * lookup.word_similarity(choice, answer.text)
                fit = -fit if bool(DENIAL.search(choice)) != bool(DENIAL.search(answer.text)) else fit
                for_it = answer.supports == (fit >= 0)
                best[for_it] = max(best[for_it], abs(fit))
                if abs(fit) > 0.2 and (path := self.inference.path_of(answer.hit, answer.reading)) is not None:
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


def _evidence(path: Path, speaks: str, weight: float) -> Evidence:
    return Evidence(path.text(), speaks, weight, FoundPath(path.nodes, path.assertions))


def _strongest(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the strongest edges, each once; among equals contradicting edges come first, since they are rarer."""
    ranked = sorted(evidence, key=lambda item: (-item.weight, item.speaks, -item.edge.strength, item.text))
    first: dict[str, Evidence] = {}
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


# The control of choices: a judge that reads the choices of an instance, and neither dialogue nor question.
#
# Choices of CICERO differ in form: right ones are longer, wrong ones deny more and share more words with the others, and some
# words are typical of right or of wrong ones. What a judge that reads the dialogue adds to this one is its worth.


FORM = ("length", "denials", "opposing", "shared")
"""``length``: log of the number of characters; ``denials``: words of negation; ``opposing``: verbs that oppose, both at most 2;
``shared``: mean share of words in common with the other choices."""

DENIAL = re.compile(r"\b(?:not|no|never|nothing|none|nobody|cannot|neither|nor|without)\b|n't\b", re.IGNORECASE)
OPPOSING = re.compile(
    r"\b(?:refus|den(?:y|ie)|hat(?:e[sd]?|ing)\b|dislik|fail|unable|avoid|stop|quit|against|instead|ignor|reject|cancel|forget|"
    r"forgot|un(?:happy|interested|willing|aware|able)|dis(?:agree|appoint|courag|miss))",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z']+")


def form_of(choices: Sequence[str]) -> Matrix:
    """Return the features of :data:`FORM` of an instance's choices, shape (choices, 4)."""
    words = [frozenset(words_in(choice)) for choice in choices]
    rows = []
    for index, choice in enumerate(choices):
        likenesses = [
            len(words[index] & words_of_other) / max(1, len(words[index] | words_of_other))
            for n, words_of_other in enumerate(words)
            if n != index
        ]
        denials, opposing = len(DENIAL.findall(choice)), len(OPPOSING.findall(choice))
        rows.append((log(1 + len(choice)), min(denials, 2), min(opposing, 2), sum(likenesses) / len(likenesses)))
    return np.array(rows, dtype=np.float64)


def words_in(text: str) -> list[str]:
    """Return the words of a text in lower case, in order."""
    return _WORD.findall(text.lower())


def terms_of(choice: str) -> list[str]:
    """Return the distinct words and pairs of adjacent words of a choice, sorted."""
    words = words_in(choice)
    return sorted({*words, *(f"{first} {second}" for first, second in pairwise(words))})


@dataclass(frozen=True, eq=False)
class FormModel:
    """Weights of a logistic regression on what can be read of choices alone; ``tacit train choice-head`` fits it."""

    form: Mapping[str, float]  # weights of FORM
    terms: Mapping[str, float]  # weights of words and pairs of adjacent words, where a choice has them
    digest: str = ""  # of both

    def log_odds(self, choices: Sequence[str]) -> Matrix:
        """Return the log-odds of each choice, to be compared with those of the others, shape (choices,)."""
        known = [sum(self.terms.get(term, 0.0) for term in terms_of(choice)) for choice in choices]
        result: Matrix = form_of(choices) @ np.array([self.form[name] for name in FORM]) + np.array(known)
        return result


class AnswerOnly:
    """The judge ``answers``; its feature ``form`` is the log-odds of a :class:`FormModel`."""

    features: tuple[str, ...] = ("form",)

    def __init__(self, model: FormModel) -> None:
        self.model = model

    @property
    def signature(self) -> str:
        return f"answer-only-2({self.model.digest})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the log-odds of each choice, shape (choices, 1)."""
        return [self.model.log_odds(instance.choices)[:, None] for instance in instances]


# A language model as a judge of choices: how likely a choice is after the dialogue.


_TASK = "You read a dialogue and judge whether an answer to a question about it is right. Answer Yes or No."


class Likelihood:
    """The judge ``likelihood``; its feature ``likely`` is minus the nats per token of the choice after dialogue and question."""

    features: tuple[str, ...] = ("likely",)

    def __init__(self, causal: CausalModel) -> None:
        self.causal = causal
        self._reader = PackedReader(causal)

    @property
    def signature(self) -> str:
        return f"likelihood-4({self.causal.signature})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the feature of each choice, shape (choices, 1); the dialogue is read once for all choices of an instance."""
        return [self._measure(instance) for instance in instances]

    def _measure(self, instance: Instance) -> Matrix:
        half = self.causal.max_length // 2
        choices = [choice[: half - 2] for choice in self.causal.tokens([f" {choice}" for choice in instance.choices])]
        dialogue = "\n".join(instance.dialogue)
        [prompt] = self.causal.tokens(
            [f"{_TASK}\n\n{dialogue}\n\nTarget: {instance.target}\nQuestion: {instance.question.text}\nAnswer:"]
        )
        before = [self.causal.begin, *prompt[-half - 1 :]]  # of a prompt that is too long, the end
        rows = [(0, choice or [self.causal.end]) for choice in choices]
        losses = self._reader.ends((), [before], rows, [], counted=[len(choice) for choice in choices]).losses
        sizes = np.array([max(1, len(choice)) for choice in choices], dtype=np.float64)
        log_likelihoods: Matrix = (-losses / sizes)[:, None]
        return log_likelihoods


# A language model that is asked whether a choice is right: its preference for yes, and a probe of its hidden states.
#
# A causal language model reads the dialogue, the target, CICERO's question and a proposed answer, and is asked whether the answer
# is right. The judge `yes-no` takes its log-odds of yes. Where its answer would stand, the linear probe (Alain and Bengio, ICLR
# 2017, workshop track) of the judge `probe` reads a layer's hidden states; it is learnt from right against wrong choices
# (`tacit train choice-probe`).


_QUESTION = "Is this answer right? Answer yes or no."
_TEXT_TOKENS = 512


class ChoicePrompt(YesNoPrompt):
    """The prompt for a causal language model."""

    def __init__(self, causal: CausalModel) -> None:
        super().__init__(causal, _QUESTION, _TEXT_TOKENS)

    def read(self, instances: Sequence[Instance], layers: Sequence[int], *, margins: bool = False) -> States:
        """Return the model's states for all choices, in order, as :meth:`YesNoPrompt.read_replies`."""
        replies = [(proposal(instance), f" {choice}") for instance in instances for choice in instance.choices]
        return self.read_replies(replies, layers, margins=margins)


def proposal(instance: Instance) -> str:
    """Return the text before a proposed answer: the dialogue, the target and the question."""
    turns = "\n".join(" ".join(turn.split()) for turn in instance.dialogue)
    return f"{turns}\n\nTarget: {' '.join(instance.target.split())}\nQuestion: {instance.question.text}\nProposed answer:"


class YesNo:
    """The judge ``yes-no``: the log-odds of yes over no, in nats."""

    features: tuple[str, ...] = ("yes",)

    def __init__(self, causal: CausalModel) -> None:
        self.causal = causal
        self._prompt = ChoicePrompt(causal)

    @property
    def signature(self) -> str:
        """The model's name, digest and number format."""
        return f"yes-no-2({self.causal.signature}:{self.causal.dtype})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the log-odds for each choice, shape (choices, 1); the dialogue is read once for all choices of an instance."""
        with self.causal.lock:  # hidden states are recorded on the model itself
            margins = self._prompt.read(instances, (), margins=True).margins
        return _by_instance(margins, instances)


PROBE = ProbeKind("probe for choices", "tacit train choice-probe", "choice-probe.safetensors", "tacit choice probe", ("dtype",))
"""The kind of probe; its log-odds of a choice are to be compared with those of the other choices of its instance."""


class ProbeJudge:
    """The judge ``probe``: the log-odds of a probe."""

    features: tuple[str, ...] = ("odds",)

    def __init__(self, causal: CausalModel, probe: Probe, *, cut: bool = False) -> None:
        """Read the states of ``causal``; with ``cut``, its layers above the probe's are removed, so that it runs faster."""
        probe.attach(causal, cut=cut)
        self.probe = probe
        self._prompt = ChoicePrompt(causal)

    @property
    def signature(self) -> str:
        """The model's name and digest, and the probe's."""
        return f"probe-2({self._prompt.causal.signature}:{self.probe.digest})"

    def measure(self, instances: Sequence[Instance]) -> list[Matrix]:
        """Return the log-odds of each choice, shape (choices, 1); the dialogue is read once for all choices of an instance."""
        with self._prompt.causal.lock:
            states = self._prompt.read(instances, [self.probe.layer])
        return _by_instance(self.probe.log_odds(states.hidden[:, 0]), instances)


def _by_instance(values: Matrix, instances: Sequence[Instance]) -> list[Matrix]:
    """Return the numbers of all choices as one column for each instance."""
    ends = np.cumsum([len(instance.choices) for instance in instances])
    return [part[:, None] for part in np.split(values, ends[:-1])] if len(instances) else []
