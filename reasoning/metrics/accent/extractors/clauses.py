"""Clauses of a parsed turn: subject, predicate, modality, and the connective to another clause.

A clause is a predicate of the dependency tree that makes a statement: a root, a conjoined, adverbial or parenthetical clause, or
the complement of a verb of thinking or saying. Conjoined predicates share a subject; "I don't think it works" negates "it works".
Relations are those of Universal Dependencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from ....lru_cache import LruCache
from ....text.parsing import Parse, Parser
from .dependency_tree import SUBJECTS, Tree, attach_times, is_time
from .phrases import (
    ATTITUDES,
    DENIALS,
    FEELINGS,
    MEN,
    MODALITIES,
    WOMEN,
    Participant,
    Speaker,
    Words,
    participant,
    phrase_at,
    subject_at,
)  # fmt: skip

SpokenTurn = tuple[str, Speaker]
"""A turn and who says it."""

_OWN = frozenset(("ROOT", "conj", "advcl", "parataxis", "acl", "csubj", "advcl:relcl", "ccomp"))
_AUXILIARIES = {"ca": "can", "could": "can", "wo": "will", "'ll": "will", "’ll": "will", "ll": "will", "'d": "would",
                "’d": "would"}  # fmt: skip
_CONNECTIVES = {"cause": "because", "cuz": "because", "since": "because", "as": "because", "though": "but", "although": "but",
                "however": "but", "yet": "but", "till": "until", "once": "when", "whenever": "when", "plus": "and",
                "therefore": "so", "thus": "so", "afterwards": "then", "later": "then", "now": "then"}  # fmt: skip
_LINKING = frozenset(("so", "then", "therefore", "thus", "afterwards", "later", "otherwise", "however", "though"))
_QUESTION_TAGS = frozenset(("WP", "WRB", "WDT"))
_ADVERBIAL = frozenset(("when", "while", "before", "after", "until", "once", "whenever"))
_WEAK = frozenset(("", "and", "to", "that"))


class Aspect(Enum):
    """The words that an event begins with where it is over, did not happen or is only wished for."""

    PLAIN = ()
    USED = ("used", "to")
    PLANNED = ("be", "going", "to")  # "was going to"
    EAGER = ("want", "to")  # "can't wait to"
    COULD_HAVE = ("could", "have")
    SHOULD_HAVE = ("should", "have")
    WOULD_HAVE = ("would", "have")


_UNREAL = {aspect.value[0]: aspect for aspect in (Aspect.COULD_HAVE, Aspect.SHOULD_HAVE, Aspect.WOULD_HAVE)}
_AUXILIARIES_IN_FULL = {"'d": "would", "’d": "would"}


class Mood(Enum):
    """The mood of a clause."""

    STATEMENT = "statement"
    QUESTION = "question"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a turn."""

    subject: Words  # words of the subject; empty when there is none
    who: str  # the participant or noun of the subject; empty when there is none
    person: bool  # the subject is a person
    plural: bool  # it takes a plural verb
    verb: str  # lemma of the verb, `be` for a copula
    core: str  # lemma of the predicate (the adjective or noun after a copula)
    pos: str  # universal part of speech of the predicate
    phrase: Words  # its Aspect, then the verb in base form and its dependents, without subject, negation and other auxiliaries
    aim: Words  # the same without verbs of wanting or trying ("try it" of "want to try it"), nor those words
    denied: bool  # the clause is negated
    ended: bool  # it is negated by "no longer" or "any more"
    modals: frozenset[str]  # auxiliaries and governing verbs of modality ("can", "want", "will")
    mood: Mood  # statement, question or command
    asked: str  # its question word, empty when there is none
    connective: str  # the word that joins it to another clause ("because", "but", "to", "and"), or empty
    other: int | None  # that clause's number in the turn, by default the preceding one, None for the first
    relation: str  # its relation in the tree
    past: bool  # the verb is in a past tense
    sentence: int  # number of its sentence
    start: int  # start, end: its characters
    end: int


def clauses_of(parse: Parse, speaker: Speaker) -> list[Clause]:
    """Return the clauses of a turn of ``speaker``, in the order of their predicates."""
    tree = Tree(attach_times(parse))
    indices = [index for index in range(len(parse)) if _is_predicate(tree, index)]
    known = _Predicates(tree, indices)
    clauses: dict[int, Clause] = {}
    for index in indices:
        for predicate in _chain(known, index, clauses):
            clauses[predicate] = _clause(known, predicate, speaker, clauses)
    return [clauses[index] for index in indices]


