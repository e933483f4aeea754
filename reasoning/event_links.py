"""Links of a graph's events: to the concepts that their texts mention, and to events of the same meaning.

An event's text (``PersonX loses PersonX's wallet``) is parsed, with pronouns for persons and blanks, and
:class:`~tacit.reasoning.text.linking.Linker` finds the concepts in it, as in an utterance: *lose* and *wallet*. Persons and
blanks, which stand for anybody and anything, are left out and end a run of words. ConceptNet has clauses as concepts; where the
longest run is one (*walk the dog*), its verb and what is beside the verb are mentioned too (*walk*, *dog*), while a compound
(*hot dog*) stays whole. The role of a mention follows from the Universal Dependencies relation of its head word.

Two events have the same meaning when :func:`~tacit.reasoning.metrics.accent.events.comparison_key` gives them one key:
``to buy a brush`` and ``PersonX buys the brush``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from ..graph.links import Link, LinkCounts, LinkEntry, LinkManifest, Role, linked_digest
from ..graph.names import text_of
from ..graph.open import linking_store
from ..graph.protocol import KnowledgeGraph
from .metrics.accent.events import comparison_key
from .text.language import Token
from .text.linking import CONTENT_POS, Linker, Mention, first_mentions
from .text.parsing import Parse, Parser, open_parser

VERSION = 1

_BATCH = 1_000
"""Events that are parsed at a time."""
_PLACEHOLDER = re.compile(r"Person[XYZ](?P<owner>['’]s)?|_{3}")
_BREAK = "_"
"""Text of the token in place of a placeholder: without a letter, so that no run of words crosses it."""

_ROLES: dict[str, Role] = {
    **dict.fromkeys(("ROOT", "acl", "advcl", "ccomp", "xcomp", "parataxis"), "predicate"),
    **dict.fromkeys(("nsubj", "csubj"), "subject"),
    **dict.fromkeys(("obj", "iobj"), "object"),
    "obl": "oblique",
}
"""Role by the Universal Dependencies relation of a mention's head word, without subtype; all others are modifiers."""


class EventLinker:
    """Links all events of one graph.

    Attributes:
        mentioning: number of events that mention a concept, of those linked so far; mentions, same: links made so far.
    """

    def __init__(self, graph: KnowledgeGraph) -> None:
        """Link to the English concepts of ``graph``, by the spaCy pipeline that ships."""
        self._analyser = _ParsedEvents(open_parser(None))
        self._linker = Linker(graph, self._analyser)
        self._parts = Linker(graph, _VerbsApart(self._analyser))
        self.mentioning = self.mentions = self.same = 0

    def links(self, events: Sequence[str], progress: Callable[[int], None] | None = None) -> Iterator[Link]:
        """Yield the links of ``events``, the mentions first, in an order that depends on the set of events only; ``progress``
        counts events."""
        keys: dict[str, list[str]] = defaultdict(list)
        ordered = sorted(events)
        for start in range(0, len(ordered), _BATCH):
            batch = ordered[start : start + _BATCH]
            texts = [text_of(uri) for uri in batch]
            for uri, text, parse, mentions in zip(batch, texts, self._analyser.parses(texts), self._mentions(texts), strict=True):
                first = first_mentions(mentions)
                self.mentions += len(first)
                self.mentioning += bool(first)
                for mention in first:
                    yield Link(uri, "Mentions", mention.concept, _role(mention, parse), text.count(" ", 0, mention.start))
                keys[comparison_key(text)].append(uri)
            if progress:
                progress(len(batch))
        for _, alike in sorted(keys.items()):
            for event, same_event in combinations(alike, 2):
                self.same += 1
                yield Link(event, "SameEvent", same_event)

    def _mentions(self, texts: Sequence[str]) -> Iterator[list[Mention]]:
        """Yield the mentions of each text, and those inside of clauses, by position; of two at one place the longer first."""
        for mentions, parts, tokens in zip(
            self._linker.link_batch(texts), self._parts.link_batch(texts), self._analyser.analyse(texts), strict=True
        ):
            clauses = [mention for mention in mentions if _is_clause(mention, tokens)]
            inner = [part for part in parts if any(clause.start <= part.start and part.end <= clause.end for clause in clauses)]
            yield sorted({*mentions, *inner}, key=lambda mention: (mention.start, -mention.end))

    def entry(self, graph: str, events: int) -> LinkEntry:
        """Return the entry for the manifest, after all links were yielded; ``graph`` is the digest, ``events`` their number."""
        language = self._linker.language
        return LinkEntry(VERSION, self._analyser.signature, language, graph, events, self.mentioning, self.mentions, self.same)


