"""A language model as the judge of tuples (Zheng et al., NeurIPS 2023): is this inference plausible, yes or no?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...cache import LruCache
from ...likelihood import CausalModel, open_causal
from ..readings import READ, reading
from .asking import Asking, Inference
from .compatibility import check_relations
from .tuplescore import Triple, TupleScore

_REMEMBERED = 50_000


class LlmJudge:
    """A causal language model that is asked about tuples; see :func:`open_llm_judge`."""

    relations = READ

    def __init__(self, causal: CausalModel) -> None:
        """Ask ``causal``."""
        self.asking = Asking(causal)
        self._known: LruCache[Inference, float] = LruCache(_REMEMBERED)

    @property
    def signature(self) -> str:
        """The model's name and digest."""
        return f"llm-judge({self.asking.causal.signature})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the chance that the model says yes rather than no of each tuple, in 0..1.

        Raises:
            InputError: a relation is none of ATOMIC-2020's between events.
            ModelError: the model does not tell yes from no, or reads too few tokens.
        """
        check_relations(tuples, self.relations)
        read = [reading(*one) for one in tuples]
        known = {one: self._known.get(one) for one in read}
        fresh = [one for one, chance in known.items() if chance is None]
        if fresh:
            chances = self.asking.continuation.chances(self.asking.rows(fresh), self.asking.template.answers)
            for one, chance in zip(fresh, chances[:, 0].tolist(), strict=True):
                known[one] = chance
                self._known.put(one, chance)
        return [TupleScore(chance) for one in read if (chance := known[one]) is not None]


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
