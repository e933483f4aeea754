"""The texts that models of CICERO read and write, word for word, and how what they write is mapped back to choices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph.errors import InputError
from tacit.graph.questions import Instance, Question
from tacit.reasoning.inference.inputs import (
    SUBTASKS,
    Subtask,
    choice_input,
    choice_output,
    generation_examples,
    question_input,
    subtask_of,
    written_choices,
)

TURNS = ["A: A typhoon is coming .", "B: I tape the windows .", "A: Good ."]
CAUSE = Instance("d", TURNS, "I tape the windows .", "cause", ["fear", "fun", "wind"], (0, 2))
AFTER = Instance("d", TURNS, "I tape the windows .", "subsequent", ["they wait", "they go"], (0,), (0,))
CONTEXT = "context: A: A typhoon is coming . <utt> B: I tape the windows . <utt> A: Good ."


def test_inputs_of_the_eight_subtasks_follow_the_paper() -> None:
    cause, after = Question.CAUSE.text, Question.SUBSEQUENT.text
    examples = {example.subtask: example for example in generation_examples([CAUSE, AFTER])}
    assert {name: example.source for name, example in examples.items()} == {
        "cause": rf"{cause} \n target: I tape the windows . \n {CONTEXT}",
        "cause-given-subsequent": rf"{cause} \n target: I tape the windows . \n subsequent event: they wait \n {CONTEXT}",
        "subsequent": rf"{after} \n target: I tape the windows . \n {CONTEXT}",
        "subsequent-clipped": rf"{after} \n target: I tape the windows . \n {CONTEXT.removesuffix(' <utt> A: Good .')}",
        "subsequent-given-cause": rf"{after} \n target: I tape the windows . \n cause: fear \n {CONTEXT}",
    }
    assert examples["cause"].answers == ("fear", "wind")
    assert examples["subsequent"].answers == ("they wait",)
    assert [example.subtask for example in generation_examples([CAUSE])] == ["cause"]
    assert len(SUBTASKS) == 8
    assert subtask_of("subsequent-clipped") is Subtask.CLIPPED
    with pytest.raises(InputError, match="unknown subtask 'effect'; choose from cause, subsequent"):
        subtask_of("effect")


def test_choices_are_read_with_their_numbers() -> None:
    assert choice_input(CAUSE) == (
        rf"{Question.CAUSE.text} \n target: I tape the windows . \n (0) fear (1) fun (2) wind \n {CONTEXT}"
    )
    assert choice_output(["fear", "wind"]) == r"fear \n wind"


def test_a_long_context_loses_turns_and_never_the_target() -> None:
    def read(limit: int) -> str:
        text = question_input(Question.CAUSE, CAUSE.target, TURNS, fits=lambda text: text.count(" <utt> ") < limit)
        return text.partition("context: ")[2]

    assert read(3) == CONTEXT.removeprefix("context: ")
    assert read(2) == "A: A typhoon is coming . <utt> B: I tape the windows ."
    assert read(1) == read(0) == "B: I tape the windows ."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"fear \n wind", (0, 2)),
        ("fear n wind", (0, 2)),  # T5 has no backslash
        ("wind\nfear", (0, 2)),
        ('"fear"', (0,)),
        ("the strong wind outside", (2,)),
        ("FUN", (1,)),
        ("something else", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_generated_texts_are_mapped_to_choices(text: str, expected: tuple[int, ...]) -> None:
    assert written_choices(text, CAUSE.choices) == expected


CHOICE = st.lists(st.sampled_from(["he", "won't", '"go"', "home", "now"]), min_size=1, max_size=5).map(" ".join)


@given(st.lists(CHOICE, min_size=2, max_size=6, unique=True), st.data())
def test_targets_are_the_right_answers(choices: list[str], data: st.DataObject) -> None:
    right = data.draw(st.sets(st.integers(0, len(choices) - 1), min_size=1))
    assert written_choices(choice_output(choices[index] for index in sorted(right)), choices) == tuple(sorted(right))
