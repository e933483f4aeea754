"""Tokens with lemmas and parts of speech, by a spaCy pipeline.

The rest of this package uses the protocol :class:`Analyser`, so that another tagger can replace spaCy. Only the components for
lemmas and parts of speech are run.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...graph.errors import ModelError
from ..lru_cache import LruCache
from .spacy_pipeline import SHIPPED, VocabularyZone, keep_freed_memory, multiply_fast, open_spacy, with_spacy

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.pipeline import Lemmatizer

_UNUSED_COMPONENTS = (
    "parser", "senter", "sentencizer", "ner", "entity_ruler", "entity_linker", "textcat", "textcat_multilabel",
)  # fmt: skip
_BATCH = 256  # texts
_BATCH_CHARACTERS = 1_000_000
_CACHED_TEXTS = 5_000
_LONGEST_CACHED = 1_000  # characters of a text
_ATTRIBUTES = ("ORTH", "LEMMA", "POS", "MORPH", "IDX", "LENGTH")
_TO_PREPARE = re.compile(r"(?<=\w)\s*(?P<sign>['’‘`´])\s+(?=(?:ll|m|s|t|d|re|ve)\b)|\S{100}(?=\S)", re.IGNORECASE)


_CAPITALS = re.compile(r"\b(?:[A-Z]*N\s*['’‘`´]\s*T|CANNOT)\b")
_OTHER_HYPHENS = str.maketrans("\u2010\u2011", "--")
_CURLY_IN_WORD = re.compile(r"(?<=[^\W\d_])’(?=[^\W\d_])")

_Prepared = tuple[str, list[int] | None]
_Key = tuple[int, int, int, int]


class Token(NamedTuple):
    """One token of a text, a word or a punctuation mark.

    Attributes:
        text: as the pipeline reads it (:func:`prepare`); start, end: character offsets in the original text.
        lemma: dictionary form as the pipeline gives it.
        pos: universal part of speech (``NOUN``, ``VERB``, …).
        stop: it, or its lemma, is a stop word of the pipeline's language.
    """

    text: str
    start: int
    end: int
    lemma: str
    pos: str
    stop: bool


class Analyser(Protocol):
    """Finds tokens, lemmas and parts of speech."""

    @property
    def signature(self) -> str:
        """Short text that changes whenever the analysis may change; part of the signature of every score that uses it."""

    def analyse(self, texts: Sequence[str]) -> list[list[Token]]:
        """Return the tokens of each text, without white space, in order."""


def prepare(text: str) -> _Prepared:
    """Return ``text`` as a tokeniser can process it, and the offset in ``text`` of each character and the end (None: unchanged).

    Clitics are joined: ``I ’ ll`` and ``don ' t``, as tokenised corpora write them, become ``I’ll`` and ``don't``; those in
    capitals, such as ``DON'T``, are lower-cased, since the tokeniser knows no others. Other hyphens become ``-``. Long runs such
    as "((((…", which would take the tokeniser quadratic time, are split every 100 characters.
    """
    text = _CAPITALS.sub(lambda match: match[0].lower(), text.translate(_OTHER_HYPHENS))
    parts: list[str] = []
    offsets: list[int] = []
    done = 0
    for match in _TO_PREPARE.finditer(text):
        sign = match["sign"]
        until = match.start() if sign else match.end()
        parts += (text[done:until], sign or " ")
        offsets += (*range(done, until), match.start("sign") if sign else until)
        done = match.end()
    if not parts:
        return text, None
    return "".join((*parts, text[done:])), [*offsets, *range(done, len(text) + 1)]


def straight_apostrophes(text: str) -> str:
    """Return ``text`` with ``'`` for each ``’`` inside a word, as in ``don’t``."""
    return _CURLY_IN_WORD.sub("'", text)


