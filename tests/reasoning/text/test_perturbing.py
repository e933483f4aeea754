"""Responses made worse by rule: what each rule makes of a sentence, and which sentences it leaves alone."""

from __future__ import annotations

import pytest
from tacit.reasoning.text.perturbing import exchange_persons, negated


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("I lost my keys.", "You lost your keys."), ("Are you sure? I am.", "Am I sure? You are."),
        ("You're right, I was wrong", "I'm right, you were wrong"), ("The sea is cold.", ""), ("You’re kind", "I’m kind"),
        ("Thank you!", "Thank me!"), ("I am happy for you.", "You are happy for me."), ("Do you like tea?", "Do I like tea?"),
        ("I want you to go.", "You want me to go."), ("It is hard for you to sleep.", "It is hard for me to sleep."),
        ("You and I were late.", "I and you were late."), ("Were you tired?", "Was I tired?"), ("you ' re right", "I ' m right"),
        ("I was tired and was late.", "You were tired and were late."), ("Are you guys in?", "Are we guys in?"),
        ("Did you hurt yourself?", "Did I hurt myself?"), ("The fault is mine, not yours.", "The fault is yours, not mine."),
        ("They are kind to me.", "They are kind to you."), ("So I said: i know.", "So you said: you know."),
    ],
)  # fmt: skip
def test_first_and_second_person_are_exchanged(text: str, other: str) -> None:
    assert exchange_persons(text) == other


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("It is cold.", "It is not cold."), ("I don't know.", "I do know."), ("That's sweet.", "That's not sweet."),
        ("I like dogs.", "I do not like dogs."), ("We can't go.", "We can go."), ("Hello there!", ""),
        ("It won't rain", "It will rain"), ("It won’t rain", "It will rain"), ("She likes tea.", ""),
    ],
)  # fmt: skip
def test_the_first_auxiliary_of_a_list_is_negated(text: str, other: str) -> None:
    assert negated(text) == other
