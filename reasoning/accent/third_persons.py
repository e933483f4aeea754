"""Who "he" and "she" are: the person whom a dialogue's last two turns named last, when the word fits.

"My brother won." – "He is lucky." is about one person, and so are "Cindy" and "she". The person named last wins; "they" and "it"
are left alone. No more is tried: most third persons of a dialogue are pronouns throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .clauses import Clause
from .people import Participant
from .phrases import Words
from .words import MEN, WOMEN

_NEVER = {"he": WOMEN, "she": MEN}
_SPEAKERS = ("0", "1")


def resolved(*turns: Sequence[Clause]) -> list[list[Clause]]:
    """Return the clauses of turns, in the order in which they are said, with "he" and "she" replaced by whom they mean."""
    known: dict[str, str] = {}
    return [[_resolved(clause, known) for clause in turn] for turn in turns]


def _resolved(clause: Clause, known: dict[str, str]) -> Clause:
    """The clause with what is ``known``, which then also holds whom it names as its subject."""
    if known:
        who = known.get(clause.who, clause.who)
        parts = (_meant(words, known) for words in (clause.subject, clause.phrase, clause.aim))
        subject, phrase, aim = parts
        if (who, subject, phrase, aim) != (clause.who, clause.subject, clause.phrase, clause.aim):
            clause = replace(clause, who=who, subject=subject, phrase=phrase, aim=aim)
    if clause.person and clause.who not in _SPEAKERS:
        for pronoun, never in _NEVER.items():
            if clause.who not in ("he", "she", "they") and clause.who not in never:
                known[pronoun] = clause.who
    return clause


def _meant(words: Words, known: dict[str, str]) -> Words:
    return tuple(
        word._replace(who=known[word.who]) if isinstance(word, Participant) and word.who in known else word for word in words
    )
