"""Prompts for writing dialogues: contexts like those of SocialIQA that give two speakers enough to talk about.

Zhou et al., "Commonsense-Focused Dialogues for Response Generation" (SIGDIAL 2021), section 3.2: a context is kept when it has
more than 15 words, or a comma or full stop within it, and the name of a person. Each context is kept once.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from ...graph.errors import InputError

MORE_THAN = 15

#: First names in the contexts of SocialIQA, which replace those of ATOMIC's PersonX and PersonY.
NAMES = frozenset((
    "Addison", "Alex", "Ash", "Aubrey", "Austin", "Bailey", "Cameron", "Carson", "Casey", "Jan", "Jesse", "Jordan", "Kai",
    "Kendall", "Lee", "Quinn", "Remy", "Riley", "Robin", "Sasha", "Skylar", "Sydney", "Taylor", "Tracy",
))  # fmt: skip

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_INNER = re.compile(r"[,.](?=\s*[^\s.,!?\"'’”)])")


class Left(StrEnum):
    """Why a context is left out."""

    BLANK = "blank"
    REPEATED = "repeated"
    SIMPLE = "15 words or fewer, without an inner comma or full stop"
    NAMELESS = "no person's name"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A context: its text with normalised white space, the names in it in order, each once, and why it is left out, or None."""

    text: str
    names: tuple[str, ...]
    left: Left | None


class PromptFilter:
    """Chooses contexts one by one; remembers those that it kept."""

    def __init__(self, names: Collection[str] = NAMES) -> None:
        """Look for ``names``, as written; at the beginning of a context in lower case too."""
        if not names:
            raise InputError("there are no names to look for; give at least one")
        self._names = frozenset(names)
        self._kept: set[str] = set()

    def judge(self, context: str) -> Prompt:
        """Return the context, and why it is left out; the first reason of :class:`Left` that holds is given."""
        text = " ".join(context.split())
        words = _WORD.findall(text)
        named = [*(word[:1].upper() + word[1:] for word in words[:1]), *words[1:]]
        names = tuple(dict.fromkeys(name for word in named if (name := re.sub(r"['’]s?$", "", word)) in self._names))
        key = " ".join(words).lower()
        if not words:
            return Prompt(text, names, Left.BLANK)
        if key in self._kept:
            return Prompt(text, names, Left.REPEATED)
        if len(words) <= MORE_THAN and not _INNER.search(text):
            return Prompt(text, names, Left.SIMPLE)
        if not names:
            return Prompt(text, names, Left.NAMELESS)
        self._kept.add(key)
        return Prompt(text, names, None)
