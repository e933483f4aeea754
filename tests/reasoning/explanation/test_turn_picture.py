"""The picture of answers about a turn: every answer is there once with its edge, nothing overlaps, bad input is refused."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.graph.errors import InputError
from tacit.graph.model import Assertion, FoundPath
from tacit.graph.questions import QUESTIONS, Question
from tacit.reasoning import draw_turns
from tacit.reasoning.explanation.turn_picture import described_turn
from tacit.reasoning.inference import Answer, DialogueAnswers, TurnAnswers

from tests.reasoning.explanation.example_explanations import RELATIONS, SVG, WORDS, boxes, frame, overlaps


def answer(text: str, relation: str = "xWant", origin: str = "graph", backwards: bool = False) -> Answer:
    head, tail = ("/e/PersonX_cooks", f"/e/{text}")[:: -1 if backwards else 1]
    edge = FoundPath((head, tail), (Assertion(head, relation, tail, 1.0, "atomic2020", "test.tsv"),))
    held = origin in ("graph", "nearest")
    return Answer(text, "PersonX cooks", relation, origin, 0.6, backwards=backwards, edge=edge if held else None)


@st.composite
def some_turns(draw: st.DrawFn) -> list[TurnAnswers]:
    origins = st.sampled_from(["graph", "nearest", "comet", "model"])
    answers = st.lists(st.builds(answer, WORDS, st.sampled_from(RELATIONS), origins, st.booleans()), max_size=4)
    questions = draw(st.lists(st.sampled_from(QUESTIONS), unique=True, max_size=5))
    events = st.lists(WORDS, max_size=5).map(tuple)
    texts = st.text(max_size=300)
    return [
        TurnAnswers(
            number, draw(texts), draw(events), {question: tuple(draw(answers)) for question in questions}, "", "infer|v:1"
        )
        for number in range(draw(st.integers(1, 3)))
    ]


@settings(max_examples=30, deadline=None)
@given(some_turns(), st.sampled_from([240, 326, 560, 640, 682, 960]))
def test_labels_do_not_overlap_and_the_picture_is_deterministic(turns: list[TurnAnswers], width: int) -> None:
    svg = draw_turns(turns, width=width)
    rectangles, whole = boxes(svg), frame(svg)
    assert not overlaps(rectangles)
    assert all(box.left > 0 and box.right < whole.right + 0.1 and box.bottom < whole.bottom for box in rectangles)
    assert svg == draw_turns(turns, width=width)
    named = [element.attrib["data-answer"] for element in ElementTree.fromstring(svg).iter(f"{SVG}g")]
    assert sorted(named) == sorted(
        f"{turn.turn} {question} {index}"
        for turn in turns
        for question, answers in turn.answers.items()
        for index in range(len(answers))
    )


COOK = TurnAnswers(
    0,
    "I cook.",
    ("PersonX cooks",),
    {
        Question.CAUSE: (answer("PersonX is hungry", "xEffect", backwards=True),),
        Question.SUBSEQUENT: (answer("to eat"), answer("to rest", origin="nearest"), answer("to sleep", origin="comet")),
        Question.REACTION: (),
    },
    "MATCH",
    "infer|v:1",
)


@pytest.mark.parametrize("width", [320, 600, 960])
def test_every_answer_has_its_source(width: int) -> None:
    svg = COOK.svg(width)
    titles = [element.findtext(f"{SVG}title") for element in ElementTree.fromstring(svg).iter(f"{SVG}g")]
    assert titles == [
        "PersonX is hungry: PersonX is hungry -xEffect-> PersonX cooks",
        "to eat: PersonX cooks -xWant-> to eat",
        "to rest: PersonX cooks -xWant-> to rest (similar event, 0.60)",
        "to sleep: generated (xWant), no edge",
    ]
    texts = [box.text for box in boxes(svg)]
    assert texts.count("no edge") == 1
    assert {"Cause", "Subsequent event", "Reaction", "edge of the event", "edge of a similar event"} <= set(texts)
    assert "Prerequisite" not in texts


def test_arrows_point_from_head_to_tail() -> None:
    def onwards(shown: Answer) -> bool:
        turn = TurnAnswers(0, "I cook.", (), {Question.REACTION: (shown,)})
        [tip] = [
            mark.attrib["d"] for mark in ElementTree.fromstring(turn.svg()).iter(f"{SVG}path") if mark.attrib["d"].endswith("Z")
        ]
        return float(tip[1:].split(" ")[0]) > float(tip.split("L")[1].split(" ")[0])

    assert onwards(answer("to eat"))
    assert not onwards(answer("PersonX is hungry", backwards=True))


def test_screen_readers_get_the_whole_content() -> None:
    description = described_turn(COOK)
    assert description.startswith("Turn 1: I cook. Cause: PersonX is hungry: PersonX is hungry -xEffect-> PersonX cooks.")
    assert description.endswith("Reaction: no edge.")
    assert ElementTree.fromstring(COOK.svg()).findtext(f"{SVG}desc") == description


def test_notebooks_show_one_turn_and_a_dialogue() -> None:
    whole = DialogueAnswers([COOK, TurnAnswers(1, "<b>Yes</b>", (), {Question.CAUSE: ()})])
    assert COOK._repr_svg_() == COOK.svg(800)
    assert "&lt;b&gt;Yes" in (whole._repr_svg_() or "")
    assert 'aria-label="Five questions about 2 turns"' in whole.svg()
    assert DialogueAnswers()._repr_svg_() is None


def test_turns_beyond_the_limit_are_counted() -> None:
    assert "and 2 more turns" in [box.text for box in boxes(draw_turns([COOK] * 5, limit=3))]


def test_errors_are_one_sentence() -> None:
    with pytest.raises(InputError, match="must be from 240 to 2400 pixels, not 100"):
        COOK.svg(100)
    with pytest.raises(InputError, match="no turn to draw; give at least one"):
        draw_turns([])
    with pytest.raises(InputError, match="limit must be from 1 to 50, not 0"):
        draw_turns([COOK], limit=0)
