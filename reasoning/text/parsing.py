"""Dependency parses by a spaCy pipeline, for extractors of event tuples.

:mod:`.language` leaves out the parser, which takes as long as all other components together. Here the same pipeline runs with
its parser; relations are those of Universal Dependencies (``nsubj``, ``obj``, ``advcl`` …). Parses are cached by text, so that
a turn that occurs in many histories is parsed once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...graph.errors import ModelError
from ..lru_cache import LruCache
from .language import prepare
from .spacy_pipeline import SHIPPED, VocabularyZone, multiply_fast, open_spacy, with_spacy

if TYPE_CHECKING:
    from spacy.language import Language

_UNUSED_COMPONENTS = ("senter", "sentencizer", "ner", "entity_ruler", "entity_linker", "textcat", "textcat_multilabel")
_COLUMNS = ("ORTH", "LEMMA", "POS", "TAG", "DEP", "HEAD", "SENT_START", "IDX", "LENGTH")
_HEAD = _COLUMNS.index("HEAD")
_BATCH = 256
_TRIAL = "She gave him the book because he asked."
CACHE_SIZE = 20_000


class Word(NamedTuple):
    """One token of a text with its position in the dependency tree of its sentence."""

    text: str  # as written
    start: int  # start, end: character offsets in the original text
    end: int
    lemma: str  # dictionary form in lower case
    pos: str  # pos, tag: universal part of speech (`VERB`), the treebank's own (`VBD`)
    tag: str
    relation: str  # Universal Dependencies relation to its head (`nsubj`); `ROOT` for the root of a sentence
    head: int  # index of the head among the words of the text, its own index for a root
    sentence: int  # index of its sentence, from 0


Parse = tuple[Word, ...]


class Parser:
    """A spaCy pipeline with a parser; thread-safe: threads wait for one another."""

    def __init__(self, nlp: Language, digest: str, *, cache_size: int = CACHE_SIZE) -> None:
        """Wrap ``nlp``, whose files have the given ``digest``; the parses of ``cache_size`` texts are cached."""
        multiply_fast(nlp)
        self.nlp = nlp
        self.digest = digest
        self._parses: LruCache[str, Parse] = LruCache(cache_size)
        self._strings: dict[int, str] = {}
        self._lock = threading.Lock()
        self._zone = VocabularyZone(nlp, self._strings)
        if not {"nsubj", "obj", "iobj"} <= {word.relation for word in self.parse_batch([_TRIAL])[0]}:
            name = f"{nlp.meta['lang']}_{nlp.meta['name']}"
            raise ModelError(f"the spaCy pipeline {name} has no parser for Universal Dependencies; choose another")

    @property
    def signature(self) -> str:
        """Digest of the pipeline's files, and spaCy's version, whose rules affect the parses."""
        return with_spacy(self.digest)

    def parse_batch(self, texts: Sequence[str]) -> list[Parse]:
        """Return the parse of each text, without white space, words in order; cached texts are not parsed again."""
        with self._lock:
            parses = self._parses.get_all(texts, self._parse)
        return [parses[text] for text in texts]

    def _parse(self, texts: Sequence[str]) -> Iterator[Parse]:
        prepared = [prepare(text) for text in texts]
        self._zone.renew()
        docs = self.nlp.pipe((text for text, _ in prepared), batch_size=_BATCH)
        return (self._words(doc, offsets) for doc, (_, offsets) in zip(docs, prepared, strict=True))

    def _words(self, doc: Any, offsets: list[int] | None) -> Parse:
        """Copy the words of a spaCy document; head indices do not count white space."""
        self._zone.words += len(doc)
        rows = doc.to_array(list(_COLUMNS)).astype(np.int64).reshape(-1, len(_COLUMNS)).tolist()
        blank = [self._string(row[0]).isspace() for row in rows]
        indices = [index for index in range(len(rows)) if not blank[index]]
        numbers = {index: number for number, index in enumerate(indices)}
        words = []
        sentence = -1
        ends = True
        for index, row in enumerate(rows):
            orth, lemma, pos, tag, relation, _, begins, start, length = row
            ends = ends or begins == 1
            if blank[index]:
                continue
            sentence += ends
            ends = False
            end = start + length
            if offsets is not None:
                start, end = offsets[start], offsets[end - 1] + 1
            text = self._string(orth)
            texts = (self._string(lemma).lower() or text.lower(), self._string(pos), self._string(tag), self._string(relation))
            words.append(Word(text, start, end, *texts, numbers[_head(index, rows, blank)], sentence))
        return tuple(words)

    def _string(self, number: int) -> str:
        """Return the text of spaCy's id, cached since most words repeat."""
        text = self._strings.get(number)
        if text is None:
            unsigned = number & 0xFFFFFFFFFFFFFFFF
            text = self._strings[number] = self.nlp.vocab.strings[unsigned] if unsigned else ""
        return text


def _head(index: int, rows: list[list[int]], blank: list[bool]) -> int:
    """Return the index of the first ancestor of the word at ``index`` that is not white space, else ``index``."""
    head = index + rows[index][_HEAD]
    while blank[head]:
        above = head + rows[head][_HEAD]
        if above == head:
            return index
        head = above
    return head


def open_parser(pipeline: Parser | str | Path | None = None) -> Parser:
    """Return ``pipeline`` if it is a parser, else the spaCy pipeline of that name; the shipped one, the default, is opened
    once."""
    if pipeline is None:
        return _shipped()
    return _load(pipeline) if isinstance(pipeline, (str, Path)) else pipeline


@lru_cache(maxsize=1)
def _shipped() -> Parser:
    return _load(SHIPPED)


def _load(name_or_path: str | Path) -> Parser:
    return Parser(*open_spacy(name_or_path, _UNUSED_COMPONENTS))
