"""Concept linking: which concepts of the graph an utterance mentions, and where.

From left to right, the longest run of up to three words that is a concept is linked. A run is looked up as written, then with
the pipeline's lemmas, then by the graph's fuzzy lookup (:mod:`tacit.graph.names`). Runs do not cross punctuation, except a
hyphen inside a word. A run contains a content word (by default a noun, proper noun, verb, adjective or adverb that is not a stop
word), and begins and ends with a word of these kinds or ends with the particle of its verb, so that "my wife" gives *wife* and
"look for" stays whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...graph.errors import InputError
from ...graph.names import concept_uri
from ...graph.protocol import KnowledgeGraph
from ...graph.schema import Json
from ..lru_cache import LruCache
from .language import Analyser, Token

CONTENT_POS = ("ADJ", "ADV", "NOUN", "PROPN", "VERB")
ARTICLES = ("a", "an", "the")
HYPHENS = ("-", "‐", "‑")
MAX_WORDS = 3

_LONGEST_NAME = 100
_PARTICLES = ("ADP", "ADV")

_Name = tuple[str, bool]  # a text, and whether it is looked up exactly or by the graph's fuzzy lookup


@dataclass(frozen=True, slots=True)
class Mention(Json):
    """A concept and where a text mentions it.

    Attributes:
        start, end: character offsets; text: the text between them.
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


class _Word(NamedTuple):
    """A token that contains a letter or digit, and its role in a run of words."""

    token: Token
    text: str  # text, lemma: lower case
    lemma: str
    joined: bool  # a run may continue from the previous word to this one
    begins: bool  # begins, ends: a run may begin, or end, with it
    ends: bool
    content: bool  # it is a content word
    verb: bool  # it is a verb
    particle: bool  # a run that begins with a verb may end with it


class _Span(NamedTuple):
    """A run of words that may be a concept, and its names for lookup, best first."""

    words: Sequence[_Word]
    names: tuple[_Name, ...]


