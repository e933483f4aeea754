"""COMET (Bosselut et al., ACL 2019; Hwang et al., AAAI 2021): a language model that generates tails for a head.

The model reads ``{head} {relation} [GEN]`` and generates tails by beam search with ACCENT's settings (Ghazarian et al., ACL 2023,
section 4: ten beams, ten tails, at most 64 tokens, no repeated bigram). Any model trained on that layout can be used,
sequence-to-sequence as COMET-BART or causal as COMET-GPT2, by id, folder or GGUF file; ``tacit train comet`` trains one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .....graph.errors import InputError
from .....graph.names import normalise_event
from ....models.batching import padded, together
from ....models.causal_lm import CausalModel
from ....models.hub import ModelFiles, extra_of, find_model, is_seq2seq, need, open_model
from ..events import head_form
from ..verbalise import statement
from .known_tails import Found, KnownTail, Origin, Query

DEFAULT_COMET = "mismayil/comet-bart-ai2"
BEAMS = 10
GENERATE = "[GEN]"
SOME_EVENT = "PersonX does something"
"""An event without content."""
NOTHING = "none"
"""The tail that ATOMIC, and so a COMET, gives where nothing follows."""

_BATCH = 16


class Generated(NamedTuple):
    """A generated tail: its text, and its mean log-probability per token from beam search."""

    text: str
    score: float


class Comet:
    """An open COMET; :attr:`calls` counts the queries that went through the model."""

    def __init__(self, files: ModelFiles, writer: Writer, *, beams: int = BEAMS) -> None:
        """Wrap a model; see :func:`open_comet`."""
        self.files = files
        self.beams = beams
        self.calls = 0
        self._writer = writer

    @property
    def source(self) -> str:
        """The source of the assertions that it generates."""
        return f"comet:{self.files.name}@{self.files.digest}"

    @property
    def signature(self) -> str:
        """The model, and the options that change its output."""
        return ";".join([self.files.signature, *([f"beams={self.beams}"] if self.beams != BEAMS else [])])

    def generate(self, queries: Sequence[Query]) -> list[list[Generated]]:
        """Return the distinct tails of each query, best first; ``none`` is kept where the model generates it."""
        prompts = [prompt_of(head_form(head), relation) for head, relation in queries]
        found: list[list[Generated]] = [[] for _ in queries]
        self.calls += len(queries)
        for places in _batches([len(prompt) for prompt in prompts]):
            texts, scores = self._writer.write([prompts[place] for place in places], self.beams)
            for row, place in enumerate(places):
                beams = slice(row * self.beams, (row + 1) * self.beams)
                best: dict[str, float] = {}
                for text, score in zip(texts[beams], scores[beams], strict=True):
                    if normal := normalise_event(text):
                        best.setdefault(normal, score)
                found[place] = [Generated(text, score) for text, score in best.items()]
        return found

    def losses(self, queries: Sequence[Query], tails: Sequence[str]) -> NDArray[np.float64]:
        """Return the mean negative log-likelihood per token of each tail given its query, in nats, shape (queries,)."""
        prompts = [prompt_of(head_form(head), relation) for head, relation in queries]
        found = np.empty(len(queries), dtype=np.float64)
        for places in _batches([len(prompt) + len(tail) for prompt, tail in zip(prompts, tails, strict=True)]):
            found[places] = self._writer.losses([prompts[place] for place in places], [tails[place] for place in places])
        return found


def open_comet(model: str | Path = DEFAULT_COMET, *, device: str | None = None, beams: int = BEAMS) -> Comet:
    """Open a COMET, a folder that transformers saved, a GGUF file, or an id of the hub."""
    if beams < 1:
        raise InputError(f"beams is {beams}; it must be >= 1")
    need("torch", extra_of(model))
    files = find_model(model, gguf=True)
    return Comet(files, open_writer(files, device=device), beams=beams)


def as_known(query: Query, generated: Sequence[Generated], source: str) -> Found:
    """Return generated tails as known tails, without ``none``."""
    tails = tuple(
        KnownTail(text, statement(text, query.relation), Origin.COMET, head_form(query.head), 1.0, source, rank, score)
        for rank, (text, score) in enumerate(generated)
        if text != NOTHING
    )
    return Found(tails)


def prompt_of(head: str, relation: str) -> str:
    """Return the model's input for a query."""
    return f"{head} {relation} {GENERATE}"


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    order = sorted(range(len(lengths)), key=lambda place: lengths[place])
    return [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]


