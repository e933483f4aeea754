"""Choice of the turns of a dialogue that questions are asked about, and of their questions, as for CICERO.

Ghosal et al. (ACL 2022): 2 or 3 targets of a dialogue of up to 6 turns, 3 to 5 of one of up to 12, 4 to 7 of a longer one. They
are central turns by LexRank (Erkan and Radev, JAIR 2004) from each segment of the dialogue, turns that are longest or have I'm,
I'd, I've or I'll, and the last turn. What the paper leaves open is decided here and said at :func:`choose_targets` and
:func:`questions_for`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from random import Random

import numpy as np
from numpy.typing import NDArray

from ...graph.questions import Question, target_index, without_speaker
from .tfidf import TfIdf, cosine, words_of

Floats = NDArray[np.float64]

DAMPING = 0.85
"""Share of LexRank's steps that follow an edge; the others go to any turn."""
SUBSEQUENT = 0.8
"""Share of targets with a question about a subsequent event."""
CAUSES = ((0.60, (Question.CAUSE,)), (0.28, (Question.PREREQUISITE,)), (0.12, (Question.CAUSE, Question.PREREQUISITE)))
"""Shares of targets with a question about the cause, the prerequisite, and both."""

_NUMBERS = ((6, 2, 3), (12, 3, 5))
_MANY = (4, 7)
_OWN = re.compile(r"\bI\s?['’]\s?(?:m|d|ve|ll)\b|\bI (?:am|had|would|have|will|shall)\b", re.IGNORECASE)
_LETTER = re.compile(r"[A-Z]\s?:\s*\S")


class Kind(StrEnum):
    """Why a turn is a target: central in its segment by LexRank; longest, or with I'm, I'd, I've, I'll; the last."""

    CENTRAL = "central"
    OWN = "own"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Target:
    """A turn that is asked about: its index, why it was chosen, and the questions."""

    turn: int
    kind: Kind
    questions: tuple[Question, ...]


def lexrank(likeness: Floats, *, damping: float = DAMPING) -> Floats:
    """Return the LexRank of sentences: the stationary distribution of a random walk over their likeness, shape (sentences,).

    Continuous LexRank: the walk goes from a sentence to any, itself included, in proportion to their ``likeness``, >= 0, shape
    (sentences, sentences); with probability 1 - ``damping``, or from a sentence without any likeness, to one at random. By power
    iteration, to 1e-12 in all.
    """
    number = len(likeness)
    totals = likeness.sum(axis=1, keepdims=True)
    walk = np.divide(likeness, totals, out=np.full_like(likeness, 1 / max(number, 1)), where=totals > 0)
    ranks = np.full(number, 1 / max(number, 1))
    for _ in range(1_000):
        following = damping * (ranks @ walk) + (1 - damping) / number
        done = np.abs(following - ranks).sum() < 1e-12
        ranks = following
        if done:
            break
    return ranks


def number_of_targets(turns: int) -> tuple[int, int]:
    """Return the least and the most targets of a dialogue with so many turns."""
    return next(((least, most) for up_to, least, most in _NUMBERS if turns <= up_to), _MANY)


def segments(turns: int) -> list[range]:
    """Return the segments of a dialogue: two of up to 6 turns, three of more, whose lengths differ by at most one."""
    number = min(turns, 2 if turns <= _NUMBERS[0][0] else 3)
    bounds = [turns * index // number for index in range(number + 1)] if number else [0]
    return [range(start, end) for start, end in pairwise(bounds)]


def choose_targets(dialogue: Sequence[str], weights: TfIdf, rng: Random) -> list[Target]:
    """Return the targets of a dialogue in the order of its turns; ``weights`` of the words are for LexRank.

    The number is drawn evenly from :func:`number_of_targets`. The last turn is one. Of the others half, rounded up, are the most
    central of each segment in turn, beginning at a random one; the rest are the longest turn and those with I'm, I'd, I've or
    I'll, longest first, and then the next longest. LexRank is over the whole dialogue. A turn without words, and one whose words
    a later turn repeats, is no target, since the text of a target must name one turn. So short dialogues may have fewer.
    """
    words = [words_of(without_speaker(turn)) for turn in dialogue]
    free = [
        index
        for index, turn_words in enumerate(words)
        if turn_words and target_index(dialogue, without_speaker(dialogue[index])) == index
    ]
    if not free:
        return []
    least, most = number_of_targets(len(dialogue))
    number = least + int(rng.random() * (most - least + 1))
    first = rng.random()
    kinds = {free.pop(): Kind.LAST}
    vectors = [weights.vector(turn_words) for turn_words in words]
    ranks = lexrank(np.array([[cosine(row, column) for column in vectors] for row in vectors], dtype=np.float64))
    central = sorted(free, key=lambda index: (-ranks[index], index))
    parts = [[index for index in central if index in part] for part in segments(len(dialogue))]
    start = int(first * len(parts))
    for turn in range(number // 2):  # half of the number - 1 others, rounded up
        following = [parts[(start + turn + step) % len(parts)] for step in range(len(parts))]
        part = next((part for part in following if part), None)
        if part is not None:
            kinds[part.pop(0)] = Kind.CENTRAL
    longest = max((len(words[index]) for index in free), default=0)
    own = {index for index in free if len(words[index]) == longest or _OWN.search(dialogue[index])}
    for index in sorted(free, key=lambda index: (index not in own, -len(words[index]), index)):
        if len(kinds) >= number:
            break
        kinds.setdefault(index, Kind.OWN)
    return [Target(index, kinds[index], questions_for(kinds[index], rng)) for index in sorted(kinds)]


def questions_for(kind: Kind, rng: Random) -> tuple[Question, ...]:
    """Return the questions about a target, in the paper's order of types.

    A subsequent event is asked of 80% of the targets, whatever their kind. Of each target either the cause (60%), or the
    prerequisite (28%), or both (12%). The motivation of targets that are longest or have I'm, I'd, I've or I'll, and the
    listener's reaction to the last turn, always.
    """
    chosen = {Question.SUBSEQUENT} if rng.random() < SUBSEQUENT else set[Question]()
    drawn = rng.random()
    for share, questions in CAUSES:
        drawn -= share
        if drawn < 0:
            chosen.update(questions)
            break
    else:
        chosen.update(CAUSES[-1][1])  # the shares may add up to a little less than 1
    if kind is Kind.OWN:
        chosen.add(Question.MOTIVATION)
    if kind is Kind.LAST:
        chosen.add(Question.REACTION)
    return tuple(question for question in Question if question in chosen)


def with_speakers(turns: Sequence[str]) -> tuple[str, ...]:
    """Return turns as CICERO writes them: ``A: …`` and ``B: …`` by turns; unchanged where all begin with such a letter."""
    if all(_LETTER.match(turn) for turn in turns):
        return tuple(turns)
    return tuple(f"{'AB'[index % 2]}: {turn}" for index, turn in enumerate(turns))


def generator(seed: int, name: str) -> Random:
    """Return the random generator of a dialogue, so that its targets do not depend on the order of the dialogues."""
    return Random(f"{seed} {name}")
