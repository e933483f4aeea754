"""URIs: those of assertions and relations there and back, and of texts as the documentation of ConceptNet 5 writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.api.server.conceptnet.uris import assertion_uri, ends_of, relation_uri, text_uri
from tacit.graph.errors import InputError
from tacit.graph.model import Assertion


# From the doctests of conceptnet5.nodes and the page "API".
@pytest.mark.parametrize(
    ("language", "text", "uri"),
    [
        ("en", " cat", "/c/en/cat"),
        ("en", "Italian supercat", "/c/en/italian_supercat"),
        ("en", "a big dog", "/c/en/big_dog"),
        ("en", "Test?!", "/c/en/test"),
        ("en", "TEST.", "/c/en/test"),
        ("en", "test/test", "/c/en/test_test"),
        ("de", "   u\N{COMBINING DIAERESIS}ber\n", "/c/de/über"),
        ("en", "embedded\ttab", "/c/en/embedded_tab"),
        ("en", "this is a test", "/c/en/this_is_test"),
        ("en", "this_is_a_test", "/c/en/this_is_test"),
        ("en", "ground beef", "/c/en/ground_beef"),
        ("en", "to the moon", "/c/en/moon"),
        ("en", "the", "/c/en/the"),
        ("en", "to", "/c/en/to"),
        ("fr", "à la mode", "/c/fr/à_la_mode"),
        ("EN", "don't stop", "/c/en/don't_stop"),
        ("en", "U.S. Army, 10,000 men", "/c/en/u.s_army_10,000_men"),
        ("en", "'quoted' words", "/c/en/quoted_words"),
        ("zh-tw", "狗", "/c/zh/狗"),
        ("nb", "hund", "/c/no/hund"),
    ],
)
def test_the_uri_of_a_text(language: str, text: str, uri: str) -> None:
    assert text_uri(language, text) == uri
    assert text_uri(language, uri.split("/")[3]) == uri


@pytest.mark.parametrize("text", ["", " ", ",", "_", "?!", "''"])
def test_a_text_without_a_word_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="has no word"):
        text_uri("en", text)


@given(st.text(max_size=30), st.sampled_from(["en", "de", "ja"]))
def test_normalised_uris_stay_unchanged(text: str, language: str) -> None:
    try:
        uri = text_uri(language, text)
    except InputError:
        return
    term = uri.removeprefix(f"/c/{language}/")
    assert "/" not in term
    assert " " not in term
    assert term == term.strip("_")
    assert text_uri(language, term) == uri


_terms = st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda text: not text.startswith((",", "]", "["))
)


@given(_terms, _terms, st.sampled_from(["IsA", "dbpedia_genre"]), st.sampled_from(["", "n", "v/wn/body"]))
def test_an_assertion_uri_contains_both_ends(head: str, tail: str, relation: str, sense: str) -> None:
    uri = assertion_uri(Assertion(f"/c/en/{head}", relation, f"/c/en/{tail}", head_sense=sense))
    assert uri.startswith(f"/a/[{relation_uri(relation)}/,")
    assert ends_of(uri) == (f"/c/en/{head}/{sense}".removesuffix("/"), f"/c/en/{tail}")


def test_uris_by_hand() -> None:
    assertion = Assertion("/c/en/cat", "CapableOf", "/c/en/sleep")
    assert assertion_uri(assertion) == "/a/[/r/CapableOf/,/c/en/cat/,/c/en/sleep/]"
    assert (relation_uri("dbpedia_genre"), relation_uri("dbpedia"), relation_uri("Is_A")) == (
        "/r/dbpedia/genre", "/r/dbpedia", "/r/Is_A",
    )  # fmt: skip
    for wrong in ("/a/", "/a/[/r/IsA/]", "/a/[/r/IsA/,/c/en/dog/]", "/c/en/dog", "/a/[/c/en/x/,/c/en/dog/,/c/en/dog/]"):
        assert ends_of(wrong) is None
