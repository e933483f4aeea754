"""Tails as statements: one wording for what ATOMIC and dialogues word differently."""

from __future__ import annotations

import pytest
from tacit.reasoning.metrics.accent.verbalise import statement


@pytest.mark.parametrize(
    ("tail", "relation", "expected"),
    [
        ("to feed the dog", "xWant", "PersonX feeds the dog"),
        ("PersonX wants to feed the dog", "xWant", "PersonX feeds the dog"),
        ("not to go", "xIntent", "PersonX does not go"),
        ("to thank PersonX", "oWant", "PersonY thanks PersonX"),
        ("happy", "xReact", "PersonX is happy"),
        ("PersonX feels happy", "xReact", "PersonX is happy"),
        ("PersonX be happy", "xAttr", "PersonX is happy"),
        ("grateful", "oReact", "PersonY is grateful"),
        ("gets wet", "xEffect", "PersonX gets wet"),
        ("PersonY gets wet", "oEffect", "PersonY gets wet"),
        ("PersonY gets wet", "xEffect", "PersonY gets wet"),
        ("take a leash", "HasSubEvent", "PersonX takes a leash"),
        ("PersonX has no food", "HinderedBy", "PersonX has no food"),
        ("it be raining", "isAfter", "it be raining"),
        ("PersonX gets wet", "Causes", "PersonX gets wet"),
        ("", "xWant", ""),
        ("breathing", "HasSubEvent", "PersonX is breathing"),
        ("waking up", "HasSubEvent", "PersonX is waking up"),
        ("slowly waking up", "HasSubEvent", "PersonX is slowly waking up"),
        ("not eating", "HasSubEvent", "PersonX is not eating"),
        ("breathing hard", "xEffect", "PersonX is breathing hard"),
        ("singing", "oEffect", "PersonY is singing"),
        ("bring a gift", "HasSubEvent", "PersonX brings a gift"),
        ("sing", "HasSubEvent", "PersonX sings"),
    ],
)
def test_statements(tail: str, relation: str, expected: str) -> None:
    assert statement(tail, relation) == expected
    if expected:
        assert statement(expected, relation) == expected
