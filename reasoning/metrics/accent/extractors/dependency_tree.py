"""The dependency tree of a turn, with times at the beginning of a clause attached to that clause.

Such times ("yesterday I cooked", "this morning I missed the bus") are adverbials, not events. A small parser may take the noun
for the head of the clause, with the event as its relative clause, for a second subject, or for a connective. The tree is
corrected: a noun of time followed by a clause with subject and finite verb becomes an unmarked oblique (``obl:unmarked`` in
Universal Dependencies) of that clause.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from itertools import accumulate

from ....text.parsing import Parse, Word

_TIME_WORDS = (
    "yesterday today tomorrow tonight morning afternoon evening night midnight noon day weekday weekend week month year century "
    "decade hour minute moment time summer winter spring autumn fall monday tuesday wednesday thursday friday saturday sunday "
    "january february april june july august september october november december christmas thanksgiving easter halloween"
)
TIMES = frozenset(_TIME_WORDS.split())
"""Nouns for times; "may" and "march" are left out, since they are more often verbs."""

SUBJECTS = ("nsubj", "nsubj:pass", "csubj", "nsubj:outer", "csubj:pass")

_LIMIT = 80
_HAVE = frozenset(("have", "has", "had", "having", "'ve", "’ve", "'s", "’s", "ve"))
_SUBJECT_RELATIONS = ("nsubj", "nsubj:pass", "csubj", "expl")
_WITH_IT = frozenset(("det", "amod", "nummod", "nmod", "nmod:poss", "compound", "case"))
_GREETING = frozenset(("good", "happy"))  # "good morning", "happy new year"
_FINITE = ("VBD", "VBP", "VBZ", "MD")
_RELATIVE = ("WDT", "WP", "WRB", "WP$")


def attach_times(parse: Parse) -> Parse:
    """Return ``parse`` with every time at the beginning of a clause attached to that clause; usually unchanged."""
    times = [index for index, word in enumerate(parse) if is_time(word)]
    if not times:
        return parse
    tree = _TimeAttachment(parse)
    for index in times:
        tree.attach(index)
    return tuple(tree.words)


def is_time(word: Word) -> bool:
    """Whether ``word`` is a noun for a time."""
    return word.pos in ("NOUN", "PROPN") and word.lemma in TIMES


def is_time_adverbial(word: Word) -> bool:
    """Whether ``word`` heads a temporal adverbial: a noun of time, or "ago"."""
    return (is_time(word) or (word.lemma == "ago" and word.pos == "ADV")) and word.relation in ("obl:unmarked", "obl", "advmod")


class _TimeAttachment:
    """A parse in which times are attached to other heads."""

    def __init__(self, parse: Parse) -> None:
        self.words = list(parse)
        self._below: list[list[int]] = [[] for _ in parse]
        for index, word in enumerate(parse):
            if word.head != index:
                self._below[word.head].append(index)

    def attach(self, index: int) -> None:
        """Make the time at ``index`` an oblique of its clause, where it was parsed as something else."""
        word, below = self.words[index], self._below[index]
        if any(self.words[child].tag in _RELATIVE for child in below):
            return  # "what time", "what a day"
        if word.relation == "obl:unmarked" and any(self.words[child].lemma in _GREETING for child in below):
            self.words[index] = word._replace(relation="discourse")
        elif word.relation == "mark" or (word.relation in _SUBJECT_RELATIONS and self._is_second(index)):
            self.words[index] = word._replace(relation="obl:unmarked")
        elif word.relation in ("ROOT", "parataxis", "conj"):
            clause = next(
                (child for child in below if self.words[child].relation.startswith("acl") and self._is_whole(index, child)), None
            )
            is_clause = any(
                self.words[child].relation in ("cop", *_SUBJECT_RELATIONS) for child in below
            )  # "that was the day I met her"
            if clause is not None and not is_clause:
                self._turn(index, clause)

    def _turn(self, index: int, clause: int) -> None:
        """Exchange the time at ``index`` with the ``clause`` below it: the clause takes its head and all but its own words."""
        word = self.words[index]
        root = word.head == index
        self.words[clause] = self.words[clause]._replace(relation=word.relation, head=clause if root else word.head)
        if not root:
            self._below[word.head] = sorted([clause if child == index else child for child in self._below[word.head]])
        own = [child for child in self._below[index] if child < index and self.words[child].relation in _WITH_IT]
        for child in {*self._below[index]} - {*own, clause}:
            self.words[child] = self.words[child]._replace(head=clause)
        self.words[index] = word._replace(relation="obl:unmarked", head=clause)
        self._below[clause] = sorted({*self._below[clause], *self._below[index], index} - {*own, clause})
        self._below[index] = own

    def _is_whole(self, time: int, clause: int) -> bool:
        """Whether the word at ``clause``, after the ``time``, heads a sentence: subject, finite verb, no relative word."""
        parts = [child for child in self._below[clause] if child > time]
        subject = any(self.words[child].relation in _SUBJECT_RELATIONS for child in parts if child < clause)
        finite = any(self.words[child].tag in _FINITE for child in (clause, *parts))
        relative = any(self.words[child].tag in _RELATIVE or self.words[child].lemma == "that" for child in parts)
        return subject and finite and not relative

    def _is_second(self, index: int) -> bool:
        """Whether another subject of the same predicate comes between the word at ``index`` and the predicate."""
        head = self.words[index].head
        return any(index < child < head and self.words[child].relation in _SUBJECT_RELATIONS for child in self._below[head])


class Tree:
    """A parse with the children of every word."""

    def __init__(self, parse: Parse) -> None:
        self.words = parse
        self.children: list[list[int]] = [[] for _ in parse]
        for index, word in enumerate(parse):
            if word.head != index:
                self.children[word.head].append(index)

    def child(self, index: int, *relations: str) -> int | None:
        """The first child of ``index`` by one of these relations."""
        return next((child for child in self.children[index] if self.words[child].relation in relations), None)

    def marked(self, index: int, *marks: str) -> bool:
        """Whether ``index`` has one of these lemmas as its mark."""
        return any(self.words[c].relation == "mark" and self.words[c].lemma in marks for c in self.children[index])

    def below(self, index: int, left_out: Collection[int] = (), apart: Collection[int] = ()) -> list[int]:
        """``index`` and its descendants in the order of the text, without the subtrees of ``left_out`` and ``apart``; the 80
        nearest words, which limits the time for very long sentences."""
        indices = [index]
        for parent in indices:
            if len(indices) > _LIMIT:
                break
            indices += [child for child in self.children[parent] if child not in left_out and child not in apart]
        return sorted(indices[:_LIMIT])

    @cached_property
    def last(self) -> list[int]:
        """For every word, the last one of its subtree."""
        last = list(range(len(self.words)))
        order = [index for index, word in enumerate(self.words) if word.head == index]
        for index in order:
            order += self.children[index]
        for index in reversed(order):
            head = self.words[index].head
            last[head] = max(last[head], last[index])
        return last

    def ends(self, index: int) -> bool:
        """Whether the word at ``index`` is the last one of "no longer", "any more" or "anymore"."""
        before, lower = (self.words[at].text.lower() if at >= 0 else "" for at in (index - 1, index))
        adverb = self.words[index].relation == "advmod"
        return (before, lower) == ("no", "longer") or (adverb and (lower == "anymore" or (before, lower) == ("any", "more")))

    def is_degree(self, index: int) -> bool:
        """Whether ``index`` is the "so" of "so late"."""
        word = self.words[index]
        return word.lemma == "so" and word.head == index + 1 and self.words[word.head].pos in ("ADJ", "ADV")

    def is_time_first(self, index: int, predicate: int) -> bool:
        """Whether the word at ``index`` is a temporal adverbial before the subject of ``predicate``."""
        questioned = any(self.words[child].tag in ("WDT", "WP", "WRB") for child in self.children[index])
        when = is_time_adverbial(self.words[index]) and not questioned
        return when and index < predicate and self._subjects[index] < self._subjects[predicate]

    @cached_property
    def _subjects(self) -> list[int]:
        """For every word, the number of subjects up to and including it."""
        return list(accumulate(int(word.relation in SUBJECTS) for word in self.words))

    def has_have(self, index: int) -> bool:
        """Whether the predicate at ``index`` has the auxiliary "have"."""
        return any(self.words[c].relation == "aux" and self.words[c].text.lower() in _HAVE for c in self.children[index])

    def passive(self, index: int) -> bool:
        """Whether the predicate at ``index`` is in the passive."""
        if self.child(index, "aux:pass") is not None:
            return True
        return self.words[index].tag == "VBN" and any(
            self.words[c].relation == "aux" and self.words[c].lemma == "be" for c in self.children[index]
        )
