"""The words of an event: a predicate and what it governs, as a phrase in base form with its people marked.

Auxiliaries, connectives and fillers of talk are left out, contractions are written out, and what is longer than
:data:`LONGEST` words loses its relative clauses first, then what tells circumstances, so that the event keeps its objects.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import accumulate

from ..parsing import Parse
from .agreement import third_person
from .people import Participant, Speaker, participant
from .times import says_when
from .words import DISCOURSE, PEOPLE

LONGEST = 14
_MOST = 80
SUBJECTS = ("nsubj", "nsubj:pass", "csubj", "nsubj:outer", "csubj:pass")
DENIALS = frozenset(("not", "n't", "n’t", "nt", "never", "neither", "hardly"))

_LEFT_OUT = frozenset(
    ("aux", "aux:pass", "cop", "mark", "cc", "punct", "discourse", "vocative", "parataxis", "expl", "dislocated", *SUBJECTS)
)
_OPTIONAL = (("acl:relcl", "acl", "appos"), ("obl:unmarked", "nmod", "obl", "advmod"), ("ccomp",))
_FULL = {"'m": "is", "'re": "are", "'ll": "will", "'ve": "have", "n't": "not", "ca": "can", "wo": "will", "gonna": "going to"}

Words = tuple[str | Participant, ...]


class Tree:
    """A parse with the children of every word."""

    def __init__(self, parse: Parse) -> None:
        self.words = parse
        self.children: list[list[int]] = [[] for _ in parse]
        for place, word in enumerate(parse):
            if word.head != place:
                self.children[word.head].append(place)

    def child(self, place: int, *relations: str) -> int | None:
        """The first child of ``place`` by one of these relations."""
        return next((child for child in self.children[place] if self.words[child].relation in relations), None)

    def marked(self, place: int, *marks: str) -> bool:
        """``place`` has one of these lemmas as its mark."""
        return any(self.words[c].relation == "mark" and self.words[c].lemma in marks for c in self.children[place])

    def below(self, place: int, left_out: Collection[int] = (), apart: Collection[int] = (), most: int = _MOST) -> list[int]:
        """``place`` and what is below it, in the order of the text, without the subtrees of ``left_out`` and ``apart``.

        Of more than ``most`` words those nearest to ``place`` in the tree: sentences without end must not take time without end.
        """
        found = [place]
        for one in found:
            if len(found) > most:
                break
            found += [child for child in self.children[one] if child not in left_out and child not in apart]
        return sorted(found[:most])

    @cached_property
    def last(self) -> list[int]:
        """For every word, the last one of its subtree."""
        last = list(range(len(self.words)))
        order = [place for place, word in enumerate(self.words) if word.head == place]
        for place in order:
            order += self.children[place]
        for place in reversed(order):
            head = self.words[place].head
            last[head] = max(last[head], last[place])
        return last

    def is_degree(self, place: int) -> bool:
        """``place`` is the "so" of "so late"."""
        word = self.words[place]
        return word.lemma == "so" and word.head == place + 1 and self.words[word.head].pos in ("ADJ", "ADV")

    def is_time_first(self, place: int, predicate: int) -> bool:
        """The word at ``place`` tells when something is, and is said before the subject of ``predicate``."""
        asked = any(self.words[child].tag in ("WDT", "WP", "WRB") for child in self.children[place])
        when = says_when(self.words[place]) and not asked
        return when and place < predicate and self._subjects[place] < self._subjects[predicate]

    @cached_property
    def _subjects(self) -> list[int]:
        """For every word, how many subjects stand before it, itself among them."""
        return list(accumulate(int(word.relation in SUBJECTS) for word in self.words))

    def passive(self, place: int) -> bool:
        """The predicate at ``place`` suffers what its verb says."""
        if self.child(place, "aux:pass") is not None:
            return True
        return self.words[place].tag == "VBN" and any(
            self.words[c].relation == "aux" and self.words[c].lemma == "be" for c in self.children[place]
        )


def phrase_at(tree: Tree, place: int, speaker: Speaker, apart: Collection[int] = ()) -> Words:
    """Return the predicate at ``place`` in base form and what it governs, without subject, negation and auxiliaries.

    Args:
        apart: predicates that are events of their own; what is below them is left out.
    """
    words = tree.words
    dropped = {child for child in tree.children[place] if words[child].relation in _LEFT_OUT or _is_filler(tree, child)}
    kept = tree.below(place, dropped, apart)
    for optional in _OPTIONAL:
        if len(kept) <= LONGEST:
            break
        dropped |= {one for one in kept if words[one].relation in optional and one != place}
        kept = tree.below(place, dropped, apart)
    kept = [one for one in kept if words[one].tag not in ("WP", "WRB") or one >= place]
    first = {one for child in kept if tree.is_time_first(child, place) for one in tree.below(child)}
    kept = sorted(kept, key=lambda one: one in first)  # "yesterday I cooked" as "cook yesterday"
    copula = tree.child(place, "cop") is not None
    verb = place if words[place].pos in ("VERB", "AUX") and not copula else None
    rendered = rendered_words(tree, kept, speaker, verb=verb)[:LONGEST]
    return ("be", *rendered) if copula else tuple(rendered)


def subject_at(tree: Tree, place: int, speaker: Speaker) -> tuple[Words, str, bool]:
    """Return the words of the subject at ``place``, who it is, and whether that is a person.

    Pronouns and names are people; so are "my dad" and "the doctor" by :data:`tacit.reasoning.accent.words.PEOPLE`.
    """
    head = tree.words[place]
    whom = participant(head.text, speaker) if head.pos == "PRON" else None
    if whom is not None:
        return (whom._replace(possessive=False),), whom.who, True
    if head.pos == "PROPN" or (head.lemma in PEOPLE and head.pos == "NOUN"):
        return (Participant(head.lemma, False, head.text),), head.lemma, True
    return tuple(rendered_words(tree, tree.below(place), speaker)), head.lemma, False


def rendered_words(tree: Tree, places: Sequence[int], speaker: Speaker, *, verb: int | None = None) -> list[str | Participant]:
    """Return the words at ``places``: pronouns as participants, ``verb`` in its base form, contractions written out."""
    rendered: list[str | Participant] = []
    for place in places:
        word = tree.words[place]
        lower = word.text.lower().replace("’", "'")
        if place == verb:
            rendered += ["be", lower] if tree.passive(place) else [word.lemma]
            continue
        whom = participant(lower, speaker, possessive=word.tag == "PRP$" or None) if word.pos == "PRON" else None
        if whom is not None:
            rendered.append(whom)
        elif word.relation == "punct":
            continue
        elif lower in _FULL:
            rendered.append(_FULL[lower])
        elif lower in ("'s", "'d") and word.pos == "AUX":
            rendered.append({"be": "is", "have": "has"}.get(word.lemma, "would") if lower == "'s" else "would")
        elif word.tag == "VBP" and rendered and isinstance(rendered[-1], Participant):
            rendered.append(third_person(lower))
        elif rendered and lower.startswith("'") and isinstance(rendered[-1], str):
            rendered[-1] += lower
        else:
            rendered.append(word.text if word.pos == "PROPN" else lower)
    return rendered


def _is_filler(tree: Tree, place: int) -> bool:
    """The word at ``place`` denies, or places the clause in the talk, and is no part of its event."""
    word = tree.words[place]
    if word.relation == "advmod":
        if tree.is_degree(place):
            return False
        return word.text.lower() in DENIALS or (word.lemma in DISCOURSE and not tree.children[place])
    return word.relation == "obl" and word.lemma == "way" and any(tree.words[c].lemma == "by" for c in tree.children[place])
