"""Turns of a dialogue as text: transcripts for language models, white space, and the number of words."""

from __future__ import annotations

from collections.abc import Sequence

_SPEAKERS = "AB"
NEXT_TURN = f"{_SPEAKERS[0]}:"
"""The beginning of the next turn, which A gives."""
RECENT = 4
"""Turns of history that a responder reads."""


def transcript(turns: Sequence[str], end: str = NEXT_TURN) -> str:
    """Return turns as lines of two speakers, of which B gives the last one, followed by ``end``."""
    lines = [f"{_SPEAKERS[(len(turns) - index) % 2]}: {one_line(turn)}\n" for index, turn in enumerate(turns)]
    return "".join([*lines, end])


def one_line(text: str) -> str:
    """Return a turn with normalised white space."""
    return " ".join(text.split())


def count_words(text: str) -> int:
    """Return the number of words: runs without white space that contain a letter or a digit, of any script.

    ``"don't !"`` has one, ``"well - ok"`` two, ``"😀 ..."`` none. In a script without spaces a whole text is one word.
    """
    return sum(run.isalnum() or any(map(str.isalnum, run)) for run in text.split())
