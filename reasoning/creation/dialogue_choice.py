"""Choice of the dialogues that questions are asked about: neither short nor long, and no duplicates.

The limits are those of Ghosal et al., "CICERO: A Dataset for Contextualized Commonsense Inference in Dialogues" (ACL 2022), which
compared dialogues by a sentence encoder; here the cosine is that of TF-IDF vectors, which finds copies and near copies without a
model.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ...graph.errors import InputError
from ...graph.questions import without_speaker
from .tfidf import TfIdf, cosine, words_of


class Left(StrEnum):
    """Why a dialogue is left out."""

    FEW = "too few turns"
    MANY = "too many turns"
    SHORT = "too few words a turn"
    LONG = "too many words"
    DUPLICATE = "duplicate of an earlier dialogue"


@dataclass(frozen=True, slots=True)
class DialogueLimits:
    """What a dialogue must have."""

    turns: tuple[int, int] = (5, 15)  # least and most turns
    a_turn: float = 6.0  # least mean number of words a turn
    words: int = 275  # most words in all
    # A dialogue with this cosine or a higher one to a chosen dialogue is its duplicate; above 1 there are none.
    cosine: float = 0.87


def choose_dialogues(
    dialogues: Sequence[Sequence[str]], limits: DialogueLimits | None = None, *, progress: Callable[[int], object] | None = None
) -> list[Left | None]:
    """Return for each dialogue the first reason for which it is left out, None for none; of duplicates the first is chosen."""
    limits = limits or DialogueLimits()
    if not limits.cosine > 0:
        raise InputError(f"the cosine of duplicates is {limits.cosine}; give one above 0")
    words = [[words_of(without_speaker(turn)) for turn in turns] for turns in dialogues]
    result = [_size(turn_words, limits) for turn_words in words]
    sound = [
        [word for turn in turn_words for word in turn] for turn_words, reason in zip(words, result, strict=True) if reason is None
    ]
    copies = _copies(sound, limits.cosine)
    for index, reason in enumerate(result):
        if reason is None and next(copies):
            result[index] = Left.DUPLICATE
        if progress is not None:
            progress(1)
    return result


def counts(reasons: Sequence[Left | None]) -> dict[str, int]:
    """Return the number of dialogues left out for each reason."""
    number = Counter(reasons)
    return {reason.value: number[reason] for reason in Left}


def _size(words: Sequence[Sequence[str]], limits: DialogueLimits) -> Left | None:
    total = sum(map(len, words))
    least, most = limits.turns
    if len(words) < least:
        return Left.FEW
    if len(words) > most:
        return Left.MANY
    if total < limits.a_turn * len(words):
        return Left.SHORT
    return Left.LONG if total > limits.words else None


def _copies(texts: Sequence[Sequence[str]], least: float) -> Iterator[bool]:
    """Yield for each text whether its cosine with an earlier one, itself no copy, is ``least`` or more.

    A vector of length 1 whose words outside a set have the length r has at most the cosine r with vectors that lack this set. So
    only texts with one of its rarest words are compared, where its other words have a length below ``least``; none is missed.
    """
    weights = TfIdf(texts)
    vectors: list[dict[str, float]] = []
    having: defaultdict[str, list[int]] = defaultdict(list)
    for text in texts:
        vector = weights.vector(text)
        rare = sorted(vector, key=lambda word: (-weights.weight(word), word))
        remaining, near = 1.0, set[int]()
        for word in rare:
            near.update(having[word])
            remaining -= vector[word] ** 2
            if remaining < least * least - 1e-9:
                break
        copy = any(cosine(vector, vectors[index]) >= least - 1e-12 for index in near)
        if not copy:
            for word in vector:
                having[word].append(len(vectors))
            vectors.append(vector)
        yield copy
