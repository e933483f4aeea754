"""Times at the head of a clause ("yesterday I cooked", "this morning I missed the bus"): they say when, and are no event.

A small parser takes such a noun for the clause's own head, with what happened as its relative clause, for one more subject, or
for a connective. Its tree is set right before it is read: a noun of time with a clause after it that has a subject and a finite
verb of its own is an unmarked oblique (``obl:unmarked`` in Universal Dependencies) of that clause.
"""

from __future__ import annotations

from ..parsing import Parse, Word
from .words import TIMES

_SUBJECTS = ("nsubj", "nsubj:pass", "csubj", "expl")
_WITH_IT = frozenset(("det", "amod", "nummod", "nmod", "nmod:poss", "compound", "case"))
_GREETING = frozenset(("good", "happy"))  # "good morning", "happy new year"
_FINITE = ("VBD", "VBP", "VBZ", "MD")
_RELATIVE = ("WDT", "WP", "WRB", "WP$")


def set_right(parse: Parse) -> Parse:
    """Return ``parse`` with every time at the head of a clause as a part of that clause; most parses come back as they are."""
    times = [place for place, word in enumerate(parse) if is_time(word)]
    if not times:
        return parse
    tree = _Tree(parse)
    for place in times:
        tree.set_right(place)
    return tuple(tree.words)


def is_time(word: Word) -> bool:
    """``word`` is a noun that names a time."""
    return word.pos in ("NOUN", "PROPN") and word.lemma in TIMES


def says_when(word: Word) -> bool:
    """``word`` heads what tells when something is: a noun of time, or "ago"."""
    return (is_time(word) or (word.lemma == "ago" and word.pos == "ADV")) and word.relation in ("obl:unmarked", "obl", "advmod")


class _Tree:
    """A parse whose words can change their heads."""

    def __init__(self, parse: Parse) -> None:
        self.words = list(parse)
        self._below: list[list[int]] = [[] for _ in parse]
        for place, word in enumerate(parse):
            if word.head != place:
                self._below[word.head].append(place)

    def set_right(self, place: int) -> None:
        """Make the time at ``place`` an oblique of its clause, where it is taken for something else."""
        word, below = self.words[place], self._below[place]
        if any(self.words[one].tag in _RELATIVE for one in below):
            return  # "what time", "what a day"
        if word.relation == "obl:unmarked" and any(self.words[one].lemma in _GREETING for one in below):
            self.words[place] = word._replace(relation="discourse")
        elif word.relation == "mark" or (word.relation in _SUBJECTS and self._is_second(place)):
            self.words[place] = word._replace(relation="obl:unmarked")
        elif word.relation in ("ROOT", "parataxis", "conj"):
            clause = next(
                (one for one in below if self.words[one].relation.startswith("acl") and self._is_whole(place, one)), None
            )
            said_of = any(self.words[one].relation in ("cop", *_SUBJECTS) for one in below)  # "that was the day I met her"
            if clause is not None and not said_of:
                self._turn(place, clause)

    def _turn(self, place: int, clause: int) -> None:
        """Let the ``clause`` below the time at ``place`` take its place, and govern it and what is none of its own words."""
        word = self.words[place]
        root = word.head == place
        self.words[clause] = self.words[clause]._replace(relation=word.relation, head=clause if root else word.head)
        if not root:
            self._below[word.head] = sorted([clause if one == place else one for one in self._below[word.head]])
        own = [one for one in self._below[place] if one < place and self.words[one].relation in _WITH_IT]
        for one in {*self._below[place]} - {*own, clause}:
            self.words[one] = self.words[one]._replace(head=clause)
        self.words[place] = word._replace(relation="obl:unmarked", head=clause)
        self._below[clause] = sorted({*self._below[clause], *self._below[place], place} - {*own, clause})
        self._below[place] = own

    def _is_whole(self, time: int, clause: int) -> bool:
        """The word at ``clause``, after the ``time``, heads what could be a sentence: subject, finite verb, no relative word."""
        parts = [one for one in self._below[clause] if one > time]
        subject = any(self.words[one].relation in _SUBJECTS for one in parts if one < clause)
        finite = any(self.words[one].tag in _FINITE for one in (clause, *parts))
        relative = any(self.words[one].tag in _RELATIVE or self.words[one].lemma == "that" for one in parts)
        return subject and finite and not relative

    def _is_second(self, place: int) -> bool:
        """Another subject of the same predicate stands between the word at ``place`` and the predicate."""
        head = self.words[place].head
        return any(place < one < head and self.words[one].relation in _SUBJECTS for one in self._below[head])
