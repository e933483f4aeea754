"""Events in ATOMIC's wording and as keys: by hand, over all human tuples of DECO where they are at hand, and as properties."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph.model import Assertion
from tacit.graph.names import event_uri
from tacit.reasoning.metrics.accent.events import (
    RELATIONS,
    comparison_key,
    head_form,
    head_forms,
    normalise,
    tail_form,
)
from tacit.reasoning.metrics.accent.extractors.phrases import name_participants, participant

from tests.conftest import GraphOf


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (" Person X  likes  PersonY`s dog !", "PersonX likes PersonY's dog"),
        ("PersonX said “stop it”.", "PersonX said stop it"),
        ("PersonX eats _____", "PersonX eats ___"),
        ("x doesn ’t go", "PersonX doesn't go"),
        ("...", ""),
        ("", ""),
    ],
)
def test_punctuation_variants_are_normalised(text: str, wanted: str) -> None:
    assert normalise(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("PersonX be happy", "PersonX is happy"),
        ("PersonX not gets the job", "PersonX does not get the job"),
        ("PersonX not be a cook", "PersonX is not a cook"),
        ("PersonX can't have meat", "PersonX can not have meat"),
        ("PersonX dont care", "PersonX does not care"),
        ("PersonY hope to win", "PersonY hopes to win"),
        ("PersonX never likes rain", "PersonX never likes rain"),
        ("PersonX no longer like rain", "PersonX no longer likes rain"),
        ("PersonX seldom like rain", "PersonX seldom likes rain"),
        ("PersonX not can swim", "PersonX can not swim"),
        ("PersonX not feeling well", "PersonX is not feeling well"),
        ("PersonX does not feels well", "PersonX does not feel well"),
        ("PersonX used to play", "PersonX used to play"),
        ("PersonX see's a dog", "PersonX sees a dog"),
        ("PersonX onx sees a dog", "PersonX sees a dog"),
        ("PersonX bought a brush", "PersonX bought a brush"),
        ("PersonX to copy PersonY", "PersonX to copy PersonY"),
        ("PersonX and PersonY share a room", "PersonX and PersonY share a room"),
        ("the soup be cold", "the soup be cold"),
        ("PersonX's dad be old", "PersonX's dad be old"),
    ],
)
def test_heads_have_the_form_of_atomic(text: str, wanted: str) -> None:
    assert head_form(text) == wanted


@pytest.mark.parametrize(
    ("text", "relation", "wanted"),
    [
        ("PersonX buys a brush", "xIntent", "to buy a brush"),
        ("PersonX wants to buy a brush", "xWant", "to buy a brush"),
        ("PersonX would like to buy a brush", "xIntent", "to buy a brush"),
        ("PersonX intends not to be late", "xIntent", "not to be late"),
        ("PersonY does not lend PersonX a brush", "oWant", "not to lend PersonX a brush"),
        ("PersonX feels great", "xReact", "great"),
        ("PersonY be sad", "oReact", "sad"),
        ("PersonX be a great actor", "xAttr", "a great actor"),
        ("PersonX not be a doctor", "xAttr", "not a doctor"),
        ("PersonX get wet", "xEffect", "gets wet"),
        ("PersonY thanks PersonX", "oEffect", "thanks PersonX"),
        ("PersonX does not tip", "xEffect", "does not tip"),
        ("PersonX reads a book", "HasSubEvent", "read a book"),
        ("PersonX does not feel well", "xReact", "not well"),
        ("to of bought a brush", "xNeed", "to have bought a brush"),
        ("he saves his money", "xNeed", "to save his money"),
        ("PersonX be sick", "HinderedBy", "PersonX is sick"),
        ("PersonX goes out", "isAfter", "PersonX goes out"),
        ("PersonY leaves", "xEffect", "PersonY leaves"),
        ("they go home", "xEffect", "goes home"),
    ],
)
def test_tails_omit_the_words_of_their_relation(text: str, relation: str, wanted: str) -> None:
    assert tail_form(text, relation) == wanted


@pytest.mark.parametrize(
    ("relation", "wordings"),
    [
        ("xWant", ("PersonX buys a brush", "PersonX wants to buy a brush", "to buy a brush", "buy the brush", "buys a brush.")),
        ("xReact", ("PersonX feels happy", "PersonX be happy", "happy", "feels happy", "Happy.")),
        ("xReact", ("PersonX does not feel well", "PersonX not feel well", "not well", "he is not well")),
        ("oReact", ("PersonY feels happy", "PersonY is happy", "they feel happy", "happy")),
        ("xEffect", ("PersonX cleans PersonX's room", "cleans his room", "clean their room")),
        ("HinderedBy", ("PersonX does not have a car", "PersonX doesn't have car", "PersonX not has a car")),
        (None, ("PersonX gets a cat", "PersonX gets the cat", "get cat")),
    ],
)
def test_wordings_of_one_event_have_one_key(relation: str | None, wordings: tuple[str, ...]) -> None:
    assert len({comparison_key(text, relation) for text in wordings}) == 1


@pytest.mark.parametrize(
    ("relation", "first", "other"),
    [
        (None, "PersonX buys a brush", "PersonX bought a brush"),
        ("xEffect", "PersonX goes home", "PersonY goes home"),
        ("xWant", "PersonX wants to go", "PersonX does not want to go"),
        (None, "PersonX likes PersonX's dog", "PersonX likes PersonY's dog"),
    ],
)
def test_different_events_have_different_keys(relation: str | None, first: str, other: str) -> None:
    assert comparison_key(first, relation) != comparison_key(other, relation)


def test_a_graph_may_know_a_head_in_several_wordings() -> None:
    assert head_forms("PersonX not finds a hole") == (
        "PersonX not finds a hole", "PersonX does not find a hole", "PersonX does n't find a hole", "PersonX doesn't find a hole",
        "PersonX does not find hole", "do not find a hole",
    )  # fmt: skip
    assert head_forms("PersonX drives the car")[-1] == "drive the car"
    assert head_forms("") == ()


@pytest.mark.parametrize(
    ("participants", "wanted"),
    [
        ([("I gave you my dog", 1)], ["PersonX gave PersonY PersonX's dog"]),
        ([("you have my baby", 0), ("i owe you", 1)], ["PersonX have PersonY's baby", "PersonX owe PersonY"]),
        ([("she told me", 1), ("i am sad", 1)], ["PersonX told PersonY", "PersonY am sad"]),
        ([("he and she saw them and us", 0)], ["PersonX and PersonY saw PersonZ and us"]),
        ([("the dog barks", 0)], ["the dog barks"]),
    ],
)
def test_the_person_named_first_is_person_x(participants: list[tuple[str, int]], wanted: list[str]) -> None:
    phrases = [[participant(word, 1 if speaker else 0) or word for word in text.split()] for text, speaker in participants]
    assert name_participants(phrases) == wanted


SOME = "PersonX PersonY PersonX's not never buys buy be is wants to feels a the dog happy can't doesn't likes was ___ and they x"
WORDS = st.sampled_from(SOME.split())


@given(st.lists(WORDS, max_size=9).map(" ".join), st.sampled_from(RELATIONS))
def test_normalising_twice_changes_nothing(text: str, relation: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
    assert head_form(head_form(text)) == head_form(text)
    assert bool(comparison_key(text, relation)) == bool(normalise(text))


@given(st.text(max_size=60), st.sampled_from((*RELATIONS, None)))
def test_any_text_is_normalised(text: str, relation: str | None) -> None:
    assert isinstance(comparison_key(text, relation), str)
    assert normalise(head_form(text)) == head_form(text)
    if relation is not None:
        assert isinstance(tail_form(text, relation), str)


def test_all_human_tuples_of_deco(data_dir: Path) -> None:
    with gzip.open(data_dir / "judgements" / "deco-train.json.gz", "rt", encoding="utf-8") as file:
        rows = json.load(file)
    tuples = [tuple(triple) for row in rows for triple in (*row["tuples_single"], *row["tuples_pair"])]
    assert len(tuples) == 307
    for head, relation, tail in tuples:
        for form in (head_form(head), tail_form(tail, relation)):
            assert form
            assert event_uri(form)
            assert "n't" not in form
        assert head_form(head_form(head)) == head_form(head)
        assert tail_form(tail_form(tail, relation), relation) == tail_form(tail, relation)
        key = comparison_key(tail, relation)
        assert comparison_key(key, relation) == key
        assert comparison_key(tail_form(tail, relation), relation) == key
        assert "PersonX be " not in head_form(head)
        own = "PersonY" if relation in ("oWant", "oReact", "oEffect") else "PersonX"
        if tail.startswith(f"{own} ") and relation not in ("HinderedBy", "isAfter"):
            assert not tail_form(tail, relation).startswith("Person")


def test_a_graph_answers_for_heads_in_a_dialogues_wording(graph_of: GraphOf) -> None:
    known = ("PersonX gets a dog", "PersonX does n't find one", "PersonX is afraid of ___", "drink alcohol")
    graph = graph_of(
        Assertion(event_uri(head), "HasSubEvent" if head[0] == "d" else "xWant", event_uri("to sleep"), source="atomic2020")
        for head in known
    )
    heads = ("PersonX get a dog .", "PersonX not finds one", "PersonX be afraid of ____", "PersonX drinks alcohol")
    for head in heads:
        assert any(graph.tails(form) for form in head_forms(head)), head
    assert not any(graph.tails(form) for form in head_forms("PersonX gets a cat"))
