"""How a causal language model goes on with texts that all begin alike: with which of a few words, and at what cost; and what its
layers make of them.

What they share, instructions and examples, is read once: its keys and values stay, and each text is read on from there. Texts of
like length are run together, padded on the right, where a causal model never looks, so each is read as it would be alone, up to
rounding.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.errors import ModelError
from .batching import counted, padded, together
from .extras import need
from .layers import watched
from .likelihood import CausalModel

Rows = Sequence[Sequence[int]]


class _Batch(NamedTuple):
    """Rows that were read together: their places, which tokens are theirs, and as torch has them their tokens and states."""

    places: list[int]
    inside: NDArray[np.bool_]
    tokens: Any
    states: Any


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
        torch, causal = self._torch, self._causal
        first = [tokens[0] for tokens in causal.tokens(list(words))]
        if len(set(first)) < len(words):
            told = " from ".join(word.strip() for word in words)
            raise ModelError(f"the tokenizer of {causal.files.given!r} does not tell {told}; give another model")
        found: NDArray[np.float64] = np.empty((len(rows), len(words)))
        for batch in self._batches(rows):
            with torch.inference_mode():
                found[batch.places] = causal.head(self._last(batch, batch.states))[:, first].double().softmax(-1).cpu().numpy()
        causal.check_numbers(found)
        return found

    def states(self, rows: Rows, layers: Sequence[int]) -> NDArray[np.float32]:
        """Return what layers of the model make of the last token of each row of token ids, shape (rows, layers, width).

        Args:
            rows: token ids; of a row that the model has no room for, the end is read.
            layers: from 1, the one nearest to the input.

        Raises:
            InputError: the model has no such layer, or none that can be told apart.
            ModelError: the model gives no number.
        """
        width = int(self._causal.model.config.get_text_config().hidden_size)
        found: NDArray[np.float32] = np.empty((len(rows), len(layers), width), np.float32)
        with watched(self._causal.model, layers) as made:
            for batch in self._batches(rows):
                for place, layer in enumerate(layers):
                    found[batch.places, place] = self._last(batch, made[layer]).float().cpu().numpy()
        self._causal.check_numbers(found)
        return found

    def _last(self, batch: _Batch, states: Any) -> Any:
        """What became of the last token of each row."""
        ends = self._torch.from_numpy(batch.inside.sum(1) - 1).to(states.device)
        return states[self._torch.arange(len(ends), device=ends.device), ends]

    def nats(self, rows: Rows, starts: Sequence[int]) -> NDArray[np.float64]:
        """Return what the tokens of each row cost together from its start on, >= 0, shape (rows,).

        Args:
            rows: token ids; of a row that the model has no room for, the end is read.
            starts: the place of the first token of each that counts, from 1.

        Raises:
            ModelError: the model gives no number.
        """
        causal = self._causal
        cut = [max(start - max(len(row) - self._room, 0), 1) for row, start in zip(rows, starts, strict=True)]
        found: NDArray[np.float64] = np.empty(len(rows))
        for batch in self._batches(rows):
            asked = counted(batch.inside, [cut[place] for place in batch.places])
            with self._torch.inference_mode():
                losses = causal.nats_of(batch.states, batch.tokens, asked).double().cpu().numpy()
            owners = np.repeat(np.arange(len(batch.places)), asked.sum(1))
            found[batch.places] = np.bincount(owners, weights=losses, minlength=len(batch.places))
        causal.check_numbers(found)
        return found

    def _batches(self, rows: Rows) -> Iterator[_Batch]:
        """Batches of rows of like length, read."""
        torch, causal = self._torch, self._causal
        kept = [row[-self._room :] for row in rows]
        for places in together([len(row) for row in kept], causal.batch_tokens):
            ids, inside = padded([kept[place] for place in places], causal.end)
            seen = np.concatenate([np.ones((len(places), len(self._beginning)), bool), inside], axis=1).astype(np.int64)
            with torch.inference_mode():
                tokens, mask = (torch.from_numpy(array).to(causal.model.device) for array in (ids, seen))
                past = self._kept(len(places))
                states = causal.body(input_ids=tokens, attention_mask=mask, past_key_values=past, use_cache=True)[0]
            yield _Batch(places, inside, tokens, states)

    def _kept(self, rows: int) -> Any:
        """Keys and values of the beginning, once for each of ``rows``."""
        if self._read is None:
            beginning = self._torch.tensor([self._beginning], device=self._causal.model.device)
            self._read = self._causal.body(input_ids=beginning, use_cache=True).past_key_values
        kept = copy.deepcopy(self._read)
        kept.batch_repeat_interleave(rows)
        return kept