# One interface for two kinds of models: sequence-to-sequence and causal.
#
# A causal model reads the prompt as text and continues it with a space and the tail, as COMET's GPT-2 does (Hwang et al., AAAI
# 2021); in both a tail ends with the model's end-of-sequence token.

MAX_LENGTH = 64
"""Largest number of tokens of a COMET's prompt, and of a tail."""
NO_REPEAT = 2
"""Length in tokens of the n-grams that a tail has once at most: no repeated bigram."""
IGNORED = -100


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

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        prompt: int = MAX_LENGTH,
        shortest: int = 0,
        longest: int = MAX_LENGTH,
        no_repeat: int = NO_REPEAT,
    ) -> None:
        """Wrap a model; lengths and ``no_repeat`` are those of :func:`open_writer`."""
        self.model = model
        self.tokenizer = tokenizer
        self._prompt, self._shortest, self._longest, self._no_repeat = prompt, shortest, longest, no_repeat
        self._torch = need("torch", "neural")
        self._end = missing_end(tokenizer)

    def write(self, prompts: Sequence[str], beams: int) -> tuple[list[str], list[float]]:
        """Generate tails; see :class:`Writer`."""
        with self._torch.inference_mode():
            out = self.model.generate(
                **self._encoded(self._prompt, text=list(prompts)), num_beams=beams, num_return_sequences=beams,
                min_length=self._shortest, max_length=self._longest, do_sample=False, no_repeat_ngram_size=self._no_repeat,
                early_stopping=False, return_dict_in_generate=True, output_scores=True,
            )  # fmt: skip
        return self.tokenizer.batch_decode(out.sequences, **_PLAIN), _scores(out)

    def losses(self, prompts: Sequence[str], tails: Sequence[str]) -> NDArray[np.float64]:
        """Return losses; see :class:`Writer`."""
        labels = self._labels(tails)
        with self._torch.inference_mode():
            logits = self.model(**self._encoded(self._prompt, text=list(prompts)), labels=labels).logits.float()
        inside = labels != IGNORED
        chosen = logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
        means: NDArray[np.float64] = (-(chosen * inside).sum(1) / inside.sum(1).clamp(min=1)).double().cpu().numpy()
        return means

    def loss(self, prompts: Sequence[str], tails: Sequence[str]) -> Any:
        """Return the mean loss; see :class:`Writer`."""
        return self.model(**self._encoded(self._prompt, text=list(prompts)), labels=self._labels(tails)).loss

    def _labels(self, tails: Sequence[str]) -> Any:
        wanted = self._encoded(max(MAX_LENGTH, self._longest), text_target=[tail + self._end for tail in tails])
        return wanted["input_ids"].masked_fill(wanted["attention_mask"] == 0, IGNORED)

    def _encoded(self, most: int, **texts: list[str]) -> dict[str, Any]:
        batch = self.tokenizer(**texts, padding=True, truncation=True, max_length=most, return_tensors="pt", verbose=False)
        return {name: batch[name].to(self.model.device) for name in ("input_ids", "attention_mask")}


