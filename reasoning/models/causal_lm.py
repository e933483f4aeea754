"""Causal language models: mean negative log-likelihood per token of dialogues and of texts.

A dialogue is formatted as for DialoGPT (Zhang et al., ACL 2020): its turns in order, each followed by the model's
end-of-sequence token, which also precedes the first (or the beginning-of-sequence token for models that have one). So every
token of every turn is predicted, an empty turn has a likelihood too, and the end of a turn counts as one of its tokens. A
dialogue that is longer than the model's positions loses its beginning. Dialogues of similar length are batched, which changes
no loss by more than 1e-5.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError, ModelError
from .batching import batches_by_length, padded, target_mask
from .hub import ModelFiles, extra_of, find_model, need, open_model, tokens_a_batch

DEFAULT_MODEL = "microsoft/DialoGPT-large"

_POSITIONS = 2048  # for models without a limit in their configuration
_LOGITS = 1 << 24  # logits held in memory, 64 MiB in float32
_WHOLE_LOGITS = 1 << 28  # the same for a model whose body and head cannot be run separately
_TOLERANCES = {"float32": 1e-4, "bfloat16": 0.1, "float16": 0.02}  # of logits, by dtype


class _Sequence(NamedTuple):
    """Token ids, and the index of the first one whose loss counts."""

    ids: tuple[int, ...]
    start: int


class CausalModel:
    """A causal language model with its tokenizer; see :func:`open_causal`.

    Attributes:
        model: the whole model; body: from tokens to hidden states; head: from hidden states to logits.
        begin: the token before every sequence; end: the token after every turn.
        dtype: number format of the weights, as given to :func:`open_causal`.
        lock: for those who share the model, since hidden states are recorded on it.
    """

    def __init__(
        self, files: ModelFiles, model: Any, tokenizer: Any, *, dtype: str, batch_tokens: int | None, max_length: int | None
    ) -> None:
        """Wrap an open model; the arguments are those of :func:`open_causal`."""
        positions = getattr(model.config.get_text_config(), "max_position_embeddings", None) or _POSITIONS
        if max_length is not None and not (isinstance(max_length, int) and 2 <= max_length <= positions):
            raise InputError(f"max_length must be from 2 to {positions}, the model's positions, not {max_length}")
        ends = (tokenizer.eos_token_id, tokenizer.sep_token_id, tokenizer.bos_token_id)
        end = next((token for token in ends if token is not None), None)
        if end is None:
            raise ModelError(f"the tokenizer of {files.requested!r} has no end-of-sequence token; give a model that has one")
        self.files = files
        self.model = model
        self.tokenizer = tokenizer
        self.batch_tokens = tokens_a_batch(batch_tokens, model)
        self.max_length = max_length or positions
        self.dtype = dtype
        self._changed = {"dtype": dtype} if dtype != "float32" else {}
        if max_length is not None:
            self._changed["max_length"] = str(max_length)
        self._torch = need("torch", "neural")
        self.end = int(end)
        self.begin = int(tokenizer.bos_token_id) if tokenizer.bos_token_id is not None else self.end
        self.lock = threading.Lock()
        self.body, self.head = self._parts(_TOLERANCES[dtype])
        if self.body is model:
            self.batch_tokens = min(self.batch_tokens, max(1, _WHOLE_LOGITS // self.vocabulary))

    @cached_property
    def signature(self) -> str:
        """Name and digest of the model, and the options that change its output; the files are read on first use."""
        return ";".join([self.files.signature, *(f"{name}={value}" for name, value in self._changed.items())])

    def losses(self, dialogues: Sequence[Sequence[str]], *, ended: bool = True) -> NDArray[np.float64]:
        """Return the mean negative log-likelihood per token of each dialogue.

        ``[response]`` gives that of a response alone, ``[*history, response]`` that of both. Equal dialogues are computed once.

        Args:
            dialogues: the turns of each, oldest first; a dialogue without turns is read as one empty turn.
            ended: count the end of the last turn as a token; without it a dialogue of one empty turn has no token, and NaN.

        Returns:
            Nats per token, >= 0, shape (dialogues,); lower is more likely.
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
        """Return the mean negative log-likelihood per token of each continuation, as the next turn after its context.

        Args:
            contexts: the turns before it, oldest first; may be empty.
            continuations: as many texts.
            ended: count the end of the continuation as a token; without it an empty one has no token, and NaN.

        Returns:
            Nats per token, >= 0, shape (continuations,).
        """
        if len(contexts) != len(continuations):
            raise InputError(f"there are {len(contexts)} contexts for {len(continuations)} continuations; give as many of each")
        tokens = self._tokens(turn for turns in (*contexts, continuations) for turn in _turns(turns))
        sequences = []
        for turns, continuation in zip(contexts, continuations, strict=True):
            before = self._joined([tokens[turn] for turn in turns])
            ids = (*before, *tokens[continuation], *((self.end,) if ended else ()))
            sequences.append(self._cut(ids, len(before)))
        return self._means(sequences)

    def tokens(self, texts: list[str]) -> list[list[int]]:
        """Return the token ids of each text, without special tokens; the name of a special token in a text is read as text."""
        try:
            given = self.tokenizer(texts, add_special_tokens=False, split_special_tokens=True, verbose=False) if texts else {}
        except (TypeError, ValueError) as error:
            raise InputError("a turn is not a text, or contains half a surrogate pair; give texts") from error
        result: list[list[int]] = given.get("input_ids", [])
        return result

    def _tokens(self, turns: Iterator[str]) -> dict[str, list[int]]:
        texts = list(dict.fromkeys(turns))
        return dict(zip(texts, self.tokens(texts), strict=True))

    def _joined(self, turns: Sequence[Sequence[int]]) -> tuple[int, ...]:
        ids = [self.begin]
        for turn in turns:
            ids += turn
            ids.append(self.end)
        return tuple(ids)

    def _cut(self, ids: tuple[int, ...], start: int) -> _Sequence:
        """Cut a sequence to the model's length, keeping its first token and its end."""
        over = len(ids) - self.max_length
        if over <= 0:
            return _Sequence(ids, start)
        return _Sequence((ids[0], *ids[over + 1 :]), max(start - over, 1))

    def _means(self, sequences: Sequence[_Sequence]) -> NDArray[np.float64]:
        """Return the mean loss of each sequence from its start, in order; equal sequences are computed once."""
        means = {}
        for batch in self._batches([one for one in dict.fromkeys(sequences) if len(one.ids) > one.start]):
            losses, owners = self._losses(batch)
            sums = np.bincount(owners, weights=losses, minlength=len(batch)).tolist()
            means.update({one: total / (len(one.ids) - one.start) for one, total in zip(batch, sums, strict=True)})
        return np.array([means.get(one, np.nan) for one in sequences], dtype=np.float64)

    def _batches(self, sequences: list[_Sequence]) -> Iterator[list[_Sequence]]:
        """Yield batches of sequences of similar length, longest first, of at most ``batch_tokens`` with padding (or one
        sequence).
        """
        sequences.sort(key=lambda one: (-len(one.ids), one))
        for indices in batches_by_length([len(one.ids) for one in sequences], self.batch_tokens):
            yield [sequences[index] for index in indices]

    def _losses(self, batch: Sequence[_Sequence]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the loss of every target token of one padded batch, and the index of its sequence."""
        with self._torch.inference_mode():
            losses, owners = self.nats([one.ids for one in batch], [one.start for one in batch])
        found: NDArray[np.float64] = losses.double().cpu().numpy()
        self.check_finite(found)
        return found, owners

    def check_finite(self, found: NDArray[np.floating[Any]]) -> None:
        """Raise :class:`ModelError` when the model's output is not finite."""
        if not np.isfinite(found).all():
            raise ModelError(f"the model {self.files.requested!r} gives NaN or infinity for some texts; open it in float32")

    def nats(self, rows: Sequence[Sequence[int]], starts: Sequence[int]) -> tuple[Any, NDArray[np.int64]]:
        """Return the loss of each token of each row from its start on, as a tensor, and the index of its row."""
        torch, device = self._torch, self.model.device
        ids, inside = padded(rows, self.end)
        targets = target_mask(inside, starts)
        tokens = torch.from_numpy(ids).to(device)
        mask = None if inside.all() else torch.from_numpy(inside.astype(np.int64)).to(device)
        states = self.body(input_ids=tokens, attention_mask=mask, use_cache=False)[0]
        return self.nats_of(states, tokens, targets), np.repeat(np.arange(len(rows)), targets.sum(1))

    def nats_of(self, states: Any, tokens: Any, targets: NDArray[np.bool_]) -> Any:
        """Return the loss of the ``targets`` (see :func:`target_mask`), given the hidden states of all tokens."""
        wanted = self._torch.from_numpy(targets).to(tokens.device)
        return self.losses_of(states[:, :-1][wanted], tokens[:, 1:][wanted])

    def losses_of(self, states: Any, tokens: Any, *, rows: int | None = None) -> Any:
        """Return the loss of each token, given the hidden states before it, shape (tokens, width).

        Args:
            rows: tokens whose logits are computed together; by default as many as there is memory for.
        """
        torch = self._torch
        size = rows or max(1, _LOGITS // self.vocabulary)
        losses = [
            torch.nn.functional.cross_entropy(self.head(part).float(), target, reduction="none")
            for part, target in zip(states.split(size), tokens.split(size), strict=True)
        ]
        return torch.cat(losses)

    def logits_of(self, states: Any, tokens: Sequence[int]) -> Any:
        """Return the logits of some tokens, computed in float64, since 16-bit logits are rounded to steps of 0.1."""
        weight = getattr(self.head, "weight", None)
        if weight is None:
            return self.head(states)[:, list(tokens)].double()
        bias = getattr(self.head, "bias", None)
        found = states.double() @ weight[list(tokens)].double().T
        return found if bias is None else found + bias[list(tokens)].double()

    @property
    def vocabulary(self) -> int:
        """The size of the vocabulary."""
        return int(self.model.config.get_text_config().vocab_size)

    def _parts(self, close: float) -> tuple[Any, Any]:
        """Return the body and the head of the model. Run separately, the head skips padding, and few logits are in memory at a
        time.

        Some models process logits further after their head; these are run as a whole, with the identity as the head.
        """
        torch, model = self._torch, self.model
        body, head = model.base_model, model.get_output_embeddings()
        if body is not model and head is not None:
            probe = torch.arange(min(8, self.vocabulary, self.max_length), device=model.device)[None]
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
        device: torch's name of the device; by default ``cuda`` where available, else ``cpu``.
        batch_tokens: most tokens in a batch, padding included; affects speed and memory only. By default 1,024 on a CPU, 16,384
            elsewhere.
        max_length: most tokens of a sequence, of which the end is kept; by default the model's positions.
        dtype: of the weights: ``float32``, ``bfloat16`` or ``float16``; the last two are faster on some devices and less exact.
    """
    need("torch", extra_of(model))
    files = find_model(model, gguf=True)
    opened, tokenizer = open_model("AutoModelForCausalLM", files, device=device, dtype=dtype)
    return CausalModel(files, opened, tokenizer, dtype=dtype, batch_tokens=batch_tokens, max_length=max_length)


_shared: WeakValueDictionary[tuple[str, str, str | None, int | None], CausalModel] = WeakValueDictionary()
_sharing = threading.Lock()


def share_causal(
    model: str | Path, *, device: str | None = None, dtype: str = "float32", layers: int | None = None
) -> CausalModel:
    """Return an open causal language model; the same object for the same files, device, dtype and layers, while it is in use.

    Hold its ``lock`` while hidden states are read.

    Args:
        model, device, dtype: as for :func:`open_causal`, which raises the errors.
        layers: number of layers that its users may leave, counted from the input; None when they remove none.
    """
    need("torch", extra_of(model))
    key = (find_model(model, gguf=True).digest, dtype, device, layers)
    with _sharing:
        result = _shared.get(key)
        if result is None:
            result = _shared[key] = open_causal(model, device=device, dtype=dtype)
        return result


def _turns(turns: Sequence[str]) -> Sequence[str]:
    """Return the turns of a dialogue, one empty turn when there is none."""
    if isinstance(turns, str):
        raise InputError("a dialogue is a single text; give a list of turns, oldest first")
    return turns or ("",)
