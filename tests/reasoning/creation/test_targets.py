"""Targets and questions: LexRank against networkx and by hand, numbers by length, shares over many draws."""

from __future__ import annotations

from collections import Counter
from random import Random

import networkx
import numpy as np
import pytest
from tacit.graph.questions import Question
from tacit.reasoning.creation.targets import (
    Kind,
    choose_targets,
    generator,
    lexrank,
    number_of_targets,
    questions_for,
    segments,
    with_speakers,
)  # fmt: skip
from tacit.reasoning.creation.tfidf import TfIdf, words_of

DRAWS = 5_000
DIALOGUE = [
    "We could take the train to the sea",
    "The train to the sea leaves at nine",
    "I'm afraid of the sea",
    "Then the mountains may be the place where the two of us should go instead of the hot and crowded beach",
    "No",
    "No",
    "",
    "All right , I ’ ll buy two tickets",
    "Good",
]


def weights_of(turns: list[str]) -> TfIdf:
    return TfIdf(words_of(turn) for turn in turns)


def test_lexrank_by_hand() -> None:
    """With b for the middle: b = .85 (a + b / 3) + .05 and 2a + b = 1."""
    chain = np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])
    middle = 0.475 / (1 - 0.85 / 3 + 0.425)
    assert lexrank(chain) == pytest.approx([(1 - middle) / 2, middle, (1 - middle) / 2])
    assert lexrank(np.zeros((2, 2))) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("damping", [0.5, 0.85])
def test_lexrank_is_networkx_pagerank(damping: float) -> None:
    likeness = np.random.default_rng(3).random((7, 7))
    likeness = likeness + likeness.T
    likeness[4] = likeness[:, 4] = 0
    graph = networkx.from_numpy_array(likeness)
    expected = networkx.pagerank(graph, alpha=damping, weight="weight", tol=1e-12, max_iter=1_000)
    assert lexrank(likeness, damping=damping) == pytest.approx([expected[index] for index in range(7)], abs=1e-9)


@pytest.mark.parametrize(
    ("turns", "number"), [(1, (2, 3)), (5, (2, 3)), (6, (2, 3)), (7, (3, 5)), (12, (3, 5)), (13, (4, 7)), (15, (4, 7))]
)
def test_numbers_by_length(turns: int, number: tuple[int, int]) -> None:
    assert number_of_targets(turns) == number
    words = [f"{name} {' '.join('abcdefghijklmno'[:index])}" for index, name in enumerate("ABCDEFGHIJKLMNO"[:turns])]
    drawn = {len(choose_targets(words, weights_of(words), Random(seed))) for seed in range(60)}
    assert drawn == (set(range(number[0], number[1] + 1)) if turns > 1 else {1})


def test_segments() -> None:
    assert segments(6) == [range(3), range(3, 6)]
    assert segments(7) == [range(2), range(2, 4), range(4, 7)]
    assert segments(1) == [range(1)]
    assert segments(0) == []


def test_targets_of_a_dialogue() -> None:
    counts = Counter()
    for seed in range(200):
        targets = choose_targets(DIALOGUE, weights_of(DIALOGUE), Random(seed))
        places = [target.turn for target in targets]
        assert places == sorted(set(places))
        assert not {4, 6} & set(places), "a turn that a later one repeats, or without words"
        assert [target.turn for target in targets if target.kind is Kind.LAST] == [8]
        parts = [target.turn // 3 for target in targets if target.kind is Kind.CENTRAL]
        assert len(parts) == len(set(parts)) == len(targets) // 2, "each from another segment"
        kinds = {target.turn: target.kind for target in targets}
        assert 3 in kinds or Kind.OWN not in kinds.values(), "the longest comes first"
        counts.update(kinds.items())
    own = {target_index for target_index, kind in counts if kind is Kind.OWN}
    assert own == {0, 2, 3, 7}, "then those with I'm and I'll, and the next longest where these are taken"
    central = {target_index for target_index, kind in counts if kind is Kind.CENTRAL}
    assert central <= {0, 1, 3, 5, 7}
    assert choose_targets(["", "..."], weights_of(["a"]), Random(0)) == []


def test_shares_of_questions() -> None:
    rng = Random(0)
    number = Counter()
    both = 0
    for _ in range(DRAWS):
        questions = questions_for(Kind.CENTRAL, rng)
        assert list(questions) == sorted(questions, key=list(Question).index)
        number.update(questions)
        both += {Question.CAUSE, Question.PREREQUISITE} <= set(questions)
    shares = {question: count / DRAWS for question, count in number.items()}
    assert shares == pytest.approx({Question.CAUSE: 0.72, Question.SUBSEQUENT: 0.8, Question.PREREQUISITE: 0.4}, abs=0.025)
    assert both / DRAWS == pytest.approx(0.12, abs=0.02)


def test_motivation_and_reaction_follow_the_kind() -> None:
    rng = Random(0)
    for kind in Kind:
        for _ in range(20):
            questions = questions_for(kind, rng)
            assert (Question.MOTIVATION in questions) == (kind is Kind.OWN)
            assert (Question.REACTION in questions) == (kind is Kind.LAST)


def test_speakers_and_generators() -> None:
    assert with_speakers(["Hello", "B: Hi", "Bye"]) == ("A: Hello", "B: B: Hi", "A: Bye")
    assert with_speakers(["A: Hello", "C : Hi"]) == ("A: Hello", "C : Hi")
    assert generator(1, "x").random() == generator(1, "x").random() != generator(2, "x").random()
