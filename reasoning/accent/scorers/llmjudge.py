"""A language model as the judge of tuples: does it call an inference plausible, and does the event make it less of a surprise?

What it says when it is asked (Zheng et al., NeurIPS 2023) and what its likelihoods know (Holtzman et al., EMNLP 2021) go wrong in
different places, so the two together agree with people better than either (docs/accent.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ....graph.errors import InputError
from ...likelihood import CausalModel, open_causal
from ..readings import Reading
from .asking import Asking
from .readout import ReadOut
from .surprise import Surprise
from .tuplescore import TupleScore

if TYPE_CHECKING:
    from .opening import Opener

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
        chances = self.asking.continuation.chances(self.asking.rows(inferences), self.asking.template.answers)[:, 0].tolist()
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


def make(opener: Opener, *, model: str | Path | None = None) -> LlmJudge:
    """Return the scorer by the language model ``model``.

    Raises:
        InputError: no model is named.
        ModelError: it cannot be opened.
    """
    if model is None:
        raise InputError("the scorer llm-judge needs a model; name a language model: a folder, a GGUF file or an id")
    return open_llm_judge(model, device=opener.device, dtype=opener.dtype)
