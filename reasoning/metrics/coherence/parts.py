"""What a part of coherence is, and how it stands alone as a metric.

A part gives each response a number and, when asked, the pieces that the number is made of; as a metric of its own that number
is the score. Where a part cannot judge, its measure has a note and the value 0, which is how the regression reads it; the part
as a metric gives no score (NaN). Where nothing was said before the response, neither a part nor the whole gives a score.
"""

from __future__ import annotations

import hashlib
import re
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from math import nan
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ....graph.item import Item
from ...base import BatchScoring, Evidence, Piece, Score, Signature
from ...cache import LruCache
from ...models.causal_lm import CausalModel, TokenLosses, open_causal
from ...models.encoder import CACHE_SIZE, TextEncoder, open_encoder
from .associations import words_of

NO_HISTORY = "nothing is said before the response"


class Turn(NamedTuple):
    """A turn of the history that says something, and its place in the history, from 0."""

    place: int
    text: str


class Measure(NamedTuple):
    """What a part says of one response; the shares of the pieces add up to the value. A note says why it cannot judge."""

    value: float
    pieces: tuple[Piece, ...] = ()
    note: str = ""


class Part(Protocol):
    """One way to look at a response in its context."""

    name: str
    version: int

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """What its numbers depend on besides the text, by name, as signatures have it."""

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Measure responses that are not blank, after histories that say something; ``explain`` adds the pieces."""


class PartMetric(BatchScoring):
    """A part as a metric of its own."""

    reads_english = True

    def __init__(self, part: Part) -> None:
        self.part = part
        self.name = part.name
        self.together = items_at_a_time([part])

    def own_signature(self) -> Signature:
        """Signature of every score it gives, without the reference."""
        return Signature(self.name, self.part.depends, self.part.version)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        """Score responses; those after nothing, and those that the part cannot judge, have no score."""
        signature = self.signature
        measures = iter(self.part.measure([item for item in items if said(item)], explain))
        scores = []
        for item in items:
            measure = next(measures) if said(item) else Measure(0.0, note=NO_HISTORY)
            value = nan if measure.note else measure.value
            scores.append(Score(value, Evidence(measure.pieces, measure.note), signature))
        return scores


def items_at_a_time(parts: Iterable[Part], most: int = BatchScoring.together) -> int:
    """Return how many items these parts are given at a time: the fewest that one of them asks for, or ``most``."""
    return min(most, *(int(getattr(part, "together", most)) for part in parts))


def said(item: Item) -> list[Turn]:
    """Return the turns of the history that say something, oldest first."""
    return [Turn(place, text) for place, text in enumerate(item.history) if text.strip()]


# The metric ``similarity``: how like the last turn a response is, as the cosine of their sentence embeddings.
#
# The naive bar for every metric of coherence: it needs no training, and copies score highest. -1 to 1; higher is more alike.


class Similarity:
    """The part, over one encoder."""

    name = "similarity"
    version = 2

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder = encoder

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """The encoder."""
        return (("encoder", self.encoder.signature),)

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Compare each response with the last turn that says something."""
        last = [said(item)[-1] for item in items]
        texts = [text for item, turn in zip(items, last, strict=True) for text in (turn.text, item.response)]
        vectors = self.encoder.encode(texts).astype(np.float64).reshape(len(items), 2, self.encoder.dimension)
        values = np.clip(np.einsum("nd,nd->n", vectors[:, 0], vectors[:, 1]), -1, 1).tolist()
        return [
            Measure(value, (Piece("feature", value, value, turn=turn.place, name="cosine to the last turn"),) if explain else ())
            for value, turn in zip(values, last, strict=True)
        ]


