"""A language model as the judge of tuples: does it call an inference plausible, and does the event make it less of a surprise?

What it says when it is asked (Zheng et al., NeurIPS 2023) and what its likelihoods know (Holtzman et al., EMNLP 2021) go wrong in
different places, so the two together agree with people better than either (docs/accent.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...cache import LruCache
from ...likelihood import CausalModel, open_causal
from ..readings import READ, Reading, reading
from .asking import Asking
from .compatibility import check_relations
from .surprise import Surprise
from .tuplescore import Triple, TupleScore

YES, SAVED = "chance of yes", "share of surprise saved"
"""What the parts of a score are called."""
_REMEMBERED = 50_000


class LlmJudge:
    """A causal language model that is asked about tuples; see :func:`open_llm_judge`."""

    relations = READ

    def __init__(self, causal: CausalModel) -> None:
        """Ask ``causal``."""
        self.asking = Asking(causal)
        self.surprise = Surprise(causal)
        self._known: LruCache[Reading, TupleScore] = LruCache(_REMEMBERED)

    @property
    def signature(self) -> str:
        """The model's name and digest, and what its score is made of."""
        return f"llm-judge(yes+saved:{self.asking.causal.signature})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return how plausible the model finds each tuple, in 0..1: 1/2 where it is undecided and the event tells it nothing.

        A third each of 1, of the chance that it says yes rather than no, and of the share of the inference's cost that the event
        saves, not below -1.

        Raises:
            InputError: a relation is none of ATOMIC-2020's between events.
            ModelError: the model does not tell yes from no, or reads too few tokens.
        """
        check_relations(tuples, self.relations)
        read = [reading(*one) for one in tuples]
        known = {one: self._known.get(one) for one in read}
        fresh = [one for one, score in known.items() if score is None]
        if fresh:
            chances = self.asking.continuation.chances(self.asking.rows(fresh), self.asking.template.answers)[:, 0]
            for one, chance, saved in zip(fresh, chances.tolist(), self.surprise.shares(fresh).tolist(), strict=True):
                judged = TupleScore((1 + chance + max(saved, -1.0)) / 3, parts=((YES, chance), (SAVED, saved)))
                known[one] = judged
                self._known.put(one, judged)
        return [score for one in read if (score := known[one]) is not None]


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
