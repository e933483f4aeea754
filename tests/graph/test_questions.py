"""The five questions, word for word, and instances: what is refused, and the index of the target."""

from __future__ import annotations

from typing import Any

import pytest
from tacit.graph.errors import InputError
from tacit.graph.questions import QUESTIONS, Instance, Question, question_of, target_index, without_speaker

PAPER = [
    "What is or could be the cause of target?",
    "What subsequent event happens or could happen following the target?",
    "What is or could be the prerequisite of target?",
    "What is or could be the motivation of target?",
    "What is the possible emotional reaction of the listener in response to target?",
]
GIVEN: dict[str, Any] = {
    "id": "d-1", "dialogue": ["A: Hi .", "B: Sit down ."], "target": "Sit down .", "question": "cause", "choices": ["a", "b"],
}  # fmt: skip


def test_the_questions_are_those_of_the_paper() -> None:
    assert [question.text for question in QUESTIONS] == PAPER
    assert [question_of(text) for text in PAPER] == list(QUESTIONS)
    assert question_of("  What is or could be\nthe CAUSE of target? ") is Question.CAUSE
    assert question_of("reaction") is Question.REACTION


def test_an_unknown_question_is_one_sentence() -> None:
    with pytest.raises(InputError, match="unknown question 'motivtion'; did you mean motivation"):
        question_of("motivtion")
    with pytest.raises(InputError, match="choose from cause, subsequent, prerequisite, motivation, reaction"):
        question_of("Who did it?")


def test_the_letter_of_a_speaker_is_dropped() -> None:
    assert [without_speaker(turn) for turn in ("A: Hi .", "B:Hi .", "Note: it is late", "Hi .")] == [
        "Hi .", "Hi .", "Note: it is late", "Hi .",
    ]  # fmt: skip


def test_the_target_is_found_by_its_words() -> None:
    dialogue = ["A: Yes .", "B: Why not go ?", "A: Yes .", "B: I like tea , a lot ."]
    assert target_index(dialogue, "Yes .") == 2
    assert target_index(dialogue, "Why not, go?") == 1
    assert target_index(dialogue, "I like tea") == 3
    assert target_index(dialogue, "nothing of this") == 0


def test_an_instance_keeps_its_fields() -> None:
    instance = Instance(**GIVEN, correct=[1, 0, 1], human=[1])
    assert (instance.question, instance.correct, instance.human, instance.target_index) == (Question.CAUSE, (0, 1), (1,), 1)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": 3}, "the ID is not a text"),
        ({"dialogue": []}, "the dialogue is 0 in number; give at least 1"),
        ({"dialogue": "A: Hi ."}, "the dialogue is not a list of texts"),
        ({"dialogue": ["A: Hi .", " "]}, "turn 2 of the dialogue is blank"),
        ({"target": ""}, "the target is blank"),
        ({"question": "Who ?"}, "unknown question 'Who \\?'"),
        ({"question": None}, "the question is not a text"),
        ({"choices": ["a"]}, "the choices are 1 in number; give at least 2"),
        ({"choices": ["a", 5]}, "choice 2 is not a text"),
        ({"choices": ["a", "\ud800"]}, "half a surrogate pair"),
        ({"correct": [2]}, "the correct answers have 2, which is not the number of a choice, 0 to 1"),
        ({"correct": [True]}, "the correct answers have True"),
        ({"correct": 1}, "the correct answers are not a list"),
        ({"human": [-1]}, "the human written answers have -1"),
    ],
)
def test_invalid_instances_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Instance(**GIVEN | changed)
