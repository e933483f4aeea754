"""TF-IDF vectors of texts: for duplicates among dialogues, the graph of LexRank, and likeness of answers to a dialogue."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt

Vector = Mapping[str, float]
"""Weights of words; of length 1, or empty for a text without words."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_APOSTROPHE = re.compile(r"\s*['’]\s*(?=(?:m|d|ve|ll|re|s|t)\b)", re.IGNORECASE)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case: runs of letters and digits; ``I ’ ll`` and ``I'll`` are the word ``i'll``."""
    return [word.replace("’", "'") for word in _WORD.findall(_APOSTROPHE.sub("'", text).lower())]


class TfIdf:
    """Weights of words, by the number of texts that have them.

    The weight of a word in a text is its number there times ``log((1 + n) / (1 + df)) + 1``, where ``df`` of ``n`` texts have it;
    vectors are divided by their length.
    """

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        """Count the words of ``texts``, each a list of words."""
        self._number = 0
        self._having: Counter[str] = Counter()
        for words in texts:
            self._number += 1
            self._having.update(set(words))

    def weight(self, word: str) -> float:
        """Return the inverse document frequency of a word, at least 1."""
        return log((1 + self._number) / (1 + self._having[word])) + 1

    def vector(self, words: Sequence[str]) -> dict[str, float]:
        """Return the vector of a text, given as a list of words."""
        weighted = {word: count * self.weight(word) for word, count in Counter(words).items()}
        length = sqrt(sum(weight * weight for weight in weighted.values()))
        return {word: weight / length for word, weight in weighted.items()}


def cosine(first: Vector, second: Vector) -> float:
    """Return the cosine of two vectors of :class:`TfIdf`, in 0..1; 0 where one is empty."""
    if len(second) < len(first):
        first, second = second, first
    return sum(weight * second[word] for word, weight in first.items() if word in second)
