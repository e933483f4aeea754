"""Tails as statements, the wording in which they are embedded: ``to feed the dog`` under xWant becomes ``PersonX feeds the dog``.

Sentence encoders were trained on sentences; a fragment such as ``happy`` says less to them than ``PersonX is happy``. Whatever
way a tail is worded, as ATOMIC does or as a dialogue does, its statement is the same.
"""

from __future__ import annotations

from functools import lru_cache

from .agreement import progressive, third_person
from .events import EFFECTS, FEELINGS, OF_OTHERS, WANTS, head_form, tail_form

_ACTS = WANTS | FEELINGS | EFFECTS | {"HasSubEvent"}


@lru_cache(maxsize=200_000)
def statement(tail: str, relation: str) -> str:
    """Return a tail of ``relation`` as a statement about PersonX, or about PersonY where the relation is about others.

    Tails with a subject of their own keep it; those of relations between whole events (HinderedBy, isAfter …) are such already.
    """
    if relation not in _ACTS:
        return head_form(tail)
    form = tail_form(tail, relation).strip()
    if form == "to":  # nothing is left of the tail
        return ""
    if form.startswith("Person") or not form:
        return form
    subject = "PersonY" if relation in OF_OTHERS else "PersonX"
    if relation in FEELINGS:
        return f"{subject} is {form}"
    if relation in EFFECTS:
        return f"{subject} {progressive(form)}"
    if form.startswith("not to "):
        return f"{subject} does not {form.removeprefix('not to ')}"
    verb, _, rest = progressive(form.removeprefix("to ")).partition(" ")
    return f"{subject} {third_person(verb)} {rest}".strip()