class ClauseReader:
    """Reads the clauses of turns by a parser, with an LRU cache."""

    def __init__(self, parser: Parser, *, cache_size: int = 20_000) -> None:
        self.parser = parser
        self._known: LruCache[SpokenTurn, list[Clause]] = LruCache(cache_size)

    def read(self, turns: Sequence[SpokenTurn]) -> list[list[Clause]]:
        """Return the clauses of each turn; new turns are parsed in one batch."""
        known = self._known.get_all(turns, self._parse)
        return [known[turn] for turn in turns]

    def _parse(self, turns: Sequence[SpokenTurn]) -> Iterator[list[Clause]]:
        parses = self.parser.parse_batch([text for text, _ in turns])
        return (clauses_of(parse, speaker) for parse, (_, speaker) in zip(parses, turns, strict=True))


class _Predicates:
    """The predicates of a turn.

    Attributes:
        numbers: of the predicates by place; apart: those that do not belong to the phrase that governs them.
        above: for every word, the nearest predicate above it, None when there is none; before: by sentence, the last predicate of
            the sentences before it.
    """

    def __init__(self, tree: Tree, indices: Sequence[int]) -> None:
        self.tree = tree
        self.numbers = {index: number for number, index in enumerate(indices)}
        self.apart = frozenset(index for index in indices if tree.words[index].relation != "ccomp")
        self.before: dict[int, int] = {}
        for index in indices:
            self.before[tree.words[index].sentence + 1] = index
        self.above: list[int | None] = [None] * len(tree.words)
        order = [index for index, word in enumerate(tree.words) if word.head == index]
        for index in order:
            for child in tree.children[index]:
                self.above[child] = index if index in self.numbers else self.above[index]
                order.append(child)


def _chain(known: _Predicates, index: int, clauses: Mapping[int, Clause]) -> list[int]:
    """``index`` and the predicates above it that are not in ``clauses``, topmost first."""
    chain: list[int] = []
    position: int | None = index
    while position is not None and position not in clauses:
        chain.append(position)
        position = known.above[position]
    return chain[::-1]


def _is_predicate(tree: Tree, index: int) -> bool:
    """Whether the word at ``index`` heads a clause of its own."""
    word = tree.words[index]
    if word.relation not in _OWN or word.pos in ("PUNCT", "SYM"):
        return False
    if word.relation == "ccomp":
        governor = tree.words[word.head].lemma
        return (governor in ATTITUDES or governor in FEELINGS) and tree.child(index, *SUBJECTS) is not None
    if word.relation == "acl":
        return word.tag == "VB" and tree.marked(index, "to")
    if word.tag in _QUESTION_TAGS and tree.child(index, "cop") is None and tree.child(index, *SUBJECTS) is not None:
        return False  # "You what?" asks for a repetition and states no event
    if word.pos in ("VERB", "AUX") or tree.child(index, "cop", *SUBJECTS) is not None:
        return True
    if is_time(word):
        return False
    return word.relation in ("ROOT", "parataxis") or (word.relation == "advcl" and tree.child(index, "mark") is not None)


