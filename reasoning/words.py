"""What counts as a word where words are only counted: one definition for every metric that needs the length of a response."""

from __future__ import annotations


def count_words(text: str) -> int:
    """Return how many words a text has: runs without white space that hold a letter or a digit, of any script.

    ``"don't !"`` has one, ``"well - ok"`` two, ``"😀 ..."`` none; a text in a script that sets no blanks is one word.
    """
    return sum(run.isalnum() or any(map(str.isalnum, run)) for run in text.split())
