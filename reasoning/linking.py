"""Concept linking: which concepts of the graph an utterance mentions, and where.

Left to right, the longest run of up to three words that is a concept wins. A run is looked up as written, then with the
pipeline's lemmas, then under the graph's own guesses (:mod:`tacit.graph.lemma`); runs never cross punctuation, except a hyphen
inside a word. By default a run needs a content word (noun, proper noun, verb, adjective or adverb that is no stop word), begins
and ends with a word of these kinds, or ends with the particle of its verb, so "my wife" gives *wife* and "look for" stays whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..graph.errors import InputError
from ..graph.names import concept_uri
from ..graph.protocol import KnowledgeGraph
from .cache import LruCache
from .language import Analyser, Token

CONTENT_POS = ("ADJ", "ADV", "NOUN", "PROPN", "VERB")
ARTICLES = ("a", "an", "the")
HYPHENS = ("-", "‐", "‑")
MAX_WORDS = 3

_LONGEST_NAME = 100
_PARTICLES = ("ADP", "ADV")

_Name = tuple[str, bool]  # a text, and whether only that very name is meant or the graph's guesses are welcome


@dataclass(frozen=True, slots=True)
class Mention:
    """A concept where it stands in a text.

    Attributes:
        start, end: character offsets; text: what is written there.
        concept: the concept's URI.
        lemma: lemmas of its words, lower case, joined by spaces.
        pos: part of speech of its last content word (of its last word when it has none).
    """

    start: int
    end: int
    text: str
    concept: str
    lemma: str
    pos: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Word:
    """A token with a letter or digit in it; ``joined``: a run of words may go on from the one before to it."""

    token: Token
    joined: bool


@dataclass(frozen=True, slots=True)
class _Span:
    """A run of words that may be a concept, and the names to look it up under, best first."""

    words: tuple[Token, ...]
    names: tuple[_Name, ...]


class Linker:
    """Finds mentions of a graph's concepts; remembers the utterances and names that it saw last."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        analyser: Analyser,
        *,
        language: str = "en",
        content_only: bool = True,
        pos: Collection[str] = CONTENT_POS,
        cache_size: int = 20_000,
    ) -> None:
        """Link against ``graph`` with the words of ``analyser``.

        Args:
            language: of the concepts.
            content_only: drop runs of words without a content word.
            pos: universal parts of speech that make a content word.
            cache_size: distinct utterances (and ten times as many names) kept in memory.
        """
        self.graph = graph
        self.analyser = analyser
        self.language = language
        self.content_only = content_only
        self.pos = frozenset(pos)
        self._mentions: LruCache[str, tuple[Mention, ...]] = LruCache(cache_size)
        self._names: LruCache[_Name, str] = LruCache(10 * cache_size)
        if not self.pos and content_only:
            raise InputError("no part of speech is left to link; name at least one, or set content_only to False")

    @property
    def options(self) -> dict[str, str]:
        """What differs from the defaults, for signatures."""
        changed = {}
        if self.language != "en":
            changed["language"] = self.language
        if not self.content_only:
            changed["words"] = "all"
        elif self.pos != frozenset(CONTENT_POS):
            changed["pos"] = "+".join(sorted(self.pos))
        return changed

    def link(self, text: str) -> tuple[Mention, ...]:
        """Return the mentions in ``text``, left to right, without overlap."""
        return self.link_batch([text])[0]

    def link_batch(self, texts: Sequence[str]) -> list[tuple[Mention, ...]]:
        """Return the mentions in each text; distinct new texts are analysed together, their names resolved in one call."""
        found: dict[str, tuple[Mention, ...]] = {}
        fresh: list[str] = []
        for text in dict.fromkeys(texts):
            known = self._mentions.get(text)
            if known is None:
                fresh.append(text)
            else:
                found[text] = known
        if fresh:
            analysed = [self._spans(tokens, text) for text, tokens in zip(fresh, self.analyser.analyse(fresh), strict=True)]
            concepts = self._resolve(name for spans in analysed for row in spans for span in row for name in span.names)
            for text, spans in zip(fresh, analysed, strict=True):
                found[text] = self._match(text, spans, concepts)
                self._mentions.put(text, found[text])
        return [found[text] for text in texts]

    def _resolve(self, names: Iterable[_Name]) -> dict[_Name, str]:
        """Return the concept of each name that has one."""
        concepts: dict[_Name, str] = {}
        unknown: list[_Name] = []
        for name in dict.fromkeys(names):
            uri = self._names.get(name)
            if uri is None:
                unknown.append(name)
            elif uri:
                concepts[name] = uri
        asked = [concept_uri(text, self.language) if exact else text for text, exact in unknown]
        for name, found in zip(unknown, self.graph.resolve(asked, self.language) if asked else [], strict=True):
            self._names.put(name, found or "")
            if found:
                concepts[name] = found
        return concepts

    def _spans(self, tokens: Sequence[Token], text: str) -> list[list[_Span]]:
        """Return, for each word of an utterance, the runs that begin with it, longest first."""
        words = _words(tokens)
        rows: list[list[_Span]] = []
        for first in range(len(words)):
            row: list[_Span] = []
            for last in range(first, min(first + MAX_WORDS, len(words))):
                if last > first and not words[last].joined:
                    break
                run = tuple(word.token for word in words[first : last + 1])
                if not self.content_only or self._is_wanted(run):
                    row.append(_Span(run, _names(run, text)))
            rows.append(row[::-1])
        return rows

    def _is_wanted(self, run: Sequence[Token]) -> bool:
        """Return whether a run of words says something by itself, from its first word to its last."""
        first, last = run[0], run[-1]
        if first.pos not in self.pos or (first.stop and first.pos == "ADV"):
            return False
        particle = first.pos == "VERB" and last.pos in _PARTICLES
        if not particle and (last.pos not in self.pos or (last.stop and last.pos == "ADV")):
            return False
        return any(self._is_content(token) for token in run)

    def _is_content(self, token: Token) -> bool:
        return token.pos in self.pos and not token.stop

    def _match(self, text: str, rows: Sequence[Sequence[_Span]], concepts: dict[_Name, str]) -> tuple[Mention, ...]:
        """Take the longest known run at each word, from left to right."""
        mentions: list[Mention] = []
        at = 0
        while at < len(rows):
            step = 1
            for span in rows[at]:
                uri = next((concepts[name] for name in span.names if name in concepts), None)
                if uri is not None:
                    mentions.append(self._mention(text, span.words, uri))
                    step = len(span.words)
                    break
            at += step
        return tuple(mentions)

    def _mention(self, text: str, words: Sequence[Token], uri: str) -> Mention:
        start, end = words[0].start, words[-1].end
        head = next((token for token in reversed(words) if self._is_content(token)), words[-1])
        lemma = " ".join((token.lemma or token.text).lower() for token in words)
        return Mention(start, end, text[start:end], uri, lemma, head.pos)


