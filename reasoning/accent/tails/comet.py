"""COMET (Bosselut et al., ACL 2019; Hwang et al., AAAI 2021): tails that a sequence-to-sequence model generates for a head.

The model reads ``{head} {relation} [GEN]`` and writes tails by beam search, as ACCENT asks it (Ghazarian et al., ACL 2023,
section 4: ten beams, ten tails, at most 64 tokens, no pair of tokens twice). Any sequence-to-sequence model that was trained
on that layout will do, by id or folder; ``tacit train comet`` makes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import InputError
from ....graph.names import normalise_event
from ...extras import need
from ...models import ModelFiles, find_model, open_model
from ..events import head_form
from ..statements import statement
from .source import Found, KnownTail, Origin, Query

DEFAULT_COMET = "mismayil/comet-bart-ai2"
BEAMS = 10
MAX_LENGTH = 64
NO_REPEAT = 2
GENERATE = "[GEN]"
NOTHING = "none"
"""What ATOMIC, and so a COMET, writes where nothing follows."""

_BATCH = 16
_IGNORED = -100


class Generated(NamedTuple):
    """A tail that was generated: its text, and its log-probability by token as beam search scores it."""

    text: str
    score: float


class Comet:
    """A COMET that is ready to be asked; :attr:`calls` counts the queries that went through the model."""

    def __init__(self, files: ModelFiles, model: Any, tokenizer: Any, *, dtype: str = "float32", beams: int = BEAMS) -> None:
        """Wrap a model; see :func:`open_comet`."""
        self.files = files
        self.model = model
        self.tokenizer = tokenizer
        self.beams = beams
        self.calls = 0
        self._dtype = dtype
        self._torch = need("torch", "neural")
        self._end = missing_end(tokenizer)

    @property
    def source(self) -> str:
        """What the assertions that it generates bear as their source."""
        return f"comet:{self.files.name}@{self.files.digest}"

    @property
    def signature(self) -> str:
        """The model, and options that move its answers."""
        options = [f"beams={self.beams}"] if self.beams != BEAMS else []
        return ";".join([self.files.signature, *options, *([f"dtype={self._dtype}"] if self._dtype != "float32" else [])])

    def generate(self, queries: Sequence[Query]) -> list[list[Generated]]:
        """Return the tails of each query, best first, without repetitions; ``none`` stands where the model says so."""
        torch = self._torch
        order = sorted(range(len(queries)), key=lambda place: len(_prompt(queries[place])))
        found: list[list[Generated]] = [[] for _ in queries]
        self.calls += len(queries)
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            batch = self._encoded([_prompt(queries[place]) for place in places])
            with torch.inference_mode():
                out = self.model.generate(
                    **batch, num_beams=self.beams, num_return_sequences=self.beams, max_length=MAX_LENGTH, do_sample=False,
                    no_repeat_ngram_size=NO_REPEAT, early_stopping=False, return_dict_in_generate=True, output_scores=True,
                )  # fmt: skip
            texts = self.tokenizer.batch_decode(out.sequences, skip_special_tokens=True, clean_up_tokenization_spaces=False)
            scores = [0.0] * len(texts) if out.get("sequences_scores") is None else out.sequences_scores.tolist()
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
        torch = self._torch
        order = sorted(range(len(queries)), key=lambda place: len(_prompt(queries[place])) + len(tails[place]))
        found = np.empty(len(queries), dtype=np.float64)
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            batch = self._encoded([_prompt(queries[place]) for place in places])
            labels = self._encoded([tails[place] + self._end for place in places], text_target=True)
            ids, mask = labels["input_ids"], labels["attention_mask"].bool()
            with torch.inference_mode():
                logits = self.model(**batch, labels=ids.masked_fill(~mask, _IGNORED)).logits.float()
                chosen = logits.log_softmax(-1).gather(-1, ids[..., None])[..., 0]
                means = -(chosen * mask).sum(1) / mask.sum(1).clamp(min=1)
            found[places] = means.double().cpu().numpy()
        return found

    def _encoded(self, texts: list[str], *, text_target: bool = False) -> dict[str, Any]:
        given: dict[str, Any] = {"text_target" if text_target else "text": texts}
        batch = self.tokenizer(**given, padding=True, truncation=True, max_length=MAX_LENGTH, return_tensors="pt", verbose=False)
        return {name: batch[name].to(self.model.device) for name in ("input_ids", "attention_mask")}


def open_comet(model: str | Path = DEFAULT_COMET, *, device: str | None = None, beams: int = BEAMS) -> Comet:
    """Open a COMET, a folder that transformers saved or an id of the hub.

    Raises:
        InputError: ``beams`` is below 1, or there is no such device.
        ModelError: there is no such model in reach, or it is no sequence-to-sequence model.
        MissingExtra: torch or transformers is not installed.
    """
    if beams < 1:
        raise InputError(f"{beams} beams make no sense; give 1 or more")
    need("torch", "neural")
    files = find_model(model)
    opened, tokenizer = open_model("AutoModelForSeq2SeqLM", files, device=device, dtype="float32")
    return Comet(files, opened, tokenizer, beams=beams)


def as_known(query: Query, generated: Sequence[Generated], source: str) -> Found:
    """Return generated tails as known ones, ``none`` left out."""
    tails = tuple(
        KnownTail(text, statement(text, query.relation), Origin.COMET, head_form(query.head), 1.0, source, rank, score)
        for rank, (text, score) in enumerate(generated)
        if text != NOTHING
    )
    return Found(tails)


def missing_end(tokenizer: Any) -> str:
    """Return what has to be written after a tail so that it ends where the model's sequences end; nothing for most tokenizers."""
    ids = tokenizer("a")["input_ids"]
    return "" if tokenizer.eos_token_id is None or ids[-1:] == [tokenizer.eos_token_id] else str(tokenizer.eos_token)


def _prompt(query: Query) -> str:
    """What the model reads; heads that are one event in other words read the same."""
    return f"{head_form(query.head)} {query.relation} {GENERATE}"
