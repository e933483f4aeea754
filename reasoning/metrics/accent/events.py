"""Event tuples, and the normal forms in which their events are written and compared.

ATOMIC's heads are clauses (``PersonX buys a brush``); its tails leave out a subject that the relation implies (``to buy a brush``
for xWant, ``happy`` for xReact). Annotators of dialogues do neither consistently (``PersonX be happy``, ``PersonX not gets it``).
:func:`head_form` and :func:`tail_form` give the graph's wording; :func:`comparison_key` also drops subject, "to", "wants to",
"feels", articles and agreement, so that wordings of one event get one key. Tense is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, Protocol

from ....graph.item import Item
from ....graph.names import normalise_event
from ....graph.schema import shape
from .verb_forms import INVARIABLE, MODALS, base_form, is_gerund, is_past, third_person, verb_place

# Event tuples.

RELATIONS = (
    "xIntent", "xNeed", "xReact", "oReact", "xWant", "oWant", "xAttr", "xEffect", "oEffect", "HinderedBy", "isAfter",
    "HasSubEvent",
)  # fmt: skip
"""The twelve relations of ATOMIC-2020 that ACCENT extracts, in the order in which tuples are returned."""

_PLACE = {relation: position for position, relation in enumerate(RELATIONS)}


class Kind(StrEnum):
    """Where the two events of a tuple come from (Ghazarian et al., ACL 2023, section 3.1).

    Single: both from the response. Pair: the head from the turn before it, the tail from the response.
    """

    SINGLE = "single"
    PAIR = "pair"


@shape()
class Where(NamedTuple):
    """The characters of a dialogue from which an event was extracted.

    Attributes:
        turn: index of the turn of the history, from 0; None for the response.
        start, end: offsets in that text.
    """

    turn: int | None
    start: int
    end: int


@shape()
class EventTuple(NamedTuple):
    """Two events and how the second relates to the first.

    Attributes:
        head: an event with its subject, PersonX, e.g. ``PersonX gets a dog``.
        relation: one of :data:`RELATIONS`.
        tail: an event with its subject: PersonX for relations in x, PersonY for those in o.
        kind: Single or Pair.
        head_at, tail_at: the characters of the events; None where the extractor does not know them.
    """

    head: str
    relation: str
    tail: str
    kind: Kind
    head_at: Where | None = None
    tail_at: Where | None = None


class Extractor(Protocol):
    """Extracts the event tuples of responses; ``signature`` is part of the signature of every score made with it."""

    @property
    def signature(self) -> str:
        """Identifies the extractor; changes whenever the tuples may change."""

    def extract_batch(self, items: Sequence[Item]) -> list[list[EventTuple]]:
        """Return the tuples of each item, ordered by :func:`in_order`; independent of the other items of the batch."""


def in_order(tuples: Iterable[EventTuple]) -> list[EventTuple]:
    """Return distinct ``tuples`` by head, relation and tail, ordered by relation, then as given."""
    first: dict[tuple[str, str, str], EventTuple] = {}
    for event_tuple in tuples:
        first.setdefault(event_tuple[:3], event_tuple)
    return sorted(first.values(), key=lambda event_tuple: _PLACE[event_tuple.relation])


# Normal forms of heads and tails, and comparison keys.

WANTS = frozenset(("xIntent", "xNeed", "xWant", "oWant"))
FEELINGS = frozenset(("xReact", "oReact", "xAttr"))
EFFECTS = frozenset(("xEffect", "oEffect"))
OF_OTHERS = frozenset(("oWant", "oReact", "oEffect"))

_APOSTROPHES = re.compile("[’‘`´]")
_CLITIC = re.compile(r"(?<=\w)\s*'\s*(?=(?:s|m|re|ve|ll|d|t)\b)")
_NEGATION = re.compile(r"(?<=\w)\s+(?=n't\b)")
_END = re.compile(r"[\s.,;:!?…]+$")
_QUOTES = re.compile('["“”]')
_CONTRACTIONS = tuple(
    (re.compile(rf"(?:{pattern})(?![\w'])"), full)
    for pattern, full in (
        (r"\bcan?n't|\bcan't|\bcannot|\bcant", "can not"), (r"\bwo(?:n't|nt)", "will not"), (r"\bshan't", "shall not"),
        (r"\bain't", "is not"), (r"\b(do|does|did|is|are|was|were|would|should|could|have|has)nt", r"\1 not"),
        (r"(?<=\w)n't", " not"), (r"(?<=\w)'m", " am"), (r"(?<=\w)'re", " are"), (r"(?<=\w)'ve", " have"),
        (r"(?<=\w)'ll", " will"), (r"(?<=\w)'d", " would"), (r"\b(it|that|he|she|there|what|who)'s", r"\1 is"),
    )
)  # fmt: skip
_SLIPS = (
    (re.compile(r"\b(get|see|want)'s\b"), r"\1s"), (re.compile(r"\bto of\b"), "to have"), (re.compile(r"(?<=PersonX )onx "), ""),
)  # fmt: skip
"""Frequent slips of ATOMIC's annotators."""
_NOT_THIRD = re.compile(r"\bn't\b")

