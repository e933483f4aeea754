"""Text generation: one interface for sequence-to-sequence and causal models, which continue prompts and score texts.

A causal model reads the prompt as text and continues it with a space and the tail, as COMET's GPT-2 does (Hwang et al., AAAI
2021); in both kinds a tail ends with the model's end-of-sequence token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .batching import batches_by_length, padded
from .causal_lm import CausalModel
from .hub import ModelFiles, is_seq2seq, need, open_model

MAX_LENGTH = 64
IGNORED = -100


class GenerationLimits(NamedTuple):
    """GenerationLimits of a writer, in tokens; the defaults are those of COMET."""

    prompt: int = MAX_LENGTH  # most that are read
    shortest: int = 0  # shortest, longest: least and most that are generated
    longest: int = MAX_LENGTH
    no_repeat: int = 2  # length of the n-grams that a continuation has once at most; 0: no limit
    early_stopping: bool = False  # of a sequence-to-sequence model's beam search


COMET_LIMITS = GenerationLimits()


class Writer(Protocol):
    """A model that generates and scores tails."""

    def write(self, prompts: Sequence[str], beams: int) -> tuple[list[str], list[float]]:
        """Return ``beams`` tails of each prompt by beam search, best first, and their mean log-probabilities per token."""

    def losses(self, prompts: Sequence[str], tails: Sequence[str]) -> NDArray[np.float64]:
        """Return the mean negative log-likelihood per token of each tail after its prompt, including its end token."""

    def loss(self, prompts: Sequence[str], tails: Sequence[str]) -> Any:
        """Return the mean negative log-likelihood of all tokens of all tails, as a torch scalar with gradient."""


class Seq2SeqWriter:
    """A sequence-to-sequence model: its encoder reads the prompt, its decoder generates the tail."""

    def __init__(self, model: Any, tokenizer: Any, limits: GenerationLimits = COMET_LIMITS) -> None:
        self.model, self.tokenizer, self._limits = model, tokenizer, limits
        self._torch = need("torch", "neural")
        self._end = missing_end(tokenizer)

    def write(self, prompts: Sequence[str], beams: int) -> tuple[list[str], list[float]]:
        """Generate tails; see :class:`Writer`."""
        limits = self._limits
        with self._torch.inference_mode():
            out = self.model.generate(
                **self._encoded(limits.prompt, text=list(prompts)), num_beams=beams, num_return_sequences=beams,
                min_length=limits.shortest, max_length=limits.longest, no_repeat_ngram_size=limits.no_repeat, do_sample=False,
                early_stopping=limits.early_stopping, return_dict_in_generate=True, output_scores=True,
            )  # fmt: skip
        return self.tokenizer.batch_decode(out.sequences, **_PLAIN), _scores(out)

    def losses(self, prompts: Sequence[str], tails: Sequence[str]) -> NDArray[np.float64]:
        """Return losses; see :class:`Writer`."""
        labels = self._labels(tails)
        with self._torch.inference_mode():
            logits = self.model(**self._encoded(self._limits.prompt, text=list(prompts)), labels=labels).logits.float()
        inside = labels != IGNORED
        chosen = logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
        means: NDArray[np.float64] = (-(chosen * inside).sum(1) / inside.sum(1).clamp(min=1)).double().cpu().numpy()
        return means

    def loss(self, prompts: Sequence[str], tails: Sequence[str]) -> Any:
        """Return the mean loss; see :class:`Writer`."""
        return self.model(**self._encoded(self._limits.prompt, text=list(prompts)), labels=self._labels(tails)).loss

    def _labels(self, tails: Sequence[str]) -> Any:
        encoded = self._encoded(max(MAX_LENGTH, self._limits.longest), text_target=[tail + self._end for tail in tails])
        return encoded["input_ids"].masked_fill(encoded["attention_mask"] == 0, IGNORED)

    def _encoded(self, max_length: int, **texts: list[str]) -> dict[str, Any]:
        batch = self.tokenizer(**texts, padding=True, truncation=True, max_length=max_length, return_tensors="pt", verbose=False)
        return {name: batch[name].to(self.model.device) for name in ("input_ids", "attention_mask")}


class CausalWriter:
    """A causal language model, which continues the prompt."""

    def __init__(self, causal: CausalModel, limits: GenerationLimits = COMET_LIMITS) -> None:
        """Wrap a model; a continuation has at most half of its positions."""
        self.causal, self.model, self.tokenizer = causal, causal.model, causal.tokenizer
        self._torch = need("torch", "neural")
        self._end = causal.end
        half = causal.max_length // 2
        prompt = min(limits.prompt, max(half, causal.max_length - limits.longest))
        self._limits = limits._replace(prompt=prompt, longest=min(limits.longest, half))
        self._tail = min(max(MAX_LENGTH, limits.longest), half)

    def write(self, prompts: Sequence[str], beams: int) -> tuple[list[str], list[float]]:
        """Generate tails; see :class:`Writer`. Prompts are padded on the left, so that all tails begin in one column."""
        torch = self._torch
        rows = [row[::-1] for row in self._read(prompts)]
        ids, inside = (torch.from_numpy(array[:, ::-1].copy()).to(self.model.device) for array in padded(rows, self._end))
        with torch.inference_mode():
            out = self.model.generate(
                input_ids=ids, attention_mask=inside.long(), generation_config=self._search(beams),
                logits_processor=self._rules(ids.shape[1]),
            )  # fmt: skip
        texts = self.tokenizer.batch_decode(out.sequences[:, ids.shape[1] :], **_PLAIN)
        return [text.strip().partition("\n")[0] for text in texts], _scores(out)

    def losses(self, prompts: Sequence[str], tails: Sequence[str]) -> NDArray[np.float64]:
        """Return losses; see :class:`Writer`."""
        rows, starts = self._rows(prompts, tails)
        with self._torch.inference_mode():
            nats, owners = self.causal.nats(rows, starts)
        sums = np.bincount(owners, weights=nats.double().cpu().numpy(), minlength=len(prompts))
        means: NDArray[np.float64] = sums / np.bincount(owners, minlength=len(prompts))
        return means

    def loss(self, prompts: Sequence[str], tails: Sequence[str]) -> Any:
        """Return the mean loss; see :class:`Writer`. Texts of similar length are batched together, which avoids padding."""
        rows, starts = self._rows(prompts, tails)
        nats = [
            self.causal.nats([rows[index] for index in indices], [starts[index] for index in indices])[0]
            for indices in batches_by_length([len(row) for row in rows], self.causal.batch_tokens)
        ]
        return self._torch.cat(nats).mean()

    def _rows(self, prompts: Sequence[str], tails: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        """The tokens of each prompt and its tail, and the index at which the tail begins."""
        before = self._read(prompts)
        after = [[*row[: self._tail - 1], self._end] for row in self.causal.tokens([f" {tail}" for tail in tails])]
        return [[*prompt, *tail] for prompt, tail in zip(before, after, strict=True)], [len(prompt) for prompt in before]

    def _read(self, prompts: Sequence[str]) -> list[list[int]]:
        """The tokens of prompts; long ones are cut at their beginning, so that the relation is kept."""
        rows = self.tokenizer(list(prompts), verbose=False)["input_ids"]
        return [(row[:-1] if row[-1] == self._end else row)[-self._limits.prompt :] for row in rows]

    def _search(self, beams: int) -> Any:
        return need("transformers", "neural").GenerationConfig(
            num_beams=beams, num_return_sequences=beams, min_new_tokens=self._limits.shortest or None,
            max_new_tokens=self._limits.longest, do_sample=False, early_stopping=False,
            return_dict_in_generate=True, output_scores=True, eos_token_id=self._end, pad_token_id=self._end,
        )  # fmt: skip

    def _rules(self, start: int) -> Any:
        rules = [_Unrepeated(start, self._limits.no_repeat)] if self._limits.no_repeat else []
        return need("transformers", "neural").LogitsProcessorList(rules)


class _Unrepeated:
    """Forbids repeated n-grams of tokens within a tail; those of the prompt may occur again."""

    def __init__(self, start: int, size: int) -> None:
        self._rule = need("transformers", "neural").NoRepeatNGramLogitsProcessor(size)
        self._start = start

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        return self._rule(input_ids[:, self._start :], scores)


def open_writer(
    files: ModelFiles, *, device: str | None, limits: GenerationLimits = COMET_LIMITS
) -> Seq2SeqWriter | CausalWriter:
    """Open a model in float32, as sequence-to-sequence or causal by its configuration."""
    if is_seq2seq(files):
        return Seq2SeqWriter(*open_model("AutoModelForSeq2SeqLM", files, device=device, dtype="float32"), limits)
    model, tokenizer = open_model("AutoModelForCausalLM", files, device=device, dtype="float32")
    return CausalWriter(CausalModel(files, model, tokenizer, dtype="float32", batch_tokens=None, max_length=None), limits)


def missing_end(tokenizer: Any) -> str:
    """Return the text that makes a tail end with the end-of-sequence token; empty for tokenizers that append it themselves."""
    ids = tokenizer("a")["input_ids"]
    return "" if tokenizer.eos_token_id is None or ids[-1:] == [tokenizer.eos_token_id] else str(tokenizer.eos_token)


_PLAIN = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}


def _scores(out: Any) -> list[float]:
    """Mean log-probabilities per token from beam search; zeros without a search (one beam)."""
    scores = out.get("sequences_scores")
    result: list[float] = [0.0] * len(out.sequences) if scores is None else scores.tolist()
    return result
