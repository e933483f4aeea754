"""Discourse rules: which events of a dialogue are related, and by which relation.

A rule reads a connective, a modal verb, a feeling, an evaluation or the order of clauses. Rules within a turn give Single tuples
(:func:`single_candidates`), rules between a turn and the reply to it give Pair tuples (:func:`pair_candidates`). Within a turn,
effects, feelings and wishes are PersonX's (``xEffect``) when both clauses have the same subject, else another person's
(``oEffect``). Rules that were right no more often than chance on the tuning half of DECO's training dialogues were left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from ..verb_forms import MODALS, third_person, verb_place
from .clauses import Clause, Mood
from .phrases import ATTITUDES, EVALUATIONS, EXCLAMATIONS, FEELINGS, NO_EVENTS, THANKS, Participant, Speaker, Words

_WISHES = frozenset(("want", "need", "like", "should", "must"))
_OFFERS = frozenset(("will", "can"))
_SHOWING = frozenset(("look", "seem", "sound", "feel", "taste", "smell"))
_NO_SUBJECT = frozenset(("it", "that", "this", "which", "these", "those", "there"))
_DOUBTFUL = frozenset(("would", "want", "like", "used", "try", "can", "should"))


class Candidate(NamedTuple):
    """Two events related by a discourse rule: their words with participants marked, and their clauses."""

    relation: str
    head: Words
    tail: Words
    head_from: Clause
    tail_from: Clause


def single_candidates(clauses: Sequence[Clause], speaker: Speaker) -> Iterator[Candidate]:
    """Candidates with both events in one turn of ``speaker``."""
    for clause in clauses:
        governor = None if clause.other is None else clauses[clause.other]
        if governor is not None:
            yield from _joined(governor, clause)
        yield from _emotion_candidates(clause, clauses)
    yield from _in_a_row(clauses)
    yield from _offered(clauses, speaker)


def _joined(governor: Clause, clause: Clause) -> Iterator[Candidate]:
    """Candidates from the connective that joins ``clause`` to its ``governor``."""
    if not (_is_event(governor) and _is_event(clause)):
        return
    joined = clause.connective
    head, tail = event_words(governor), event_words(clause)
    forth = (governor, clause)
    back = (clause, governor)
    if joined == "because":
        if governor.denied:
            yield Candidate("HinderedBy", event_words(governor, denied=False), tail, *forth)
        elif _emotion_adjective(governor):
            yield Candidate(_family("React", clause, governor), tail, head, *back)
        else:
            yield Candidate(_family("Effect", clause, governor), tail, head, *back)
            if clause.modals & {"want", "will", "like"}:
                yield Candidate("xIntent", head, event_words(clause, aim=True), *forth)
    elif joined == "so":
        if clause.denied:
            yield Candidate("HinderedBy", event_words(clause, denied=False), head, *back)
        yield Candidate(_family("Effect", governor, clause), head, tail, *forth)
        if clause.modals & {"can", "will"}:
            yield Candidate("xIntent", head, tail, *forth)
            yield Candidate("xNeed", tail, head, *back)
    elif joined == "but":
        if clause.denied:
            yield Candidate("HinderedBy", head, tail, *forth)
        elif governor.denied:
            yield Candidate("HinderedBy", event_words(governor, denied=False), tail, *forth)
            yield Candidate(_family("Effect", governor, clause), head, tail, *forth)
        elif governor.modals & _DOUBTFUL or clause.modals & _DOUBTFUL:
            yield Candidate("HinderedBy", event_words(governor, aim=True), tail, *forth)
        else:
            yield Candidate("HinderedBy", head, tail, *forth)
            yield Candidate("HasSubEvent", head, tail, *forth)
    elif joined == "to":
        yield Candidate("xIntent", head, tail, *forth)
        yield Candidate("xWant", head, tail, *forth)
    elif joined in ("if", "unless"):
        if joined == "unless" or governor.denied or "would" in governor.modals:
            yield Candidate("HinderedBy", event_words(governor, denied=False), tail, *forth)
        yield Candidate("xNeed", head, tail, *forth)
        yield Candidate(_family("Effect", clause, governor), tail, head, *back)
        yield Candidate(_family("Want", clause, governor), tail, head, *back)
    elif joined in ("when", "while"):
        yield Candidate("HasSubEvent", head, tail, *forth)
        if governor.past and joined == "when":
            yield Candidate("isAfter", head, tail, *forth)
            yield Candidate(_family("Effect", clause, governor), tail, head, *back)
    elif joined in ("after", "then"):
        last, first = (clause, governor) if joined == "then" else (governor, clause)
        yield Candidate("isAfter", event_words(last), event_words(first), last, first)
        yield Candidate("xNeed", event_words(last), event_words(first), last, first)
    elif joined in ("before", "until"):
        yield Candidate("isAfter", tail, head, *back)
    elif joined == "or" and clause.modals & {"will", "would", "can"}:
        yield Candidate("xIntent", head, event_words(clause, denied=not clause.denied), *forth)
        yield Candidate("xNeed", event_words(clause, denied=not clause.denied), head, *back)
    elif joined == "and" and clause.relation == "conj":
        yield Candidate("isAfter", tail, head, *back)
        yield Candidate(_family("Effect", governor, clause), head, tail, *forth)
        yield Candidate("HasSubEvent", head, tail, *forth)
        yield Candidate("xNeed", tail, head, *back)


def _offered(clauses: Sequence[Clause], speaker: Speaker) -> Iterator[Candidate]:
    """Candidates from an offer of the speaker to another person that the turn mentions."""
    mine = _person(speaker)
    for clause in clauses:
        if not (clause.who == mine.who and clause.modals & _OFFERS and _is_event(clause) and not clause.denied):
            continue
        events = [
            candidate
            for candidate in clauses
            if _is_event(candidate) and candidate.person and candidate.who != mine.who and candidate.mood is Mood.STATEMENT
        ]
        if events:
            head = min(events, key=lambda event: abs(event.start - clause.start))
            yield Candidate("oWant", event_words(head), event_words(clause), head, clause)
            yield Candidate("oEffect", event_words(head), event_words(clause), head, clause)


def _emotion_candidates(clause: Clause, clauses: Sequence[Clause]) -> Iterator[Candidate]:
    """Candidates from a feeling about another clause of the turn."""
    felt = _emotion_adjective(clause)
    if not felt:
        return
    index = clauses.index(clause)
    about = [event for event in clauses if event.other == index and event.connective in ("to", "that", "", "because", "when")]
    for event in about:
        if _is_event(event) and event is not clause and clause.who:
            yield Candidate(_family("React", event, clause), event_words(event), (*clause.subject, "feel", felt), event, clause)


def _in_a_row(clauses: Sequence[Clause]) -> Iterator[Candidate]:
    """Candidates from consecutive events of one person, and from evaluations of them."""
    events = [(index, clause) for index, clause in enumerate(clauses) if _is_event(clause)]
    for (_, first), (_, second) in pairwise(events):
        if second.connective not in ("", "and", "that") or second.relation == "ccomp":
            continue
        head, tail = event_words(first), event_words(second)
        wishes = second.modals & _WISHES
        if wishes:
            yield Candidate(_family("Want", first, second), head, event_words(second, aim=True), first, second)
        if second.mood is Mood.COMMAND:
            yield Candidate(_family("Effect", first, second), head, tail, first, second)
            yield Candidate("xWant", head, tail, first, second)
        if first.who == second.who and first.sentence != second.sentence:
            yield Candidate("xEffect", head, tail, first, second)
            yield Candidate("HasSubEvent", head, tail, first, second)
            if second.verb == "be" and second.pos in ("ADJ", "NOUN"):
                yield Candidate("xAttr", head, tail, first, second)
            if first.verb == "be" and first.pos in ("ADJ", "NOUN"):
                yield Candidate("xAttr", tail, head, second, first)
                yield Candidate("xEffect", head, tail, first, second)
            if first.verb in ("love", "like", "enjoy", "hate"):
                yield Candidate("xEffect", head, tail, first, second)
                yield Candidate("xWant", head, tail, first, second)
        felt = _emotion_adjective(second)
        if felt:
            yield Candidate(_family("React", first, second), head, (*second.subject, "feel", felt), first, second)
    for index, clause in enumerate(clauses):
        judged = _judgement(clause)
        before = [event for at, event in events if at < index]
        if judged and before and before[-1].person:
            subject = before[-1].subject
            yield Candidate("xReact", event_words(before[-1]), (*subject, "feel", judged), before[-1], clause)
            yield Candidate("xAttr", event_words(before[-1]), (*subject, "be", judged), before[-1], clause)


def pair_candidates(history: Sequence[Clause], reply: Sequence[Clause], speaker: Speaker) -> Iterator[Candidate]:
    """Candidates with the head in the other speaker's turn before, and the tail in the reply of ``speaker``."""
    statements = [clause for clause in history if _is_event(clause) and clause.person and clause.relation != "ccomp"]
    questions = [clause for clause in history if clause.mood is Mood.QUESTION and clause.who and clause.person]
    if questions:
        yield from _answered(questions[-1], reply)
    head = statements[-1] if statements else (questions[-1] if questions else None)
    if head is not None:
        yield from _answering(head, reply, speaker, question=bool(questions) and history[-1] is questions[-1])