def make_similarity(
    graph: Any = None,  # noqa: ARG001
    *,
    encoder: str | Path | None = None,
    device: str | None = None,
    cache_size: int = CACHE_SIZE,
) -> PartMetric:
    """Return the metric.

    Args:
        encoder: a folder that sentence-transformers or transformers saved, or an id of the hub; by default all-MiniLM-L6-v2.
        device: as torch names it; by default ``cuda`` where there is one, else ``cpu``.
        cache_size: texts remembered, for all metrics with this encoder.

    Raises:
        InputError: an option makes no sense.
        ModelError: there is no such encoder in reach.
        MissingExtra: torch or transformers is not installed.
    """
    return PartMetric(Similarity(open_encoder(encoder, device=device, cache_size=cache_size)))


# The metric ``repetition``: does the response say again what one of the last turns said?
#
# The overlap of two turns is Dice's coefficient of their words, repeated ones counted as often as they stand: 2 |a and b| /
# (|a| + |b|). Up to 0.6 it is taken for two people who speak of one thing and counts as 0; from there the value rises evenly to
# 1 at 0.9, a copy with at most a word or so changed. 0..1, the highest of the last four turns; higher is worse. Responses of
# fewer than three words ("Bye .") repeat nothing.

TURNS = 4
LEAST_WORDS = 3
LOW, HIGH = 0.6, 0.9


class Repetition:
    """The part; it needs no model."""

    name = "repetition"
    version = 2
    depends: tuple[tuple[str, str], ...] = (("turns", str(TURNS)), ("words", str(LEAST_WORDS)), ("overlap", f"{LOW}-{HIGH}"))

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Compare each response with the last turns."""
        return [self._one(item, explain) for item in items]

    def _one(self, item: Item, explain: bool) -> Measure:
        words = Counter(word.text for word in words_of(item.response))
        if words.total() < LEAST_WORDS:
            return Measure(0.0)
        best, place = max((overlap(words, turn.text), turn.place) for turn in said(item)[-TURNS:])
        value = min(max((best - LOW) / (HIGH - LOW), 0.0), 1.0)
        if not value or not explain:
            return Measure(value)
        return Measure(value, (Piece("feature", best, value, turn=place, name=f"overlap with turn {place + 1}"),))


def overlap(words: Counter[str], text: str) -> float:
    """Return Dice's coefficient of counted words and those of a text, 0..1."""
    others = Counter(word.text for word in words_of(text))
    total = words.total() + others.total()
    return 2 * (words & others).total() / total if total else 0.0


def make_repetition(graph: Any = None) -> PartMetric:  # noqa: ARG001
    """Return the metric."""
    return PartMetric(Repetition())


# The metric ``expectation``: how much of what a response says was to be expected after what was said before it.
#
# A causal language model is asked how likely the response is after the last four turns, and how likely with nothing before it.
# The value is their pointwise mutual information as a share of what the response costs alone: 1 - L(response | turns) /
# L(response), with L the negative log-likelihood; at most 1, 0 where the turns tell nothing, and below 0 where they speak
# against it (pointwise mutual information, Church & Hanks, 1990; divided by the self-information, as Bouma, 2009, divides it by
# the joint one). So it is no measure of how likely a response is: a rare one may follow well, and a common one follow from
# nothing. Nothing is trained; any causal model of transformers will do. The evidence is, for each word of the response, what
# the turns save on it.

DEFAULT_MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
RECENT = 4

_SPEAKERS = "AB"
_MAX_TOKENS = 512
_REMEMBERED = 20_000
_WORD = re.compile(r"\S+")

_memory: LruCache[bytes, TokenLosses] = LruCache(_REMEMBERED)
_opened: dict[tuple[str, str | None], CausalModel] = {}
_opening = threading.Lock()


