"""Tuple scorers by language models: ``llm-judge``, ``llm-probe`` and ``comet-loss``.

``llm-judge`` asks a causal language model whether an inference is plausible and measures how much the event lowers its surprisal;
``llm-probe`` reads a layer's hidden states by a trained linear probe; ``comet-loss`` is the likelihood of the tail under a COMET.
The first two read a tuple as text (:mod:`..verbalise`), and score each distinct text once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .....graph.errors import InputError, ModelError, reason_of
from ....cache import LruCache
from ....models.causal_lm import CausalModel, Continuation, open_causal
from ....models.linear_probe import attach, unpack_probe
from ....models.modelfile import pack, read_model
from ..events import tail_form
from ..tails.comet import Comet
from ..tails.source import Query
from ..verbalise import VERBALISED, Verbalised, as_prompt, prompt_prefix, verbalise
from .base import Triple, TupleScore, check_relations

if TYPE_CHECKING:
    from .registry import ScorerResources

_CACHE_SIZE = 50_000


class VerbalisedScorer(ABC):
    """Scores tuples by their verbalised form, with an LRU cache."""

    relations = VERBALISED

    def __init__(self) -> None:
        """Begin with an empty cache."""
        self._known: LruCache[Verbalised, TupleScore] = LruCache(_CACHE_SIZE)

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return how plausible each tuple is, in 0..1; tuples with the same text are scored once.

        Raises:
            InputError: a relation is not one of ATOMIC-2020's between events.
            ModelError: the model's output is not finite, its context is too short, or its chat template cannot be used.
        """
        check_relations(tuples, self.relations)
        texts = [verbalise(*one) for one in tuples]
        known = self._known.get_all(texts, self.judge)
        return [known[one] for one in texts]

    @abstractmethod
    def judge(self, inferences: Sequence[Verbalised]) -> list[TupleScore]:
        """Return the score of each verbalised tuple; at least one is given, and all are distinct."""


# The prompt: a task, eight answered examples, the inference.
#
# An instruction-tuned model gets its own chat template; a model without one gets a transcript. The examples were written for this
# purpose; none is from ATOMIC or a judgement set.

_TASK = "You judge whether inferences about everyday events are plausible, as a matter of common sense. Answer Yes or No."
_ANSWERS = ("Yes", "No")
EXAMPLES = (
    (("PersonX burns the toast", "xReact", "annoyed"), "Yes"),
    (("PersonX goes to the dentist", "xNeed", "to make an appointment"), "Yes"),
    (("PersonX breaks PersonX's leg", "xReact", "great"), "No"),
    (("PersonX plants a tree", "HinderedBy", "PersonX's uncle plays chess"), "No"),
    (("PersonX tells PersonY that the flight is late", "oWant", "to wait at the airport"), "Yes"),
    (("PersonX helps PersonY move house", "xAttr", "lazy"), "No"),
    (("PersonX never studies", "xEffect", "fails the exam"), "Yes"),
    (("PersonX thanks PersonY for the gift", "oEffect", "loses a job"), "No"),
)
_PLACEHOLDER = "<the inference>"


class Template(NamedTuple):
    """The prompt before and after an inference, and the words that are possible answers."""

    before: str
    after: str
    answers: tuple[str, ...]


