"""The terms of a turn: its words and its pairs of neighbouring words, in lower case, and where they stand.

A word is a run of letters and digits of any script with the English endings that an apostrophe sets off, written as one:
``don't``, ``do n't`` and ``Don ’ t`` are all ``don't``, since dialogue corpora take words apart in different ways.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

_WORD = re.compile(
    r"[^\W_]+?(?: ?n ?['’] ?t(?![^\W_])| ?['’] ?(?:s|t|d|m|ll|re|ve)(?![^\W_])|(?![^\W_]))", re.IGNORECASE | re.UNICODE
)
_APART = str.maketrans({"’": "'", " ": None})


class Term(NamedTuple):
    """A word, or two with a blank between, and the characters of the text that it takes."""

    text: str
    start: int
    end: int


def words_of(text: str) -> list[Term]:
    """Return the words of a text from left to right, repeated ones too."""
    return [Term(found[0].translate(_APART).lower(), found.start(), found.end()) for found in _WORD.finditer(text)]


def terms_of(text: str) -> list[Term]:
    """Return the distinct terms of a text, each where it stands first: words, then pairs, from left to right."""
    words = words_of(text)
    pairs = (Term(f"{one.text} {two.text}", one.start, two.end) for one, two in pairwise(words))
    first: dict[str, Term] = {}
    for term in (*words, *pairs):
        first.setdefault(term.text, term)
    return list(first.values())
