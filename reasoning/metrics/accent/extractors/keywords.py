"""The extractor ``cskb``: tuples of the graph whose head and tail contain keywords of the dialogue, the baseline of the paper.

Keywords are the lemmas of nouns, verbs and adjectives that are not stop words. A tuple is *Pair* when its head contains a keyword
of the turn before and its tail a different one of the response, *Single* when both contain keywords of the response. Ghazarian et
al. (ACL 2023) match keywords as substrings; here whole words in any inflection match, and the tuples with the rarest keywords are
kept. Heads and tails keep the graph's wording.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....graph.errors import InputError
from .....graph.item import Item
from .....graph.names import lemmas, text_of
from .....graph.protocol import KnowledgeGraph
from ....lru_cache import LruCache
from ....text.language import Analyser, Token, open_analyser
from ..events import RELATIONS, EventTuple, Kind, Where, in_order

VERSION = 1

_CACHE_SIZE = 20_000  # turns whose keywords are kept in memory
_POS = frozenset(("NOUN", "VERB", "ADJ"))
_WORD = re.compile(r"[a-z]{2,}")
_NOTHING = np.empty(0, dtype=np.int32)

Numbers = NDArray[np.int32]
Keywords = dict[str, Where]


class _Known(NamedTuple):
    """The tuples of a graph under the twelve relations, and their numbers by each word of their heads, or tails."""

    tuples: list[tuple[str, str, str]]
    in_heads: dict[str, Numbers]
    in_tails: dict[str, Numbers]


class KeywordExtractor:
    """The extractor over one graph, whose tuples are read into memory on first use."""

    def __init__(self, graph: KnowledgeGraph, analyser: Analyser, *, limit: int = 5) -> None:
        """Search ``graph`` for keywords; of each relation and kind ``limit`` tuples with the rarest are kept, with 0 all."""
        if limit < 0:
            raise InputError(f"limit is {limit}; it must be >= 0 (0 keeps all tuples)")
        self.graph = graph
        self.analyser = analyser
        self.limit = limit
        self._keywords: LruCache[str, Keywords] = LruCache(_CACHE_SIZE)
        self._lock = threading.Lock()

    @property
    def signature(self) -> str:
        return f"cskb-{VERSION};graph={self.graph.manifest().digest};pipeline={self.analyser.signature};limit={self.limit}"

    def extract_batch(self, items: Sequence[Item]) -> list[list[EventTuple]]:
        """Return the tuples of each item; the distinct responses and last turns of all items are analysed in one batch."""
        texts = (text for item in items for text in (*item.history[-1:], item.response))
        keywords = self._keywords.get_all(texts, lambda fresh: map(_keywords_of, self.analyser.analyse(fresh)))
        return [in_order(self._tuples(item, keywords)) for item in items]

    def _tuples(self, item: Item, keywords: Mapping[str, Keywords]) -> Iterator[EventTuple]:
        in_response = keywords[item.response]
        yield from self._between(in_response, in_response, Kind.SINGLE)
        if item.history:
            turn = len(item.history) - 1
            before = {word: at._replace(turn=turn) for word, at in keywords[item.history[-1]].items()}
            yield from self._between(before, in_response, Kind.PAIR)

    def _between(self, heads: Keywords, tails: Keywords, kind: Kind) -> Iterator[EventTuple]:
        """Tuples with a word of ``heads`` in their head and a different one of ``tails`` in their tail, rarest words first."""
        known = self._known
        matches: dict[int, tuple[float, str, str]] = {}
        for first in sorted(heads):
            in_heads = known.in_heads.get(first, _NOTHING)
            for second in sorted(tails):
                if first == second or not len(in_heads):
                    continue
                in_tails = known.in_tails.get(second, _NOTHING)
                weight = log(len(known.tuples) / len(in_heads)) + (log(len(known.tuples) / len(in_tails)) if len(in_tails) else 0)
                for number in np.intersect1d(in_heads, in_tails, assume_unique=True).tolist():
                    best = matches.get(number)
                    if best is None or weight > best[0]:
                        matches[number] = (weight, first, second)
        number_of: dict[str, int] = defaultdict(int)
        for number in sorted(matches, key=lambda number: (-matches[number][0], known.tuples[number])):
            head, relation, tail = known.tuples[number]
            number_of[relation] += 1
            if self.limit and number_of[relation] > self.limit:
                continue
            _, first, second = matches[number]
            yield EventTuple(head, relation, tail, kind, heads[first], tails[second])

    @property
    def _known(self) -> _Known:
        with self._lock:
            return self._read

    @cached_property
    def _read(self) -> _Known:
        tuples = sorted(
            {
                (text_of(assertion.head), assertion.relation, text_of(assertion.tail))
                for assertion in self.graph.assertions()
                if assertion.relation in RELATIONS
            }
        )
        return _Known(tuples, _by_word([triple[0] for triple in tuples]), _by_word([triple[2] for triple in tuples]))


def make(graph: KnowledgeGraph, *, pipeline: Analyser | str | Path | None = None, limit: int = 5) -> KeywordExtractor:
    """Return the extractor over ``graph``.

    Args:
        pipeline: an analyser, or the name or folder of a spaCy pipeline; the shipped one by default.
        limit: see :class:`KeywordExtractor`.
    """
    return KeywordExtractor(graph, open_analyser(pipeline), limit=limit)


def _keywords_of(tokens: Sequence[Token]) -> Keywords:
    result: Keywords = {}
    for token in tokens:
        if token.pos in _POS and not token.stop and _WORD.fullmatch(token.lemma.lower()):
            result.setdefault(token.lemma.lower(), Where(None, token.start, token.end))
    return result


def _by_word(texts: Sequence[str]) -> dict[str, Numbers]:
    """The numbers of the texts that contain a word, by that word and its possible lemmas."""
    numbers_of: dict[str, list[int]] = defaultdict(list)
    for number, text in enumerate(texts):
        for form in {form for word in _WORD.findall(text.lower()) for form in _forms(word)}:
            numbers_of[form].append(number)
    return {word: np.array(numbers, dtype=np.int32) for word, numbers in numbers_of.items()}


@lru_cache(maxsize=100_000)
def _forms(word: str) -> tuple[str, ...]:
    return (word, *lemmas(word))
