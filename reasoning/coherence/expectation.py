"""The metric ``expectation``: how much of what a response says was to be expected after what was said before it.

A causal language model is asked how likely the response is after the last four turns, and how likely with nothing before it. The
value is their pointwise mutual information as a share of what the response costs alone: 1 - L(response | turns) / L(response),
with L the negative log-likelihood; at most 1, 0 where the turns tell nothing, and below 0 where they speak against it (pointwise
mutual information, Church & Hanks, 1990; divided by the self-information, as Bouma, 2009, divides it by the joint one). So it is
no measure of how likely a response is: a rare one may follow well, and a common one follow from nothing. Nothing is
trained; any causal model of transformers will do. The evidence is, for each word of the response, what the turns save on it.
"""

from __future__ import annotations

import hashlib
import re
import threading
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...graph.item import Item
from ..cache import LruCache
from ..likelihood import CausalModel, TokenLosses, open_causal
from ..score import Piece
from .parts import Measure, PartMetric, said

DEFAULT_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
RECENT = 4

_SPEAKERS = "AB"
_MAX_TOKENS = 512
_REMEMBERED = 20_000
_WORD = re.compile(r"\S+")

_memory: LruCache[bytes, TokenLosses] = LruCache(_REMEMBERED)
_opened: dict[tuple[str, str | None], CausalModel] = {}
_opening = threading.Lock()


class Expectation:
    """The part, over one language model; what one was asked last is remembered for all that ask the same model."""

    name = "expectation"
    version = 2
    together = 128

    def __init__(self, model: CausalModel) -> None:
        """Ask ``model``.

        Raises:
            ModelError: its tokenizer does not tell where tokens stand.
        """
        model.check_spans()
        self.model = model

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """The language model, whatever its folder is called."""
        return (("language_model", self.model.files.digest),)

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Measure how much the last four turns that say something save on each response."""
        asked = [(transcript([turn.text for turn in said(item)[-RECENT:]]), f" {one_line(item.response)}") for item in items]
        costs = self._costs([*asked, *((transcript([]), response) for _, response in asked)])
        return [
            _measure(response, after, alone, explain)
            for (_, response), after, alone in zip(asked, costs[: len(asked)], costs[len(asked) :], strict=True)
        ]

    def _costs(self, asked: Sequence[tuple[str, str]]) -> list[TokenLosses]:
        """The losses of texts after their prefixes, each distinct pair worked out once."""
        keys = {pair: self._key(*pair) for pair in dict.fromkeys(asked)}
        known = {pair: losses for pair, key in keys.items() if (losses := _memory.get(key)) is not None}
        fresh = [pair for pair in keys if pair not in known]
        found = self.model.token_losses([before for before, _ in fresh], [response for _, response in fresh])
        for pair, losses in zip(fresh, found, strict=True):
            known[pair] = losses
            _memory.put(keys[pair], losses)
        return [known[pair] for pair in asked]

    def _key(self, before: str, response: str) -> bytes:
        """What stands for a question to this model, however long."""
        whole = "\0".join((self.model.files.digest, before, response))
        return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def transcript(turns: Sequence[str]) -> str:
    """Return turns as a transcript of two speakers that the first of them is to go on with; without turns, her name alone."""
    lines = [f"{_SPEAKERS[(len(turns) - place) % 2]}: {one_line(turn)}\n" for place, turn in enumerate(turns)]
    return "".join([*lines, f"{_SPEAKERS[0]}:"])


def one_line(text: str) -> str:
    """Return a turn as a transcript has it."""
    return " ".join(text.split())


def _measure(response: str, after: TokenLosses, alone: TokenLosses, explain: bool) -> Measure:
    """What the turns save on a response, and on each of its words; the shares of the words add up to the value."""
    whole = max(float(alone.losses.sum()), 1e-9)
    value = float((alone.losses - after.losses).sum()) / whole
    if not explain:
        return Measure(value)
    words = list(_WORD.finditer(response))
    starts = [word.start() for word in words]
    saved: dict[int, float] = {}
    for (start, end), gain in zip(alone.spans, (alone.losses - after.losses).tolist(), strict=True):
        word = max(bisect_right(starts, max(start, end - 1)) - 1, 0)
        saved[word] = saved.get(word, 0.0) + gain
    pieces = [
        Piece("feature", gain, gain / whole, name=f'"{words[word][0]}" after what was said') for word, gain in saved.items()
    ]
    return Measure(value, tuple(sorted(pieces, key=lambda piece: -abs(piece.share))))


def open_language_model(model: str | Path | None = None, *, device: str | None = None) -> CausalModel:
    """Open the language model that is asked what was to be expected: the same object for the same model and device.

    Args:
        model: a folder that transformers saved, a GGUF file, or an id of the hub; None is SmolLM2-135M-Instruct (Ben Allal et
            al., 2025).

    Raises:
        ModelError: there is no such model in reach, or it is no causal language model.
        MissingExtra: torch or transformers is not installed, or what a GGUF file needs.
    """
    wanted = DEFAULT_MODEL if model is None else model
    path = Path(wanted).expanduser()
    key = (str(path.resolve() if path.exists() else wanted), device)
    with _opening:
        if key not in _opened:
            opened = open_causal(wanted, device=device)
            opened.max_length = min(opened.max_length, _MAX_TOKENS)
            _opened[key] = opened
        return _opened[key]


def make(
    graph: Any = None,  # noqa: ARG001
    *,
    language_model: str | Path | None = None,
    device: str | None = None,
) -> PartMetric:
    """Return the metric.

    Args:
        language_model: a folder that transformers saved, a GGUF file, or an id of the hub; by default SmolLM2-135M-Instruct.
        device: as torch names it; by default ``cuda`` where there is one, else ``cpu``.

    Raises:
        ModelError: there is no such model in reach, or it is no causal language model.
        MissingExtra: torch or transformers is not installed, or what a GGUF file needs.
    """
    return PartMetric(Expectation(open_language_model(language_model, device=device)))