class _ParsedEvents:
    """An :class:`~tacit.reasoning.text.language.Analyser` of events over a parser, whose cache keeps the parses of a batch."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._stop_words = frozenset(parser.nlp.Defaults.stop_words)

    @property
    def signature(self) -> str:
        return self._parser.signature

    def parses(self, texts: Sequence[str]) -> list[Parse]:
        """Return the parse of each text, with the offsets and the words of the text except for placeholders."""
        prepared = [_with_pronouns(text) for text in texts]
        parses = self._parser.parse_batch([written for written, _ in prepared])
        return [
            tuple(word._replace(start=offsets[word.start], end=offsets[word.end]) for word in parse)
            for parse, (_, offsets) in zip(parses, prepared, strict=True)
        ]

    def analyse(self, texts: Sequence[str]) -> list[list[Token]]:
        return [self._tokens(text, parse) for text, parse in zip(texts, self.parses(texts), strict=True)]

    def _tokens(self, text: str, parse: Parse) -> list[Token]:
        placeholders = [match.span() for match in _PLACEHOLDER.finditer(text)]
        tokens = []
        for word in parse:
            if any(word.start < end and start < word.end for start, end in placeholders):
                tokens.append(Token(_BREAK, word.start, word.end, _BREAK, "PUNCT", True))
            else:
                stop = word.text.lower() in self._stop_words or word.lemma in self._stop_words
                tokens.append(Token(word.text, word.start, word.end, word.lemma, word.pos, stop))
        return tokens


def _with_pronouns(text: str) -> tuple[str, list[int]]:
    """Return ``text`` with pronouns for its placeholders, which the pipeline never saw, and the offset in it of each
    character."""
    parts: list[str] = []
    offsets: list[int] = []
    done = 0
    for match in _PLACEHOLDER.finditer(text):
        pronoun = "its" if match["owner"] else "it" if match.start() else "he"
        parts += (text[done : match.start()], pronoun)
        offsets += (*range(done, match.start()), *([match.start()] * len(pronoun)))
        done = match.end()
    return "".join((*parts, text[done:])), [*offsets, *range(done, len(text) + 1)]


class _VerbsApart:
    """The analyser of events with a break on either side of each verb, so that no run of words holds a verb and other words."""

    def __init__(self, analyser: _ParsedEvents) -> None:
        self._analyser = analyser

    @property
    def signature(self) -> str:
        return self._analyser.signature

    def analyse(self, texts: Sequence[str]) -> list[list[Token]]:
        return [list(self._separate_verbs(tokens)) for tokens in self._analyser.analyse(texts)]

    def _separate_verbs(self, tokens: Sequence[Token]) -> Iterator[Token]:
        for token in tokens:
            if token.pos == "VERB":
                yield Token(_BREAK, token.start, token.start, _BREAK, "PUNCT", True)
                yield token
                yield Token(_BREAK, token.end, token.end, _BREAK, "PUNCT", True)
            else:
                yield token


def _is_clause(mention: Mention, tokens: Sequence[Token]) -> bool:
    """Return whether a mention has a verb and another content word."""
    words = [token for token in tokens if mention.start <= token.start < mention.end]
    content = [token for token in words if token.pos in CONTENT_POS and not token.stop]
    return len(content) > 1 and any(token.pos == "VERB" for token in words)


def _role(mention: Mention, parse: Parse) -> Role:
    """Return the role of a mention: that of its head word; a conjunct takes the role of the first conjunct."""
    inside = {index for index, word in enumerate(parse) if mention.start <= word.start < mention.end}
    index = next((index for index in sorted(inside) if parse[index].head not in inside or parse[index].head == index), None)
    while index is not None and parse[index].relation == "conj":
        index = parse[index].head
    return "modifier" if index is None else _ROLES.get(parse[index].relation.partition(":")[0], "modifier")


@dataclass(frozen=True, slots=True)
class Linked:
    """Result of linking: the counts, the manifest of links, and the digest of assertions and links."""

    counts: LinkCounts
    manifest: LinkManifest
    linked_digest: str


def link_events(graph: KnowledgeGraph, progress: Callable[[int], None] | None = None) -> Linked:
    """Link the events of ``graph``; links that do not follow from it any more are removed, so a second call changes nothing."""
    store = linking_store(graph)
    linker = EventLinker(graph)
    made_of: list[tuple[str, int]] = []

    def links() -> Iterator[Link]:
        events = list(store.events())
        made_of.append((store.manifest().digest, len(events)))
        yield from linker.links(events, progress)

    def entry() -> LinkEntry:
        return linker.entry(*made_of[-1])

    counts = store.replace_links(links(), entry)
    manifest = store.link_manifest()
    return Linked(counts, manifest, linked_digest(store.manifest(), manifest))
