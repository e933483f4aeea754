"""Event tuples as English text: tails as statements for sentence encoders, and tuples as sentences for language models.

:func:`statement` turns a tail into a sentence about PersonX. :func:`verbalise` writes a whole tuple:
``("PersonX burns the toast", "xReact", "annoyed")`` becomes "Alex burns the toast" and "As a result, Alex feels annoyed". The
wording follows the meaning that Hwang et al. (AAAI 2021, table 1) give each relation; persons get names, which language models
know better than PersonX. A tail with a subject of its own is kept as a clause; otherwise the relation supplies subject and verb.
Under xReact and oReact every tail except a thought follows "feels", so that a tail that is not a feeling sounds wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from .events import EFFECTS, FEELINGS, OF_OTHERS, WANTS, head_form, split_subject, tail_form
from .verb_forms import base_form, is_adverb, is_noun_phrase, is_past, progressive, third_person, verb_place

# Tails as statements, the wording in which they are embedded: ``to feed the dog`` under xWant becomes ``PersonX feeds the dog``.
#
# Sentence encoders were trained on sentences, and fragments such as ``happy`` embed less well than ``PersonX is happy``. A tail
# has the same statement whether it is worded as in ATOMIC or as in a dialogue.

_ACTS = WANTS | FEELINGS | EFFECTS | {"HasSubEvent"}


@lru_cache(maxsize=200_000)
def statement(tail: str, relation: str) -> str:
    """Return a tail of ``relation`` as a statement about PersonX, or about PersonY where the relation is about others.

    Tails with a subject of their own keep it; tails of relations between whole events (HinderedBy, isAfter …) are clauses.
    """
    if relation not in _ACTS:
        return head_form(tail)
    form = tail_form(tail, relation).strip()
    if form == "to":  # the tail has no other word
        return ""
    subject = "PersonY" if relation in OF_OTHERS else "PersonX"
    if relation in WANTS and (wanted := _wanted(form)):
        return f"{subject} {_wanting(relation)}s {wanted}"
    if form.startswith("Person") or not form:
        return form
    if relation in FEELINGS:
        return f"{subject} {_finite(form) if _FINITE.match(f'{form} ') else f'is {form}'}"
    if is_noun_phrase(form.removeprefix("to ")):
        return form.removeprefix("to ")
    if form.startswith("not ") and relation not in EFFECTS and progressive(form) == form:
        return f"{subject} does not {form.removeprefix('not ').removeprefix('to ')}"
    if relation in EFFECTS and not form.startswith("to "):
        return f"{subject} {progressive(form)}"
    return f"{subject} {_finite(progressive(form.removeprefix('to ')))}"


def _finite(predicate: str) -> str:
    """A predicate with its verb in the third person."""
    words = predicate.split(" ")
    place = verb_place(words)
    return " ".join((*words[:place], third_person(words[place]), *words[place + 1 :]))


def _wanting(relation: str) -> str:
    return "need" if relation == "xNeed" else "want"


def _wanted(form: str) -> str:
    """What a tail of wanting wants or needs that is not an act of its subject: ``a pet``, ``people to come``; else empty, also
    for a statement: ``it is required``."""
    phrase = form.removeprefix("to ").removeprefix("for ")
    subject, words = split_subject(phrase)
    named = bool(subject) and subject[0].startswith("Person")
    wanted = words[:1] == ["to"] or (not named and is_noun_phrase(phrase) and not _STATED.match(phrase))
    return phrase if wanted else ""


# Capitals and agreement. Tuples come in lower case or as they were typed, with verbs in any form (``PersonX hopes PersonY be
# rich``, ``the rules be strict``). Only unambiguous cases are corrected.

_PEOPLE = re.compile(r"(?:person|people)[xyz]\b.*|i", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w&'-]*")
_SINGULAR = {"be": "is", "have": "has", "do": "does"}
_PLURAL = re.compile(r"(?:they|we|you|these|those|people|children|men|women|\w+(?<![sui'])s)", re.IGNORECASE)
_ASKING_WORDS = (
    "will would can could shall should may might must have has had let lets help helps make makes made see sees saw hear hears "
    "watch watches"
)
_ASKING = frozenset(_ASKING_WORDS.split())
_NO_SUBJECT = frozenset(["and", "or", "but", "to", "who", "which", "want", "wants", "out", "up", "all", "na", "gonna", "longer"])
_REACH = 3
"""A base form is kept when a verb that governs one ("makes the dog be quiet") precedes it within this many words."""


def with_capitals(form: str, typed: str) -> str:
    """Return ``form``, a lower-case wording of ``typed``, with the capitals that names (``Sweden``) have in ``typed``.

    A capital at the start of the first word is ignored, unless other capitals follow within the word.
    """
    words = _WORD.findall(typed)
    names = {
        word.lower(): word
        for index, word in enumerate(words)
        if word != word.lower() and not _PEOPLE.fullmatch(word) and (index or word[1:] != word[1:].lower())
    }
    return _WORD.sub(lambda match: names.get(match[0], match[0]), form) if names else form


def agreeing(clause: str) -> str:
    """Return ``clause`` with ``be``, ``have`` and ``do not`` in the present tense, agreeing with the word before them.

    ``PersonX hopes PersonY be rich`` -> ``PersonX hopes PersonY is rich``; ``to be rich`` and ``makes PersonY be quiet`` stay.
    """
    words = clause.split(" ")
    for index in range(1, len(words)):
        subject, base = words[index - 1], words[index]
        inflects = base in ("be", "have") or (base == "do" and words[index + 1 : index + 2] == ["not"])
        if not inflects or subject in _NO_SUBJECT or is_adverb(subject):
            continue
        if _ASKING.isdisjoint(words[max(index - _REACH, 0) : index]) and words[index - 2 : index - 1] != ["and"]:
            plural = "are" if base == "be" else base
            words[index] = plural if _PLURAL.fullmatch(subject) else _SINGULAR[base]
    return " ".join(words)


# Whole tuples as an event and an inference.

_OPENINGS = {
    "xIntent": "PersonX does this because", "xReason": "This happens because", "xNeed": "Before this,", "isAfter": "Before this,",
    "xWant": "After this,", "oWant": "After this,", "isBefore": "After this,", "xEffect": "As a result,",
    "oEffect": "As a result,", "Causes": "As a result,", "xReact": "As a result,", "oReact": "As a result,",
    "xAttr": "This shows that", "HasSubEvent": "While doing this,", "HinderedBy": "This does not happen if",
}  # fmt: skip
_MEANWHILE = "While this happens,"
_CLAUSE = re.compile(r"(?:Person[XYZ]'s|peoplex|the|an?|it|they|s?he|there|this|that) ")
_NOMINATIVE = re.compile(r"(?:they|s?he|there|i|we) ")
_STATED = re.compile(r"(?:(?!to |that |who |what )\S+ ){1,3}(?:is|are|was|were|will|gets?|did|does) ")
_FINITE = re.compile(
    r"(?:is|are|was|were|can|could|would|will|should|does|do|did|has|have|"
    r"thinks?|wants?|feels?|likes|loves|hopes|knows?|believes?) "
)
_FELT = FEELINGS - {"xAttr"}
_LEAVING_OUT = WANTS | FEELINGS | EFFECTS | {"HasSubEvent"}
"""The relations whose tails may leave out their subject."""
# In a tail under a relation of wanting or needing that names its subject: modals that are dropped, verbs that already express a
# wish, verbs that express a plan when "to" follows, and states, which are not needed as actions.
_MODALS = frozenset(("could", "may", "might", "must", "shall", "should", "will", "would"))
_WISHES = frozenset(("can", "hope", "need", "ought", "want", "wish"))
_AIMS = frozenset(("have", "intend", "like", "love", "plan", "try"))
_STATES = frozenset(("hate", "know", "like", "love"))
_NAMES = {"PersonX": "Alex", "PersonY": "Kim", "PersonZ": "Sam", "peoplex": "some people"}
_PERSON = re.compile("|".join(_NAMES))
_LONGEST = 400

Verbalised = tuple[str, str]
"""An event, and an inference from it, each a sentence without its full stop."""
VERBALISED = frozenset(_OPENINGS)
"""The relations that can be verbalised: those of ATOMIC-2020 between events."""


@lru_cache(maxsize=50_000)
def verbalise(head: str, relation: str, tail: str) -> Verbalised:
    """Return the event and the inference of a tuple as sentences, cut after 400 characters each."""
    event, inferred = _named(head_form(head), head), _named(_inferred(tail, relation), tail)
    return event[:1].upper() + event[1:], inferred[:1].upper() + inferred[1:]


def as_prompt(event: str, inferred: str) -> str:
    """Return a verbalised tuple as it is written into prompts of language models."""
    return f"Event: {event}.\nInference: {inferred}."


def _named(form: str, typed: str) -> str:
    named = _PERSON.sub(lambda match: _NAMES[match[0]], with_capitals(form, typed))
    return agreeing(named).replace("can not ", "cannot ").strip(". ")[:_LONGEST]


def _inferred(tail: str, relation: str) -> str:
    opening, clause = _OPENINGS[relation], head_form(tail)
    own = "PersonY" if relation in OF_OTHERS else "PersonX"
    subject, words = split_subject(clause)
    named = " ".join(subject) if words and subject and subject[0].startswith("Person") else ""
    if named and relation in WANTS and (named == own or words[0] == "to"):
        return f"{opening} {named} {_infinitive(words, relation)}"
    if relation in WANTS and not _NOMINATIVE.match(clause) and (wanted := _wanted(tail_form(tail, relation).strip())):
        return f"{opening} {own} {_wanting(relation)}s {wanted}"
    acts = relation in EFFECTS or relation == "HasSubEvent"
    if relation in FEELINGS:
        has_subject = _CLAUSE.match(clause) is not None and relation != "xAttr"
    else:
        has_subject = is_noun_phrase(tail_form(tail, relation) if acts else clause)
    is_clause = named or relation not in _LEAVING_OUT or has_subject
    if is_clause and not (named == own and relation in _FELT):
        meanwhile = relation == "HasSubEvent" and named != own
        return f"{_MEANWHILE if meanwhile else opening} {clause}"
    if relation == "HasSubEvent":
        return f"{opening} {statement(tail, relation)}"
    return f"{opening} {own} {_predicate(tail_form(tail, relation).strip(), relation)}"


def _infinitive(words: Sequence[str], relation: str) -> str:
    """A predicate after "wants to" or "needs to", or unchanged where it states how things are: ``wins``, ``can not win``."""
    needed, phrase, verb = relation == "xNeed", " ".join(words), _wanting(relation)
    if words[0] == "to":
        return f"{verb}s {phrase}"
    denied = words[0] in ("does", "is") and words[1:2] == ["not"] and len(words) > 2
    predicate = (["be"] if words[0] == "is" else []) + list(words[2:]) if denied else list(words)
    index = verb_place(predicate)
    if predicate[index] in _MODALS and predicate[index + 1 : index + 2] not in ([], ["not"]):
        predicate = [*predicate[:index], *predicate[index + 1 :]]
    base = base_form(predicate[index])
    tells = base in _MODALS | _WISHES or is_past(predicate[index]) or (base in _AIMS and "to" in predicate[index + 1 : index + 3])
    if tells or (needed and (denied or base in _STATES)):
        return phrase
    phrase = " ".join([*predicate[:index], base, *predicate[index + 1 :]])
    return f"does not want to {phrase}" if denied else f"{verb}s to {phrase}"


def _predicate(form: str, relation: str) -> str:
    """The predicate of a tail without a subject, with the verb that its relation implies."""

    if relation in EFFECTS:
        return _finite(form.removeprefix("to ")) if form.startswith("to ") else progressive(form)
    if relation in FEELINGS and _FINITE.match(f"{form} "):
        return form
    if relation in FEELINGS and not form.startswith(("to ", "not to ")):
        felt = form.removeprefix("not ")
        states, denies = ("is", "is not") if relation == "xAttr" else ("feels", "does not feel")
        return f"{states if felt == form else denies} {felt}"
    verb = _wanting(relation)
    return f"does not {verb} {form.removeprefix('not ')}" if form.startswith("not to ") else f"{verb}s {form}"