class CausalWriter:
    """A causal language model, which continues the prompt."""

    def __init__(
        self,
        causal: CausalModel,
        *,
        prompt: int = MAX_LENGTH,
        shortest: int = 0,
        longest: int = MAX_LENGTH,
        no_repeat: int = NO_REPEAT,
    ) -> None:
        """Wrap a model; lengths and ``no_repeat`` are those of :func:`open_writer`, each length at most half of the positions."""
        self.causal = causal
        self.model = causal.model
        self.tokenizer = causal.tokenizer
        self._torch = need("torch", "neural")
        self._end = causal.end
        half = causal.max_length // 2
        self._prompt = min(prompt, max(half, causal.max_length - longest))
        self._shortest, self._longest, self._no_repeat = shortest, min(longest, half), no_repeat
        self._tail = min(max(MAX_LENGTH, longest), half)

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
            found, owners = self.causal.nats(rows, starts)
        sums = np.bincount(owners, weights=found.double().cpu().numpy(), minlength=len(prompts))
        means: NDArray[np.float64] = sums / np.bincount(owners, minlength=len(prompts))
        return means

    def loss(self, prompts: Sequence[str], tails: Sequence[str]) -> Any:
        """Return the mean loss; see :class:`Writer`. Texts of similar length are batched together, which avoids padding."""
        rows, starts = self._rows(prompts, tails)
        found = [
            self.causal.nats([rows[place] for place in places], [starts[place] for place in places])[0]
            for places in together([len(row) for row in rows], self.causal.batch_tokens)
        ]
        return self._torch.cat(found).mean()

    def _rows(self, prompts: Sequence[str], tails: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        """The tokens of each prompt and its tail, and the index at which the tail begins."""
        before = self._read(prompts)
        after = [[*row[: self._tail - 1], self._end] for row in self.causal.tokens([f" {tail}" for tail in tails])]
        return [[*prompt, *tail] for prompt, tail in zip(before, after, strict=True)], [len(prompt) for prompt in before]

    def _read(self, prompts: Sequence[str]) -> list[list[int]]:
        """The tokens of prompts; long ones are cut at their beginning, so that the relation is kept."""
        rows = self.tokenizer(list(prompts), verbose=False)["input_ids"]
        return [(row[:-1] if row[-1] == self._end else row)[-self._prompt :] for row in rows]

    def _search(self, beams: int) -> Any:
        return need("transformers", "neural").GenerationConfig(
            num_beams=beams, num_return_sequences=beams, min_new_tokens=self._shortest or None,
            max_new_tokens=self._longest, do_sample=False, early_stopping=False,
            return_dict_in_generate=True, output_scores=True, eos_token_id=self._end, pad_token_id=self._end,
        )  # fmt: skip

    def _rules(self, start: int) -> Any:
        rules = [_Unrepeated(start, self._no_repeat)] if self._no_repeat else []
        return need("transformers", "neural").LogitsProcessorList(rules)


class _Unrepeated:
    """Forbids repeated n-grams of tokens within a tail; those of the prompt may occur again."""

    def __init__(self, start: int, size: int) -> None:
        self._rule = need("transformers", "neural").NoRepeatNGramLogitsProcessor(size)
        self._start = start

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        return self._rule(input_ids[:, self._start :], scores)


def open_writer(
    files: ModelFiles,
    *,
    device: str | None,
    prompt: int = MAX_LENGTH,
    shortest: int = 0,
    longest: int = MAX_LENGTH,
    no_repeat: int = NO_REPEAT,
) -> Seq2SeqWriter | CausalWriter:
    """Open a model in float32, as sequence-to-sequence or causal by its configuration.

    It reads at most ``prompt`` tokens and writes ``shortest`` to ``longest``, with every n-gram of ``no_repeat`` tokens once (0:
    no limit).
    """
    if is_seq2seq(files):
        opened = open_model("AutoModelForSeq2SeqLM", files, device=device, dtype="float32")
        return Seq2SeqWriter(*opened, prompt=prompt, shortest=shortest, longest=longest, no_repeat=no_repeat)
    model, tokenizer = open_model("AutoModelForCausalLM", files, device=device, dtype="float32")
    causal = CausalModel(files, model, tokenizer, dtype="float32", batch_tokens=None, max_length=None)
    return CausalWriter(causal, prompt=prompt, shortest=shortest, longest=longest, no_repeat=no_repeat)


def missing_end(tokenizer: Any) -> str:
    """Return the text that makes a tail end with the end-of-sequence token; empty for tokenizers that append it themselves."""
    ids = tokenizer("a")["input_ids"]
    return "" if tokenizer.eos_token_id is None or ids[-1:] == [tokenizer.eos_token_id] else str(tokenizer.eos_token)


_PLAIN = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}


def _scores(out: Any) -> list[float]:
    """Mean log-probabilities per token from beam search; zeros without a search (one beam)."""
    given = out.get("sequences_scores")
    found: list[float] = [0.0] * len(out.sequences) if given is None else given.tolist()
    return found
