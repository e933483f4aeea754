"""A causal language model as a responder: samples of the next turn of a dialogue, and the perplexity of given turns.

A dialogue is read as a transcript of its last four turns; the response ends with the line. Responses are sampled from the
nucleus (Holtzman et al., ICLR 2020): the fewest tokens whose probabilities add up to ``p``.

A sample depends on the model, the history, the seed and its number alone. Its random numbers are seeded by these, a Gumbel
variable for each token of the vocabulary at each step, and the token with the highest sum of log-probability and variable is
drawn. In a batch a model's rounding differs with the other texts in it, so a step whose outcome could change by that is computed
again with its text alone.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graph.errors import InputError
from ..base import Signature
from ..evaluation.resampling import ratios
from ..models.batching import batches_by_length, padded
from ..models.causal_lm import CausalModel, open_causal
from ..models.hub import need
from ..text.turns import RECENT, one_line, transcript

VERSION = 1
LONGEST = 256
"""Most tokens of a history with its response, as trained."""

_CLOSE = 2e-3  # differences of log-probabilities and of probability mass below this are decided with the text alone
_STREAM = 64  # histories that are sorted by length together
_AT_ONCE = 40
_LARGEST_EXPONENT = 700.0  # whose exponential is a finite number


class Turn(NamedTuple):
    """A turn after its history, oldest turn first."""

    history: Sequence[str]
    text: str


@dataclass(frozen=True, slots=True)
class Perplexity:
    """How well a model predicts turns.

    Attributes:
        nats: sum of the negative log-likelihoods of each turn's tokens, the end of the turn included, shape (turns,).
        tokens: number of these tokens, shape (turns,).
    """

    nats: NDArray[np.float64]
    tokens: NDArray[np.int64]

    @property
    def value(self) -> float:
        """Exponential of the mean over all tokens, >= 1; NaN without tokens."""
        tokens = int(self.tokens.sum())
        return math.exp(min(float(self.nats.sum()) / tokens, _LARGEST_EXPONENT)) if tokens else math.nan

    def interval(self, groups: Sequence[Any], resamples: int = 10_000, seed: int = 0) -> tuple[float, float]:
        """Return the 95% interval of the value by a bootstrap over ``groups``, one for each turn, such as its dialogue."""
        numbers: dict[Any, int] = {}
        owner = np.array([numbers.setdefault(group, len(numbers)) for group in groups])
        nats, tokens = (np.bincount(owner, weights=per_turn, minlength=len(numbers)) for per_turn in (self.nats, self.tokens))
        means = ratios(nats, tokens, resamples=resamples, seed=seed)
        low, high = np.nanpercentile(np.exp(np.minimum(means, _LARGEST_EXPONENT)), [2.5, 97.5]).tolist()
        return low, high


def encode_turns(model: CausalModel, turns: Sequence[Turn], longest: int = LONGEST) -> list[tuple[tuple[int, ...], int]]:
    """Return the token ids of each turn after its history, and the index of the turn's first token.

    A turn ends with a line break, and is cut at its end to half of ``longest`` (or of the model's length, if that is less); its
    history is cut at its beginning to what remains.
    """
    room = min(longest, model.max_length) - 1
    before = model.tokens([_prompt(turn.history) for turn in turns])
    texts = model.tokens([f" {one_line(turn.text)}\n" for turn in turns])
    rows = []
    for prompt, text in zip(before, texts, strict=True):
        ids = text[: max(1, room // 2)]
        context = prompt[max(0, len(prompt) - room + len(ids)) :]
        rows.append(((model.begin, *context, *ids), 1 + len(context)))
    return rows


def measure(
    model: CausalModel, turns: Sequence[Turn], progress: Callable[[int], object] = lambda _: None, longest: int = LONGEST
) -> Perplexity:
    """Return the losses of turns after their histories; ``progress`` is called with the number measured so far.

    Raises:
        ModelError: the model's output is not finite.
    """
    torch = need("torch", "neural")
    nats, tokens = np.zeros(len(turns)), np.zeros(len(turns), dtype=np.int64)
    for start in range(0, len(turns), _AT_ONCE):
        rows = encode_turns(model, turns[start : start + _AT_ONCE], longest)
        for batch in batches_by_length([len(ids) for ids, _ in rows], model.batch_tokens):
            with torch.inference_mode():
                losses, owners = model.nats([rows[index][0] for index in batch], [rows[index][1] for index in batch])
            batch_nats = losses.double().cpu().numpy()
            model.check_finite(batch_nats)
            indices = start + np.array(batch)
            nats[indices] = np.bincount(owners, weights=batch_nats, minlength=len(batch))
            tokens[indices] = np.bincount(owners, minlength=len(batch))
        progress(min(start + _AT_ONCE, len(turns)))
    return Perplexity(nats, tokens)


class Responder:
    """Samples responses from a causal language model; see :func:`open_responder`."""

    def __init__(self, model: CausalModel, *, p: float, max_tokens: int, seed: int, batch_size: int) -> None:
        if not 0 < p <= 1:
            raise InputError(f"p must be > 0 and <= 1, not {p}")
        if seed < 0 or batch_size < 1:
            raise InputError(f"the seed must be >= 0 and the batch size >= 1, not {seed} and {batch_size}")
        if not 1 <= max_tokens <= (half := model.max_length // 2):
            raise InputError(f"the number of tokens must be from 1 to {half}, half the model's, not {max_tokens}")
        self.model = model
        self.p, self.max_tokens, self.seed, self._batch_size = p, max_tokens, seed, batch_size
        self._torch = need("torch", "neural")
        self._breaks: dict[int, bool] = {}

    @property
    def signature(self) -> Signature:
        """What a sample depends on besides the history and its number."""
        parts = (
            ("model", self.model.signature), ("turns", str(RECENT)), ("p", str(self.p)), ("tokens", str(self.max_tokens)),
            ("seed", str(self.seed)),
        )  # fmt: skip
        return Signature("responder", parts, VERSION)

    def respond(self, histories: Iterable[Sequence[str]], samples: int = 1) -> Iterator[tuple[str, ...]]:
        """Yield ``samples`` responses to each history, in order; a history's do not depend on the others.

        Args:
            histories: turns, oldest first, at least one that is not blank.
            samples: >= 1; the first ones are the same whatever their number.

        Raises:
            InputError: a history is empty or a single text, or ``samples`` is below 1.
            ModelError: the model's output is not finite.
        """
        if samples < 1:
            raise InputError(f"the number of samples must be >= 1, not {samples}")
        rows = iter(histories)
        while several := list(islice(rows, _STREAM)):
            yield from self._several([check_history(history) for history in several], samples)

    def perplexity(self, turns: Sequence[Turn]) -> Perplexity:
        """Return how well the model predicts each turn after its history, which may be empty."""
        return measure(self.model, turns)

    def _several(self, histories: Sequence[Sequence[str]], samples: int) -> list[tuple[str, ...]]:
        prompts = [_prompt(history) for history in histories]
        room = self.model.max_length - self.max_tokens - 1
        ids = [(self.model.begin, *row[max(0, len(row) - min(room, LONGEST)) :]) for row in self.model.tokens(prompts)]
        jobs = [(index, number) for index in range(len(prompts)) for number in range(samples)]
        jobs.sort(key=lambda job: (len(ids[job[0]]), job))
        responses: dict[tuple[int, int], str] = {}
        for start in range(0, len(jobs), self._batch_size):
            batch = jobs[start : start + self._batch_size]
            noises = [_SampleNoise(self.seed, prompts[index], number) for index, number in batch]
            responses.update(zip(batch, self._sample([ids[index] for index, _ in batch], noises), strict=True))
        return [tuple(responses[index, number] for number in range(samples)) for index in range(len(prompts))]

    def _sample(self, prompts: Sequence[tuple[int, ...]], noises: Sequence[_SampleNoise]) -> list[str]:
        """Sample a response after each prompt, token by token, all rows together."""
        torch, device = self._torch, self.model.model.device
        rows: list[list[int]] = [[] for _ in prompts]
        backwards, right = padded([prompt[::-1] for prompt in prompts], self.model.end)
        inside = right[:, ::-1].copy()  # padded on the left, so that every row continues at the same place
        tokens, mask = (torch.from_numpy(array).to(device) for array in (backwards[:, ::-1].copy(), inside.astype(np.int64)))
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        live, past = list(range(len(prompts))), None
        with torch.inference_mode():
            for _ in range(self.max_tokens):
                out = self.model.model(
                    input_ids=tokens, attention_mask=mask, position_ids=positions, past_key_values=past, use_cache=True
                )
                past = out.past_key_values
                logits = self._logits(out.logits[:, -1])
                drawn = []
                for index, row in zip(live, logits, strict=True):
                    noise = noises[index].gumbel(len(row))
                    token = self._draw(row, noise, _CLOSE)
                    drawn.append(self._sample_next_token((*prompts[index], *rows[index]), noise) if token is None else token)
                    rows[index].append(drawn[-1])
                going = [at for at, token in enumerate(drawn) if not self._ends(token)]
                if not going:
                    break
                going_rows = torch.tensor(going, device=device)
                if len(going) < len(live):
                    past.batch_select_indices(going_rows)
                live = [live[at] for at in going]
                tokens = torch.tensor([[drawn[at]] for at in going], device=device)
                mask = torch.cat([mask[going_rows], torch.ones_like(mask[going_rows][:, :1])], 1)
                positions = positions[going_rows][:, -1:] + 1
        return [one_line(self._text(row)) for row in rows]

    def _logits(self, output: Any) -> NDArray[np.float64]:
        logits: NDArray[np.float64] = output.double().cpu().numpy()
        self.model.check_finite(logits)
        return logits

    def _sample_next_token(self, ids: Sequence[int], noise: NDArray[np.float64]) -> int:
        """Draw the token after ``ids``, read without other texts and without a cache."""
        logits = self.model.model(input_ids=self._torch.tensor([ids], device=self.model.model.device), use_cache=False).logits
        token = self._draw(self._logits(logits[:, -1])[0], noise, 0.0)
        assert token is not None
        return token

    def _draw(self, logits: NDArray[np.float64], noise: NDArray[np.float64], close: float) -> int | None:
        """Draw a token from the nucleus; None when logits that differ by less than ``close`` could give another one."""
        logs = logits - logits.max()
        logs -= math.log(float(np.exp(logs).sum()))
        order = np.argsort(-logs, kind="stable")
        reached = np.cumsum(np.exp(logs[order]))
        smallest, size, largest = (1 + int(np.searchsorted(reached, mass)) for mass in (self.p - close, self.p, self.p + close))
        scores = (logs + noise)[order[:largest]]
        best = int(np.argmax(scores[:size]))
        if close and len(scores) > 1:
            second = float(np.partition(scores, -2)[-2])  # the highest itself, if that is outside the nucleus
            if best >= smallest or second + close > scores[best]:
                return None
        return int(order[best])

    def _ends(self, token: int) -> bool:
        if token not in self._breaks:
            self._breaks[token] = token in (self.model.end, self.model.begin) or "\n" in self.model.tokenizer.decode([token])
        return self._breaks[token]

    def _text(self, row: Sequence[int]) -> str:
        text: str = self.model.tokenizer.decode(row, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text.partition("\n")[0]


class _SampleNoise:
    """The random numbers of one sample."""

    def __init__(self, seed: int, prompt: str, number: int) -> None:
        digest = hashlib.sha256(f"{seed}\0{number}\0{prompt}".encode()).digest()
        self._random = np.random.default_rng(int.from_bytes(digest[:16], "little"))

    def gumbel(self, size: int) -> NDArray[np.float64]:
        """Standard Gumbel variables of the next step, one for each token of the vocabulary."""
        return -np.log(self._random.standard_exponential(size))


def open_responder(
    model: str | Path, *, p: float = 0.9, max_tokens: int = 40, seed: int = 0, batch_size: int = 16, device: str | None = None
) -> Responder:
    """Open a causal language model as a responder.

    Args:
        model: a folder that ``tacit train responder`` or transformers saved, a GGUF file, or an id of the hub.
        p: probability of the nucleus, > 0 and <= 1.
        max_tokens: most tokens of a response, at most half of the model's length.
        seed: of the samples, >= 0.
        batch_size: samples drawn together, >= 1; affects speed only.
        device: torch's name of the device; by default ``cuda`` where available, else ``cpu``.

    Raises:
        InputError: an option is out of range.
        ModelError: the model is not found, or is not a causal language model.
        MissingExtra: torch, transformers, or a package for GGUF files is not installed.
    """
    return Responder(open_causal(model, device=device), p=p, max_tokens=max_tokens, seed=seed, batch_size=batch_size)


def check_history(history: Sequence[str]) -> Sequence[str]:
    """Return the turns that are not blank; raise :class:`InputError` when there is none, or the history is a single text."""
    if isinstance(history, str):
        raise InputError("the history is one text; give a list of turns, oldest first")
    turns = [turn for turn in history if turn.strip()]
    if not turns:
        raise InputError("the history is empty, so there is nothing to respond to; give at least one turn")
    return turns


def _prompt(history: Sequence[str]) -> str:
    return transcript([turn for turn in history if turn.strip()][-RECENT:])
