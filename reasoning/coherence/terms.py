"""The terms of a turn: its words and its pairs of neighbouring words, in lower case, and where they stand.

A word is a run of letters and digits of any script with the English endings that an apostrophe sets off, written as one:
``don't``, ``do n't`` and ``Don ’ t`` are all ``don't``, since dialogue corpora take words apart in different ways. Marks (``?``,
``!``, full stop, comma) are words where they are asked for: a question calls for another turn than a cheer does.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from ..cache import LruCache

_WORD = re.compile(
    r"[^\W_]+?(?: ?n ?['’] ?t(?![^\W_])| ?['’] ?(?:s|t|d|m|ll|re|ve)(?![^\W_])|(?![^\W_]))", re.IGNORECASE | re.UNICODE
)
_WORD_OR_MARK = re.compile(f"{_WORD.pattern}|[?!.,]", _WORD.flags)
_APART = str.maketrans({"’": "'", " ": None})
_KEPT_TEXTS = 5_000
_LONGEST_KEPT = 1_000


class Term(NamedTuple):
    """A word, or two with a blank between, and the characters of the text that it takes."""

    text: str
    start: int
    end: int


_words: LruCache[tuple[str, bool], tuple[Term, ...]] = LruCache(_KEPT_TEXTS)


def words_of(text: str, *, marks: bool = False) -> list[Term]:
    """Return the words of a text from left to right, repeated ones too; those of the last few thousand texts are remembered."""
    words = _words.get((text, marks))
    if words is None:
        pattern = _WORD_OR_MARK if marks else _WORD
        words = tuple(Term(found[0].translate(_APART).lower(), *found.span()) for found in pattern.finditer(text))
        if len(text) <= _LONGEST_KEPT:
            _words.put((text, marks), words)
    return list(words)


def terms_of(text: str, *, marks: bool = False) -> list[Term]:
    """Return the distinct terms of a text, each where it stands first: words, then pairs, from left to right."""
    words = words_of(text, marks=marks)
    pairs = (Term(f"{one.text} {two.text}", one.start, two.end) for one, two in pairwise(words))
    first: dict[str, Term] = {}
    for term in (*words, *pairs):
        first.setdefault(term.text, term)
    return list(first.values())
