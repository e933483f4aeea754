"""Who is PersonX: pronouns of two speakers as participants, and participants as PersonX, PersonY and PersonZ.

"I" of one speaker and "you" of the other are one participant; "he", "she" and "they" are participants of their own. The subject
of a tuple's head is PersonX whoever it is, and further people are PersonY and PersonZ in the order in which head and tail name
them, as the human tuples of DECO have it (Ghazarian et al., ACL 2023).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

NAMES = ("PersonX", "PersonY", "PersonZ")

Speaker = Literal[0, 1]


class Participant(NamedTuple):
    """A person in a phrase.

    Attributes:
        who: ``0`` and ``1`` for the speakers, else the pronoun or name that stands for a third one.
        possessive: it says whose something is; plain: how it is written when there is no name left for it.
    """

    who: str
    possessive: bool
    plain: str


Phrase = Sequence[str | Participant]

_OWN = {"i": False, "me": False, "myself": False, "we": False, "us": False, "ourselves": False, "my": True, "mine": True,
        "our": True, "ours": True}  # fmt: skip
_OTHER = {"you": False, "yourself": False, "yourselves": False, "ya": False, "u": False, "your": True, "yours": True, "ur": True}
_THIRD = {
    "he": ("he", False), "him": ("he", False), "himself": ("he", False), "his": ("he", True),
    "she": ("she", False), "her": ("she", False), "herself": ("she", False), "hers": ("she", True),
    "they": ("they", False), "them": ("they", False), "themselves": ("they", False), "their": ("they", True),
    "theirs": ("they", True),
}  # fmt: skip
_WORD = re.compile(r"[\w'’-]+|[^\w\s]")
_POSSESSIVE = re.compile(r"['’]s?$")


def participant(word: str, speaker: Speaker, *, possessive: bool | None = None) -> Participant | None:
    """Return whom the pronoun ``word`` means when ``speaker`` says it, None when it is no personal pronoun.

    ``possessive`` decides where the word alone does not ("her").
    """
    lower = word.lower()
    if lower in _OWN:
        return Participant(str(speaker), _OWN[lower] if possessive is None else possessive, lower)
    if lower in _OTHER:
        return Participant(str(1 - speaker), _OTHER[lower] if possessive is None else possessive, lower)
    if lower in _THIRD:
        who, owns = _THIRD[lower]
        return Participant(who, owns if possessive is None else possessive, lower)
    return None


def phrase_of(text: str, speaker: Speaker) -> list[str | Participant]:
    """Return the words of ``text``, said by ``speaker``, with its pronouns as participants."""
    return [participant(word, speaker) or word for word in _WORD.findall(text)]


def name_people(phrases: Iterable[Phrase], first: Iterable[str] = ()) -> list[str]:
    """Return the phrases of one tuple as texts: whoever is named first in all of them is PersonX, then PersonY, then PersonZ.

    ``first`` names participants who come before all others.
    """
    names = dict(zip(dict.fromkeys(first), NAMES, strict=False))
    texts = []
    for phrase in phrases:
        words = []
        for word in phrase:
            if isinstance(word, Participant):
                if word.who not in names and len(names) < len(NAMES):
                    names[word.who] = NAMES[len(names)]
                name = names.get(word.who)
                words.append(word.plain if name is None else f"{name}'s" if word.possessive else name)
            else:
                words.append(word)
        texts.append(" ".join(words))
    return texts


def is_possessive(word: str) -> bool:
    """``word`` ends in a possessive mark."""
    return bool(_POSSESSIVE.search(word))
