"""Which of a few words a causal language model goes on with, after texts that all begin alike.

What they share, instructions and examples, is read once: its keys and values stay, and each text is read on from there. Texts of
like length are run together, padded on the right, where a causal model never looks, so each is read as it would be alone, up to
rounding.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.errors import ModelError
from .batching import padded, together
from .extras import need
from .likelihood import CausalModel

Rows = Sequence[Sequence[int]]


class Continuation:
    """A causal model that has read a beginning, and reads texts on from there."""

    def __init__(self, causal: CausalModel, beginning: Sequence[int]) -> None:
        """Read ``beginning``, token ids, when first asked.

        Raises:
            ModelError: the beginning leaves the model no room.
        """
        self._room = causal.max_length - len(beginning)
        if self._room < 2:
            raise ModelError(
                f"the model {causal.files.given!r} reads {causal.max_length} tokens, and what it is asked has over "
                f"{len(beginning)}; give one that reads more"
            )
        self._causal = causal
        self._beginning = list(beginning)
        self._torch = need("torch", "neural")
        self._read: Any = None

    def chances(self, rows: Rows, words: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability of each word after each row of token ids, of these words one, shape (rows, words).

        A word stands for the first of its tokens. Of a row that the model has no room for, the end is read.

        Raises:
            ModelError: two words begin with one token, or the model gives no number.
        """
        causal = self._causal
        first = [tokens[0] for tokens in causal.tokens(list(words))]
        if len(set(first)) < len(words):
            told = " from ".join(word.strip() for word in words)
            raise ModelError(f"the tokenizer of {causal.files.given!r} does not tell {told}; give another model")
        found: NDArray[np.float64] = np.empty((len(rows), len(words)))
        for places, states in self._asked(rows):
            with self._torch.inference_mode():
                found[places] = causal.head(states)[:, first].double().softmax(-1).cpu().numpy()
        causal.check_numbers(found)
        return found

    def _asked(self, rows: Rows) -> Iterator[tuple[list[int], Any]]:
        """Places among the rows, and the states of their last tokens."""
        kept = [list(row[-self._room :]) for row in rows]
        for places in together([len(row) for row in kept], self._causal.batch_tokens):
            with self._torch.inference_mode():
                states = self._last([kept[place] for place in places])
            yield places, states

    def _last(self, rows: Rows) -> Any:
        torch, device = self._torch, self._causal.model.device
        ids, inside = padded(rows, self._causal.end)
        seen = np.concatenate([np.ones((len(rows), len(self._beginning)), bool), inside], axis=1).astype(np.int64)
        tokens, mask = (torch.from_numpy(array).to(device) for array in (ids, seen))
        kept = self._kept(len(rows))
        states = self._causal.body(input_ids=tokens, attention_mask=mask, past_key_values=kept, use_cache=True)[0]
        return states[torch.arange(len(rows), device=device), torch.from_numpy(inside.sum(1) - 1).to(device)]

    def _kept(self, rows: int) -> Any:
        """Keys and values of the beginning, once for each of ``rows``."""
        if self._read is None:
            beginning = self._torch.tensor([self._beginning], device=self._causal.model.device)
            self._read = self._causal.body(input_ids=beginning, use_cache=True).past_key_values
        kept = copy.deepcopy(self._read)
        kept.batch_repeat_interleave(rows)
        return kept