def _answered(question: Clause, reply: Sequence[Clause]) -> Iterator[Candidate]:
    head = event_words(question, denied=False)
    events = [clause for clause in reply if _is_event(clause)]
    for number, clause in enumerate(events):
        tail = event_words(clause)
        if question.asked == "why":
            relation = "HinderedBy" if question.denied else "xIntent"
            yield Candidate(relation, head, event_words(clause, aim=not question.denied), question, clause)
            yield Candidate("xReact" if _emotion_adjective(clause) else "xEffect", event_words(question), tail, question, clause)
        elif question.asked == "how" and number == 0:
            yield Candidate("xNeed", head, tail, question, clause)
        elif not question.asked and (clause.connective in ("but", "because") or clause.denied):
            yield Candidate("HinderedBy", head, tail, question, clause)
        elif not question.asked and number == 0:
            yield Candidate("xEffect", head, tail, question, clause)
            yield Candidate("xIntent", head, event_words(clause, aim=True), question, clause)


def _answering(head: Clause, reply: Sequence[Clause], speaker: Speaker, *, question: bool) -> Iterator[Candidate]:
    """Candidates from the reaction of a reply to the event before it."""
    words = event_words(head)
    mine = _person(speaker)
    own = head.who == mine.who
    prefix = "x" if own else "o"
    for number, clause in enumerate(reply):
        first = number == 0
        judged, felt = _judgement(clause), _emotion_adjective(clause)
        if judged:
            yield Candidate(f"{prefix}React", words, (mine, "feel", judged), head, clause)
            if number < 2:
                yield Candidate("xAttr", words, (*head.subject, "be", judged), head, clause)
        elif felt and clause.who in ("", mine.who):
            yield Candidate(f"{prefix}React", words, (mine, "feel", felt), head, clause)
        elif clause.core in EXCLAMATIONS and not clause.who:
            yield Candidate(f"{prefix}React", words, (mine, "feel", EXCLAMATIONS[clause.core]), head, clause)
        elif clause.core in THANKS and (not clause.who or clause.who == mine.who):
            yield Candidate("oReact", words, (mine, "feel", "thankful"), head, clause)
            if head.who != mine.who:
                yield Candidate("oEffect", words, (mine, "thank", *head.subject), head, clause)
        elif clause.mood is Mood.QUESTION and (clause.who and clause.who != mine.who) and not own:
            wondered = (clause.asked or "if", *clause.subject, *_finite(clause))
            yield Candidate("oWant", words, (mine, "want", "to", "know", *wondered), head, clause)
        elif clause.mood is Mood.QUESTION and clause.who == mine.who:
            yield Candidate(f"{prefix}Want", words, (mine, *clause.aim), head, clause)
        elif not _is_event(clause):
            continue
        elif clause.who == mine.who and clause.modals & _WISHES and not clause.denied:
            yield Candidate(f"{prefix}Want", words, event_words(clause, aim=True), head, clause)
        elif clause.who == mine.who and clause.verb in ("hope", "want", "need"):
            yield Candidate(f"{prefix}Want", words, event_words(clause), head, clause)
        elif clause.who == mine.who and clause.verb in ATTITUDES:
            if own:
                yield Candidate("xEffect", words, event_words(clause), head, clause)
        elif clause.who == mine.who and clause.modals & _OFFERS and not clause.denied:
            yield Candidate(f"{prefix}Effect", words, event_words(clause), head, clause)
            yield Candidate(f"{prefix}Want", words, event_words(clause), head, clause)
        elif clause.verb == "be" and clause.pos in ("ADJ", "NOUN") and clause.who == head.who:
            yield Candidate("xAttr", words, event_words(clause), head, clause)
        elif clause.who == head.who and clause.person:
            yield Candidate("HasSubEvent", words, event_words(clause), head, clause)
        elif first and not question:
            if own:
                yield Candidate("xEffect", words, event_words(clause), head, clause)
            yield Candidate("HasSubEvent", words, event_words(clause), head, clause)


