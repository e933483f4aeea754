"""Responses made worse by rule: what each rule makes of a sentence, and which sentences it leaves alone."""

from __future__ import annotations

import pytest
from tacit.reasoning.text.perturbing import exchange_persons, negated


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("I lost my keys.", "you lost your keys."), ("Are you sure? I am.", "Are I sure? you are."),
        ("You're right, I was wrong", "I'm right, you were wrong"), ("The sea is cold.", ""), ("You’re kind", "I'm kind"),
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