_PERSON = re.compile(r"^(?:Person[XYZ]|they|he|she|i|you|we|others|people)(?: and Person[XYZ])?$")
_LEADING = frozenset(("and", "but", "or", "so", "then", "also", "because"))
_ARTICLES = frozenset(("a", "an", "the"))
_POSSESSIVES = frozenset(("my", "his", "her", "its", "own"))
_WANTING = re.compile(
    r"^(?:(?:wants?|wanted|likes?|intends?|intended|hopes?|needs?|needed|plans?|tries|wishes) |(?:would|'d) (?:like|love) |"
    r"have to )(?P<negated>not )?to (?=\w)"
)
_FEELING = re.compile(
    r"^(?:(?:do|does) (?=not ))?(?P<denied>not )?"
    r"(?:feels?|felt|be|is|are|am|gets?|becomes?|seems?|looks?|to feel|to be|being|feeling)(?: like)? (?=\w)"
)
_DENIED = re.compile(r"^(?:do not|does not|not) (?:to )?(?=\w)")


def normalise(text: str) -> str:
    """Return an event phrase normalised: ``" Person x likes PersonY`s dog !"`` gives ``PersonX likes PersonY's dog``.
    Idempotent."""
    text = _NEGATION.sub("", _CLITIC.sub("'", _APOSTROPHES.sub("'", _QUOTES.sub(" ", text))))
    while (stripped := _END.sub("", normalise_event(text))) != text:
        text = stripped
    return text


@lru_cache(maxsize=50_000)
def head_form(text: str) -> str:
    """Return an event as ATOMIC writes heads and the tails of HinderedBy and isAfter.

    The verb agrees with a person as subject (``PersonX be happy`` -> ``PersonX is happy``), negation gets its auxiliary
    (``PersonX not gets it`` -> ``PersonX does not get it``) and contractions are expanded. Phrases without a person as subject
    keep their words.
    """
    text = _written_out(normalise(text))
    for slip, meant in _SLIPS:
        text = slip.sub(meant, text)
    subject, words = split_subject(text)
    if not subject or not words:
        return " ".join((*subject, *words))
    agrees = len(subject) == 1 and subject[0].startswith("Person")
    before = verb_place(words)
    verb = words[before]
    if "not" in words[:before] and agrees and (verb not in INVARIABLE or verb in MODALS):
        adverbs = [word for word in words[:before] if word != "not"]
        words = [*adverbs, *_negated(verb), *words[before + 1 :]]
    elif agrees:
        words = [*words[:before], third_person(verb), *words[before + 1 :]]
        if words[before : before + 2] == ["does", "not"]:
            words[before + 2 : before + 3] = map(base_form, words[before + 2 : before + 3])
    return " ".join((*subject, *words))


def _negated(verb: str) -> list[str]:
    """A verb with "not", in the third person."""
    if verb in MODALS or verb in ("was", "had"):
        return [verb, "not"]
    base = base_form(verb)
    if base == "be" or is_gerund(verb):
        return ["is", "not"] if base == "be" else ["is", "not", verb]
    return ["did" if is_past(verb) else "does", "not", base]


def head_forms(text: str) -> tuple[str, ...]:
    """Return the wordings under which a graph may hold the head ``text``, in the order in which they should be tried.

    As normalised, as :func:`head_form` writes it, with the negations of ATOMIC's files (``can n't``), without articles, and
    without its subject in base form, as ConceptNet words events (``buy a brush``).
    """
    full = head_form(text)
    forms = [normalise(text), full]
    if " not " in full:
        forms += [full.replace(" not ", " n't "), full.replace("is not ", "isn't ").replace("does not ", "doesn't ")]
    forms += [" ".join(word for word in form.split() if word not in _ARTICLES) for form in (full,)]
    subject, words = split_subject(full)
    if subject == ["PersonX"] and words:
        forms.append(" ".join((base_form(words[0]), *words[1:])))
    return tuple(dict.fromkeys(form for form in forms if form))


