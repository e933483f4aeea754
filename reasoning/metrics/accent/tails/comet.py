"""COMET (Bosselut et al., ACL 2019; Hwang et al., AAAI 2021): a language model that generates tails for a head.

The model reads ``{head} {relation} [GEN]`` and generates tails by beam search with ACCENT's settings (Ghazarian et al., ACL 2023,
section 4: ten beams, ten tails, at most 64 tokens, no repeated bigram). Any model trained on that layout can be used,
sequence-to-sequence as COMET-BART or causal as COMET-GPT2, by id, folder or GGUF file; ``tacit train comet`` trains one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....graph.errors import InputError
from .....graph.names import normalise_event
from ....models.hub import ModelFiles, extra_of, find_model, need
from ....models.writers import Writer, open_writer
from ..events import head_form
from ..scorers.base import KnownTail, Origin, Query, TailResult
from ..verbalise import statement

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
        result: list[list[Generated]] = [[] for _ in queries]
        self.calls += len(queries)
        for indices in _batches([len(prompt) for prompt in prompts]):
            texts, scores = self._writer.write([prompts[index] for index in indices], self.beams)
            for row, index in enumerate(indices):
                beams = slice(row * self.beams, (row + 1) * self.beams)
                best: dict[str, float] = {}
                for text, score in zip(texts[beams], scores[beams], strict=True):
                    if normal := normalise_event(text):
                        best.setdefault(normal, score)
                result[index] = [Generated(text, score) for text, score in best.items()]
        return result

    def losses(self, queries: Sequence[Query], tails: Sequence[str]) -> NDArray[np.float64]:
        """Return the mean negative log-likelihood per token of each tail given its query, in nats, shape (queries,)."""
        prompts = [prompt_of(head_form(head), relation) for head, relation in queries]
        result = np.empty(len(queries), dtype=np.float64)
        for indices in _batches([len(prompt) + len(tail) for prompt, tail in zip(prompts, tails, strict=True)]):
            result[indices] = self._writer.losses([prompts[index] for index in indices], [tails[index] for index in indices])
        return result


def open_comet(model: str | Path = DEFAULT_COMET, *, device: str | None = None, beams: int = BEAMS) -> Comet:
    """Open a COMET, a folder that transformers saved, a GGUF file, or an id of the hub."""
    if beams < 1:
        raise InputError(f"beams is {beams}; it must be >= 1")
    need("torch", extra_of(model))
    files = find_model(model, gguf=True)
    return Comet(files, open_writer(files, device=device), beams=beams)


def as_known(query: Query, generated: Sequence[Generated], source: str) -> TailResult:
    """Return generated tails as known tails, without ``none``."""
    tails = tuple(
        KnownTail(text, statement(text, query.relation), Origin.COMET, head_form(query.head), 1.0, source, rank, score)
        for rank, (text, score) in enumerate(generated)
        if text != NOTHING
    )
    return TailResult(tails)


def prompt_of(head: str, relation: str) -> str:
    """Return the model's input for a query."""
    return f"{head} {relation} {GENERATE}"


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    order = sorted(range(len(lengths)), key=lambda index: lengths[index])
    return [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
