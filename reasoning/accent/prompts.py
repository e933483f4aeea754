"""The prompts of ACCENT's neural extractor, and what its answers say: one layout for training and for asking.

The layout is that of Ghazarian et al. (ACL 2023) and their released code: a clause for the relation, the turns of the history
each closed by ``</UTT>``, the response; the answer is ``event1: <head>; event2: <tail>`` or ``None``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ...graph.errors import InputError
from ...graph.item import Item
from .events import head_form, normalise
from .tuples import EventTuple, Kind

TURN_END = "</UTT>"
NONE = "None"
HISTORIES = ("all", "last")
LEAST_LENGTH = 96
"""Tokens without which a model could not read a clause and some of a response."""

CLAUSES: Mapping[str, str] = MappingProxyType(
    {
        "xIntent": "event2 shows PersonX's intent for event1",
        "xNeed": "event2 needs to be true for event1 to take place",
        "xReact": "event2 shows how PersonX reacts to event1",
        "oReact": "event2 shows how PersonY reacts to event1",
        "xWant": "event2 shows what PersonX wants after event1 happens",
        "oWant": "event2 shows what PersonY wants after event1 happens",
        "xAttr": "event2 shows how PersonX is viewed as after event1",
        "xEffect": "event2 shows the effect of event1 on PersonX",
        "oEffect": "event2 shows the effect of event1 on PersonY",
        "HinderedBy": "event1 fails to happen because event2",
        "isAfter": "event1 happens after event2",
        "HasSubEvent": "event1 includes event2",
    }
)
"""What each of the twelve relations asks for, in the words of the paper."""

_ANSWER = re.compile(r"^\s*event1:(?P<head>.*?);?\s*event2:(?P<tail>.*)$", re.DOTALL)
_WORD = re.compile(r"[a-z]{3,}")


def prompt(relation: str, item: Item, history: str = "all") -> str:
    """Return the input by which a model is asked for ``relation`` in a response after ``all`` turns or the ``last`` one.

    Raises:
        InputError: ``history`` is neither.
    """
    if history not in HISTORIES:
        raise InputError(f"the history is read as {' or '.join(HISTORIES)}, not as {history!r}")
    turns = item.history if history == "all" else item.history[-1:]
    said = "".join(f"{turn}{TURN_END}" for turn in turns)
    return f"Extract event1 and event2 from the text where {CLAUSES[relation]}. Utterance: {said}{item.response}"


def within(item: Item, size: Callable[[str], int], most: int) -> Item:
    """Return an item whose prompts have about ``most`` tokens at most: without its oldest turns, then the end of its response.

    ``size`` tells the tokens of a text; ``most`` is :data:`LEAST_LENGTH` or more.
    """
    room = most - LEAST_LENGTH // 2
    response = _cut(item.response, size, room)
    room -= size(response)
    turns: list[str] = []
    for turn in reversed(item.history):
        room -= size(f"{turn}{TURN_END}")
        if room < 0:
            break
        turns.append(turn)
    return Item(turns[::-1], response, item.references, item.id)


def _cut(text: str, size: Callable[[str], int], most: int) -> str:
    """``text`` up to its first ``most`` tokens, in whole words where it has any."""
    if size(text) <= most:
        return text
    parts = text.split(" ") if " " in text.strip() else list(text)
    joint = " " if " " in text.strip() else ""
    low, high = 0, len(parts)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(joint.join(parts[:middle])) <= most else (low, middle - 1)
    return joint.join(parts[:low])


def answer(head: str, tail: str) -> str:
    """Return the output that stands for a tuple."""
    return f"event1: {head.strip()}; event2: {tail.strip()}"


def read_answer(text: str) -> tuple[str, str] | None:
    """Return head and tail of an output, None when it is ``None`` or of another form."""
    match = _ANSWER.match(text)
    if match is None:
        return None
    head, tail = match["head"].strip(), match["tail"].strip()
    return (head, tail) if normalise(head) and normalise(tail) else None


def as_tuple(relation: str, head: str, tail: str, item: Item) -> EventTuple:
    """Return an answer as a tuple in the graph's wording.

    The model does not say where it read the events: the tuple is *Pair* when more of the head's words are in the turn before than
    in the response.
    """
    words = set(_WORD.findall(head.lower())) - {"person", "personx", "persony", "personz"}
    before = set(_WORD.findall(item.history[-1].lower())) if item.history else set()
    said = set(_WORD.findall(item.response.lower()))
    kind = Kind.PAIR if len(words & before) > len(words & said) else Kind.SINGLE
    return EventTuple(head_form(head), relation, head_form(tail), kind)
