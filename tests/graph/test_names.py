"""Names of concepts, events and relations: every spelling of one gives one URI, and a URI gives its text back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph.errors import InputError
from tacit.graph.names import (
    check_relation,
    concept_uri,
    event_uri,
    label_of,
    language_of,
    normalise_event,
    normalise_term,
    text_of,
)
from tacit.graph.relations import ATOMIC_RELATIONS, RELATIONS


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("PersonX eats dinner", "PersonX eats dinner"),
        ("personx Eats  dinner. ", "PersonX eats dinner"),
        ("Person X eats dinner...", "PersonX eats dinner"),
        ("person y settles down", "PersonY settles down"),
        ("PERSONZ waits", "PersonZ waits"),
        ("person_x waits", "PersonX waits"),
        ("to thank x for the admission", "to thank PersonX for the admission"),
        ("X's friend", "PersonX's friend"),
        ("y’s friend", "PersonY’s friend"),
        ("to be enemy with Y", "to be enemy with PersonY"),
        ("PersonXs house", "PersonX's house"),
        ("PersonX takes ___ to PersonY", "PersonX takes ___ to PersonY"),
        ("PersonX takes____to PersonY", "PersonX takes ___ to PersonY"),
        ("PersonX takes _ to PersonY", "PersonX takes ___ to PersonY"),
        ("PersonX takes __", "PersonX takes ___"),
        ("Put towel on her shoulders.", "put towel on her shoulders"),
        ("\tgets  an\u00a0x-ray ", "gets an x-ray"),
        ("gets an x ray", "gets an x ray"),
        ("y'all come", "y'all come"),
        ("xylophone", "xylophone"),
        ("a person yells", "a person yells"),
        ("e\u0301clair", "\u00e9clair"),
        (" . ", ""),
        ("", ""),
    ],
)
def test_spellings_of_an_event_normalise_to_one(written: str, canonical: str) -> None:
    assert normalise_event(written) == canonical
    assert normalise_event(canonical) == canonical


@given(st.text(alphabet=st.sampled_from("xyzXYZ personPERSON_[].'’-\t 1aéÉßİ")) | st.text())
def test_normalising_an_event_twice_changes_nothing(text: str) -> None:
    normal = normalise_event(text)
    assert normalise_event(normal) == normal
    if normal:
        assert text_of(event_uri(text)) == normal
        assert event_uri(normal) == event_uri(text)
        assert label_of(event_uri(text)) == "Event"


@given(st.text(alphabet=st.sampled_from("abAB_/ .'-éİ\t")) | st.text())
def test_a_concept_uri_resolves_to_itself(text: str) -> None:
    try:
        uri = concept_uri(text)
    except InputError:
        assert not normalise_term(text.replace("/", " "))
    else:
        assert concept_uri(text_of(uri)) == uri
        assert uri.count("/") == 3
        assert label_of(uri) == "Concept"


@pytest.mark.parametrize(
    ("text", "uri"),
    [("Hot dog", "/c/en/hot_dog"), (" hot__dog ", "/c/en/hot_dog"), ("and/or", "/c/en/and_or"), ("Café", "/c/en/café")],
)
def test_concepts(text: str, uri: str) -> None:
    assert concept_uri(text) == uri


def test_language_and_text_of_uris() -> None:
    assert language_of(concept_uri("Hund", "de")) == "de"
    assert language_of("/e/PersonX_eats") == "en"
    assert text_of("/e/PersonX_eats_[]") == "PersonX eats ___"


@pytest.mark.parametrize("name", ["", "1st", "Used For", "IsA`) DELETE n //", "a" * 65, "Größe"])
def test_malformed_relations_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="not a relation name"):
        check_relation(name)


@pytest.mark.parametrize("text", ["", " ", "/", "_"])
def test_texts_without_words_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        concept_uri(text)


# The relation table: complete and consistent.


def test_all_relations_of_the_datasets_are_defined() -> None:
    assert len(ATOMIC_RELATIONS) == len(set(ATOMIC_RELATIONS)) == 23
    assert len(RELATIONS) == 66
    assert next(iter(RELATIONS)) == "RelatedTo"
    assert set(ATOMIC_RELATIONS) <= set(RELATIONS)


@pytest.mark.parametrize("name", RELATIONS)
def test_every_row_is_well_formed(name: str) -> None:
    assert check_relation(name) == name
    assert RELATIONS[name]
