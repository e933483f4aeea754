"""Phrases of events: a predicate with its dependents in base form, with participants marked; and the names of participants.

Auxiliaries, connectives and discourse markers are left out and contractions are expanded. A phrase of more than :data:`LONGEST`
words loses its relative clauses first, then its adverbials, so that the event keeps its objects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Literal, NamedTuple

from ....text.parsing import Parse, Word
from ..verb_forms import third_person

# Word lists of the rules: English lemmas in lower case.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MODALITIES = {
    "want": "want", "wanna": "want", "wish": "want", "hope": "want", "plan": "want", "intend": "want", "like": "like",
    "love": "like", "hate": "hate", "prefer": "like", "need": "need", "try": "try", "have": "must", "get": "must", "go": "will",
    "use": "used", "gon": "will", "suppose": "must",
}  # fmt: skip
"""Verbs whose infinitive complement is the event, with the modality that they express."""

ATTITUDES = _words("think believe know guess suppose feel wonder say tell see hear mean remember hope bet agree forget notice")
"""Verbs of thinking and saying."""

NO_EVENTS = _words("thank welcome excuse please sorry congratulate guess suppose bet mean")
"""Verbs of phatic expressions, which state no event."""

PERSON_NOUNS = _words(
    "mom dad mother father mum mommy daddy parent brother sister son daughter wife husband boyfriend girlfriend friend "
    "uncle aunt grandma grandpa grandmother grandfather cousin boss neighbor roommate teacher doctor guy man woman girl boy "
    "kid baby player someone somebody"
)
"""Nouns for persons, who are participants of a tuple."""

MEN = _words("dad father daddy brother son husband boyfriend uncle grandpa grandfather guy man boy")
WOMEN = _words("mom mother mum mommy sister daughter wife girlfriend aunt grandma grandmother woman girl")

FEELINGS = _words(
    "afraid amazed amused angry annoyed anxious ashamed bad better blue bored calm comfortable concerned confident confused "
    "content crazy curious delighted depressed desperate disappointed disgusted down eager ecstatic embarrassed emotional "
    "envious excited exhausted fine free frustrated furious glad good grateful great guilty happy heartbroken helpless "
    "honored hopeful hopeless horrible hungry hurt impressed inspired interested jealous joyful lonely lost lucky mad "
    "miserable nervous nice nostalgic okay overwhelmed pleased positive proud ready regretful relaxed relieved sad "
    "satisfied scared shocked sick sleepy sorry strange stressed surprised terrible terrified thankful thrilled tired "
    "uncomfortable uneasy unhappy upset weird well wonderful worried worse worst"
)
"""Adjectives for feelings."""

EVALUATIONS = _words(
    "amazing awesome awful beautiful best boring brilliant cool crazy cruel cute dangerous difficult easy excellent "
    "exciting fantastic fine fun funny good great hard hilarious horrible impressive incredible interesting lame lovely "
    "marvelous neat nice odd okay perfect pretty reasonable ridiculous rough sad scary shame silly strange stressful super "
    "surprising sweet terrible tough true unbelievable unfortunate unusual weird wild wonderful"
)
"""Adjectives and nouns that evaluate the preceding utterance."""

EXCLAMATIONS = {
    "wow": "surprised", "yay": "happy", "ouch": "hurt", "ugh": "annoyed", "yikes": "scared", "yuck": "disgusted",
    "hooray": "happy",
}  # fmt: skip
"""Interjections, with the feeling that they express."""

THANKS = _words("thank thanks thankyou thanx thx")
"""Expressions of gratitude."""

TIMES = _words(
    "yesterday today tomorrow tonight morning afternoon evening night midnight noon day weekday weekend week month year century "
    "decade hour minute moment time summer winter spring autumn fall monday tuesday wednesday thursday friday saturday sunday "
    "january february april june july august september october november december christmas thanksgiving easter halloween"
)
"""Nouns for times; "may" and "march" are left out, since they are more often verbs."""

DISCOURSE = _words(
    "so then too also just really actually maybe well though however therefore anyway even probably definitely certainly "
    "basically literally honestly absolutely exactly indeed surely perhaps yes yeah no thus still already instead"
)
"""Discourse adverbs, which are not part of the event of their clause."""


# Times at the beginning of a clause ("yesterday I cooked", "this morning I missed the bus") are adverbials, not events.
#
# A small parser may take such a noun for the head of the clause, with the event as its relative clause, for a second subject, or
# for a connective. Its tree is corrected: a noun of time followed by a clause with subject and finite verb becomes an unmarked
# oblique (``obl:unmarked`` in Universal Dependencies) of that clause.

_SUBJECTS = ("nsubj", "nsubj:pass", "csubj", "expl")
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
        elif word.relation == "mark" or (word.relation in _SUBJECTS and self._is_second(index)):
            self.words[index] = word._replace(relation="obl:unmarked")
        elif word.relation in ("ROOT", "parataxis", "conj"):
            clause = next(
                (child for child in below if self.words[child].relation.startswith("acl") and self._is_whole(index, child)), None
            )
            is_clause = any(self.words[child].relation in ("cop", *_SUBJECTS) for child in below)  # "that was the day I met her"
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
        subject = any(self.words[child].relation in _SUBJECTS for child in parts if child < clause)
        finite = any(self.words[child].tag in _FINITE for child in (clause, *parts))
        relative = any(self.words[child].tag in _RELATIVE or self.words[child].lemma == "that" for child in parts)
        return subject and finite and not relative

    def _is_second(self, index: int) -> bool:
        """Whether another subject of the same predicate comes between the word at ``index`` and the predicate."""
        head = self.words[index].head
        return any(index < child < head and self.words[child].relation in _SUBJECTS for child in self._below[head])


# Participants: pronouns of two speakers, and their names PersonX, PersonY and PersonZ.
#
# "I" of one speaker and "you" of the other are one participant; "he", "she" and "they" are further ones. The subject of a tuple's
# head is always PersonX, and others are PersonY and PersonZ in the order in which head and tail mention them, as in the annotated
# tuples of DECO (Ghazarian et al., ACL 2023).

NAMES = ("PersonX", "PersonY", "PersonZ")

Speaker = Literal[0, 1]


class Participant(NamedTuple):
    """A participant in a phrase."""

    who: str  # `0` and `1` for the speakers, else the pronoun or name of a third person
    possessive: bool  # in the genitive
    plain: str  # the word itself, used where no name is left


Phrase = Sequence[str | Participant]

_OWN = {"i": False, "me": False, "myself": False, "we": False, "us": False, "ourselves": False, "my": True, "mine": True,
        "our": True, "ours": True}  # fmt: skip
_OTHER = {"you": False, "yourself": False, "yourselves": False, "ya": False, "u": False, "your": True, "yours": True, "ur": True}
_THIRD = {
    "he": ("he", False), "him": ("he", False), "himself": ("he", False), "his": ("he", True),
    "she": ("she", False), "her": ("she", False), "herself": ("she", False), "hers": ("she", True),
    "they": ("they", False), "them": ("they", False), "themselves": ("they", False), "their": ("they", True),
    "theirs": ("they", True),
}  # fmt: skip


def participant(word: str, speaker: Speaker, *, possessive: bool | None = None) -> Participant | None:
    """Return the participant of a personal pronoun of ``speaker``, else None; ``possessive`` decides ambiguous words ("her")."""
    lower = word.lower()
    if lower in _OWN:
        return Participant(str(speaker), _OWN[lower] if possessive is None else possessive, lower)
    if lower in _OTHER:
        return Participant(str(1 - speaker), _OTHER[lower] if possessive is None else possessive, lower)
    if lower in _THIRD:
        who, owns = _THIRD[lower]
        return Participant(who, owns if possessive is None else possessive, lower)
    return None


def name_participants(phrases: Iterable[Phrase], first: Iterable[str] = ()) -> list[str]:
    """Return the phrases of one tuple with PersonX, PersonY, PersonZ for its participants, those in ``first`` before all
    others."""
    names = dict(zip(dict.fromkeys(first), NAMES, strict=False))
    texts = []
    for phrase in phrases:
        words = []
        for word in phrase:
            if isinstance(word, Participant):
                if word.who not in names and len(names) < len(NAMES):
                    names[word.who] = NAMES[len(names)]
                name = names.get(word.who)
                words.append(word.plain if name is None else f"{name}'s" if word.possessive else name)
            else:
                words.append(word)
        texts.append(" ".join(words))
    return texts


# Phrases out of a parse.

LONGEST = 14
_LIMIT = 80
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

    def passive(self, index: int) -> bool:
        """Whether the predicate at ``index`` is in the passive."""
        if self.child(index, "aux:pass") is not None:
            return True
        return self.words[index].tag == "VBN" and any(
            self.words[c].relation == "aux" and self.words[c].lemma == "be" for c in self.children[index]
        )


def phrase_at(tree: Tree, index: int, speaker: Speaker, apart: Collection[int] = ()) -> Words:
    """Return the predicate in base form with its dependents, without subject, negation, auxiliaries, and predicates ``apart``."""
    words = tree.words
    dropped = {child for child in tree.children[index] if words[child].relation in _LEFT_OUT or _is_filler(tree, child)}
    positions = tree.below(index, dropped, apart)
    for optional in _OPTIONAL:
        if len(positions) <= LONGEST:
            break
        dropped |= {position for position in positions if words[position].relation in optional and position != index}
        positions = tree.below(index, dropped, apart)
    positions = [position for position in positions if words[position].tag not in ("WP", "WRB") or position >= index]
    first = {position for child in positions if tree.is_time_first(child, index) for position in tree.below(child)}
    positions = sorted(positions, key=lambda position: position in first)  # "yesterday I cooked" as "cook yesterday"
    copula = tree.child(index, "cop") is not None
    verb = index if words[index].pos in ("VERB", "AUX") and not copula else None
    rendered = rendered_words(tree, positions, speaker, verb=verb)[:LONGEST]
    return ("be", *rendered) if copula else tuple(rendered)


def subject_at(tree: Tree, index: int, speaker: Speaker) -> tuple[Words, str, bool]:
    """Return the words of the subject at ``index``, its participant or noun, and whether it is a person."""
    head = tree.words[index]
    whom = participant(head.text, speaker) if head.pos == "PRON" else None
    if whom is not None:
        return (whom._replace(possessive=False),), whom.who, True
    if head.pos == "PROPN" or (head.lemma in PERSON_NOUNS and head.pos == "NOUN"):
        return (Participant(head.lemma, False, head.text),), head.lemma, True
    return tuple(rendered_words(tree, tree.below(index), speaker)), head.lemma, False


def rendered_words(tree: Tree, positions: Sequence[int], speaker: Speaker, *, verb: int | None = None) -> list[str | Participant]:
    """Return the words at ``positions``: pronouns as participants, ``verb`` in its base form, contractions expanded."""
    rendered: list[str | Participant] = []
    for index in positions:
        word = tree.words[index]
        lower = word.text.lower().replace("’", "'")
        if index == verb:
            rendered += ["be", lower] if tree.passive(index) else [word.lemma]
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


def _is_filler(tree: Tree, index: int) -> bool:
    """Whether the word at ``index`` negates, or is a discourse marker, and so is not part of the event."""

    word = tree.words[index]
    if word.relation == "advmod":
        if tree.is_degree(index):
            return False
        return word.text.lower() in DENIALS or (word.lemma in DISCOURSE and not tree.children[index])
    return word.relation == "obl" and word.lemma == "way" and any(tree.words[c].lemma == "by" for c in tree.children[index])