class Linker:
    """Finds mentions of a graph's concepts; mentions of recent utterances, and recent names, are cached."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        analyser: Analyser,
        *,
        language: str = "en",
        pos: Collection[str] = CONTENT_POS,
        max_words: int = MAX_WORDS,
        cache_size: int = 20_000,
    ) -> None:
        """Link to ``graph`` the words that ``analyser`` finds.

        Args:
            language: language of the concepts.
            pos: universal parts of speech of content words.
            max_words: longest run of words that is looked up, 1..3.
            cache_size: distinct utterances (and ten times as many names) kept in memory.

        Raises:
            InputError: ``max_words`` is not in 1..3, or ``pos`` is empty.
        """
        self.graph = graph
        self.analyser = analyser
        self.language = language
        self.pos = frozenset(pos)
        self.max_words = max_words
        self._mentions: LruCache[str, tuple[Mention, ...]] = LruCache(cache_size)
        self._names: LruCache[_Name, str] = LruCache(10 * cache_size)
        self._single: LruCache[tuple[str, str], str] = LruCache(10 * cache_size)
        if not 1 <= max_words <= MAX_WORDS:
            raise InputError(f"max_words must be from 1 to {MAX_WORDS}, not {max_words}")
        if not self.pos:
            raise InputError("no part of speech is given; name at least one")

    @property
    def options(self) -> dict[str, str]:
        """The options that differ from the defaults, for signatures."""
        changed = {}
        if self.language != "en":
            changed["language"] = self.language
        if self.pos != frozenset(CONTENT_POS):
            changed["pos"] = "+".join(sorted(self.pos))
        if self.max_words != MAX_WORDS:
            changed["max_words"] = str(self.max_words)
        return changed

    def link(self, text: str) -> tuple[Mention, ...]:
        """Return the mentions in ``text``, left to right, without overlap."""
        return self.link_batch([text])[0]

    def link_batch(self, texts: Sequence[str]) -> list[tuple[Mention, ...]]:
        """Return the mentions in each text; distinct new texts are analysed together, and their names resolved in one call."""
        mentions = self._mentions.get_all(texts, self._link)
        return [mentions[text] for text in texts]

    def _link(self, texts: Sequence[str]) -> list[tuple[Mention, ...]]:
        analysed = self.analyser.analyse(texts)
        return self._single_words(texts, analysed) if self.max_words == 1 else self._runs(texts, analysed)

    def _runs(self, texts: Sequence[str], analysed: Sequence[Sequence[Token]]) -> list[tuple[Mention, ...]]:
        rows = [self._spans(tokens, text) for text, tokens in zip(texts, analysed, strict=True)]
        concepts = self._resolve(name for spans in rows for row in spans for span in row for name in span.names)
        return [self._match(text, spans, concepts) for text, spans in zip(texts, rows, strict=True)]

    def _single_words(self, texts: Sequence[str], analysed: Sequence[Sequence[Token]]) -> list[tuple[Mention, ...]]:
        """Return the mentions of single words, cached, since a word's concept does not depend on its neighbours here."""
        rows = [[token for token in tokens if self._can_stand_alone(token)] for tokens in analysed]
        spans = {(token.text, token.lemma): (token, text) for text, tokens in zip(texts, rows, strict=True) for token in tokens}

        def look_up(keys: Sequence[tuple[str, str]]) -> list[str]:
            names_of_words = [self._spans([spans[key][0]], spans[key][1])[0][0].names for key in keys]
            known = self._resolve(name for names_of_word in names_of_words for name in names_of_word)
            return [next((known[name] for name in names_of_word if name in known), "") for names_of_word in names_of_words]

        concepts = self._single.get_all(spans, look_up)
        return [
            tuple(
                Mention(start, end, text[start:end], uri, lemma.lower() or word.lower(), pos)
                for word, start, end, lemma, pos, _ in tokens
                if (uri := concepts[word, lemma])
            )
            for text, tokens in zip(texts, rows, strict=True)
        ]

    def _can_stand_alone(self, token: Token) -> bool:
        content = token.pos in self.pos and not token.stop
        return content and token.end - token.start <= _LONGEST_NAME and _has_letter(token.text)

    def _resolve(self, names: Iterable[_Name]) -> dict[_Name, str]:
        def look_up(unknown: Sequence[_Name]) -> list[str]:
            lookups = [concept_uri(text, self.language) if exact else text for text, exact in unknown]
            return [uri or "" for uri in self.graph.resolve(lookups, self.language)]

        return {name: uri for name, uri in self._names.get_all(names, look_up).items() if uri}

    def _spans(self, tokens: Sequence[Token], text: str) -> list[list[_Span]]:
        """Return, for each word of an utterance, the runs that begin with it, longest first."""
        words = self._words(tokens)
        rows: list[list[_Span]] = []
        for first, head in enumerate(words):
            row: list[_Span] = []
            content = False
            for last in range(first, min(first + self.max_words, len(words)) if head.begins else first):
                word = words[last]
                if last > first and not word.joined:
                    break
                content = content or word.content
                if content and (word.ends or (word.particle and head.verb)):
                    run = words[first : last + 1]
                    row.append(_Span(run, _names(run, text)))
            rows.append(row[::-1])
        return rows

    def _words(self, tokens: Sequence[Token]) -> list[_Word]:
        """Return the words among ``tokens``; punctuation breaks a run, a hyphen between two touching words does not."""
        words: list[_Word] = []
        joined = False
        for index, token in enumerate(tokens):
            if _has_letter(token.text):
                kind = token.pos in self.pos
                edge = kind and not (token.stop and token.pos == "ADV")
                content = kind and not token.stop
                verb, particle = token.pos == "VERB", token.pos in _PARTICLES
                text = token.text.lower()
                words.append(_Word(token, text, token.lemma.lower() or text, joined, edge, edge, content, verb, particle))
                joined = True
            elif joined:
                after = tokens[index + 1].start if index + 1 < len(tokens) else -1
                joined = token.text in HYPHENS and tokens[index - 1].end == token.start and after == token.end
        return words

    def _match(self, text: str, rows: Sequence[Sequence[_Span]], concepts: dict[_Name, str]) -> tuple[Mention, ...]:
        """Link the longest known run at each word, from left to right."""
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

    def _mention(self, text: str, words: Sequence[_Word], uri: str) -> Mention:
        start, end = words[0].token.start, words[-1].token.end
        head = next(
            (word.token for word in reversed(words) if word.token.pos in self.pos and not word.token.stop), words[-1].token
        )
        return Mention(start, end, text[start:end], uri, " ".join(word.lemma for word in words), head.pos)


def first_mentions(mentions: Iterable[Mention]) -> list[Mention]:
    """Return the first mention of each concept, in order."""
    first: dict[str, Mention] = {}
    for mention in mentions:
        first.setdefault(mention.concept, mention)
    return list(first.values())


def concept_linker(graph: KnowledgeGraph, analyser: Analyser, cache_size: int = 20_000) -> Linker:
    """Return a linker for single nouns, verbs or adjectives that are not stop words: the concepts of Zhou et al. (SIGDIAL 2021),
    and the keywords of GRADE (Huang et al., EMNLP 2020)."""
    return Linker(graph, analyser, pos=("ADJ", "NOUN", "PROPN", "VERB"), max_words=1, cache_size=cache_size)


def _names(run: Sequence[_Word], text: str) -> tuple[_Name, ...]:
    """Return the names of a run of words, best first; none when it is longer than any name."""
    start, end = run[0].token.start, run[-1].token.end
    if end - start > _LONGEST_NAME:
        return ()
    if len(run) == 1:
        word = run[0]
        lemma = ((word.lemma, True),) if word.lemma != word.text and _has_letter(word.lemma) else ()
        return ((word.text, True), *lemma, (word.text, False))
    written = " ".join(text[start:end].lower().split())
    texts = [word.text for word in run]
    lemmas = [word.lemma for word in run]
    variants = ([*texts[:-1], lemmas[-1]], lemmas, [lemmas[0], *texts[1:]])
    exact = dict.fromkeys([written, " ".join(texts), *(" ".join(words) for words in variants)])
    guess = ((written, False),) if texts[0] not in ARTICLES else ()  # fuzzy lookup drops an article that is part of the mention
    return (*((name, True) for name in exact), *guess)


def _has_letter(text: str) -> bool:
    return text.isalnum() or any(character.isalnum() for character in text)
