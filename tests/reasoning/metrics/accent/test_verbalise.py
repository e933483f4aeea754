"""Tuples read out: each relation by hand, verbs that agree, names with their capitals, bounds."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tacit.reasoning.metrics.accent.events import RELATIONS
from tacit.reasoning.metrics.accent.verb_forms import verb_place
from tacit.reasoning.metrics.accent.verbalise import VERBALISED, agreeing, statement, verbalise, with_capitals


@pytest.mark.parametrize(
    ("triple", "event", "inference"),
    [
        (("PersonX burns the toast", "xReact", "annoyed"), "Alex burns the toast", "As a result, Alex feels annoyed"),
        (("PersonX be hungry", "xWant", "PersonX eats food"), "Alex is hungry", "After this, Alex wants to eat food"),
        (("PersonX gets a job", "xNeed", "to apply"), "Alex gets a job", "Before this, Alex needs to apply"),
        (("PersonX helps PersonY", "oReact", "PersonY feels thankful"), "Alex helps Kim", "As a result, Kim feels thankful"),
        (("PersonX helps PersonY", "oWant", "to thank PersonX"), "Alex helps Kim", "After this, Kim wants to thank Alex"),
        (("PersonX helps PersonY", "xIntent", "to be nice"), "Alex helps Kim", "Alex does this because Alex wants to be nice"),
        (("PersonX helps PersonY", "xAttr", "PersonX be kind"), "Alex helps Kim", "This shows that Alex is kind"),
        (("PersonX loses", "xReact", "does not mind"), "Alex loses", "As a result, Alex does not mind"),
        (("PersonX loses", "xReact", "PersonX does not feel well"), "Alex loses", "As a result, Alex does not feel well"),
        (("PersonX loses", "xAttr", "not strong"), "Alex loses", "This shows that Alex is not strong"),
        (("PersonX loses", "xReact", "like they failed"), "Alex loses", "As a result, Alex feels like they failed"),
        (("PersonX works", "xWant", "them to be there"), "Alex works", "After this, Alex wants them to be there"),
        (("PersonX works", "oWant", "for others to rest"), "Alex works", "After this, Kim wants others to rest"),
        (("PersonX works", "xIntent", "it is required"), "Alex works", "Alex does this because it is required"),
        (("PersonX works", "xNeed", "a desk"), "Alex works", "Before this, Alex needs a desk"),
        (("PersonX works", "xNeed", "to of slept"), "Alex works", "Before this, Alex needs to have slept"),
        (("PersonX works", "xWant", "to no longer be poor"), "Alex works", "After this, Alex wants to no longer be poor"),
        (("PersonX works", "oEffect", "other people are glad"), "Alex works", "As a result, other people are glad"),
        (("PersonX works", "xEffect", "to earn money"), "Alex works", "As a result, Alex earns money"),
        (("PersonX loses", "xReact", "to go home"), "Alex loses", "As a result, Alex wants to go home"),
        (("PersonX loses", "oReact", "not to play again"), "Alex loses", "As a result, Kim does not want to play again"),
        (("PersonX loses", "xNeed", "not to train"), "Alex loses", "Before this, Alex does not need to train"),
        (("PersonX loses", "xWant", "not to play again"), "Alex loses", "After this, Alex does not want to play again"),
        (("PersonX wins", "oEffect", "loses money"), "Alex wins", "As a result, Kim loses money"),
        (("PersonX drives", "HinderedBy", "PersonX has no car"), "Alex drives", "This does not happen if Alex has no car"),
        (("PersonX drives", "isAfter", "PersonX buys a car."), "Alex drives", "Before this, Alex buys a car"),
        (("PersonX cooks", "HasSubEvent", "the oven gets hot"), "Alex cooks", "While this happens, the oven gets hot"),
        (("PersonX cooks", "HasSubEvent", "PersonX uses a pan"), "Alex cooks", "While doing this, Alex uses a pan"),
        (("PersonX cooks", "xEffect", "PersonY gets fed"), "Alex cooks", "As a result, Kim gets fed"),
        (("PersonX wins", "oReact", "PersonY feels it's unfair"), "Alex wins", "As a result, Kim feels it is unfair"),
        (("PersonX wins", "oReact", "they are sad"), "Alex wins", "As a result, they are sad"),
        (("PersonX travels", "xAttr", "PersonX sees many places"), "Alex travels", "This shows that Alex sees many places"),
        (("PersonX travels", "xIntent", "PersonX wants a rest"), "Alex travels", "Alex does this because Alex wants a rest"),
        (("PersonX points", "xNeed", "PersonX doesn't know the word"), "Alex points", "Before this, Alex does not know the word"),
        (
            ("PersonX asks", "oWant", "PersonY not gives PersonX more"),
            "Alex asks",
            "After this, Kim does not want to give Alex more",
        ),
        (("PersonX sits", "xWant", "PersonX not be seen"), "Alex sits", "After this, Alex does not want to be seen"),
        (("PersonX plays", "xNeed", "PersonX likes music"), "Alex plays", "Before this, Alex likes music"),
        (("PersonX plays", "xWant", "PersonX likes music"), "Alex plays", "After this, Alex wants to like music"),
        (("PersonX plays", "xWant", "PersonX never gives up"), "Alex plays", "After this, Alex wants to never give up"),
        (("PersonX plays", "xWant", "PersonX tries to win"), "Alex plays", "After this, Alex tries to win"),
        (("PersonX plays", "oWant", "PersonY would be happy"), "Alex plays", "After this, Kim wants to be happy"),
        (("PersonX plays", "oWant", "PersonX to copy PersonY"), "Alex plays", "After this, Alex wants to copy Kim"),
        (("PersonX rests", "xReact", "PersonX plays chess"), "Alex rests", "As a result, Alex feels plays chess"),
        (("PersonX rests", "xNeed", "PersonX's cold gets better"), "Alex rests", "Before this, Alex's cold gets better"),
        (("PersonX cooks", "HasSubEvent", "PersonY watches"), "Alex cooks", "While this happens, Kim watches"),
        (("PersonX buys", "xEffect", "PeopleX get rich"), "Alex buys", "As a result, some people get rich"),
        (
            ("PersonX visits New York", "xEffect", "PersonX sees the NBA"),
            "Alex visits New York",
            "As a result, Alex sees the NBA",
        ),
        (("PersonX quickly runs", "xEffect", "finally wins"), "Alex quickly runs", "As a result, Alex finally wins"),
        (("PersonX sleeps", "HasSubEvent", "breathing"), "Alex sleeps", "While doing this, Alex is breathing"),
        (("PersonX sleeps", "HasSubEvent", "PersonX breathings"), "Alex sleeps", "While doing this, Alex is breathing"),
        (("PersonX wakings up", "xWant", "to eat"), "Alex is waking up", "After this, Alex wants to eat"),
        (("PersonX waking up", "xEffect", "yawning loudly"), "Alex is waking up", "As a result, Alex is yawning loudly"),
    ],
)
def test_tuples_are_verbalised(triple: tuple[str, str, str], event: str, inference: str) -> None:
    assert verbalise(*triple) == (event, inference)


def test_templates_cover_all_relations_and_shorten_long_texts() -> None:
    assert set(RELATIONS) <= VERBALISED
    event, inference = verbalise("PersonX says " + "a" * 10_000, "xWant", "to say " + "b" * 10_000)
    assert len(event) == len(inference) == 400
    for relation in VERBALISED:
        assert all(
            "Person" not in text and text == text.strip() for text in verbalise("PersonX sings", relation, "PersonY claps")
        )


@pytest.mark.parametrize(
    ("clause", "mended"),
    [
        ("PersonX hopes PersonY be rich", "PersonX hopes PersonY is rich"),
        ("PersonX says PersonY have a car", "PersonX says PersonY has a car"),
        ("the rules be strict", "the rules are strict"),
        ("the bus be late", "the bus is late"),
        ("there be no end", "there is no end"),
        ("the manager do not like it", "the manager does not like it"),
        ("they do not like it", "they do not like it"),
        ("PersonX makes PersonY be quiet", "PersonX makes PersonY be quiet"),
        ("it will be hot", "it will be hot"),
        ("PersonX wants to be seen", "PersonX wants to be seen"),
        ("PersonX can never be late", "PersonX can never be late"),
        ("what PersonX can do", "what PersonX can do"),
        ("PersonX and PersonY have lunch", "PersonX and PersonY have lunch"),
        ("be", "be"),
        ("", ""),
    ],
)
def test_verbs_agree_where_the_reading_is_nearly_certain(clause: str, mended: str) -> None:
    assert agreeing(clause) == mended


@pytest.mark.parametrize(
    ("form", "typed", "expected"),
    [
        ("PersonX goes to sweden", "PersonX goes to Sweden", "PersonX goes to Sweden"),
        ("the red dress", "The red dress", "the red dress"),
        ("nba fans cheer", "NBA fans cheer", "NBA fans cheer"),
        ("PersonX likes PersonY", "personX likes PERSONY", "PersonX likes PersonY"),
        ("PersonX is at mcdonald's", "PersonX is at McDonald's", "PersonX is at McDonald's"),
    ],
)
def test_names_keep_their_capitals(form: str, typed: str, expected: str) -> None:
    assert with_capitals(form, typed) == expected


@pytest.mark.parametrize(
    ("phrase", "index"), [("buys it", 0), ("never quickly buys", 2), ("replies", 0), ("fly home", 0), ("never", 0)]
)
def test_verbs_are_found_after_adverbs(phrase: str, index: int) -> None:
    assert verb_place(phrase.split()) == index


WORDS = (
    "PersonX PersonY PersonX's PeopleX and they the rules dog not never quickly does do is are be have has will would can could "
    "to wants likes hopes tries feels thinks happy buys bought it Sweden"
)
phrases = st.lists(st.sampled_from(WORDS.split()), max_size=7).map(" ".join) | st.text(max_size=60)


@given(phrases, st.sampled_from(sorted(VERBALISED)), phrases)
@example("PersonX does not", "xWant", "PersonX does not")
def test_any_text_is_verbalised(head: str, relation: str, tail: str) -> None:
    event, inference = verbalise(head, relation, tail)
    for text in (event, inference):
        assert len(text) <= 401  # one sign in upper case may be two
        assert text == text.strip(" .")
        assert not re.search("Person[XYZ]|peoplex", text)
    assert inference


# Tails as statements: one wording for what ATOMIC and dialogues word differently.


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
        ("to never trust PersonX", "oWant", "PersonY never trusts PersonX"),
        ("to no longer be sick", "xWant", "PersonX no longer is sick"),
        ("he saves his money", "xNeed", "PersonX saves his money"),
        ("she made friends", "xEffect", "PersonX made friends"),
        ("them to be there", "xWant", "PersonX wants them to be there"),
        ("for people to be entertained", "xIntent", "PersonX wants people to be entertained"),
        ("PersonY to sleep", "xIntent", "PersonX wants PersonY to sleep"),
        ("their bike back", "oWant", "PersonY wants their bike back"),
        ("a court to play on", "xNeed", "PersonX needs a court to play on"),
        ("to be frank", "xEffect", "PersonX is frank"),
        ("his knees are broken", "xEffect", "his knees are broken"),
        ("people laugh", "HasSubEvent", "people laugh"),
        ("not smoke", "HasSubEvent", "PersonX does not smoke"),
        ("does not care", "xReact", "PersonX does not care"),
        ("PersonX does not feel well", "xReact", "PersonX is not well"),
        ("likes to be honest", "xAttr", "PersonX likes to be honest"),
        ("PersonY's attention", "xWant", "PersonX wants PersonY's attention"),
        ("it is required", "xIntent", "it is required"),
    ],
)
def test_statements(tail: str, relation: str, expected: str) -> None:
    assert statement(tail, relation) == expected
    if expected:
        assert statement(expected, relation) == expected
