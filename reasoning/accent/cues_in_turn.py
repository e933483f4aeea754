"""Cues within one turn: connectives, modality, feelings and judgements that relate two of its events (Single tuples).

Effects, feelings and wishes are PersonX's (``xEffect``) when both clauses are about one person, else another's (``oEffect``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from .clauses import Clause, Mood
from .cues import OFFERS, WISHES, Candidate, event_words, family, feeling, is_event, judgement, person
from .people import Speaker

_DOUBTFUL = frozenset(("would", "want", "like", "used", "try", "can", "should"))


def single(clauses: Sequence[Clause], speaker: Speaker) -> Iterator[Candidate]:
    """Candidates with both events in one turn of ``speaker``."""
    for clause in clauses:
        other = None if clause.other is None else clauses[clause.other]
        if other is not None:
            yield from _joined(other, clause)
        yield from _felt(clause, clauses)
    yield from _in_a_row(clauses)
    yield from _offered(clauses, speaker)


def _joined(other: Clause, clause: Clause) -> Iterator[Candidate]:
    """Candidates from the connective between ``clause`` and the one that it hangs on."""
    if not (is_event(other) and is_event(clause)):
        return
    joined = clause.connective
    head, tail = event_words(other), event_words(clause)
    forth = (other, clause)
    back = (clause, other)
    if joined == "because":
        if other.denied:
            yield Candidate("because not", "HinderedBy", event_words(other, denied=False), tail, *forth)
        elif feeling(other):
            yield Candidate("because felt", family("React", clause, other), tail, head, *back)
        else:
            yield Candidate("because", family("Effect", clause, other), tail, head, *back)
            if clause.modals & {"want", "will", "like"}:
                yield Candidate("because", "xIntent", head, event_words(clause, aim=True), *forth)
    elif joined == "so":
        if clause.denied:
            yield Candidate("so not", "HinderedBy", event_words(clause, denied=False), head, *back)
        yield Candidate("so", family("Effect", other, clause), head, tail, *forth)
        if clause.modals & {"can", "will"}:
            yield Candidate("so that", "xIntent", head, tail, *forth)
            yield Candidate("so that", "xNeed", tail, head, *back)
    elif joined == "but":
        if clause.denied:
            yield Candidate("but not", "HinderedBy", head, tail, *forth)
        elif other.denied:
            yield Candidate("not but", "HinderedBy", event_words(other, denied=False), tail, *forth)
            yield Candidate("not but", family("Effect", other, clause), head, tail, *forth)
        elif other.modals & _DOUBTFUL or clause.modals & _DOUBTFUL:
            yield Candidate("would but", "HinderedBy", event_words(other, aim=True), tail, *forth)
        else:
            yield Candidate("but", "HinderedBy", head, tail, *forth)
            yield Candidate("but", "HasSubEvent", head, tail, *forth)
    elif joined == "to":
        yield Candidate("to", "xIntent", head, tail, *forth)
        yield Candidate("to", "xWant", head, tail, *forth)
        yield Candidate("to", "xNeed", tail, head, *back)
    elif joined in ("if", "unless"):
        if joined == "unless" or other.denied or "would" in other.modals:
            yield Candidate("if not", "HinderedBy", event_words(other, denied=False), tail, *forth)
        yield Candidate("if", "xNeed", head, tail, *forth)
        yield Candidate("if", family("Effect", clause, other), tail, head, *back)
        yield Candidate("if", family("Want", clause, other), tail, head, *back)
    elif joined in ("when", "while"):
        yield Candidate("when", "HasSubEvent", head, tail, *forth)
        if other.past and joined == "when":
            yield Candidate("when", "isAfter", head, tail, *forth)
            yield Candidate("when", family("Effect", clause, other), tail, head, *back)
    elif joined in ("after", "then"):
        last, first = (clause, other) if joined == "then" else (other, clause)
        yield Candidate(joined, "isAfter", event_words(last), event_words(first), last, first)
        yield Candidate(joined, "xNeed", event_words(last), event_words(first), last, first)
    elif joined in ("before", "until"):
        yield Candidate("before", "isAfter", tail, head, *back)
    elif joined == "or" and clause.modals & {"will", "would", "can"}:
        yield Candidate("or else", "xIntent", head, event_words(clause, denied=not clause.denied), *forth)
        yield Candidate("or else", "xNeed", event_words(clause, denied=not clause.denied), head, *back)
    elif joined == "and" and clause.relation == "conj":
        yield Candidate("and", "isAfter", tail, head, *back)
        yield Candidate("and", family("Effect", other, clause), head, tail, *forth)
        yield Candidate("and", "HasSubEvent", head, tail, *forth)
        yield Candidate("and", "xNeed", tail, head, *back)


def _offered(clauses: Sequence[Clause], speaker: Speaker) -> Iterator[Candidate]:
    """Candidates from what the speaker offers to do for the one that the turn tells something of."""
    mine = person(speaker)
    for clause in clauses:
        if not (clause.who == mine.who and clause.modals & OFFERS and is_event(clause) and not clause.denied):
            continue
        told = [one for one in clauses if is_event(one) and one.person and one.who != mine.who and one.mood is Mood.STATEMENT]
        if told:
            head = min(told, key=lambda one: abs(one.start - clause.start))
            yield Candidate("offer", "oWant", event_words(head), event_words(clause), head, clause)
            yield Candidate("offer", "oEffect", event_words(head), event_words(clause), head, clause)


def _felt(clause: Clause, clauses: Sequence[Clause]) -> Iterator[Candidate]:
    """Candidates from what somebody feels about another clause of the turn."""
    felt = feeling(clause)
    if not felt:
        return
    place = clauses.index(clause)
    about = [one for one in clauses if one.other == place and one.connective in ("to", "that", "", "because", "when")]
    for one in about:
        if is_event(one) and one is not clause and clause.who:
            yield Candidate("felt", family("React", one, clause), event_words(one), (*clause.subject, "feel", felt), one, clause)


def _in_a_row(clauses: Sequence[Clause]) -> Iterator[Candidate]:
    """Candidates from events of one person that are told one after the other, and from how they are judged."""
    events = [(place, clause) for place, clause in enumerate(clauses) if is_event(clause)]
    for (_, first), (_, second) in pairwise(events):
        if second.connective not in ("", "and", "that") or second.relation == "ccomp":
            continue
        head, tail = event_words(first), event_words(second)
        wanted = second.modals & WISHES
        if wanted:
            yield Candidate("wish next", family("Want", first, second), head, event_words(second, aim=True), first, second)
        if second.mood is Mood.COMMAND:
            yield Candidate("command next", family("Effect", first, second), head, tail, first, second)
            yield Candidate("command next", "xWant", head, tail, first, second)
        if first.who == second.who and first.sentence != second.sentence:
            yield Candidate("next", "xEffect", head, tail, first, second)
            yield Candidate("next", "HasSubEvent", head, tail, first, second)
            yield Candidate("next", "isAfter", tail, head, second, first)
            if second.verb == "be" and second.pos in ("ADJ", "NOUN"):
                yield Candidate("is next", "xAttr", head, tail, first, second)
            if first.verb == "be" and first.pos in ("ADJ", "NOUN"):
                yield Candidate("is before", "xAttr", tail, head, second, first)
                yield Candidate("is before", "xEffect", head, tail, first, second)
            if first.verb in ("love", "like", "enjoy", "hate"):
                yield Candidate("likes next", "xEffect", head, tail, first, second)
                yield Candidate("likes next", "xWant", head, tail, first, second)
        felt = feeling(second)
        if felt:
            yield Candidate("feels next", family("React", first, second), head, (*second.subject, "feel", felt), first, second)
    for place, clause in enumerate(clauses):
        judged = judgement(clause)
        before = [one for at, one in events if at < place]
        if judged and before and before[-1].person:
            subject = before[-1].subject
            yield Candidate("judged", "xReact", event_words(before[-1]), (*subject, "feel", judged), before[-1], clause)
            yield Candidate("judged", "xAttr", event_words(before[-1]), (*subject, "be", judged), before[-1], clause)