class PlausibilityPrompt:
    """The prompt for a causal language model."""

    def __init__(self, causal: CausalModel) -> None:
        """Make prompts for ``causal``."""
        self.causal = causal

    def rows(self, inferences: Sequence[Verbalised]) -> list[list[int]]:
        """Return the tokens of each inference up to the answer; names of special tokens within it are plain text."""
        after = self.special(self.template.after)
        return [[*row, *after] for row in self.causal.tokens([as_prompt(*one) for one in inferences])]

    @cached_property
    def continuation(self) -> Continuation:
        """The model, with the task and the examples as cached prefix.

        Raises:
            ModelError: its context is too short, or its chat template cannot be used.
        """
        beginning = self.special(self.template.before)
        if not self._chats:
            beginning = [self.causal.begin, *beginning]
        return Continuation(self.causal, beginning)

    @cached_property
    def template(self) -> Template:
        """The prompt by the model's chat template, or as a transcript."""
        if not self._chats:
            examples = "".join(f"{as_prompt(*verbalise(*one))}\nAnswer: {answer}\n\n" for one, answer in EXAMPLES)
            return Template(f"{_TASK}\n\n{examples}", "\nAnswer:", tuple(f" {answer}" for answer in _ANSWERS))
        before, found, after = self._chat().partition(_PLACEHOLDER)
        if not found or _PLACEHOLDER in after:
            raise ModelError(f"the chat template of {self.causal.files.given!r} changes its messages; give another model")
        return Template(before, after, _ANSWERS)

    def special(self, text: str) -> list[int]:
        """Return the tokens of a template's own text, in which names of special tokens stand for those tokens."""
        ids: list[int] = self.causal.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids

    @property
    def _chats(self) -> bool:
        return bool(getattr(self.causal.tokenizer, "chat_template", None))

    def _chat(self) -> str:
        """The conversation up to the answer, by the model's template; some templates have no system message."""
        messages_after_task = [
            {"role": role, "content": text}
            for one, answer in EXAMPLES
            for role, text in (("user", as_prompt(*verbalise(*one))), ("assistant", answer))
        ]
        messages_after_task.append({"role": "user", "content": _PLACEHOLDER})
        system = [{"role": "system", "content": _TASK}]
        plain = [{"role": "user", "content": f"{_TASK}\n\n{messages_after_task[0]['content']}"}]
        for messages in (system + messages_after_task, plain + messages_after_task[1:]):
            try:
                return str(self.causal.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
            except Exception as error:  # jinja's own errors, and those that the template raises
                reason = reason_of(error)
        raise ModelError(f"the chat template of {self.causal.files.given!r} fails ({reason}); give another model")


# The scorer ``llm-judge``.
#
# A model's answers (Zheng et al., NeurIPS 2023) and its likelihoods (Holtzman et al., EMNLP 2021) err on different tuples, so the
# two together agree better with ratings than either (docs/accent.md).

YES, SAVED = "chance of yes", "share of surprise saved"
"""The names of the parts of a score."""


class LlmJudge(VerbalisedScorer):
    """The scorer over a causal language model; see :func:`open_llm_judge`.

    A score is the mean of 1, the probability of the answer Yes rather than No, and the share of the inference's surprisal that
    the event removes, at least -1; so it is 1/2 where the model is undecided and the event makes no difference.
    """

    def __init__(self, causal: CausalModel) -> None:
        """Score by ``causal``."""
        super().__init__()
        self.asking = PlausibilityPrompt(causal)
        self.surprise = SurprisalReduction(causal)

    @property
    def signature(self) -> str:
        """The model's name and digest, and the parts of the score."""
        return f"llm-judge(yes+saved:{self.asking.causal.signature})"

    def judge(self, inferences: Sequence[Verbalised]) -> list[TupleScore]:
        """Return the scores of verbalised tuples, with their parts."""
        rows = self.asking.rows(inferences)
        chances = self.asking.continuation.probabilities(rows, self.asking.template.answers)[:, 0].tolist()
        return [
            TupleScore((1 + chance + max(saved, -1.0)) / 3, parts=((YES, chance), (SAVED, saved)))
            for chance, saved in zip(chances, self.surprise.shares(inferences).tolist(), strict=True)
        ]


def open_llm_judge(model: str | Path, *, device: str | None = None, dtype: str = "float32") -> LlmJudge:
    """Open the scorer over a causal language model: a folder, a GGUF file, or an id of the hub; prefer an instruction-tuned one.

    Args:
        device: as torch names it.
        dtype: of the weights; in ``bfloat16`` and ``float16`` scores depend slightly on the batch.

    Raises:
        InputError: the device or dtype is unknown.
        ModelError: the model cannot be found, or is not a causal language model.
        MissingExtra: torch or transformers is not installed, or the reader of GGUF files.
    """
    return LlmJudge(open_causal(model, device=device, dtype=dtype))


def make_llm_judge(resources: ScorerResources, *, model: str | Path | None = None) -> LlmJudge:
    """Return the scorer over the language model ``model``.

    Raises:
        InputError: no model is given.
        ModelError: it cannot be opened.
    """
    if model is None:
        raise InputError("the scorer llm-judge needs a model; name a language model: a folder, a GGUF file or an id")
    return open_llm_judge(model, device=resources.device, dtype=resources.dtype)


# Its second part: pointwise mutual information of event and inference, as a share of the inference's surprisal.
#
# The model continues a list of plausible inferences, which gives each inference a cost in nats. The part of it that the event
# removes, compared with an event without content, is the pointwise mutual information of the two given the list (Holtzman et al.,
# EMNLP 2021, equation 2); as a share of the cost it is comparable between inferences of any length.

_SURPRISE_TASK = "These inferences about everyday events are plausible, as a matter of common sense."
PLAUSIBLE = (
    *(one for one, answer in EXAMPLES if answer == "Yes"),
    ("PersonX loses PersonX's wallet", "xWant", "to cancel the cards"),
    ("PersonX goes for a run", "HinderedBy", "PersonX has hurt a knee"),
    ("PersonX quits smoking", "xIntent", "to be healthier"),
    ("PersonX spills coffee on PersonY", "oEffect", "has to change clothes"),
    ("PersonX bakes a cake", "isAfter", "PersonX buys flour and eggs"),
    ("PersonX lends PersonY a book", "xAttr", "generous"),
    ("PersonX pays for PersonY's lunch", "oReact", "grateful"),
    ("PersonX paints the house", "HasSubEvent", "PersonX climbs a ladder"),
)
"""The list before every inference, which the model continues."""
_EMPTY_EVENT = "Alex does something"


class SurprisalReduction:
    """The share of an inference's surprisal that its event removes, under a causal language model."""

    def __init__(self, causal: CausalModel) -> None:
        """Measure by ``causal``."""
        self.causal = causal
        self._alone: LruCache[str, float] = LruCache(_CACHE_SIZE)

    def shares(self, inferences: Sequence[Verbalised]) -> NDArray[np.float64]:
        """Return 1 - cost after the event / cost after an empty event, <= 1, shape (inferences,); below 0 the event adds cost.

        Raises:
            ModelError: the model's context is too short, or its output is not finite.
        """
        bare = {inferred: self._alone.get(inferred) for _, inferred in inferences}
        fresh = [inferred for inferred, nats in bare.items() if nats is None]
        nats = self._nats([*inferences, *((_EMPTY_EVENT, inferred) for inferred in fresh)])
        for inferred, alone in zip(fresh, nats[len(inferences) :].tolist(), strict=True):
            bare[inferred] = alone
            self._alone.put(inferred, alone)
        costs = np.array([bare[inferred] for _, inferred in inferences], dtype=np.float64)
        return 1 - np.divide(nats[: len(inferences)], costs, out=np.ones(len(costs)), where=costs > 0)

    def _nats(self, inferences: Sequence[Verbalised]) -> NDArray[np.float64]:
        events = self.causal.tokens([prompt_prefix(event) for event, _ in inferences])
        inferred = self.causal.tokens([f" {inferred}." for _, inferred in inferences])
        rows = [[*before, *after] for before, after in zip(events, inferred, strict=True)]
        return self._list.nats(rows, [len(before) for before in events])

    @cached_property
    def _list(self) -> Continuation:
        text = "".join(f"{as_prompt(*verbalise(*one))}\n\n" for one in PLAUSIBLE)
        return Continuation(self.causal, [self.causal.begin, *self.causal.tokens([f"{_SURPRISE_TASK}\n\n{text}"])[0]])


# Linear probes (Alain and Bengio, ICLR 2017, workshop track): a direction in the hidden states of a layer that separates tuples
# rated plausible from the others, in one small safetensors file of numbers and text.

FILE = "probe.safetensors"
FORMAT = "tacit probe"
VERSION = 1
TRAIN = "tacit train llm-probe"
SHIPPED = Path(__file__).parents[1] / "probe"
"""The probe that ships with tacit."""

_LARGEST = 2**20


@dataclass(frozen=True, eq=False)
class Probe:
    """A trained probe.

    Attributes:
        layer: the layer whose states it reads, from 1 for the one nearest to the input.
        weights: of the states, shape (width,); bias: added to the weighted sum.
        model: signature of the language model that it was trained on and belongs to.
        facts: training data and agreement with ratings, plain values for JSON.
        digest: of its file, empty before it is written.
    """

    layer: int
    weights: NDArray[np.float32]
    bias: float
    model: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    def chances(self, states: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the probability that each tuple is rated plausible, in 0..1, shape (n,), by states of shape (n, width)."""
        found: NDArray[np.float64] = expit(states.astype(np.float64) @ self.weights.astype(np.float64) + self.bias)
        return found


def to_bytes(probe: Probe) -> bytes:
    """Return the file of a probe; equal probes give equal bytes."""
    description = {
        "format": FORMAT, "version": VERSION, "layer": probe.layer, "bias": probe.bias, "model": probe.model,
        "facts": dict(probe.facts),
    }  # fmt: skip
    return pack({"weights": probe.weights.astype(np.float32)}, description)


def open_probe(path: Path | str | None = None) -> Probe:
    """Open a probe's file, or the folder that holds one; by default the one that ships with tacit.

    Raises:
        ModelError: the file is missing, damaged, or not a probe.
    """
    place = SHIPPED if path is None else Path(path)
    return from_bytes(*read_model(place, FILE, "probe", TRAIN, _LARGEST))


def from_bytes(data: bytes, name: str) -> Probe:
    """Return the probe in a file's bytes; ``name`` names it in errors.

    Raises:
        ModelError: the bytes are damaged or not a probe.
    """
    read = unpack_probe(data, (FORMAT, VERSION), "bias", name=name, what="probe", command=TRAIN)
    told = read.description
    return Probe(read.layer, read.weights, read.numbers["bias"], told["model"], told["facts"], read.digest)


# The scorer ``llm-probe``.
#
# A model's states predict the truth of a statement also where its answer is wrong (Azaria and Mitchell, Findings of EMNLP 2023).
# The model reads the prompt of ``llm-judge`` up to the answer, once and without the layers above the probe's, so it is faster.


class LlmProbe(VerbalisedScorer):
    """The scorer over a causal language model and a probe of its states; see :func:`open_llm_probe`."""

    def __init__(self, causal: CausalModel, probe: Probe) -> None:
        """Read the states of ``causal``, whose layers above the probe's are removed.

        Raises:
            ModelError: the probe was trained on another model.
        """
        super().__init__()
        attach(causal, probe.model, probe.layer, what="probe", command=TRAIN, cut=True)
        self.asking = PlausibilityPrompt(causal)
        self.probe = probe

    @property
    def signature(self) -> str:
        """The digest of the probe, and the model's name and digest."""
        return f"llm-probe({self.probe.digest}:{self.asking.causal.signature})"

    def judge(self, inferences: Sequence[Verbalised]) -> list[TupleScore]:
        """Return the probability that each verbalised tuple is rated plausible, by the probe."""
        states = self.asking.continuation.states(self.asking.rows(inferences), [self.probe.layer])[:, 0]
        return [TupleScore(chance) for chance in self.probe.chances(states).tolist()]


def open_llm_probe(
    model: str | Path, probe: str | Path | None = None, *, device: str | None = None, dtype: str = "float32"
) -> LlmProbe:
    """Open the scorer over a causal language model and a probe of its states.

    Args:
        model: a folder, a GGUF file, or an id of the hub: the one that the probe was trained on.
        probe: the folder or file that ``tacit train llm-probe`` wrote; by default the one that ships, of
            Qwen2.5-Coder-1.5B-Instruct in the file qwen2.5-coder-1.5b-instruct-q4_k_m.gguf.
        device: as torch names it.
        dtype: of the weights; in ``bfloat16`` and ``float16`` scores depend slightly on the batch.

    Raises:
        InputError: the device or dtype is unknown.
        ModelError: the model or probe cannot be found, or the two do not belong together.
        MissingExtra: torch or transformers is not installed, or the reader of GGUF files.
    """
    opened = open_probe(probe)
    return LlmProbe(open_causal(model, device=device, dtype=dtype), opened)


def make_llm_probe(resources: ScorerResources, *, model: str | Path | None = None, probe: str | Path | None = None) -> LlmProbe:
    """Return the scorer over the language model ``model`` and a probe of its states, by default the one that ships.

    Raises:
        InputError: no model is given.
        ModelError: the model or the probe cannot be opened.
    """
    if model is None:
        raise InputError("the scorer llm-probe needs a model; name a language model: a folder, a GGUF file or an id")
    return open_llm_probe(model, probe, device=resources.device, dtype=resources.dtype)


# The scorer ``comet-loss``: the likelihood of a tail under a COMET (Ghazarian et al., ACL 2023, table 5).


class CometLoss:
    """The geometric mean of the probabilities that a COMET gives the tail's tokens."""

    name = "comet-loss"
    relations = None

    def __init__(self, comet: Comet) -> None:
        """Score by ``comet``."""
        self.comet = comet
        self.signature = f"{self.name}({comet.signature})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return ``exp(-loss)`` of each tuple, in 0..1, with the mean loss per token of the tail."""
        queries = [Query(head, relation) for head, relation, _ in tuples]
        losses = self.comet.losses(queries, [tail_form(tail, relation) for _, relation, tail in tuples])
        return [TupleScore(float(value)) for value in np.exp(-losses)]


def make_comet_loss(resources: ScorerResources, *, comet: Any = None) -> CometLoss:
    """Return the scorer over a COMET: a folder, an id, or an open one; by default the published one.

    Raises:
        ModelError: it cannot be opened.
    """
    return CometLoss(resources.comet(comet))