def stated_events(clauses: Sequence[Clause]) -> Iterator[tuple[Clause, Words]]:
    """Yield the events of a turn by themselves: stated, asked about, demanded; a wish also as the event that is wished for."""
    for clause in clauses:
        known = replace(clause, mood=Mood.STATEMENT) if clause.mood is Mood.QUESTION else clause
        if _is_event(known):
            yield clause, event_words(clause)
            if clause.aim != clause.phrase:
                yield clause, event_words(clause, aim=True)


def _finite(clause: Clause) -> Words:
    """The phrase of a clause with its verb in the third person, negated where the clause is."""
    return _predicate(clause, clause.phrase, clause.denied, agrees=True)


def event_words(clause: Clause, *, denied: bool | None = None, aim: bool = False) -> Words:
    """The clause as subject and verb phrase; ``denied`` overrides its negation, ``aim`` drops verbs of wanting."""
    agrees = not clause.person and bool(clause.subject)  # else the verb agrees later, once participants are named
    phrase = clause.aim if aim else clause.phrase
    return (*clause.subject, *_predicate(clause, phrase, clause.denied if denied is None else denied, agrees=agrees))


def _predicate(clause: Clause, phrase: Words, denied: bool, *, agrees: bool) -> Words:
    """A phrase of a clause with its negation; its verb ``agrees`` with the clause's subject or stays in base form."""
    place = verb_place([word if isinstance(word, str) else word.who for word in phrase])
    verb = phrase[place] if phrase else None
    if not isinstance(verb, str):
        return (*(("not",) if denied and phrase else ()), *phrase)
    adverbs, rest = phrase[:place], phrase[place + 1 :]
    negation = () if not denied else ("never",) if verb == "used" else ("no", "longer") if clause.ended else ("not",)
    if not agrees:
        finite = verb
    elif verb == "be":
        finite = "are" if clause.plural else "is"
    else:
        finite = verb if clause.plural else third_person(verb)
    if verb in MODALS or (verb == "be" and (agrees or clause.ended)):
        return (*adverbs, finite, *negation, *rest)
    if agrees and negation == ("not",):
        return ("do" if clause.plural else "does", "not", *adverbs, verb, *rest)
    return (*negation, *adverbs, finite, *rest)


