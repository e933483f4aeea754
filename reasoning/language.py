"""From raw text to words with lemmas and parts of speech: the only room that knows spaCy.

Everything else in this package asks an :class:`Analyser`, so another tagger can stand in its place. The pipeline that ships with
tacit was trained by ``tacit train pipeline``; any installed spaCy pipeline, or a folder with one, can be named instead. Only the
components that lemmas and parts of speech need are run.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..graph.errors import ModelError

if TYPE_CHECKING:
    from spacy.language import Language

SHIPPED = Path(__file__).parent / "pipeline"

_NEVER_NEEDED = ("parser", "senter", "sentencizer", "ner", "entity_ruler", "entity_linker", "textcat", "textcat_multilabel")
_NOT_HASHED = ("README", "LICENSE", "scores.json", ".")
_BATCH = 256
_FORGET_AFTER = 200_000
_TO_PREPARE = re.compile(r"(?<=\w)\s*(?P<sign>['’‘`´])\s+(?=(?:ll|m|s|t|d|re|ve)\b)|\S{100}(?=\S)", re.IGNORECASE)


class Token(NamedTuple):
    """One word or sign of a text.

    Attributes:
        text: as written; start, end: character offsets in the text that was given.
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
    """What finds words, lemmas and parts of speech; ``signature`` names it in the signature of every score made with it."""

    @property
    def signature(self) -> str:
        """Short text that changes whenever the analysis may."""

    def analyse(self, texts: Sequence[str]) -> list[list[Token]]:
        """Return the tokens of each text, without white space, in order."""


def prepare(text: str) -> tuple[str, list[int] | None]:
    """Return ``text`` as a tokeniser can take it: clitics joined, and runs of signs without white space cut every 100 signs.

    ``I ’ ll`` and ``don ' t`` become ``I’ll`` and ``don't``, as corpora with words apart write them; a run without end ("((((…")
    would take a tokeniser time that grows with its square.

    Returns:
        The new text, and the offset in ``text`` of each of its characters and of its end (None when nothing changed).
    """
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


class SpacyAnalyser:
    """An :class:`Analyser` over a spaCy pipeline; safe to share between threads, which then take turns."""

    def __init__(self, nlp: Language, digest: str) -> None:
        """Wrap ``nlp``, whose files have the given ``digest``; its needless components are disabled from now on.

        Raises:
            ModelError: the pipeline gives no lemmas or no parts of speech.
        """
        self.nlp = nlp
        self.digest = digest
        needless = [name for name in nlp.pipe_names if name in _NEVER_NEEDED]
        if "morphologizer" in nlp.pipe_names and "attribute_ruler" not in nlp.pipe_names:
            needless += [name for name in ("tagger",) if name in nlp.pipe_names]
        for name in needless:
            nlp.disable_pipe(name)
        self._stop_words = frozenset(nlp.Defaults.stop_words)
        self._lock = threading.Lock()
        self._zone = ExitStack()
        self._words_in_zone = _FORGET_AFTER
        trial = self.analyse(["The dogs were eating their bones."])[0]
        name = f"{nlp.meta['lang']}_{nlp.meta['name']}"
        for attribute, component in (("lemma", "lemmatizer"), ("pos", "morphologizer or tagger")):
            if not any(getattr(token, attribute) for token in trial):
                raise ModelError(f"the spaCy pipeline {name} gives no {attribute}; choose one that has a {component}")

    @property
    def signature(self) -> str:
        """Digest of the pipeline's files with spaCy's version, whose stop words and rules take part."""
        from spacy.about import __version__

        return f"{self.digest}@spacy-{'.'.join(__version__.split('.')[:2])}"

    def analyse(self, texts: Sequence[str]) -> list[list[Token]]:
        """Return the tokens of each text, without white space, in order."""
        prepared = [prepare(text) for text in texts]
        with self._lock:
            self._forget()
            docs = self.nlp.pipe((text for text, _ in prepared), batch_size=_BATCH)
            return [self._tokens(doc, offsets) for doc, (_, offsets) in zip(docs, prepared, strict=True)]

    def _forget(self) -> None:
        """Let spaCy forget the words that it met, once they are many: its vocabulary would grow with every new one."""
        if self._words_in_zone >= _FORGET_AFTER:
            self._zone.close()
            self._zone.enter_context(self.nlp.memory_zone())
            self._words_in_zone = 0

    def _tokens(self, doc: Any, offsets: list[int] | None) -> list[Token]:
        """Copy what is needed of a spaCy document."""
        self._words_in_zone += len(doc)
        stop_words = self._stop_words
        tokens = []
        for word in doc:
            if word.is_space:
                continue
            start, end = word.idx, word.idx + len(word)
            if offsets is not None:
                start, end = offsets[start], offsets[end - 1] + 1
            text, lemma = word.text, word.lemma_
            stop = text.lower() in stop_words or lemma.lower() in stop_words
            tokens.append(Token(text, start, end, lemma, word.pos_, stop))
        return tokens


def load_pipeline(name_or_path: str | Path | None = None) -> SpacyAnalyser:
    """Open a spaCy pipeline for analysis: the one shipped with tacit, an installed one by name, or one in a folder.

    Raises:
        ModelError: there is none of that name, it cannot be opened, or it gives no lemmas or parts of speech.
    """
    import spacy

    wanted = SHIPPED if name_or_path is None else name_or_path
    try:
        nlp = spacy.load(wanted, exclude=list(_NEVER_NEEDED))
    except Exception as error:  # spaCy raises OSError, ValueError, KeyError and its own, by what is wrong with the folder
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(
            f"no spaCy pipeline can be opened at {str(wanted)!r} ({reason}); give the name of an installed pipeline or its folder"
        ) from error
    folder = nlp.path
    return SpacyAnalyser(nlp, folder_digest(Path(folder)))


def open_analyser(pipeline: Analyser | str | Path | None = None) -> Analyser:
    """Return ``pipeline`` itself when it is an analyser, else the spaCy pipeline that it names (the shipped one by default).

    The shipped pipeline is opened once in a process, so that several metrics share it.

    Raises:
        ModelError: it cannot be opened.
    """
    if pipeline is None:
        return _shipped()
    return load_pipeline(pipeline) if isinstance(pipeline, (str, Path)) else pipeline


@lru_cache(maxsize=1)
def _shipped() -> SpacyAnalyser:
    return load_pipeline()


def folder_digest(folder: Path) -> str:
    """Return 12 hex digits that stand for the names and bytes of a pipeline's files, without its card and licence."""
    hasher = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(_NOT_HASHED) and "__pycache__" not in name:
            data = path.read_bytes()
            hasher.update(f"{name}\0{len(data)}\0".encode())
            hasher.update(data)
    return hasher.hexdigest()[:12]