class SpacyAnalyser:
    """An :class:`Analyser` over a spaCy pipeline; thread-safe: threads wait for one another.

    The tokens of the last few thousand texts are cached, so that metrics that share an analyser analyse each turn once.
    """

    def __init__(self, nlp: Language, digest: str) -> None:
        """Wrap ``nlp``, whose files have the given ``digest``, and disable the components that are not needed."""
        self.nlp = nlp
        self.digest = digest
        unused = [name for name in nlp.pipe_names if name in _UNUSED_COMPONENTS]
        if "morphologizer" in nlp.pipe_names and "attribute_ruler" not in nlp.pipe_names:
            unused += [name for name in ("tagger",) if name in nlp.pipe_names]
        for name in unused:
            nlp.disable_pipe(name)
        multiply_fast(nlp)
        keep_freed_memory()
        lemmatizer = lemmatizer_of_words(nlp)
        self._skipped = [lemmatizer.name] if lemmatizer else []
        self._kinds = _Kinds(nlp, lemmatizer)
        self._lock = threading.Lock()
        self._cache: LruCache[str, list[Token]] = LruCache(_CACHED_TEXTS)
        self._zone = VocabularyZone(nlp, self._kinds)
        trial = self.analyse(["The dogs were eating their bones."])[0]
        name = f"{nlp.meta['lang']}_{nlp.meta['name']}"
        for attribute, component in (("lemma", "lemmatizer"), ("pos", "morphologizer or tagger")):
            if not any(getattr(token, attribute) for token in trial):
                raise ModelError(f"the spaCy pipeline {name} gives no {attribute}; choose one that has a {component}")

    @property
    def language(self) -> str:
        """Two-letter code of the pipeline's language."""
        return str(self.nlp.lang)

    @property
    def signature(self) -> str:
        """Digest of the pipeline's files, and spaCy's version, whose stop words and rules affect the analysis."""
        return with_spacy(self.digest)

    def analyse(self, texts: Sequence[str]) -> list[list[Token]]:
        """Return the tokens of each text, without white space, in order."""
        known = {text: self._cache.get(text) for text in texts}
        fresh = [text for text, tokens in known.items() if tokens is None]
        for text, tokens in zip(fresh, self._read(fresh), strict=True):
            known[text] = tokens
            if len(text) <= _LONGEST_CACHED:
                self._cache.put(text, tokens)
        return [list(known[text] or ()) for text in texts]

    def _read(self, texts: Sequence[str]) -> Iterator[list[Token]]:
        rows: list[list[Token]] = []
        with self._lock:
            for batch in _batches([prepare(text) for text in texts]):
                self._zone.renew()
                docs = self.nlp.pipe((text for text, _ in batch), batch_size=_BATCH, disable=self._skipped)
                rows += [self._tokens(doc, offsets) for doc, (_, offsets) in zip(docs, batch, strict=True)]
        return iter(rows)

    def _tokens(self, doc: Any, offsets: list[int] | None) -> list[Token]:
        """Copy the tokens of a spaCy document."""
        self._zone.words += len(doc)
        kinds = self._kinds
        tokens = []
        for index, (word, lemma_so_far, part, features, start, length) in enumerate(doc.to_array(_ATTRIBUTES).tolist()):
            key = word, lemma_so_far, part, features
            kind = kinds[key] if key in kinds else kinds.learn(key, doc[index])
            if kind is None:
                continue
            end = start + length
            if offsets is not None:
                start, end = offsets[start], offsets[end - 1] + 1
            text, lemma, pos, stop = kind
            tokens.append(Token(text, start, end, lemma, pos, stop))
        return tokens


class _Kinds(dict[_Key, tuple[str, str, str, bool] | None]):
    """Text, lemma, part of speech and stop word flag by spaCy's ids of a word, its preliminary lemma, part of speech and
    features.

    The value is None for white space. Words repeat so often that this cache takes most of the time off copying tokens from
    spaCy.
    """

    def __init__(self, nlp: Language, lemmatizer: Lemmatizer | None) -> None:
        """Read texts from the vocabulary of ``nlp``; ``lemmatizer`` gives the lemmas that the pipeline leaves open."""
        self._vocab = nlp.vocab
        self._stop_words = frozenset(nlp.Defaults.stop_words)
        self._lemmatizer = lemmatizer

    def learn(self, key: _Key, token: Any) -> tuple[str, str, str, bool] | None:
        """Compute and store the entry of ``key``; ``token`` is one token of that kind."""
        text, lemma, pos = (self._vocab.strings[number] for number in key[:3])
        if self._lemmatizer is not None and (self._lemmatizer.overwrite or not lemma):
            lemma = self._lemmatizer.lemmatize(token)[0]
        stop = text.lower() in self._stop_words or lemma.lower() in self._stop_words
        kind = self[key] = None if self._vocab[text].is_space else (text, lemma, pos, stop)
        return kind


def lemmatizer_of_words(nlp: Language) -> Lemmatizer | None:
    """Return the pipeline's last component when it is a rule lemmatizer, which gives one lemma to all words of one kind.

    It can then be run once for each kind of word instead of once for each word. Subclasses other than spaCy's English one are
    not returned, since their rules may read more than a word's text, part of speech and features.
    """
    from spacy.lang.en.lemmatizer import EnglishLemmatizer
    from spacy.pipeline import Lemmatizer

    last: Any = nlp.pipeline[-1][1] if nlp.pipeline else None
    return last if type(last) in (Lemmatizer, EnglishLemmatizer) and last.mode == "rule" else None


def _batches(prepared: Sequence[_Prepared]) -> Iterator[list[_Prepared]]:
    batch: list[_Prepared] = []
    characters = 0
    for text_with_offsets in prepared:
        if len(batch) == _BATCH or (batch and characters + len(text_with_offsets[0]) > _BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text_with_offsets)
        characters += len(text_with_offsets[0])
    if batch:
        yield batch


def load_pipeline(name_or_path: str | Path | None = None) -> SpacyAnalyser:
    """Open a spaCy pipeline for analysis: the one shipped with tacit, an installed one by name, or one in a folder.

    Raises:
        ModelError: it does not exist or cannot be opened, or it gives no lemmas or parts of speech.
    """
    return SpacyAnalyser(*open_spacy(SHIPPED if name_or_path is None else name_or_path, _UNUSED_COMPONENTS))


def open_analyser(pipeline: Analyser | str | Path | None = None) -> Analyser:
    """Return ``pipeline`` if it is an analyser, else the spaCy pipeline of that name (default: the shipped one), opened once."""
    return _opened(pipeline) if pipeline is None or isinstance(pipeline, (str, Path)) else pipeline


def is_english(analyser: Analyser) -> bool:
    """Return whether an analyser reads English; true for one without the attribute ``language``."""
    return getattr(analyser, "language", "en") == "en"


@lru_cache(maxsize=4)
def _opened(pipeline: str | Path | None) -> SpacyAnalyser:
    return load_pipeline(pipeline)
