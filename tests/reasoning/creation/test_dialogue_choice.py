"""Which dialogues are chosen, with counted reasons for the others, and duplicates against comparing all pairs."""

from __future__ import annotations

from math import log, sqrt
from random import Random

import pytest
from tacit.graph.errors import InputError
from tacit.reasoning.creation.dialogue_choice import DialogueLimits, Left, choose_dialogues, counts
from tacit.reasoning.creation.tfidf import TfIdf, cosine, words_of

SIX = "one two three four five six"


def dialogue(turns: int, text: str = SIX) -> list[str]:
    """Return a dialogue unlike others: every turn has a word of its own."""
    return [f"{text} {turns}x{number}" for number in range(turns)]


@pytest.mark.parametrize(
    ("turns", "left"),
    [
        (dialogue(4), Left.FEW),
        (dialogue(5), None),
        (dialogue(15), None),
        (dialogue(16), Left.MANY),
        (["one two three four five"] * 5, Left.SHORT),
        ([*["one two three four five"] * 4, "a b c d e f g h i j"], None),  # 30 words in 5 turns
        (["A: one two , three . four ! five ?"] * 5, Left.SHORT),  # neither speaker nor punctuation is a word
        (["word " * 55] * 5, None),
        ([*["word " * 55] * 4, "word " * 56], Left.LONG),
    ],
)
def test_limits(turns: list[str], left: Left | None) -> None:
    assert choose_dialogues([turns]) == [left]


def test_the_first_of_duplicates_is_chosen() -> None:
    dialogue_of_six = dialogue(6)
    near = [*dialogue_of_six[:5], dialogue_of_six[5] + " seven"]
    assert choose_dialogues([dialogue(3), near, dialogue_of_six, dialogue(7, "a b c d e f")]) == [
        Left.FEW,
        None,
        Left.DUPLICATE,
        None,
    ]
    assert choose_dialogues([near, dialogue_of_six], DialogueLimits(cosine=1.1)) == [None, None]
    assert counts([Left.FEW, None, Left.DUPLICATE])["duplicate of an earlier dialogue"] == 1
    with pytest.raises(InputError, match="give one above 0"):
        choose_dialogues([dialogue_of_six], DialogueLimits(cosine=0))


@pytest.mark.parametrize("least", [0.3, 0.6, 0.87])
def test_duplicates_are_those_found_by_comparing_all_pairs(least: float) -> None:
    rng = Random(1)
    words = [f"w{number}" for number in range(12)]
    rows = [[" ".join(rng.choices(words, k=6)) for _ in range(5)] for _ in range(60)]
    weights = TfIdf(words_of(" ".join(row)) for row in rows)
    distinct: list[dict[str, float]] = []
    expected = []
    for row in rows:
        vector = weights.vector(words_of(" ".join(row)))
        copy = any(cosine(vector, other) >= least for other in distinct)
        expected.append(Left.DUPLICATE if copy else None)
        if not copy:
            distinct.append(vector)
    chosen = choose_dialogues(rows, DialogueLimits(cosine=least))
    assert chosen == expected
    assert None in chosen
    assert Left.DUPLICATE in chosen


def test_weights_by_hand() -> None:
    weights = TfIdf([["dog", "dog", "cat"], ["dog"]])
    cat = log(3 / 2) + 1
    assert weights.weight("dog") == 1.0
    assert weights.weight("cat") == pytest.approx(cat)
    assert weights.vector(["cat", "dog", "dog"]) == pytest.approx(
        {"dog": 2 / sqrt(4 + cat * cat), "cat": cat / sqrt(4 + cat * cat)}
    )
    assert weights.vector([]) == {}
    assert cosine(weights.vector(["dog"]), weights.vector(["dog", "dog"])) == pytest.approx(1)
    assert cosine(weights.vector(["dog"]), {}) == 0


def test_words() -> None:
    assert words_of("I ’ ll go, don't I?  It’s 5.30!") == ["i'll", "go", "don't", "i", "it's", "5", "30"]
