"""COMET (Bosselut et al., ACL 2019; Hwang et al., AAAI 2021): tails that a language model writes for a head.

The model reads ``{head} {relation} [GEN]`` and writes tails by beam search, as ACCENT asks it (Ghazarian et al., ACL 2023,
section 4: ten beams, ten tails, at most 64 tokens, no pair of tokens twice). Any model that was trained on that layout will do,
sequence-to-sequence as COMET-BART or causal as COMET-GPT2, by id, folder or GGUF file; ``tacit train comet`` makes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import InputError
from ....graph.names import normalise_event
from ...extras import extra_of, need
from ...models import ModelFiles, find_model
from ..events import head_form
from ..statements import statement
from .source import Found, KnownTail, Origin, Query
from .writers import Writer, open_writer

DEFAULT_COMET = "mismayil/comet-bart-ai2"
BEAMS = 10
GENERATE = "[GEN]"
SOME_EVENT = "PersonX does something"
"""A head that says nothing."""
NOTHING = "none"
"""What ATOMIC, and so a COMET, writes where nothing follows."""

_BATCH = 16


class Generated(NamedTuple):
    """A tail that was generated: its text, and its log-probability by token as beam search scores it."""

    text: str
    score: float


class Comet:
    """A COMET that is ready to be asked; :attr:`calls` counts the queries that went through the model."""

    def __init__(self, files: ModelFiles, writer: Writer, *, beams: int = BEAMS) -> None:
        """Wrap a model; see :func:`open_comet`."""
        self.files = files
        self.beams = beams
        self.calls = 0
        self._writer = writer

    @property
    def source(self) -> str:
        """What the assertions that it generates bear as their source."""
        return f"comet:{self.files.name}@{self.files.digest}"

    @property
    def signature(self) -> str:
        """The model, and options that move its answers."""
        return ";".join([self.files.signature, *([f"beams={self.beams}"] if self.beams != BEAMS else [])])

    def generate(self, queries: Sequence[Query]) -> list[list[Generated]]:
        """Return the tails of each query, best first, without repetitions; ``none`` stands where the model says so."""
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
    """Open a COMET, a folder that transformers saved, a GGUF file, or an id of the hub.

    Raises:
        InputError: ``beams`` is below 1, or there is no such device.
        ModelError: there is no such model in reach, or it writes no text.
        MissingExtra: torch or transformers is not installed, or what a GGUF file needs.
    """
    if beams < 1:
        raise InputError(f"{beams} beams make no sense; give 1 or more")
    need("torch", extra_of(model))
    files = find_model(model, gguf=True)
    return Comet(files, open_writer(files, device=device), beams=beams)


def as_known(query: Query, generated: Sequence[Generated], source: str) -> Found:
    """Return generated tails as known ones, ``none`` left out."""
    tails = tuple(
        KnownTail(text, statement(text, query.relation), Origin.COMET, head_form(query.head), 1.0, source, rank, score)
        for rank, (text, score) in enumerate(generated)
        if text != NOTHING
    )
    return Found(tails)


def prompt_of(head: str, relation: str) -> str:
    """Return what the model reads before a tail."""
    return f"{head} {relation} {GENERATE}"


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """The places of what goes together, of like length."""
    order = sorted(range(len(lengths)), key=lambda place: lengths[place])
    return [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
