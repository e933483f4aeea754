"""The extractor ``rules``: event tuples by discourse rules over a dependency parse, without another model than the parser.

Clauses (:mod:`.clauses`) become events with named participants (:mod:`.phrases`), discourse rules relate them
(:mod:`.discourse`), and a candidate becomes a tuple when its relation agrees with its subjects: the same one for relations in x,
different ones for those in o. The rules in use were chosen on one half of DECO's training dialogues;
benchmarks/REPORT.md has the results on the other half.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .....graph.item import Item
from ....text.parsing import Parser, open_parser
from ..events import EventTuple, Kind, Where, head_form, in_order
from .clauses import Clause, ClauseReader, SpokenTurn, resolved
from .discourse import Candidate, pair_candidates, single_candidates, stated_events
from .phrases import NAMES, Participant, Speaker, Words, name_participants

VERSION = 4

_OTHER: Speaker = 0
_OWN: Speaker = 1

# "Let's cook" states an event of both speakers, which parsers miss: it is read as "we'll cook", which has the same length.
_LETS = re.compile(r"\b(l)et(\s*['’])s\b", re.IGNORECASE)


def _we_will(match: re.Match[str]) -> str:
    return f"{'W' if match[1] == 'L' else 'w'}e{match[2]}ll"


class StatedEvent(NamedTuple):
    """An event that a turn states, asks about or demands."""

    text: str  # worded as a head of ATOMIC, e.g. `PersonX buys a ticket`
    # Who PersonX, PersonY and PersonZ are: `1` the speaker, `0` the other speaker, else a pronoun or name.
    people: tuple[str, ...]
    subject: str  # noun that is its subject where that is no person, else empty
    start: int  # start, end: its characters
    end: int


class RuleExtractor:
    """The extractor over one parser, with an LRU cache of the clauses of turns."""

    def __init__(self, parser: Parser, *, cache_size: int = 20_000) -> None:
        """Extract from the parses of ``parser``; the clauses of ``cache_size`` turns are cached."""
        self.parser = parser
        self._clauses = ClauseReader(parser, cache_size=cache_size)

    @property
    def signature(self) -> str:
        return f"rules-{VERSION};pipeline={self.parser.signature}"

    def extract_batch(self, items: Sequence[Item]) -> list[list[EventTuple]]:
        """Return the tuples of each item; the distinct responses and last turns of all items are parsed in one batch."""
        self._clauses.read([turn for item in items for turn in _turns(item)])
        return [in_order(self._tuples(item)) for item in items]

    def events_batch(self, turns: Sequence[str]) -> list[list[StatedEvent]]:
        """Return the events of each turn by themselves, in the order of the text, each wording once."""
        spoken: list[SpokenTurn] = [(_LETS.sub(_we_will, turn), _OWN) for turn in turns]
        return [list(_events(clauses)) for clauses in self._clauses.read(spoken)]

    def _tuples(self, item: Item) -> Iterator[EventTuple]:
        *history, response = self._clauses.read(_turns(item))
        before, reply = resolved(history[0] if history else [], response)
        tuples = [as_tuple(candidate, Kind.SINGLE, None) for candidate in single_candidates(reply, _OWN)]
        tuples += [as_tuple(candidate, Kind.PAIR, len(item.history) - 1) for candidate in pair_candidates(before, reply, _OWN)]
        yield from filter(None, tuples)


def _events(clauses: Sequence[Clause]) -> Iterator[StatedEvent]:
    seen = set()
    for clause, words in stated_events(resolved(clauses)[0]):
        [text] = name_participants((words,))
        text = head_form(text)
        if text and text not in seen:
            seen.add(text)
            people = tuple(dict.fromkeys(word.who for word in words if isinstance(word, Participant)))[: len(NAMES)]
            yield StatedEvent(text, people, "" if clause.person else clause.who, clause.start, clause.end)


def as_tuple(candidate: Candidate, kind: Kind, turn: int | None) -> EventTuple | None:
    """Return a candidate as a tuple with its head in ``turn`` (None: the response); None where relation and subjects disagree."""
    who, tail_who = _subject(candidate.head), _subject(candidate.tail)
    prefix = candidate.relation[0]
    if prefix in "xo" and (not who or not tail_who or (who == tail_who) != (prefix == "x")):
        return None
    leaders = (who, tail_who) if prefix == "o" else ()
    head, tail = (head_form(text) for text in name_participants((candidate.head, candidate.tail), leaders))
    if not head or not tail or head == tail:
        return None
    first, second = candidate.head_from, candidate.tail_from
    return EventTuple(
        head, candidate.relation, tail, kind, Where(turn, first.start, first.end), Where(None, second.start, second.end)
    )


def make(*, pipeline: Parser | str | Path | None = None) -> RuleExtractor:
    """Return the extractor.

    Args:
        pipeline: a parser, or the name or folder of a spaCy pipeline with one; the shipped one by default.
    """
    return RuleExtractor(open_parser(pipeline))


def _turns(item: Item) -> list[SpokenTurn]:
    """The turns that the rules read, with their speakers: the last one before the response, if any, and the response."""
    return [*((turn, _OTHER) for turn in item.history[-1:]), (item.response, _OWN)]


def _subject(words: Words) -> str:
    return words[0].who if words and isinstance(words[0], Participant) and not words[0].possessive else ""
