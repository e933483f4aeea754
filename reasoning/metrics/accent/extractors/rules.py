"""The extractor ``rules``: event tuples by discourse rules over a dependency parse, with no model but the shipped pipeline.

Clauses become events with their people named (:mod:`.clauses`, :mod:`.people`), discourse rules relate them
(:mod:`.discourse_rules`), and a candidate becomes a tuple when its relation and its people agree: relations in x keep their
subject, those in o change it. Which rules count was decided on one half of DECO's training dialogues; docs/accent-extraction.md
has the results on the other half.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from .....graph.item import Item
from ....cache import LruCache
from ....text.parsing import Parser, open_parser
from ..events import EventTuple, Kind, Where, head_form, in_order
from .clauses import Clause, clauses_of, resolved
from .discourse import Candidate, pair, single
from .phrases import Participant, Speaker, Words, name_people

VERSION = 3

_OTHER: Speaker = 0
_OWN: Speaker = 1

# Left out: found eight times or more on the tuning half, and right no more often than chance under that relation.
_IDLE = frozenset(
    {
        ("advice", "xNeed"), ("advice", "xWant"), ("asked", "HasSubEvent"), ("next", "isAfter"), ("other reply", "oEffect"),
        ("same reply", "xEffect"), ("thinks reply", "oEffect"), ("to", "xNeed"),
    }
)  # fmt: skip


class RuleExtractor:
    """The extractor over one parser, with an LRU cache of the clauses of turns."""

    def __init__(self, parser: Parser, *, cache_size: int = 20_000) -> None:
        """Extract with the parses of ``parser``.

        Args:
            cache_size: distinct turns whose clauses are kept in memory.
        """
        self.parser = parser
        self._clauses: LruCache[tuple[str, Speaker], list[Clause]] = LruCache(cache_size)

    @property
    def signature(self) -> str:
        """Version of the rules, and the pipeline."""
        return f"rules-{VERSION};pipeline={self.parser.signature}"

    def extract_batch(self, items: Sequence[Item]) -> list[list[EventTuple]]:
        """Return the tuples of each item; the distinct responses and last turns of all items are parsed together."""
        turns = dict.fromkeys((text, speaker) for item in items for text, speaker in _turns(item))
        fresh = [turn for turn in turns if self._clauses.get(turn) is None]
        for (text, speaker), parse in zip(fresh, self.parser.parse_batch([text for text, _ in fresh]), strict=True):
            self._clauses.put((text, speaker), clauses_of(parse, speaker))
        return [in_order(self._tuples(item)) for item in items]

    def candidates(self, item: Item) -> Iterator[tuple[Kind, Candidate]]:
        """Yield what every discourse rule finds, also those that :meth:`extract_batch` leaves out; to measure single rules."""
        before = self._turn(item.history[-1], _OTHER) if item.history else []
        before, reply = resolved(before, self._turn(item.response, _OWN))
        for candidate in single(reply, _OWN):
            yield Kind.SINGLE, candidate
        for candidate in pair(before, reply, _OWN):
            yield Kind.PAIR, candidate

    def _tuples(self, item: Item) -> Iterator[EventTuple]:
        for kind, candidate in self.candidates(item):
            if (candidate.rule, candidate.relation) in _IDLE:
                continue
            found = as_tuple(candidate, kind, len(item.history) - 1 if kind is Kind.PAIR else None)
            if found is not None:
                yield found

    def _turn(self, text: str, speaker: Speaker) -> list[Clause]:
        """The clauses of a turn, from the cache where they are there."""
        found = self._clauses.get((text, speaker))
        if found is None:
            found = clauses_of(self.parser.parse_batch([text])[0], speaker)
            self._clauses.put((text, speaker), found)
        return found


def as_tuple(candidate: Candidate, kind: Kind, turn: int | None) -> EventTuple | None:
    """Return a candidate as a tuple, its head in ``turn`` (None: the response); None where people and relation do not agree."""
    who, other = _subject(candidate.head), _subject(candidate.tail)
    side = candidate.relation[0]
    if side in "xo" and (not who or not other or (who == other) != (side == "x")):
        return None
    leaders = (who, other) if side == "o" else ()
    head, tail = (head_form(text) for text in name_people((candidate.head, candidate.tail), leaders))
    if not head or not tail or head == tail:
        return None
    first, second = candidate.head_from, candidate.tail_from
    return EventTuple(
        head, candidate.relation, tail, kind, Where(turn, first.start, first.end), Where(None, second.start, second.end)
    )


def make(*, pipeline: Parser | str | Path | None = None, cache_size: int = 20_000) -> RuleExtractor:
    """Return the extractor.

    Args:
        pipeline: a parser, or the name or folder of a spaCy pipeline with one; the shipped one by default.
        cache_size: distinct turns whose clauses are kept in memory.

    Raises:
        ModelError: the pipeline cannot be opened, or has no parser that names Universal Dependencies.
    """
    return RuleExtractor(open_parser(pipeline), cache_size=cache_size)


def _turns(item: Item) -> Iterator[tuple[str, Speaker]]:
    """The turns that the rules read, and who says them."""
    if item.history:
        yield item.history[-1], _OTHER
    yield item.response, _OWN


def _subject(words: Words) -> str:
    """Who the subject of an event is; empty when that is no person."""
    return words[0].who if words and isinstance(words[0], Participant) and not words[0].possessive else ""