def _names(run: Sequence[Token], text: str) -> tuple[_Name, ...]:
    """Return the names of a run of words, best first; none when it is too long to be one."""
    written = " ".join(text[run[0].start : run[-1].end].lower().split())
    if len(written) > _LONGEST_NAME:
        return ()
    texts = [token.text.lower() for token in run]
    lemmas = [token.lemma.lower() or token.text.lower() for token in run]
    names = [written, " ".join(texts), " ".join([*texts[:-1], lemmas[-1]])]
    if len(run) > 1:
        names += [" ".join(lemmas), " ".join([lemmas[0], *texts[1:]])]
    exact = [(name, True) for name in dict.fromkeys(names)]
    guess = len(run) == 1 or texts[0] not in ARTICLES  # the graph would drop the article, and the mention would keep it
    return (*exact, (written, False)) if guess else tuple(exact)


def _has_letter(text: str) -> bool:
    return text.isalnum() or any(character.isalnum() for character in text)


def _words(tokens: Sequence[Token]) -> list[_Word]:
    """Return the words among ``tokens``; punctuation breaks a run, a hyphen between two touching words does not."""
    words: list[_Word] = []
    joined = False
    for index, token in enumerate(tokens):
        if _has_letter(token.text):
            words.append(_Word(token, joined))
            joined = True
        else:
            before = tokens[index - 1].end if index else -1
            after = tokens[index + 1].start if index + 1 < len(tokens) else -1
            joined = joined and token.text in HYPHENS and before == token.start and after == token.end
    return words
