"""A phrase of a tuple as people would write it: names keep their capitals, and verbs agree with whom they are about.

Tuples come in lower case or as they were typed, with verbs in any form (``PersonX hopes PersonY be rich``, ``the rules be
strict``). Only what hardly any reading could doubt is mended.
"""

from __future__ import annotations

import re

from .agreement import is_adverb

_PEOPLE = re.compile(r"(?:person|people)[xyz]\b.*|i", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w&'-]*")
_SINGULAR = {"be": "is", "have": "has", "do": "does"}
_PLURAL = re.compile(r"(?:they|we|you|these|those|people|children|men|women|\w+(?<![sui'])s)", re.IGNORECASE)
_ASKING_WORDS = (
    "will would can could shall should may might must have has had let lets help helps make makes made see sees saw hear hears "
    "watch watches"
)
_ASKING = frozenset(_ASKING_WORDS.split())
_NO_SUBJECT = frozenset(["and", "or", "but", "to", "who", "which", "want", "wants", "out", "up", "all", "na", "gonna"])
_REACH = 3
"""How many words before a base form may ask for it: "makes the dog be quiet"."""


def with_capitals(form: str, typed: str) -> str:
    """Return ``form``, a wording of ``typed`` in lower case, with the capitals of names (``Sweden``, ``NBA``) as they were typed.

    The first word's capital is a sentence's, unless others follow within it.
    """
    words = _WORD.findall(typed)
    names = {
        word.lower(): word
        for place, word in enumerate(words)
        if word != word.lower() and not _PEOPLE.fullmatch(word) and (place or word[1:] != word[1:].lower())
    }
    return _WORD.sub(lambda found: names.get(found[0], found[0]), form) if names else form


def agreeing(clause: str) -> str:
    """Return ``clause`` with ``be``, ``have`` and ``do not`` in the present where they follow who or what they are said of.

    ``PersonX hopes PersonY be rich`` -> ``PersonX hopes PersonY is rich``; ``to be rich`` and ``makes PersonY be quiet`` stay.
    """
    words = clause.split(" ")
    for place in range(1, len(words)):
        subject, base = words[place - 1], words[place]
        inflects = base in ("be", "have") or (base == "do" and words[place + 1 : place + 2] == ["not"])
        if not inflects or subject in _NO_SUBJECT or is_adverb(subject):
            continue
        if _ASKING.isdisjoint(words[max(place - _REACH, 0) : place]) and words[place - 2 : place - 1] != ["and"]:
            plural = "are" if base == "be" else base
            words[place] = plural if _PLURAL.fullmatch(subject) else _SINGULAR[base]
    return " ".join(words)
