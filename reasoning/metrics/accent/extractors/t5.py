"""The extractor ``t5``: a sequence-to-sequence model is prompted for each relation in turn, as by the authors of ACCENT.

Any model of transformers that ``tacit train accent`` fine-tuned, or the released one, answers twelve prompts per response by beam
search. Prompts of similar length are batched, padded on the right and masked; each distinct prompt is answered once, with an LRU
cache. Decoding is deterministic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .....graph.errors import InputError, ModelError
from .....graph.item import Item
from ....lru_cache import LruCache
from ....models.batching import batches_by_length
from ....models.hub import ModelFiles, find_model, need, open_model, tokens_a_batch
from ....models.writers import GenerationLimits, Seq2SeqWriter
from ..events import RELATIONS, EventTuple, Kind, head_form, in_order, normalise

DEFAULT_MODEL = "EchoShao8899/t5_event_relation_extractor"
VERSION = 1
NEW_TOKENS = 64
"""Most tokens of an answer, as in the released code."""
DEFAULTS: Mapping[str, object] = MappingProxyType({"beams": 10, "norepeat": 2, "length": 512, "dtype": "float32"})
"""Options of the released code, by their names in signatures."""

_CACHE = 50_000


class T5Extractor:
    """The extractor over one model; see :func:`make`."""

    def __init__(
        self, files: ModelFiles, model: Any, tokenizer: Any, *, beams: int, no_repeat: int, max_length: int, dtype: str,
        batch_tokens: int | None,
    ) -> None:  # fmt: skip
        if tokenizer.pad_token_id is None:
            raise ModelError(f"the tokenizer of {files.requested!r} has no padding token; give a model that has one")
        self.files = files
        self.tokenizer = tokenizer
        self.max_length = max_length
        self._beams = beams
        options = {"beams": beams, "norepeat": no_repeat, "length": max_length, "dtype": dtype}
        self._changed = [f"{name}={value}" for name, value in options.items() if value != DEFAULTS[name]]
        self._batch_tokens = tokens_a_batch(batch_tokens, model)
        limits = GenerationLimits(max_length, longest=1 + NEW_TOKENS, no_repeat=no_repeat, early_stopping=beams > 1)
        self._writer = Seq2SeqWriter(model, tokenizer, limits)
        self._answers: LruCache[str, str] = LruCache(_CACHE)

    @cached_property
    def signature(self) -> str:
        """Name and digest of the model, and options that differ from the defaults; computed on first use, from the files."""
        return ";".join([f"t5-{VERSION}", f"model={self.files.signature}", *self._changed])

    def extract_batch(self, items: Sequence[Item]) -> list[list[EventTuple]]:
        """Return the tuples of each item, at most one per relation; an item with a blank response has none."""
        prompts = [self._prompts(item) if item.response.strip() else {} for item in items]
        answers = self._answers.get_all((text for of_item in prompts for text in of_item.values()), self._answer_all)
        return [in_order(self._tuples(item, of_item, answers)) for item, of_item in zip(items, prompts, strict=True)]

    def _prompts(self, item: Item) -> dict[str, str]:
        fitting = within(item, self._size, self.max_length)
        return {relation: prompt(relation, fitting) for relation in RELATIONS}

    def _tuples(self, item: Item, prompts: dict[str, str], answers: dict[str, str]) -> Iterator[EventTuple]:
        for relation, text in prompts.items():
            events = read_answer(answers[text])
            if events is not None:
                yield as_tuple(relation, *events, item)

    def _size(self, text: str) -> int:
        return len(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def _answer_all(self, prompts: Sequence[str]) -> list[str]:
        answers = [""] * len(prompts)
        for batch in batches_by_length([self._size(text) for text in prompts], self._batch_tokens):
            for index, answer in zip(batch, self._answer([prompts[index] for index in batch]), strict=True):
                answers[index] = answer
        return answers

    def _answer(self, prompts: Sequence[str]) -> list[str]:
        return self._writer.write(prompts, self._beams)[0][:: self._beams]


def make(
    *,
    model: str | Path = DEFAULT_MODEL,
    device: str | None = None,
    beams: int = 10,
    no_repeat: int = 2,
    max_length: int = 512,
    batch_tokens: int | None = None,
    dtype: str = "float32",
) -> T5Extractor:
    """Return the extractor.

    Args:
        model: a folder that transformers saved, e.g. by ``tacit train accent``, or an id of the hub; by default the released one.
        device: as torch names it; by default ``cuda`` where there is one, else ``cpu``.
        beams: kept by the search; the default is the released code's, as are answers of at most 64 tokens.
        no_repeat: length of the n-grams that may not repeat within an answer; 0: no limit.
        max_length: tokens of the prompt; longer ones lose their oldest turns, then the end of the response.
        batch_tokens: tokens in a batch, including padding; affects speed and memory only.
        dtype: of the weights: ``float32``, ``bfloat16`` or ``float16``.
    """
    for name, value, least in (("beams", beams, 1), ("no_repeat", no_repeat, 0), ("max_length", max_length, LEAST_LENGTH)):
        if not isinstance(value, int) or value < least:
            raise InputError(f"{name} is {value!r}; it must be >= {least}")
    need("torch", "neural")
    files = find_model(model)
    opened, tokenizer = open_model("AutoModelForSeq2SeqLM", files, device=device, dtype=dtype)
    return T5Extractor(
        files, opened, tokenizer, beams=beams, no_repeat=no_repeat, max_length=max_length, dtype=dtype, batch_tokens=batch_tokens
    )


# Prompts and answers, for training and extraction.
#
# The layout is that of Ghazarian et al. (ACL 2023) and their released code: a clause for the relation, the turns of the history
# each followed by ``</UTT>``, the response; the answer is ``event1: <head>; event2: <tail>`` or ``None``.

TURN_END = "</UTT>"
NONE = "None"
LEAST_LENGTH = 96
"""Smallest context in tokens: enough for the clause of a relation and part of a response."""

CLAUSES: Mapping[str, str] = MappingProxyType(
    {
        "xIntent": "event2 shows PersonX's intent for event1",
        "xNeed": "event2 needs to be true for event1 to take place",
        "xReact": "event2 shows how PersonX reacts to event1",
        "oReact": "event2 shows how PersonY reacts to event1",
        "xWant": "event2 shows what PersonX wants after event1 happens",
        "oWant": "event2 shows what PersonY wants after event1 happens",
        "xAttr": "event2 shows how PersonX is viewed as after event1",
        "xEffect": "event2 shows the effect of event1 on PersonX",
        "oEffect": "event2 shows the effect of event1 on PersonY",
        "HinderedBy": "event1 fails to happen because event2",
        "isAfter": "event1 happens after event2",
        "HasSubEvent": "event1 includes event2",
    }
)
"""The clause of the prompt for each of the twelve relations, in the words of the paper."""

_ANSWER = re.compile(r"^\s*event1:(?P<head>.*?);?\s*event2:(?P<tail>.*)$", re.DOTALL)
_WORD = re.compile(r"[a-z]{3,}")


def prompt(relation: str, item: Item) -> str:
    """Return the prompt for ``relation`` in a response after its history."""
    turns = "".join(f"{turn}{TURN_END}" for turn in item.history)
    return f"Extract event1 and event2 from the text where {CLAUSES[relation]}. Utterance: {turns}{item.response}"


def within(item: Item, size: Callable[[str], int], limit: int) -> Item:
    """Return an item of at most about ``limit`` tokens, counted by ``size``: it loses its oldest turns, then its response's
    end."""
    room = limit - LEAST_LENGTH // 2
    response = _cut(item.response, size, room)
    room -= size(response)
    turns: list[str] = []
    for turn in reversed(item.history):
        room -= size(f"{turn}{TURN_END}")
        if room < 0:
            break
        turns.append(turn)
    return Item(turns[::-1], response, item.references, item.id)


def _cut(text: str, size: Callable[[str], int], limit: int) -> str:
    """``text`` cut to its first ``limit`` tokens, in whole words where it has any."""
    if size(text) <= limit:
        return text
    parts = text.split(" ") if " " in text.strip() else list(text)
    joint = " " if " " in text.strip() else ""
    low, high = 0, len(parts)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(joint.join(parts[:middle])) <= limit else (low, middle - 1)
    return joint.join(parts[:low])


def answer(head: str, tail: str) -> str:
    """Return the target output for a tuple."""
    return f"event1: {head.strip()}; event2: {tail.strip()}"


def read_answer(text: str) -> tuple[str, str] | None:
    """Return head and tail of an output; None when it is ``None`` or malformed."""
    match = _ANSWER.match(text)
    if match is None:
        return None
    head, tail = match["head"].strip(), match["tail"].strip()
    return (head, tail) if normalise(head) and normalise(tail) else None


def as_tuple(relation: str, head: str, tail: str, item: Item) -> EventTuple:
    """Return an answer as a tuple in the graph's wording: *Pair* when more of the head's words occur in the turn before than
    in the response."""
    words = set(_WORD.findall(head.lower())) - {"person", "personx", "persony", "personz"}
    before = set(_WORD.findall(item.history[-1].lower())) if item.history else set()
    after = set(_WORD.findall(item.response.lower()))
    kind = Kind.PAIR if len(words & before) > len(words & after) else Kind.SINGLE
    return EventTuple(head_form(head), relation, head_form(tail), kind)
