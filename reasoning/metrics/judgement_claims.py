"""Assertions of a graph that support or contradict a response, as evidence for a score of ``judgement``.

They are found between the concepts of the turns and of the response (:class:`~tacit.reasoning.text.linking.Linker`), and between
their events: what the response says that somebody does or should do is hindered by what a turn states (``HinderedBy``,
``ObstructedBy``), or needs what a turn denies (``xNeed``, ``HasPrerequisite``). Events are clauses of the dependency parse, with
the speakers as persons. They are compared by the words of their comparison keys and their lemmas, without some adverbs, so the
wording has to be close to the graph's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from ...graph.model import Assertion, Path
from ...graph.names import lemmas
from ..base import Piece
from ..lru_cache import LruCache
from ..text.linking import Linker
from ..text.parsing import Parser
from .accent.events import comparison_key, head_form, head_forms
from .accent.extractors.clauses import Clause, ClauseReader, Mood, resolved
from .accent.extractors.discourse import event_words
from .accent.extractors.phrases import Speaker, name_participants

AGAINST = frozenset((
    "Antonym", "DistinctFrom", "HinderedBy", "ObstructedBy", "NotCapableOf", "NotDesires", "NotHasA", "NotHasProperty", "NotIsA",
    "NotUsedFor", "NotCauses", "NotMadeOf",
))  # fmt: skip
"""Relations whose assertions between concepts of a turn and of the response contradict the response."""

HINDRANCES = ("HinderedBy", "ObstructedBy")
NEEDS = ("xNeed", "HasPrerequisite")

_MOST = 5
_CACHE_SIZE = 20_000
_FREE_WORDS = "already any anymore at but just longer more no now really right so still today too tonight very yet"
_FREE = frozenset(_FREE_WORDS.split())

Pair = tuple[tuple[str, ...], str]


class Claim(NamedTuple):
    """An assertion of the graph about a response.

    Attributes:
        path: the assertion, from the turn's or the response's node to the other.
        against: it contradicts the response.
        words: of the turn that states or denies the assertion's tail, with the verb; empty for one between concepts.
    """

    path: Path
    against: bool
    words: str = ""


class GraphClaims:
    """Finds assertions for and against responses; clauses of recent turns and relations of recent events are cached."""

    def __init__(self, linker: Linker, parser: Parser) -> None:
        """Search in the graph of ``linker``, for the clauses that ``parser`` finds."""
        self.linker = linker
        self._clauses = ClauseReader(parser, cache_size=_CACHE_SIZE)
        self._known: LruCache[str, list[Assertion]] = LruCache(_CACHE_SIZE)

    def pieces_for(self, pairs: Sequence[Pair]) -> list[tuple[Piece, ...]]:
        """Return pieces of evidence for each pair of turns and response: those against it first, at most five of each side.

        Those between events come before those between concepts, then the heavier ones. They contribute nothing to the score.
        """
        result = []
        for concepts, (turns, response) in zip(self._between_concepts(pairs), pairs, strict=True):
            events = self.between_events(turns, response)
            known = {claim.path.assertions for claim in events}
            claims = [*events, *(claim for claim in concepts if claim.path.assertions not in known)]
            sides = [[claim for claim in claims if claim.against is against][:_MOST] for against in (True, False)]
            result.append(tuple(map(_piece, chain.from_iterable(sides))))
        return result

    def _between_concepts(self, pairs: Sequence[Pair]) -> Iterator[list[Claim]]:
        """Yield the assertions between concepts of the turns and of the response of each pair, the heaviest first."""
        texts = list(dict.fromkeys(text for turns, response in pairs for text in (*turns, response)))
        mentions = dict(zip(texts, self.linker.link_batch(texts), strict=True))
        for turns, response in pairs:
            before, after = (
                list(dict.fromkeys(mention.concept for text in side for mention in mentions[text]))
                for side in (turns, (response,))
            )
            paths = self.linker.graph.triples_between(before, after) if before and after else []
            ordered = sorted(paths, key=lambda path: (-path.strength, path.order))
            yield [Claim(path, path.assertions[0].relation in AGAINST) for path in ordered]

    def between_events(self, turns: Sequence[str], response: str) -> list[Claim]:
        """Return the assertions by which a turn hinders what the response says, or denies what that needs, the heaviest first.

        Args:
            turns: oldest first; the last one is of the other speaker, the one before it of the speaker of the response.
        """
        speakers: list[Speaker] = [1 if (len(turns) - index) % 2 == 0 else 0 for index in range(len(turns) + 1)]
        turns_of_speakers = list(zip((*turns, response), speakers, strict=True))
        *before, own = resolved(*self._clauses.read(turns_of_speakers))
        stated = [(text, clause) for text, clauses in zip(turns, before, strict=True) for clause in clauses if _is_fact(clause)]
        claims: dict[Path, Claim] = {}
        for clause in own:
            if clause.denied or clause.mood is Mood.QUESTION or not clause.phrase:
                continue
            for text, fact in stated:
                # "no longer" denies as "not" does
                phrases = event_words(clause, denied=False, aim=True), event_words(replace(fact, ended=False))
                event, event_of_fact = map(head_form, name_participants(phrases))
                for assertion in self._relations(event):
                    tail = comparison_key(assertion.tail_text, "xNeed" if assertion.relation in NEEDS else assertion.relation)
                    sought = f"not {tail}" if assertion.relation in NEEDS else tail
                    if _is_same_wording(sought, comparison_key(event_of_fact)):
                        path = Path((assertion.head, assertion.tail), (assertion,))
                        claims.setdefault(path, Claim(path, True, text[fact.start : fact.end]))
        return sorted(claims.values(), key=lambda claim: (-claim.path.strength, claim.path.order))

    def _relations(self, event: str) -> list[Assertion]:
        """Return what the graph says that an event needs or is hindered by, under any wording that it holds the event by."""
        result = self._known.get(event)
        if result is None:
            graph, wordings = self.linker.graph, head_forms(event)
            result = [tail for form in wordings for relation in (HINDRANCES[0], NEEDS[0]) for tail in graph.tails(form, relation)]
            for concept in dict.fromkeys(uri for uri in graph.resolve(wordings) if uri is not None):
                near = [neighbour.uri for neighbour in graph.neighbours(concept, 1, None, [HINDRANCES[1], NEEDS[1]])]
                steps = [path.assertions[0] for path in graph.triples_between([concept], near)] if near else []
                result += [step for step in steps if step.head == concept and step.relation in (HINDRANCES[1], NEEDS[1])]
            self._known.put(event, result)
        return result


def _is_fact(clause: Clause) -> bool:
    """Whether a clause states or denies something as a fact: no question, no command, no "might" or "if"."""
    doubtful = clause.modals and not clause.denied
    return clause.mood is Mood.STATEMENT and bool(clause.phrase) and not doubtful and clause.connective not in ("if", "unless")


def _is_same_wording(first_key: str, second_key: str) -> bool:
    """Return whether two comparison keys have the same words in one order, by a lemma of each, without some adverbs."""
    first_words, second_words = ([word for word in key.split() if word not in _FREE] for key in (first_key, second_key))
    return len(first_words) == len(second_words) and all(
        _forms(a) & _forms(b) for a, b in zip(first_words, second_words, strict=True)
    )


def _forms(word: str) -> set[str]:
    return {word, *lemmas(word)}


def _piece(claim: Claim) -> Piece:
    """Return a claim as evidence."""
    assertion = claim.path.assertions[0]
    direction = "against" if claim.against else "for"
    verb = "denies" if assertion.relation in NEEDS else "states"
    reason = f', which "{claim.words}" {verb}' if claim.words else ""
    name = f"the graph, {direction} it: {claim.path.text()}{reason}, weight"
    return Piece("part", claim.path.strength, 0.0, name=name, hops=1, path=claim.path)