def _clause(known: _Predicates, index: int, speaker: Speaker, clauses: Mapping[int, Clause]) -> Clause:
    """The clause at ``index``; the one that it depends on is in ``clauses``."""
    tree, words = known.tree, known.tree.words
    word = words[index]
    above = known.above[index]
    parent = None if above is None else clauses[above]
    subject_place = tree.child(index, *SUBJECTS)
    mood = _mood(tree, index, subject_place)
    if offered := _offered(tree, index, mood):
        subject_place, mood = tree.child(index, "obj"), Mood.STATEMENT
    subject, who, person = ((), "", False) if subject_place is None else subject_at(tree, subject_place, speaker)
    if not who and parent is not None and word.relation in ("conj", "advcl", "acl"):
        subject, who, person = parent.subject, parent.who, parent.person
        mood = parent.mood if word.relation == "conj" and mood is Mood.COMMAND else mood
    if not who and mood is Mood.COMMAND:
        addressed = participant("you", speaker)
        subject, who, person = ((), "", False) if addressed is None else ((addressed,), addressed.who, True)
    ended = any(tree.ends(c) for c in tree.children[index])
    denied = _denied(tree, index)
    if parent is not None and word.relation == "ccomp" and parent.denied:
        denied = not denied
    core, aim, modals, aspect = _modality(tree, index if offered is None else offered, denied)
    modals |= {"will"} if offered else set()
    denied = denied and aspect is not Aspect.EAGER
    plural = subject_place is not None and words[subject_place].tag in ("NNS", "NNPS")
    connective, other = _connective(known, index)
    phrase = phrase_at(tree, core, speaker, known.apart, perfect="have" in aspect.value)
    goal = phrase_at(tree, aim, speaker, known.apart)
    if subject_place is None and len(phrase) > 1 and isinstance(phrase[0], Participant) and not phrase[0].possessive:
        subject, who, person = phrase[:1], phrase[0].who, True  # a subject attached to a word below the predicate
        phrase, goal = phrase[1:], goal[1:] if goal == phrase else goal
    phrase = (*aspect.value, *phrase)
    span = tree.below(index, known.numbers)
    content = [position for position in span if words[position].relation not in ("punct", "cc", "mark")] or span
    tags = [words[c].tag for c in tree.children[core] if words[c].relation in ("aux", "cop", "aux:pass")] + [words[core].tag]
    return Clause(
        subject=subject, who=who, person=person, plural=plural, denied=denied, ended=ended and denied, modals=modals, mood=mood,
        verb=_verb(tree, core), core=words[core].lemma, pos=words[core].pos,
        phrase=phrase, aim=goal,
        asked=_question_word(tree, span, index), connective=connective, other=other, relation=word.relation, past="VBD" in tags,
        sentence=word.sentence, start=words[content[0]].start, end=words[content[-1]].end,
    )  # fmt: skip


def _offered(tree: Tree, index: int, mood: Mood) -> int | None:
    """The place of the verb "see" in "let me see"; None for other clauses."""
    if mood is not Mood.COMMAND or tree.words[index].lemma != "let":
        return None
    whom = tree.child(index, "obj")
    own = whom is not None and tree.words[whom].lemma in ("i", "we", "me", "us", "'s")
    return tree.child(index, "xcomp", "ccomp") if own else None


def _verb(tree: Tree, index: int) -> str:
    return "be" if tree.child(index, "cop") is not None or tree.passive(index) else tree.words[index].lemma


def _denied(tree: Tree, index: int) -> bool:
    """Whether a negation belongs to the predicate at ``index``."""
    children = [(tree.words[child].text.lower(), child) for child in tree.children[index]]
    negations = ("advmod", "cc", "cc:preconj")
    return any(
        (text in DENIALS and tree.words[child].relation in negations) or (text == "longer" and tree.ends(child))
        for text, child in children
    )


def _modality(tree: Tree, index: int, denied: bool) -> tuple[int, int, frozenset[str], Aspect]:
    """The place of the event ("go" in "is going to go"), the place of what is wanted, the modalities that govern either, and
    the aspect of the event."""
    words = tree.words
    modals: set[str] = set()
    core = aim = index
    aspect = Aspect.PLAIN
    while True:
        modals |= {
            _AUXILIARIES.get(words[c].text.lower(), words[c].lemma)
            for c in tree.children[aim]
            if words[c].relation == "aux" and words[c].lemma not in ("be", "do", "have", "to")
        }
        inner = tree.child(aim, "xcomp")
        eager = denied and words[aim].lemma == "wait" and "can" in modals
        kind = "want" if eager else MODALITIES.get(words[aim].lemma, "")
        if inner is None or not kind or not (tree.marked(inner, "to") or words[inner].tag == "VB") or _denied(tree, inner):
            break
        if (words[aim].lemma == "go" and words[aim].tag != "VBG") or (kind == "used" and _uses(tree, aim)):
            break
        modals.add(kind)
        if kind == "must" and denied and core == aim:
            break  # "I don't have to go" does not say that I don't go
        if core == aim and (eager or kind in ("will", "must", "used")):
            was = kind == "will" and any(words[c].tag == "VBD" for c in tree.children[aim])
            aspect = Aspect.EAGER if eager else Aspect.USED if kind == "used" else Aspect.PLANNED if was else aspect
            core = inner
        aim = inner
    if aspect is Aspect.PLAIN and tree.has_have(core):
        said = (_AUXILIARIES_IN_FULL.get(words[c].text.lower(), words[c].text.lower()) for c in tree.children[core])
        aspect = next((_UNREAL[text] for text in said if text in _UNREAL), aspect)
    return core, aim, frozenset(modals), aspect


