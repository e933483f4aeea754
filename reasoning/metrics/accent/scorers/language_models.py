"""What scorers by a language model have in common: they judge a tuple as it is read out, and each reading once."""

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
from ....models.layers import cut_above
from ....models.modelfile import digest_of, pack, read_model, unpack
from ..events import tail_form
from ..tails.comet import Comet
from ..tails.source import Query
from ..verbalise import READ, Reading, begun, reading, written
from .base import Triple, TupleScore
from .compatibility import check_relations

if TYPE_CHECKING:
    from .registry import Opener

_REMEMBERED = 50_000


class ReadOut(ABC):
    """Scores tuples by their readings."""

    relations = READ

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._known: LruCache[Reading, TupleScore] = LruCache(_REMEMBERED)

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return how plausible each tuple is, in 0..1; tuples that are read out alike are judged once.

        Raises:
            InputError: a relation is none of ATOMIC-2020's between events.
            ModelError: the model gives no number, reads too few tokens, or cannot be asked.
        """
        check_relations(tuples, self.relations)
        read = [reading(*one) for one in tuples]
        remembered = ((one, self._known.get(one)) for one in dict.fromkeys(read))
        known = {one: score for one, score in remembered if score is not None}
        fresh = [one for one in dict.fromkeys(read) if one not in known]
        if fresh:
            judged = dict(zip(fresh, self.judge(fresh), strict=True))
            for one, score in judged.items():
                self._known.put(one, score)
            known |= judged
        return [known[one] for one in read]

    @abstractmethod
    def judge(self, inferences: Sequence[Reading]) -> list[TupleScore]:
        """Return the score of each reading, one at least, all distinct."""


# What a language model reads when it is asked whether an inference is plausible: a task, eight judged examples, the inference.
#
# An instruction-tuned model is asked by its own chat template; one without a template reads a transcript. The examples were
# written for this purpose; none is from ATOMIC or a judgement set.

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
_HERE = "<the inference>"


class Template(NamedTuple):
    """What stands before and after an inference in what the model reads, and the words that it may answer."""

    before: str
    after: str
    answers: tuple[str, ...]


class Asking:
    """A causal language model, and how it is asked."""

    def __init__(self, causal: CausalModel) -> None:
        """Ask ``causal``."""
        self.causal = causal

    def rows(self, inferences: Sequence[Reading]) -> list[list[int]]:
        """Return the tokens of each inference up to the answer; names of special tokens within it are text."""
        after = self.special(self.template.after)
        return [[*row, *after] for row in self.causal.tokens([written(*one) for one in inferences])]

    @cached_property
    def continuation(self) -> Continuation:
        """The model, with the task and the examples read.

        Raises:
            ModelError: it reads too few tokens, or its chat template is of no use.
        """
        beginning = self.special(self.template.before)
        if not self._chats:
            beginning = [self.causal.begin, *beginning]
        return Continuation(self.causal, beginning)

    @cached_property
    def template(self) -> Template:
        """The model's own, or that of a transcript."""
        if not self._chats:
            examples = "".join(f"{written(*reading(*one))}\nAnswer: {answer}\n\n" for one, answer in EXAMPLES)
            return Template(f"{_TASK}\n\n{examples}", "\nAnswer:", tuple(f" {answer}" for answer in _ANSWERS))
        before, found, after = self._chat().partition(_HERE)
        if not found or _HERE in after:
            raise ModelError(f"the chat template of {self.causal.files.given!r} changes what it is given; give another model")
        return Template(before, after, _ANSWERS)

    def special(self, text: str) -> list[int]:
        """Return the tokens of a template's own words, in which names of special tokens stand for them."""
        ids: list[int] = self.causal.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids

    @property
    def _chats(self) -> bool:
        return bool(getattr(self.causal.tokenizer, "chat_template", None))

    def _chat(self) -> str:
        """The conversation up to the answer, by the model's template; some have no place for a system's words."""
        said = [
            {"role": role, "content": text}
            for one, answer in EXAMPLES
            for role, text in (("user", written(*reading(*one))), ("assistant", answer))
        ]
        said.append({"role": "user", "content": _HERE})
        system = [{"role": "system", "content": _TASK}]
        plain = [{"role": "user", "content": f"{_TASK}\n\n{said[0]['content']}"}]
        for messages in (system + said, plain + said[1:]):
            try:
                return str(self.causal.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
            except Exception as error:  # jinja's own, by what the template objects to
                reason = reason_of(error)
        raise ModelError(f"the chat template of {self.causal.files.given!r} fails ({reason}); give another model")


# A linear probe (Alain and Bengio, ICLR 2017, workshop track): a direction in what a layer of a language model makes of a
# tuple, along which those that people call plausible lie apart from the others. It is kept in one small file, of numbers and
# text alone.

FILE = "probe.safetensors"
FORMAT = "tacit probe"
VERSION = 1
SHIPPED = Path(__file__).parents[1] / "probe"
"""The probe that ships with tacit."""

_LARGEST = 2**20


@dataclass(frozen=True, eq=False)
class Probe:
    """A trained probe.

    Attributes:
        layer: whose states it reads, from 1, the one nearest to the input.
        weights: of the states, shape (width,); bias: added to what they come to.
        model: signature of the language model that it was trained on, and fits alone.
        facts: what else is known of it (data, agreement with people), plain values for JSON.
        digest: of its file, empty before there is one.
    """

    layer: int
    weights: NDArray[np.float32]
    bias: float
    model: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    def chances(self, states: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return how likely people are to call each tuple plausible, in 0..1, shape (n,), by states of shape (n, width)."""
        found: NDArray[np.float64] = expit(states.astype(np.float64) @ self.weights.astype(np.float64) + self.bias)
        return found


def to_bytes(probe: Probe) -> bytes:
    """Return the file of a probe; equal ones give equal bytes."""
    description = {
        "format": FORMAT, "version": VERSION, "layer": probe.layer, "bias": probe.bias, "model": probe.model,
        "facts": dict(probe.facts),
    }  # fmt: skip
    return pack({"weights": probe.weights.astype(np.float32)}, description)


def open_probe(path: Path | str | None = None) -> Probe:
    """Open a probe's file, or the folder that holds one; by default the one that ships with tacit.

    Raises:
        ModelError: there is none, or it is no whole probe.
    """
    place = SHIPPED if path is None else Path(path)
    return from_bytes(*read_model(place, FILE, "probe", "tacit train llm-probe", _LARGEST))


def from_bytes(data: bytes, name: str) -> Probe:
    """Return the probe in a file's bytes; ``name`` is for errors.

    Raises:
        ModelError: it is no whole probe.
    """
    try:
        head, arrays = unpack(data, FORMAT, VERSION)
        weights, layer, bias, facts = arrays["weights"], head["layer"], float(head["bias"]), dict(head["facts"])
        sound = weights.dtype == np.float32 and weights.ndim == 1 and weights.size
        if not (sound and np.isfinite(bias) and type(layer) is int and layer >= 1):
            raise ValueError("its weights, bias or layer are invalid")
        return Probe(layer, weights, bias, str(head["model"]), facts, digest_of(data))
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{name} is no probe ({reason_of(error)}); give one that tacit train llm-probe wrote") from error


# A language model as the judge of tuples: does it call an inference plausible, and does the event make it less of a surprise?
#
# What it says when it is asked (Zheng et al., NeurIPS 2023) and what its likelihoods know (Holtzman et al., EMNLP 2021) go
# wrong in different places, so the two together agree with people better than either (docs/accent.md).

YES, SAVED = "chance of yes", "share of surprise saved"
"""What the parts of a score are called."""


class LlmJudge(ReadOut):
    """A causal language model that is asked about tuples; see :func:`open_llm_judge`.

    A score is a third each of 1, of the chance that it says yes rather than no, and of the share of the inference's cost that the
    event saves, not below -1; so it is 1/2 where the model is undecided and the event tells it nothing.
    """

    def __init__(self, causal: CausalModel) -> None:
        """Ask ``causal``."""
        super().__init__()
        self.asking = Asking(causal)
        self.surprise = Surprise(causal)

    @property
    def signature(self) -> str:
        """The model's name and digest, and what its score is made of."""
        return f"llm-judge(yes+saved:{self.asking.causal.signature})"

    def judge(self, inferences: Sequence[Reading]) -> list[TupleScore]:
        """Return the scores of readings, with their parts."""
        rows = self.asking.rows(inferences)
        chances = self.asking.continuation.probabilities(rows, self.asking.template.answers)[:, 0].tolist()
        return [
            TupleScore((1 + chance + max(saved, -1.0)) / 3, parts=((YES, chance), (SAVED, saved)))
            for chance, saved in zip(chances, self.surprise.shares(inferences).tolist(), strict=True)
        ]


def open_llm_judge(model: str | Path, *, device: str | None = None, dtype: str = "float32") -> LlmJudge:
    """Open a causal language model as a judge: a folder, a GGUF file, or an id of the hub; instruction-tuned ones judge best.

    Args:
        device: as torch names it.
        dtype: of the weights; in ``bfloat16`` and ``float16`` what is scored together moves scores a little.

    Raises:
        InputError: no such device or dtype.
        ModelError: there is no such model in reach, or it is no causal language model.
        MissingExtra: torch or transformers is not installed, or what a GGUF file needs.
    """
    return LlmJudge(open_causal(model, device=device, dtype=dtype))


def make_llm_judge(opener: Opener, *, model: str | Path | None = None) -> LlmJudge:
    """Return the scorer by the language model ``model``.

    Raises:
        InputError: no model is named.
        ModelError: it cannot be opened.
    """
    if model is None:
        raise InputError("the scorer llm-judge needs a model; name a language model: a folder, a GGUF file or an id")
    return open_llm_judge(model, device=opener.device, dtype=opener.dtype)


# A language model's own states as the judge of tuples: what a layer of it makes of a tuple, read by a probe.
#
# What a model holds to be true shows within it, and not always in what it says (Azaria and Mitchell, Findings of EMNLP 2023).
# It reads what ``llm-judge`` reads up to the answer, with no layer above the probe's, and once, so it is faster, too.


class LlmProbe(ReadOut):
    """A causal language model whose states a probe reads; see :func:`open_llm_probe`."""

    def __init__(self, causal: CausalModel, probe: Probe) -> None:
        """Read the states of ``causal``, whose layers above the probe's are taken away.

        Raises:
            ModelError: the probe was trained on another model.
        """
        super().__init__()
        if probe.model.rpartition("@")[2] != causal.files.digest:
            raise ModelError(
                f"the probe was trained on {probe.model}, and {causal.files.given!r} is {causal.files.signature}; give that "
                "model, or make a probe of this one with: tacit train llm-probe"
            )
        try:
            cut_above(causal.model, probe.layer)
        except InputError as error:
            raise ModelError(f"the probe does not fit the model {causal.files.given!r}: {error}") from error
        self.asking = Asking(causal)
        self.probe = probe

    @property
    def signature(self) -> str:
        """The digest of the probe, and the model's name and digest."""
        return f"llm-probe({self.probe.digest}:{self.asking.causal.signature})"

    def judge(self, inferences: Sequence[Reading]) -> list[TupleScore]:
        """Return the scores of readings: how likely people are to call each plausible, as the probe has learnt it."""
        states = self.asking.continuation.states(self.asking.rows(inferences), [self.probe.layer])[:, 0]
        return [TupleScore(chance) for chance in self.probe.chances(states).tolist()]


def open_llm_probe(
    model: str | Path, probe: str | Path | None = None, *, device: str | None = None, dtype: str = "float32"
) -> LlmProbe:
    """Open a causal language model whose states a probe reads.

    Args:
        model: a folder, a GGUF file, or an id of the hub: the one that the probe was trained on.
        probe: the folder or file that ``tacit train llm-probe`` wrote; by default the one that ships, of
            Qwen2.5-Coder-1.5B-Instruct in the file qwen2.5-coder-1.5b-instruct-q4_k_m.gguf.
        device: as torch names it.
        dtype: of the weights; in ``bfloat16`` and ``float16`` what is scored together moves scores a little.

    Raises:
        InputError: no such device or dtype.
        ModelError: there is no such model or probe in reach, or the two do not go together.
        MissingExtra: torch or transformers is not installed, or what a GGUF file needs.
    """
    opened = open_probe(probe)
    return LlmProbe(open_causal(model, device=device, dtype=dtype), opened)


def make_llm_probe(opener: Opener, *, model: str | Path | None = None, probe: str | Path | None = None) -> LlmProbe:
    """Return the scorer by the language model ``model`` and a probe of its states, by default the one that ships.

    Raises:
        InputError: no model is named.
        ModelError: the model or the probe cannot be opened.
    """
    if model is None:
        raise InputError("the scorer llm-probe needs a model; name a language model: a folder, a GGUF file or an id")
    return open_llm_probe(model, probe, device=opener.device, dtype=opener.dtype)


# The tuple scorer ``comet-loss``: how likely a COMET thinks a tail (Ghazarian et al., ACL 2023, table 5).


class CometLoss:
    """The geometric mean of the probabilities that a COMET gives the tail's tokens."""

    name = "comet-loss"
    relations = None

    def __init__(self, comet: Comet) -> None:
        """Score by ``comet``."""
        self.comet = comet
        self.signature = f"{self.name}({comet.signature})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return ``exp(-loss)`` of each tuple, in 0..1: 1 for a tail that is certain, near 0 for an unlikely one."""
        queries = [Query(head, relation) for head, relation, _ in tuples]
        losses = self.comet.losses(queries, [tail_form(tail, relation) for _, relation, tail in tuples])
        return [TupleScore(float(value)) for value in np.exp(-losses)]


def make_comet_loss(opener: Opener, *, comet: Any = None) -> CometLoss:
    """Return the scorer by a COMET: a folder, an id, or one that is open; by default the published one.

    Raises:
        ModelError: it cannot be opened.
    """
    return CometLoss(opener.comet(comet))


# How much less an inference surprises a language model once it knows the event: pointwise mutual information, as a share.
#
# A model that goes on with a list of plausible inferences gives each a cost in nats. What the event saves of it, next to an
# event that says nothing, is the pointwise mutual information of the two, given the list (Holtzman et al., EMNLP 2021, equation
# 2); its share of the cost makes inferences of any length comparable.

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
"""What stands before every inference, as a list that the model goes on with."""
_SAYS_NOTHING = "Alex does something"
_SURPRISES_REMEMBERED = 50_000


class Surprise:
    """A causal language model that goes on with a list of inferences."""

    def __init__(self, causal: CausalModel) -> None:
        """Ask ``causal``."""
        self.causal = causal
        self._alone: LruCache[str, float] = LruCache(_SURPRISES_REMEMBERED)

    def shares(self, inferences: Sequence[Reading]) -> NDArray[np.float64]:
        """Return the share of each inference's cost that its event saves, <= 1, shape (inferences,); below 0 it costs more.

        Raises:
            ModelError: the model reads too few tokens, or gives no number.
        """
        bare = {inferred: self._alone.get(inferred) for _, inferred in inferences}
        fresh = [inferred for inferred, nats in bare.items() if nats is None]
        nats = self._nats([*inferences, *((_SAYS_NOTHING, inferred) for inferred in fresh)])
        for inferred, alone in zip(fresh, nats[len(inferences) :].tolist(), strict=True):
            bare[inferred] = alone
            self._alone.put(inferred, alone)
        costs = np.array([bare[inferred] for _, inferred in inferences], dtype=np.float64)
        return 1 - np.divide(nats[: len(inferences)], costs, out=np.ones(len(costs)), where=costs > 0)

    def _nats(self, inferences: Sequence[Reading]) -> NDArray[np.float64]:
        """What each inference costs after its event."""
        events = self.causal.tokens([begun(event) for event, _ in inferences])
        inferred = self.causal.tokens([f" {inferred}." for _, inferred in inferences])
        rows = [[*before, *after] for before, after in zip(events, inferred, strict=True)]
        return self._list.nats(rows, [len(before) for before in events])

    @cached_property
    def _list(self) -> Continuation:
        """The model, with the list read."""
        text = "".join(f"{written(*reading(*one))}\n\n" for one in PLAUSIBLE)
        return Continuation(self.causal, [self.causal.begin, *self.causal.tokens([f"{_SURPRISE_TASK}\n\n{text}"])[0]])
