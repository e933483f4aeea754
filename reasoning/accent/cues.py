"""What a clause says as an event, a judgement or a feeling, and a candidate: two events that a cue relates.

Every candidate names its cue, so that an evaluation can say what each is worth and :mod:`.rules` keeps those that are worth it.
:mod:`.cues_in_turn` and :mod:`.cues_between_turns` find them.
"""

from __future__ import annotations

from typing import NamedTuple

from .agreement import third_person
from .clauses import Clause, Mood
from .people import Participant, Speaker
from .phrases import Words
from .words import EVALUATIONS, FEELINGS, NO_EVENTS

WISHES = frozenset(("want", "need", "like", "should", "must"))
OFFERS = frozenset(("will", "can"))
_SHOWING = frozenset(("look", "seem", "sound", "feel", "taste", "smell"))
_NO_SUBJECT = frozenset(("it", "that", "this", "which", "these", "those", "there"))


class Candidate(NamedTuple):
    """Two events that a cue relates; words with people marked, clauses that they come from."""

    cue: str
    relation: str
    head: Words
    tail: Words
    head_from: Clause
    tail_from: Clause


def event_words(clause: Clause, *, denied: bool | None = None, aim: bool = False) -> Words:
    """The clause as subject and verb phrase; ``denied`` overrides whether it is denied, ``aim`` drops the modality of wanting."""
    denial = clause.denied if denied is None else denied
    phrase = clause.aim if aim else clause.phrase
    if not phrase:
        return clause.subject
    verb, *rest = phrase
    if clause.person or not clause.subject or not isinstance(verb, str):  # whose verb agrees once the people have names
        return (*clause.subject, *(("not",) if denial else ()), verb, *rest)
    finite = verb if clause.plural else third_person(verb)
    if verb == "be":
        return (*clause.subject, "are" if clause.plural else "is", *(("not",) if denial else ()), *rest)
    return (*clause.subject, *(("do" if clause.plural else "does", "not", verb) if denial else (finite,)), *rest)


def is_event(clause: Clause) -> bool:
    """A clause tells what somebody does or is, beyond keeping the talk going."""
    if not clause.who or clause.who in _NO_SUBJECT or clause.verb in NO_EVENTS or clause.mood is Mood.QUESTION:
        return False
    if clause.asked and len(clause.phrase) < 3 and not clause.relation.startswith("advcl"):
        return False
    return len(clause.phrase) > 1 or clause.verb not in ("be", "have", "do", "can", "will", "would", "should")


def judgement(clause: Clause) -> str:
    """The adjective by which a clause judges what was said ("that's cool", "sounds great", "awesome"); empty when it does not."""
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


def feeling(clause: Clause) -> str:
    """The adjective by which somebody says how they feel ("I'm glad", "sorry to hear"), empty when nobody does."""
    if clause.mood is Mood.QUESTION:
        return ""
    if clause.verb in ("be", "feel") and clause.person:
        words = (clause.core,) if clause.verb == "be" else tuple(w for w in clause.phrase[1:4] if isinstance(w, str))
        found = next((word for word in words if word in FEELINGS), "")
        return f"not {found}" if found and clause.denied else found
    if not clause.who and clause.relation in ("ROOT", "parataxis") and clause.core in FEELINGS and clause.core not in EVALUATIONS:
        return clause.core
    return ""


def person(speaker: Speaker) -> Participant:
    """The speaker as a participant."""
    return Participant(str(speaker), False, "i")


def family(name: str, head: Clause, tail: Clause) -> str:
    """``Effect`` as xEffect when both are about one person, else as oEffect; so for React and Want."""
    return ("x" if head.who == tail.who else "o") + name
