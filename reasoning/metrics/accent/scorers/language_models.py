"""Tuple scorers by language models: ``llm-probe`` and ``comet-loss``.

``llm-probe`` reads a layer's hidden states by a trained linear probe, where a causal language model would answer whether an
inference is plausible; ``comet-loss`` is the likelihood of the tail under a COMET.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ....lru_cache import LruCache
from ....models.asking import PLACEHOLDER, Template, chat_template, chats, template_tokens
from ....models.causal_lm import CausalModel, open_causal
from ....models.linear_probe import Probe, ProbeKind
from ....models.packed import PackedReader
from ..events import tail_form
from ..tails.comet import Comet
from ..verbalise import VERBALISED, Verbalised, as_prompt, verbalise
from .base import Query, Triple, TupleScore, check_relations

if TYPE_CHECKING:
    from .resources import ScorerResources

_CACHE_SIZE = 50_000


# The prompt: a task, eight answered examples, the inference.
#
# An instruction-tuned model gets its own chat template; a model without one gets a transcript. The examples were written for this
# purpose; none is from ATOMIC or a judgement set.

_TASK = "You judge whether inferences about everyday events are plausible, as a matter of common sense. Answer Yes or No."
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


class PlausibilityPrompt:
    """The prompt for a causal language model."""

    def __init__(self, causal: CausalModel) -> None:
        """Make prompts for ``causal``."""
        self.causal = causal
        self._reader = PackedReader(causal)

    def states(self, inferences: Sequence[Verbalised], layers: Sequence[int]) -> NDArray[np.float32]:
        """Return the hidden states of layers where the answer would stand, shape (inferences, layers, width).

        The task and the examples are read once. An inference that is too long for the model loses its beginning.

        Args:
            layers: from 1, the one nearest to the input.
        """
        before, after = template_tokens(self.causal, self.template)
        room = self.causal.max_length - len(before)
        rows = [[*row, *after][-room:] for row in self.causal.tokens([as_prompt(*inference) for inference in inferences])]
        return self._reader.ends(before, [()], [(0, row) for row in rows], layers).states

    @cached_property
    def template(self) -> Template:
        """The prompt by the model's chat template, or as a transcript."""
        if not chats(self.causal):
            examples = "".join(f"{as_prompt(*verbalise(*example))}\nAnswer: {answer}\n\n" for example, answer in EXAMPLES)
            return Template(f"{_TASK}\n\n{examples}", "\nAnswer:")
        messages = [
            {"role": role, "content": text}
            for example, answer in EXAMPLES
            for role, text in (("user", as_prompt(*verbalise(*example))), ("assistant", answer))
        ]
        messages.append({"role": "user", "content": PLACEHOLDER})
        system = [{"role": "system", "content": _TASK}]
        without_system = [{"role": "user", "content": f"{_TASK}\n\n{messages[0]['content']}"}]
        return chat_template(self.causal, system + messages, without_system + messages[1:])


# The probe of ``llm-probe``: a direction in the hidden states of a layer that separates tuples rated plausible from the others.

PROBE = ProbeKind(
    "probe", "tacit train llm-probe", "probe.safetensors", "tacit probe", ("bias",), Path(__file__).parents[1] / "probe"
)
"""The kind of probe; the one that ships belongs to the model that ``tacit fetch judge`` downloads."""


# The scorer ``llm-probe``.
#
# A model's states predict the truth of a statement also where its answer is wrong (Azaria and Mitchell, Findings of EMNLP 2023).
# The model reads the prompt up to the answer, without the layers above the probe's.


class LlmProbe:
    """The scorer over a causal language model and a probe of its states; see :func:`open_llm_probe`.

    A tuple is read as text (:mod:`..verbalise`), and each distinct text once, with an LRU cache.
    """

    relations = VERBALISED

    def __init__(self, causal: CausalModel, probe: Probe) -> None:
        """Read the states of ``causal``, whose layers above the probe's are removed."""
        probe.attach(causal, cut=True)
        self.prompt = PlausibilityPrompt(causal)
        self.probe = probe
        self._known: LruCache[Verbalised, TupleScore] = LruCache(_CACHE_SIZE)

    @property
    def signature(self) -> str:
        """The digest of the probe, and the model's name and digest."""
        return f"llm-probe-2({self.probe.digest}:{self.prompt.causal.signature})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the probability that each tuple is rated plausible, in 0..1."""
        check_relations(tuples, self.relations)
        texts = [verbalise(*event_tuple) for event_tuple in tuples]
        known = self._known.get_all(texts, self._score)
        return [known[text] for text in texts]

    def _score(self, inferences: Sequence[Verbalised]) -> list[TupleScore]:
        with self.prompt.causal.lock:  # hidden states are recorded on the model itself
            states = self.prompt.states(inferences, [self.probe.layer])[:, 0]
        return [TupleScore(chance) for chance in expit(self.probe.log_odds(states)).tolist()]


def open_llm_probe(
    model: str | Path, probe: str | Path | None = None, *, device: str | None = None, dtype: str = "bfloat16"
) -> LlmProbe:
    """Open the scorer over a causal language model and a probe of its states.

    Args:
        model: a folder, a GGUF file, or an id of the hub: the one that the probe was trained on.
        probe: the folder or file that ``tacit train llm-probe`` wrote; by default the one that ships, of
            Qwen2.5-Coder-1.5B-Instruct in the file qwen2.5-coder-1.5b-instruct-q4_k_m.gguf.
        device: as torch names it.
        dtype: of the weights.
    """
    opened = PROBE.open(probe)
    return LlmProbe(open_causal(model, device=device, dtype=dtype), opened)


def make_llm_probe(resources: ScorerResources, *, model: str | Path | None = None, probe: str | Path | None = None) -> LlmProbe:
    """Return the scorer over a language model and a probe of its states.

    Args:
        model: a folder, a GGUF file or an id; by default the one that ``tacit fetch judge`` downloads.
        probe: by default the one that ships, for that model.

    Raises:
        ModelError: the model is not there, or it or the probe cannot be opened.
    """
    from ...judgement import fetched_model

    return open_llm_probe(model or fetched_model(), probe, device=resources.device, dtype=resources.dtype)


# The scorer ``comet-loss``: the likelihood of a tail under a COMET (Ghazarian et al., ACL 2023, table 5).


class CometLoss:
    """The geometric mean of the probabilities that a COMET gives the tail's tokens."""

    name = "comet-loss"
    relations = None

    def __init__(self, comet: Comet) -> None:
        """Score by ``comet``."""
        self.comet = comet
        self.signature = f"{self.name}-2({comet.signature})"

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
