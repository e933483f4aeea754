"""A tuple as people would read it out: an event, and what is inferred of it, with the relation in words.

``("PersonX burns the toast", "xReact", "annoyed")`` reads "Alex burns the toast" and "As a result, Alex feels annoyed". Wordings
follow the meaning that Hwang et al. (AAAI 2021, table 1) give each relation; people have names, as language models know them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .events import EFFECTS, FEELINGS, OF_OTHERS, head_form, tail_form
from .statements import statement

_OPENINGS = {
    "xIntent": "PersonX does this because", "xReason": "This happens because", "xNeed": "Before this,", "isAfter": "Before this,",
    "xWant": "After this,", "oWant": "After this,", "isBefore": "After this,", "xEffect": "As a result,",
    "oEffect": "As a result,", "Causes": "As a result,", "xReact": "As a result,", "oReact": "As a result,",
    "xAttr": "This shows that", "HasSubEvent": "While doing this,", "HinderedBy": "This does not happen if",
}  # fmt: skip
_VERBS = {
    "xIntent": "wants", "xWant": "wants", "oWant": "wants", "xNeed": "needs", "xReact": "feels", "oReact": "feels", "xAttr": "is",
}  # fmt: skip
_SUBJECT = re.compile(r"(?:Person[XYZ]|the|an?|it|they|s?he) ")
_FINITE = re.compile(
    r"(?:is|are|was|were|can|could|would|will|should|does|do|did|has|have|"
    r"thinks?|wants?|feels?|likes?|loves?|hopes?|knows?|believes?) "
)
_NAMES = {"PersonX": "Alex", "PersonY": "Kim", "PersonZ": "Sam"}
_PERSON = re.compile("|".join(_NAMES))
_LONGEST = 400

READ = frozenset(_OPENINGS)
"""The relations that can be read out: those of ATOMIC-2020 between events."""


@lru_cache(maxsize=50_000)
def reading(head: str, relation: str, tail: str) -> tuple[str, str]:
    """Return the event and the inference of a tuple, each a sentence without its full stop; of what is too long, the beginning.

    ``relation`` is one of :data:`READ`.
    """
    event, inferred = (_named(text).strip(". ")[:_LONGEST] for text in (head_form(head), _inferred(tail, relation)))
    return event[:1].upper() + event[1:], inferred[:1].upper() + inferred[1:]


def _inferred(tail: str, relation: str) -> str:
    opening, form = _OPENINGS[relation], tail_form(tail, relation).strip()
    if _SUBJECT.match(form) and relation != "xAttr":
        return f"{opening} {head_form(form)}"
    if relation == "HasSubEvent":
        return f"{opening} {statement(tail, relation)}"
    if relation not in _VERBS and relation not in EFFECTS:
        return f"{opening} {head_form(tail)}"
    return f"{opening} {'PersonY' if relation in OF_OTHERS else 'PersonX'} {_predicate(form, relation)}"


def _predicate(form: str, relation: str) -> str:
    """What is said of the person that a relation is about."""
    if relation not in _VERBS or (relation in FEELINGS and _FINITE.match(form)):
        return form
    verb = "wants" if relation in FEELINGS and form.startswith(("to ", "not to ")) else _VERBS[relation]
    if form.startswith("not to "):
        return f"does not {verb.removesuffix('s')} {form.removeprefix('not ')}"
    return f"{verb} {form}"


def _named(text: str) -> str:
    return _PERSON.sub(lambda found: _NAMES[found[0]], text)
