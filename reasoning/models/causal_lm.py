"""How likely a dialogue is to a causal language model: mean negative log-likelihood per token, in nats.

A dialogue reads as DialoGPT reads it (Zhang et al., ACL 2020): its turns one after the other, each closed by the model's
end-of-sequence token, which also stands before the first (models with a beginning-of-sequence token have that there). So every
token of every turn is predicted, an empty turn has a likelihood too, and the end of a turn counts as a token of it. What is
longer than the model's positions loses its beginning. Dialogues of like length are run together, which moves no loss (1e-5).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError, ModelError
from .encoder import counted, padded, together
from .hub import ModelFiles, extra_of, find_model, need, open_model, tokens_a_batch
from .layers import watched

DEFAULT_MODEL = "microsoft/DialoGPT-large"

_POSITIONS = 2048  # for models that name no limit
_LOGITS = 1 << 24  # numbers held at once when the vocabulary is asked, 64 MiB in float32
_WHOLE_LOGITS = 1 << 28  # the same for a model that has to be asked as a whole
_CLOSE = {"float32": 1e-4, "bfloat16": 0.1, "float16": 0.02}


class _Sequence(NamedTuple):
    """Tokens, and the place of the first one whose likelihood counts."""

    ids: tuple[int, ...]
    start: int


class TokenLosses(NamedTuple):
    """What each token of a text costs.

    Attributes:
        spans: where each stands in the text, from and up to.
        losses: negative log-likelihoods in nats, >= 0, as many.
    """

    spans: tuple[tuple[int, int], ...]
    losses: NDArray[np.float64]


class CausalModel:
    """A causal language model with its tokenizer; see :func:`open_causal`.

    Attributes:
        model: the whole; body, head: what turns tokens into states, and states into logits.
        begin: the token that stands before everything; end: the one that closes a turn.
    """

    def __init__(
        self, files: ModelFiles, model: Any, tokenizer: Any, *, dtype: str, batch_tokens: int | None, max_length: int | None
    ) -> None:
        """Wrap a model that is ready to be asked; the arguments are those of :func:`open_causal`.

        Raises:
            InputError: ``batch_tokens`` is below 1, or ``max_length`` not in 2 .. the model's positions.
            ModelError: its tokenizer has no token that could end a turn.
        """
        positions = getattr(model.config.get_text_config(), "max_position_embeddings", None) or _POSITIONS
        if max_length is not None and not (isinstance(max_length, int) and 2 <= max_length <= positions):
            raise InputError(f"max_length {max_length} is not within 2 and the model's {positions} positions")
        ends = (tokenizer.eos_token_id, tokenizer.sep_token_id, tokenizer.bos_token_id)
        end = next((token for token in ends if token is not None), None)
        if end is None:
            raise ModelError(f"the tokenizer of {files.given!r} has no end-of-sequence token; give a model that has one")
        self.files = files
        self.model = model
        self.tokenizer = tokenizer
        self.batch_tokens = tokens_a_batch(batch_tokens, model)
        self.max_length = max_length or positions
        self._changed = {"dtype": dtype} if dtype != "float32" else {}
        if max_length is not None:
            self._changed["max_length"] = str(max_length)
        self._torch = need("torch", "neural")
        self.end = int(end)
        self.begin = int(tokenizer.bos_token_id) if tokenizer.bos_token_id is not None else self.end
        self.body, self.head = self._parts(_CLOSE[dtype])
        if self.body is model:
            self.batch_tokens = min(self.batch_tokens, max(1, _WHOLE_LOGITS // self._vocabulary))

    @cached_property
    def signature(self) -> str:
        """Name and digest of the model, and options that move its numbers; the files are read when it is first asked for."""
        return ";".join([self.files.signature, *(f"{name}={value}" for name, value in self._changed.items())])

    def losses(self, dialogues: Sequence[Sequence[str]], *, ended: bool = True) -> NDArray[np.float64]:
        """Return the mean negative log-likelihood per token of each dialogue.

        ``[response]`` gives that of a response alone, ``[*history, response]`` that of both. Equal dialogues are worked out once.

        Args:
            dialogues: the turns of each, oldest first; one without turns is taken as one empty turn.
            ended: the end of the last turn counts as a token; without it a dialogue of one empty turn has no token, and NaN.

        Returns:
            Nats per token, >= 0, shape (dialogues,); lower is more likely.

        Raises:
            InputError: a dialogue is one text, or a turn is no text.
            ModelError: the model gives no number.
        """
        tokens = self._tokens(turn for turns in dialogues for turn in _turns(turns))
        sequences = []
        for turns in dialogues:
            ids = self._joined([tokens[turn] for turn in turns or ("",)])
            sequences.append(self._cut(ids if ended else ids[:-1], 1))
        return self._means(sequences)

    def continuation_losses(
        self, contexts: Sequence[Sequence[str]], continuations: Sequence[str], *, ended: bool = True
    ) -> NDArray[np.float64]:
        """Return the mean negative log-likelihood per token of each continuation alone, as the next turn after its context.

        Args:
            contexts: the turns before it, oldest first; none of them, and it is the first turn.
            continuations: as many texts.
            ended: the end of the continuation counts as a token; without it an empty one has no token, and NaN.

        Returns:
            Nats per token, >= 0, shape (continuations,).

        Raises:
            InputError: the two are not equally many, a context is one text, or a turn is no text.
            ModelError: the model gives no number.
        """
        if len(contexts) != len(continuations):
            raise InputError(f"{len(contexts)} contexts and {len(continuations)} continuations do not pair; give as many of each")
        tokens = self._tokens(turn for turns in (*contexts, continuations) for turn in _turns(turns))
        sequences = []
        for turns, continuation in zip(contexts, continuations, strict=True):
            before = self._joined([tokens[turn] for turn in turns])
            ids = (*before, *tokens[continuation], *((self.end,) if ended else ()))
            sequences.append(self._cut(ids, len(before)))
        return self._means(sequences)

    def token_losses(self, prefixes: Sequence[str], texts: Sequence[str]) -> list[TokenLosses]:
        """Return the negative log-likelihood of each token of each text, read on after its prefix as plain text.

        Neither is a turn here: no token of the model's ends either. A text has half of what the model reads, and what is longer
        loses its end, whatever stands before it; a prefix loses its beginning.

        Raises:
            InputError: the two are not equally many, or one of them is no text.
            ModelError: the model gives no number, or its tokenizer does not tell where tokens stand.
        """
        if len(prefixes) != len(texts):
            raise InputError(f"{len(prefixes)} prefixes and {len(texts)} texts do not pair; give as many of each")
        self.check_spans()
        if not texts:
            return []
        before = self._tokens(iter(prefixes))
        distinct = list(dict.fromkeys(texts))
        tokenised = self._tokenised(distinct, return_offsets_mapping=True)
        found = dict(zip(distinct, tokenised["input_ids"], strict=True))
        spans = {text: tuple(map(tuple, each)) for text, each in zip(distinct, tokenised["offset_mapping"], strict=True)}
        room = self.max_length - 1
        sequences = []
        for prefix, text in zip(prefixes, texts, strict=True):
            ids = found[text][: max(1, room // 2)]
            kept = before[prefix][max(0, len(before[prefix]) - room + len(ids)) :]
            sequences.append(_Sequence((self.begin, *kept, *ids), 1 + len(kept)))
        known: dict[_Sequence, NDArray[np.float64]] = {}
        for batch in self._batches([one for one in dict.fromkeys(sequences) if len(one.ids) > one.start]):
            losses, owners = self._losses(batch)
            known.update(zip(batch, np.split(losses, np.flatnonzero(np.diff(owners)) + 1), strict=True))
        none = np.empty(0)
        each = [known.get(one, none) for one in sequences]
        return [TokenLosses(spans[text][: len(one)], one) for text, one in zip(texts, each, strict=True)]

    def check_spans(self) -> None:
        """Raise :class:`ModelError` when the tokenizer does not tell where tokens stand in a text."""
        if not getattr(self.tokenizer, "is_fast", False):
            raise ModelError(
                f"the tokenizer of {self.files.given!r} does not tell where tokens stand; give a model with tokenizer.json"
            )

    def tokens(self, texts: list[str]) -> list[list[int]]:
        """Return the tokens of each text, without those of ends; a special token's name within it is text."""
        found: list[list[int]] = self._tokenised(texts)["input_ids"] if texts else []
        return found

    def _tokens(self, turns: Iterator[str]) -> dict[str, list[int]]:
        """The tokens of each distinct turn."""
        texts = list(dict.fromkeys(turns))
        return dict(zip(texts, self.tokens(texts), strict=True))

    def _tokenised(self, texts: list[str], **asked: bool) -> Any:
        """What the tokenizer says of texts, one at least."""
        try:
            return self.tokenizer(texts, add_special_tokens=False, split_special_tokens=True, verbose=False, **asked)
        except (TypeError, ValueError) as error:
            raise InputError("a turn is no text, or holds half a surrogate pair; give texts") from error

    def _joined(self, turns: Sequence[Sequence[int]]) -> tuple[int, ...]:
        ids = [self.begin]
        for turn in turns:
            ids += turn
            ids.append(self.end)
        return tuple(ids)

    def _cut(self, ids: tuple[int, ...], start: int) -> _Sequence:
        """What the model can take of a sequence: its first token and its end."""
        over = len(ids) - self.max_length
        if over <= 0:
            return _Sequence(ids, start)
        return _Sequence((ids[0], *ids[over + 1 :]), max(start - over, 1))

    def _means(self, sequences: Sequence[_Sequence]) -> NDArray[np.float64]:
        """The mean loss of each sequence from its start, in order; equal ones once."""
        means = {}
        for batch in self._batches([one for one in dict.fromkeys(sequences) if len(one.ids) > one.start]):
            losses, owners = self._losses(batch)
            sums = np.bincount(owners, weights=losses, minlength=len(batch)).tolist()
            means.update({one: total / (len(one.ids) - one.start) for one, total in zip(batch, sums, strict=True)})
        return np.array([means.get(one, np.nan) for one in sequences], dtype=np.float64)

    def _batches(self, sequences: list[_Sequence]) -> Iterator[list[_Sequence]]:
        """Sequences of like length, the longest first, at most ``batch_tokens`` with the padding (one sequence at least)."""
        sequences.sort(key=lambda one: (-len(one.ids), one))
        for places in together([len(one.ids) for one in sequences], self.batch_tokens):
            yield [sequences[place] for place in places]

    def _losses(self, batch: Sequence[_Sequence]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The loss of every token that counts in one padded batch, and the number of its sequence."""
        with self._torch.inference_mode():
            losses, owners = self.nats([one.ids for one in batch], [one.start for one in batch])
        found: NDArray[np.float64] = losses.double().cpu().numpy()
        self.check_numbers(found)
        return found, owners

    def check_numbers(self, found: NDArray[np.floating[Any]]) -> None:
        """Raise :class:`ModelError` when what the model gave is not finite."""
        if not np.isfinite(found).all():
            raise ModelError(f"the model {self.files.given!r} gives no number for some texts; open it in float32")

    def nats(self, rows: Sequence[Sequence[int]], starts: Sequence[int]) -> tuple[Any, NDArray[np.int64]]:
        """Return the loss of each token of each row from its start on, as torch has it, and the number of its row."""
        torch, device = self._torch, self.model.device
        ids, inside = padded(rows, self.end)
        asked = counted(inside, starts)
        tokens = torch.from_numpy(ids).to(device)
        mask = None if inside.all() else torch.from_numpy(inside.astype(np.int64)).to(device)
        states = self.body(input_ids=tokens, attention_mask=mask, use_cache=False)[0]
        return self.nats_of(states, tokens, asked), np.repeat(np.arange(len(rows)), asked.sum(1))

    def nats_of(self, states: Any, tokens: Any, asked: NDArray[np.bool_]) -> Any:
        """Return the loss of the tokens that are asked for, as :func:`counted` has them, given the states of all of them."""
        torch = self._torch
        wanted = torch.from_numpy(asked).to(tokens.device)
        most = max(1, _LOGITS // self._vocabulary)
        losses = [
            torch.nn.functional.cross_entropy(self.head(part).float(), target, reduction="none")
            for part, target in zip(states[:, :-1][wanted].split(most), tokens[:, 1:][wanted].split(most), strict=True)
        ]
        return torch.cat(losses)

    @property
    def _vocabulary(self) -> int:
        return int(self.model.config.get_text_config().vocab_size)

    def _parts(self, close: float) -> tuple[Any, Any]:
        """The body and the head of the model: asked apart, no padding reaches the head, and few logits are held at once.

        Some models do more to logits than their head does; these are asked as a whole, and their head is then nothing.
        """
        torch, model = self._torch, self.model
        body, head = model.base_model, model.get_output_embeddings()
        if body is not model and head is not None:
            probe = torch.arange(min(8, self._vocabulary, self.max_length), device=model.device)[None]
            with torch.inference_mode():
                whole = model(input_ids=probe, use_cache=False).logits.float()
                parts = head(body(input_ids=probe, use_cache=False)[0]).float()
            if torch.allclose(whole, parts, rtol=close, atol=close):
                return body, head
        return model, torch.nn.Identity()


def open_causal(
    model: str | Path = DEFAULT_MODEL,
    *,
    device: str | None = None,
    batch_tokens: int | None = None,
    max_length: int | None = None,
    dtype: str = "float32",
) -> CausalModel:
    """Open a causal language model of transformers.

    Args:
        model: a folder that transformers saved, a GGUF file, or an id of the hub.
        device: as torch names it; by default ``cuda`` where there is one, else ``cpu``.
        batch_tokens: tokens run together at most, padding included; changes speed and memory alone. By default 1,024 on a
            processor, 16,384 elsewhere.
        max_length: most tokens of a sequence, of which the end is kept; by default the model's positions.
        dtype: of the weights: ``float32``, ``bfloat16`` or ``float16``; the last two are faster on some devices and less exact.

    Raises:
        InputError: an option makes no sense.
        ModelError: there is no such model in reach, or it is no causal language model.
        MissingExtra: torch or transformers is not installed, or what a GGUF file needs.
    """
    need("torch", extra_of(model))
    files = find_model(model, gguf=True)
    opened, tokenizer = open_model("AutoModelForCausalLM", files, device=device, dtype=dtype)
    return CausalModel(files, opened, tokenizer, dtype=dtype, batch_tokens=batch_tokens, max_length=max_length)


def _turns(turns: Sequence[str]) -> Sequence[str]:
    """Return the turns of a dialogue when they are no single text; none are one empty turn."""
    if isinstance(turns, str):
        raise InputError("a dialogue is one text; give a list of turns, oldest first")
    return turns or ("",)


# How a causal language model goes on with texts that all begin alike: with which of a few words, and at what cost; and what its
# layers make of them.
#
# What they share, instructions and examples, is read once: its keys and values stay, and each text is read on from there. Texts
# of like length are run together, padded on the right, where a causal model never looks, so each is read as it would be alone,
# up to rounding.

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
