"""A language model's own states as the judge of tuples: what a layer of it makes of a tuple, read by a probe.

What a model holds to be true shows within it, and not always in what it says (Azaria and Mitchell, Findings of EMNLP 2023). It
reads what ``llm-judge`` reads up to the answer, with no layer above the probe's, and once, so it is faster, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ....graph.errors import InputError, ModelError
from ...layers import cut_above
from ...likelihood import CausalModel, open_causal
from ..readings import Reading
from .asking import Asking
from .probe import Probe, open_probe
from .readout import ReadOut
from .tuplescore import TupleScore

if TYPE_CHECKING:
    from .opening import Opener


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


def make(opener: Opener, *, model: str | Path | None = None, probe: str | Path | None = None) -> LlmProbe:
    """Return the scorer by the language model ``model`` and a probe of its states, by default the one that ships.

    Raises:
        InputError: no model is named.
        ModelError: the model or the probe cannot be opened.
    """
    if model is None:
        raise InputError("the scorer llm-probe needs a model; name a language model: a folder, a GGUF file or an id")
    return open_llm_probe(model, probe, device=opener.device, dtype=opener.dtype)