class Expectation:
    """The part, over one language model; what one was asked last is remembered for all that ask the same model."""

    name = "expectation"
    version = 2
    together = 128

    def __init__(self, model: CausalModel) -> None:
        """Ask ``model``.

        Raises:
            ModelError: its tokenizer does not tell where tokens stand.
        """
        model.check_spans()
        self.model = model

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """The language model, whatever its folder is called."""
        return (("language_model", self.model.files.digest),)

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Measure how much the last four turns that say something save on each response."""
        asked = [(transcript([turn.text for turn in said(item)[-RECENT:]]), f" {one_line(item.response)}") for item in items]
        costs = self._costs([*asked, *((transcript([]), response) for _, response in asked)])
        return [
            _measure(response, after, alone, explain)
            for (_, response), after, alone in zip(asked, costs[: len(asked)], costs[len(asked) :], strict=True)
        ]

    def _costs(self, asked: Sequence[tuple[str, str]]) -> list[TokenLosses]:
        """The losses of texts after their prefixes, each distinct pair worked out once."""
        keys = {pair: self._key(*pair) for pair in dict.fromkeys(asked)}
        known = {pair: losses for pair, key in keys.items() if (losses := _memory.get(key)) is not None}
        fresh = [pair for pair in keys if pair not in known]
        found = self.model.token_losses([before for before, _ in fresh], [response for _, response in fresh])
        for pair, losses in zip(fresh, found, strict=True):
            known[pair] = losses
            _memory.put(keys[pair], losses)
        return [known[pair] for pair in asked]

    def _key(self, before: str, response: str) -> bytes:
        """What stands for a question to this model, however long."""
        whole = "\0".join((self.model.files.digest, before, response))
        return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def transcript(turns: Sequence[str]) -> str:
    """Return turns as a transcript of two speakers that the first of them is to go on with; without turns, her name alone."""
    lines = [f"{_SPEAKERS[(len(turns) - place) % 2]}: {one_line(turn)}\n" for place, turn in enumerate(turns)]
    return "".join([*lines, f"{_SPEAKERS[0]}:"])


def one_line(text: str) -> str:
    """Return a turn as a transcript has it."""
    return " ".join(text.split())


def _measure(response: str, after: TokenLosses, alone: TokenLosses, explain: bool) -> Measure:
    """What the turns save on a response, and on each of its words; the shares of the words add up to the value."""
    whole = max(float(alone.losses.sum()), 1e-9)
    value = float((alone.losses - after.losses).sum()) / whole
    if not explain:
        return Measure(value)
    words = list(_WORD.finditer(response))
    starts = [word.start() for word in words]
    saved: dict[int, float] = {}
    for (start, end), gain in zip(alone.spans, (alone.losses - after.losses).tolist(), strict=True):
        word = max(bisect_right(starts, max(start, end - 1)) - 1, 0)
        saved[word] = saved.get(word, 0.0) + gain
    pieces = [
        Piece("feature", gain, gain / whole, name=f'"{words[word][0]}" after what was said') for word, gain in saved.items()
    ]
    return Measure(value, tuple(sorted(pieces, key=lambda piece: -abs(piece.share))))


def open_language_model(model: str | Path | None = None, *, device: str | None = None) -> CausalModel:
    """Open the language model that is asked what was to be expected: the same object for the same model and device.

    Args:
        model: a folder that transformers saved, a GGUF file, or an id of the hub; None is SmolLM2-135M-Instruct (Ben Allal et
            al., 2025).

    Raises:
        ModelError: there is no such model in reach, or it is no causal language model.
        MissingExtra: torch or transformers is not installed, or what a GGUF file needs.
    """
    wanted = DEFAULT_MODEL if model is None else model
    path = Path(wanted).expanduser()
    key = (str(path.resolve() if path.exists() else wanted), device)
    with _opening:
        if key not in _opened:
            opened = open_causal(wanted, device=device)
            opened.max_length = min(opened.max_length, _MAX_TOKENS)
            _opened[key] = opened
        return _opened[key]


def make_expectation(
    graph: Any = None,  # noqa: ARG001
    *,
    language_model: str | Path | None = None,
    device: str | None = None,
) -> PartMetric:
    """Return the metric.

    Args:
        language_model: a folder that transformers saved, a GGUF file, or an id of the hub; by default SmolLM2-135M-Instruct.
        device: as torch names it; by default ``cuda`` where there is one, else ``cpu``.

    Raises:
        ModelError: there is no such model in reach, or it is no causal language model.
        MissingExtra: torch or transformers is not installed, or what a GGUF file needs.
    """
    return PartMetric(Expectation(open_language_model(language_model, device=device)))
