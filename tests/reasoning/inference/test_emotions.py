"""Feelings as emotions: each word has one, denials have the opposite, and each emotion a valence."""

from __future__ import annotations

import pytest
from tacit.reasoning.inference.emotions import EMOTIONS, emotion_of, valence


def test_every_word_has_one_emotion() -> None:
    words = [word for name, others in EMOTIONS.items() for word in (name, *others)]
    assert len(words) == len(set(words))
    assert {emotion_of(word) for word in words} == set(EMOTIONS)


@pytest.mark.parametrize(
    ("text", "emotion"),
    [
        ("gleeful", "happy"), ("a little annoyed", "annoyed"), ("feels not happy", "sad"),
        ("The listener isn't worried.", "relieved"),
        ("didn't feel happy", "sad"), ("isn’t happy", "sad"), ("cannot be happy", "sad"), ("neither happy nor calm", "sad"),
        ("not angry", None), ("to go home", None), ("", None), ("Surprised and glad", "surprised"),
    ],
)  # fmt: skip
def test_a_phrase_has_the_first_emotion_that_it_names(text: str, emotion: str | None) -> None:
    assert emotion_of(text) == emotion


def test_valence() -> None:
    assert {valence(name) for name in EMOTIONS} == {1, 0, -1}
    assert [valence(name) for name in ("happy", "angry", "surprised")] == [1, -1, 0]