def _is_event(clause: Clause) -> bool:
    """Whether a clause states an event: what somebody does or is, beyond phatic expressions."""
    if not clause.who or clause.who in _NO_SUBJECT or clause.verb in NO_EVENTS or clause.mood is Mood.QUESTION:
        return False
    if clause.asked and len(clause.phrase) < 3 and not clause.relation.startswith("advcl"):
        return False
    return len(clause.phrase) > 1 or clause.verb not in ("be", "have", "do", "can", "will", "would", "should")


def _judgement(clause: Clause) -> str:
    """The adjective of an evaluation ("that's cool", "sounds great", "awesome"); empty when the clause is none."""
    if (clause.mood is Mood.QUESTION and not clause.asked.startswith("how")) or clause.relation == "ccomp":
        return ""
    word = clause.core
    if clause.verb in _SHOWING and (not clause.who or clause.who in _NO_SUBJECT):
        word = next((w for w in clause.phrase if isinstance(w, str) and w in EVALUATIONS), "")
    elif clause.person or (clause.who and clause.who not in _NO_SUBJECT):
        return ""
    elif clause.verb == "be" and clause.pos == "NOUN":
        word = next((w for w in clause.phrase if isinstance(w, str) and w in EVALUATIONS), word)
    return word if word in EVALUATIONS and not clause.denied else ""


def _emotion_adjective(clause: Clause) -> str:
    """The adjective of a feeling ("I'm glad", "sorry to hear"); empty when the clause states none."""
    if clause.mood is Mood.QUESTION:
        return ""
    if clause.verb in ("be", "feel") and clause.person:
        words = (clause.core,) if clause.verb == "be" else tuple(w for w in clause.phrase[1:4] if isinstance(w, str))
        feeling = next((word for word in words if word in FEELINGS), "")
        return f"not {feeling}" if feeling and clause.denied else feeling
    if not clause.who and clause.relation in ("ROOT", "parataxis") and clause.core in FEELINGS and clause.core not in EVALUATIONS:
        return clause.core
    return ""


def _person(speaker: Speaker) -> Participant:
    return Participant(str(speaker), False, "i")


def _family(name: str, head: Clause, tail: Clause) -> str:
    """``Effect``, ``React`` or ``Want`` as relation in x when both clauses have the same subject, else in o."""
    return ("x" if head.who == tail.who else "o") + name
