"""Cues between a reply and the turn before it: how the reply takes what was told or asked (Pair tuples).

The head is an event of the turn before, the tail one of the reply, or the feeling, thanks or question that the reply is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .agreement import third_person
from .clauses import Clause, Mood
from .cues import OFFERS, WISHES, Candidate, event_words, feeling, is_event, judgement, person
from .people import Speaker
from .phrases import Words
from .words import ATTITUDES, EXCLAMATIONS, THANKS


def pair(history: Sequence[Clause], reply: Sequence[Clause], speaker: Speaker) -> Iterator[Candidate]:
    """Candidates whose head is in the turn before, said by the other one, and whose tail is in the reply of ``speaker``."""
    told = [clause for clause in history if is_event(clause) and clause.person and clause.relation != "ccomp"]
    asked = [clause for clause in history if clause.mood is Mood.QUESTION and clause.who and clause.person]
    if asked:
        yield from _answered(asked[-1], reply)
    head = told[-1] if told else (asked[-1] if asked else None)
    if head is not None:
        yield from _answering(head, reply, speaker, question=bool(asked) and history[-1] is asked[-1])


def _answered(question: Clause, reply: Sequence[Clause]) -> Iterator[Candidate]:
    """Candidates from a reply to a question."""
    head = event_words(question, denied=False)
    events = [clause for clause in reply if is_event(clause)]
    for number, clause in enumerate(events):
        tail = event_words(clause)
        if question.asked == "why":
            denied = question.denied
            yield Candidate(
                "why", "HinderedBy" if denied else "xIntent", head, event_words(clause, aim=not denied), question, clause
            )
            yield Candidate("why", "xReact" if feeling(clause) else "xEffect", event_words(question), tail, question, clause)
        elif question.asked == "how" and number == 0:
            yield Candidate("how", "xNeed", head, tail, question, clause)
        elif not question.asked and (clause.connective in ("but", "because") or clause.denied):
            yield Candidate("asked but", "HinderedBy", head, tail, question, clause)
        elif not question.asked and number == 0:
            yield Candidate("asked", "xEffect", head, tail, question, clause)
            yield Candidate("asked", "HasSubEvent", head, tail, question, clause)
            yield Candidate("asked", "xIntent", head, event_words(clause, aim=True), question, clause)


def _answering(head: Clause, reply: Sequence[Clause], speaker: Speaker, *, question: bool) -> Iterator[Candidate]:
    """Candidates from how a reply takes what was told."""
    words = event_words(head)
    mine = person(speaker)
    own = head.who == mine.who
    side = "x" if own else "o"
    for number, clause in enumerate(reply):
        first = number == 0
        judged, felt = judgement(clause), feeling(clause)
        if judged:
            yield Candidate("judged reply", f"{side}React", words, (mine, "feel", judged), head, clause)
            if number < 2:
                yield Candidate("judged reply", "xAttr", words, (*head.subject, "be", judged), head, clause)
        elif felt and clause.who in ("", mine.who):
            yield Candidate("felt reply", f"{side}React", words, (mine, "feel", felt), head, clause)
        elif clause.core in EXCLAMATIONS and not clause.who:
            yield Candidate("exclaimed", f"{side}React", words, (mine, "feel", EXCLAMATIONS[clause.core]), head, clause)
        elif clause.core in THANKS and (not clause.who or clause.who == mine.who):
            yield Candidate("thanks", "oReact", words, (mine, "feel", "thankful"), head, clause)
            if head.who != mine.who:
                yield Candidate("thanks", "oEffect", words, (mine, "thank", *head.subject), head, clause)
        elif clause.mood is Mood.QUESTION and (clause.who and clause.who != mine.who) and not own:
            yield Candidate("asks back", "oWant", words, (mine, "want", "to", "know", *_asked_words(clause)), head, clause)
        elif clause.mood is Mood.QUESTION and clause.who == mine.who:
            yield Candidate("may I", f"{side}Want", words, (mine, *clause.aim), head, clause)
        elif not is_event(clause):
            continue
        elif clause.who == mine.who and clause.modals & WISHES and not clause.denied:
            yield Candidate("wish reply", f"{side}Want", words, event_words(clause, aim=True), head, clause)
        elif clause.who == mine.who and clause.verb in ("hope", "want", "need"):
            yield Candidate("hope reply", f"{side}Want", words, event_words(clause), head, clause)
        elif clause.who == mine.who and clause.verb in ATTITUDES:
            yield Candidate("thinks reply", f"{side}Effect", words, event_words(clause), head, clause)
        elif clause.who == mine.who and clause.modals & OFFERS and not clause.denied:
            yield Candidate("will reply", f"{side}Effect", words, event_words(clause), head, clause)
            yield Candidate("will reply", f"{side}Want", words, event_words(clause), head, clause)
        elif clause.verb == "be" and clause.pos in ("ADJ", "NOUN") and clause.who == head.who:
            yield Candidate("is reply", "xAttr", words, event_words(clause), head, clause)
        elif clause.who == head.who and clause.person:
            yield Candidate("same reply", "xEffect", words, event_words(clause), head, clause)
            yield Candidate("same reply", "HasSubEvent", words, event_words(clause), head, clause)
            if clause.modals & {"should", "must", "need", "can"} or clause.mood is Mood.COMMAND:
                yield Candidate("advice", "xWant", words, event_words(clause), head, clause)
                yield Candidate("advice", "xNeed", words, event_words(clause), head, clause)
        elif first and not question:
            yield Candidate("other reply", f"{side}Effect", words, event_words(clause), head, clause)
            yield Candidate("other reply", "HasSubEvent", words, event_words(clause), head, clause)


def _asked_words(clause: Clause) -> Words:
    """What somebody wants to know by asking the clause."""
    return (clause.asked or "if", *clause.subject, *_finite(clause))


def _finite(clause: Clause) -> Words:
    """The phrase of a clause with its verb in the third person, denied where the clause is."""
    verb = clause.phrase[0] if clause.phrase else ""
    if not isinstance(verb, str) or not verb:
        return clause.phrase
    rest = clause.phrase[1:]
    return ("does", "not", verb, *rest) if clause.denied and verb != "be" else (third_person(verb), *rest)