def _uses(tree: Tree, index: int) -> bool:
    """Whether the verb "use" at ``index`` means an instrument ("use it to cook") instead of a habit ("used to cook")."""
    return tree.child(index, "obj") is not None or tree.words[index].tag == "VBG" or tree.passive(index)


def _question_word(tree: Tree, span: Sequence[int], index: int) -> str:
    return next((tree.words[c].lemma for c in span if tree.words[c].tag in ("WP", "WRB", "WDT") and c < index), "")


def _mood(tree: Tree, index: int, subject: int | None) -> Mood:
    """The mood of a clause; a question is recognised by its question mark or its word order."""
    words = tree.words
    word = words[index]
    if word.relation not in ("ROOT", "parataxis", "conj"):
        return Mood.STATEMENT
    last = tree.last[index]
    if "?" in words[last].text or (last + 1 < len(words) and words[last + 1].text == "?"):
        return Mood.QUESTION
    finite = [c for c in tree.children[index] if words[c].relation in ("aux", "cop", "aux:pass")]
    if subject is not None and finite and finite[0] < subject and words[finite[0]].tag in ("VBP", "VBZ", "VBD", "MD"):
        return Mood.QUESTION
    bare = subject is None and tree.child(index, "cop") is None and word.tag == "VB"
    free = not any(words[c].relation in ("mark", "aux") and words[c].lemma != "do" for c in tree.children[index])
    return Mood.COMMAND if bare and free else Mood.STATEMENT


def _connective(known: _Predicates, index: int) -> tuple[str, int | None]:
    """The connective of the clause at ``index``, and the number of the clause that it joins."""
    words = known.tree.words
    word = words[index]
    joined = ""
    for child in known.tree.children[index]:
        relation, lemma = words[child].relation, words[child].lemma
        if (child > index and lemma not in ("then", "though")) or known.tree.is_degree(child):
            continue
        linking = relation == "mark" or relation == "cc" or (relation == "advmod" and lemma in _LINKING)
        if (linking or (word.relation.startswith("advcl") and lemma in _ADVERBIAL)) and joined in _WEAK:
            joined = _CONNECTIVES.get(lemma, lemma)
            if joined == "after" and words[child + 1].lemma in ("that", "this") and words[child + 1].relation == "mark":
                joined = "then"
    governor = known.above[index]
    if governor is None:
        governor = next((known.before[n] for n in range(word.sentence, 0, -1) if n in known.before), None)
    return joined, None if governor is None else known.numbers[governor]


# Coreference of "he" and "she": the last named person of the last two turns, when the pronoun agrees.
#
# "My brother won." – "He is lucky." is about one person, and so are "Cindy" and "she". "They" and "it" are left alone, since most
# third persons of a dialogue are pronouns throughout.

_NEVER = {"he": WOMEN, "she": MEN}
_SPEAKERS = ("0", "1")


def resolved(*turns: Sequence[Clause]) -> list[list[Clause]]:
    """Return the clauses of turns, oldest turn first, with "he" and "she" replaced by the persons that they refer to."""
    known: dict[str, str] = {}
    return [[_resolved(clause, known) for clause in turn] for turn in turns]


def _resolved(clause: Clause, known: dict[str, str]) -> Clause:
    """The clause with its pronouns resolved by ``known``, which is updated with the clause's subject."""
    if known:
        who = known.get(clause.who, clause.who)
        parts = (_resolve_words(words, known) for words in (clause.subject, clause.phrase, clause.aim))
        subject, phrase, aim = parts
        if (who, subject, phrase, aim) != (clause.who, clause.subject, clause.phrase, clause.aim):
            clause = replace(clause, who=who, subject=subject, phrase=phrase, aim=aim)
    if clause.person and clause.who not in _SPEAKERS:
        for pronoun, never in _NEVER.items():
            if clause.who not in ("he", "she", "they") and clause.who not in never:
                known[pronoun] = clause.who
    return clause


def _resolve_words(words: Words, known: dict[str, str]) -> Words:
    return tuple(
        word._replace(who=known[word.who]) if isinstance(word, Participant) and word.who in known else word for word in words
    )