@lru_cache(maxsize=50_000)
def tail_form(text: str, relation: str) -> str:
    """Return an event as ATOMIC writes the tails of ``relation``.

    xIntent, xNeed, xWant, oWant: ``to`` and the base form; xReact, oReact, xAttr: the complement of the verb; xEffect, oEffect:
    the verb in the third person; HasSubEvent: its base form. The subject that the relation implies (PersonX, for oWant, oReact
    and oEffect PersonY) is dropped, any other is kept. HinderedBy, isAfter: :func:`head_form`.
    """
    full = head_form(text)
    words = _without_subject(full, relation)
    if words is None or relation in ("HinderedBy", "isAfter"):
        return full
    phrase = " ".join(words)
    if relation in WANTS:
        base, denied = _DENIED.subn("", _based(_goal(phrase)))
        return f"{'not ' if denied else ''}to {base}"
    if relation in FEELINGS:
        return _FEELING.sub(r"\g<denied>", phrase)
    if relation in EFFECTS:
        if words and split_subject(full)[0]:
            verb = verb_place(words)
            words = [*words[:verb], third_person(words[verb]), *words[verb + 1 :]]
        return " ".join(words)
    return _based(phrase)


@lru_cache(maxsize=200_000)
def comparison_key(text: str, relation: str | None = None) -> str:
    """Return a key that wordings of one event share: ``PersonX buys a brush`` and ``to buy brush`` have the key ``buy brush``.

    ``text`` is a head or, with ``relation``, which implies a subject and verbs such as "wants to" and "feels", a tail. The key is
    in lower case except for persons, without a subject PersonX (for oWant, oReact, oEffect: PersonY), "to" and articles, in the
    present tense without agreement, other tenses unchanged; empty only when ``text`` has no word.
    """
    full = _written_out(normalise(text))
    words = _without_subject(full, relation)
    subject: list[str] = []
    if words is None:
        subject, words = split_subject(full)
    phrase = " ".join(words)
    if relation in WANTS and not subject:
        phrase = _goal(phrase)
    phrase = _based(phrase.removeprefix("to "))
    if relation in FEELINGS and not subject:
        phrase = _based(_FEELING.sub(r"\g<denied>", phrase))
    phrase = " ".join((*subject, _DENIED.sub("not ", phrase)))
    own = "PersonY's" if relation in OF_OTHERS else "PersonX's"
    words = ["their" if word == own or word in _POSSESSIVES else word for word in phrase.split() if word not in _ARTICLES]
    key = " ".join(word for index, word in enumerate(words) if word != "their" or words[index - 1 : index] != ["their"])
    return key or phrase or full


def _written_out(text: str) -> str:
    for pattern, full in _CONTRACTIONS:
        text = pattern.sub(full, text)
    return _NOT_THIRD.sub("not", text)


def split_subject(text: str) -> tuple[list[str], list[str]]:
    """Return the words of a clause's subject when it is a person (``PersonX``, ``they``), and the remaining words."""
    words = text.split()
    for size in (3, 1):
        if len(words) >= size and _PERSON.match(" ".join(words[:size])):
            return words[:size], words[size:]
    return [], words


def _without_subject(text: str, relation: str | None) -> list[str] | None:
    """The words of a clause without the subject that its relation implies; None when it has another subject."""
    words = text.split()
    while len(words) > 1 and words[0] in _LEADING:
        words = words[1:]
    subject, predicate = split_subject(" ".join(words))
    if not subject:
        return words
    of_other = relation in OF_OTHERS
    named = "PersonY" if of_other else "PersonX"
    implied = ("they", "he", "she") if relation else ("they",)
    if subject == [named] or (len(subject) == 1 and not subject[0].startswith("Person") and (of_other or subject[0] in implied)):
        return predicate
    return None


def _goal(phrase: str) -> str:
    """A phrase without a verb of wanting: ``wants to sleep`` -> ``sleep``."""
    match = _WANTING.match(phrase)
    if match:
        phrase = (match["negated"] or "") + phrase[match.end() :]
    return phrase.removeprefix("to ")


def _based(phrase: str) -> str:
    """A verb phrase with its first verb in base form."""
    words = phrase.split()
    before = verb_place(words)
    if words and not words[before].startswith("Person"):
        words[before] = base_form(words[before])
    return " ".join(words)
