"""Concept linking: a table of utterances worked out by hand, over every backend, and properties that hold for any text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.graph.errors import InputError
from tacit.graph.names import concept_uri
from tacit.graph.protocol import KnowledgeGraph
from tacit.reasoning.text.language import SpacyAnalyser, Token
from tacit.reasoning.text.linking import Linker

from tests.networkx_oracle import OracleGraph

TABLE = [
    ("my dog is hungry", ["dog"]),
    ("My DOGS are hungry!", ["DOGS=dog"]),
    ("i gave the puppies two bones .", ["puppies=puppy", "bones=bone"]),
    ("the hot dogs from the hot dog stand", ["hot dogs=hot_dog", "hot dog stand"]),
    ("hot, dog", ["dog"]),
    ("hot . dog stand", ["dog"]),
    ("an ice-cream please", ["ice-cream=ice_cream"]),
    ("an Ice  cream please", ["Ice  cream=ice_cream"]),
    ("ice - cream", []),
    ("she rode bikes and fell", ["rode bikes=ride_bike", "fell=fall"]),
    ("the dog 's food", ["dog", "food"]),
    ("the of the", []),
    ("do you do", []),
    ("I ’ m not giving up my cats", ["cats=cat"]),
    ("dogdog 😀 犬 собака", []),
    ("", []),
    ("!!! ... 12", []),
]


def mentions_in(linker: Linker, text: str) -> list[str]:
    """Mentions as ``text=concept``, or the text alone where it names the concept."""
    tokens = []
    for mention in linker.link(text):
        name = mention.concept.removeprefix("/c/en/")
        assert text[mention.start : mention.end] == mention.text
        tokens.append(mention.text if name == mention.text.replace(" ", "_") else f"{mention.text}={name}")
    return tokens


@pytest.mark.parametrize(("text", "mentions"), TABLE)
def test_linking_by_hand(graph: KnowledgeGraph, analyser: SpacyAnalyser, text: str, mentions: list[str]) -> None:
    assert mentions_in(Linker(graph, analyser), text) == mentions


def test_mentions_have_lemma_and_part_of_speech(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    (mention,) = Linker(oracle, analyser).link("two Hot dogs")
    assert mention.to_dict() == {
        "start": 4,
        "end": 12,
        "text": "Hot dogs",
        "concept": "/c/en/hot_dog",
        "lemma": "hot dog",
        "pos": "NOUN",
    }


class Splitter:
    """An analyser of a few rules, to show that no language library is needed; a word that ends in ``/X`` has the tag X."""

    signature = "splitter"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def analyse(self, texts: Sequence[str]) -> list[list[Token]]:
        self.seen += texts
        return [list(self.tokens(text)) for text in texts]

    def tokens(self, text: str) -> list[Token]:
        token_list, start = [], 0
        for word in text.split(" "):
            name, _, pos = word.partition("/")
            lemma = {"saw": "see", "rode": "ride", "bikes": "bike"}.get(name.lower(), name.lower())
            token_list.append(Token(name, start, start + len(name), lemma, pos or "NOUN", lemma in {"the", "do", "of"}))
            start += len(word) + 1
        return token_list


def test_surface_forms_come_before_lemmas(oracle: OracleGraph) -> None:
    linker = Linker(oracle, Splitter())
    assert [mention.concept for mention in linker.link("saw")] == ["/c/en/saw"]
    assert [mention.concept for mention in linker.link("rode bikes")] == ["/c/en/ride_bike"]


def test_parts_of_speech_can_be_chosen(oracle: OracleGraph) -> None:
    linker = Linker(oracle, Splitter(), pos=["VERB"])
    assert [mention.concept for mention in linker.link("dog/NOUN fall/VERB")] == ["/c/en/fall"]
    assert linker.options == {"pos": "VERB"}
    with pytest.raises(InputError, match="part of speech"):
        Linker(oracle, Splitter(), pos=[])


def test_the_longest_run_can_be_bounded(oracle: OracleGraph) -> None:
    text = "rode bikes hot dog stand beatles"
    longest = {1: ["bike", "dog"], 2: ["ride_bike", "hot_dog"], 3: ["ride_bike", "hot_dog_stand"]}
    for words, names in longest.items():
        mentions = Linker(oracle, Splitter(), max_words=words).link(text)
        assert [mention.concept for mention in mentions] == [f"/c/en/{name}" for name in names]
    assert Linker(oracle, Splitter(), max_words=1).options == {"max_words": "1"}
    assert Linker(oracle, Splitter(), max_words=3).options == {}
    for words in (0, 4, -1):
        with pytest.raises(InputError, match=r"from 1 to 3"):
            Linker(oracle, Splitter(), max_words=words)


SINGLE = st.lists(
    st.tuples(
        st.sampled_from(["dog", "Dogs", "the", "saw", "Bikes", "hot", "ice-cream", "do", "!", "犬", "moon's", "d" * 101]),
        st.sampled_from(["NOUN", "VERB", "ADJ", "ADV", "DET", "PROPN"]),
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=80)
@given(SINGLE, st.sampled_from([("NOUN", "PROPN", "VERB", "ADJ"), ("ADV",)]), st.sampled_from([0, 1, 1000]))
def test_single_words_are_those_that_the_graph_resolves(
    oracle: OracleGraph, words: list[tuple[str, str]], pos: tuple[str, ...], size: int
) -> None:
    splitter, text = Splitter(), " ".join(f"{word}/{tag}" for word, tag in words)
    linker = Linker(oracle, splitter, pos=pos, max_words=1, cache_size=size)
    expected = []
    for token in splitter.tokens(text):
        if any(map(str.isalnum, token.text)) and len(token.text) <= 100:
            exact = [concept_uri(word) for word in dict.fromkeys([token.text.lower(), token.lemma])]
            uri = next((uri for uri in (*exact, *oracle.resolve([token.text.lower()])) if uri in oracle.concepts), None)
            if uri and token.pos in pos and not token.stop:
                expected.append((token.start, token.end, text[token.start : token.end], uri, token.lemma, token.pos))
    for _ in range(2):
        mentions = linker.link_batch(["dog", text])[1]
        assert [tuple(mention.to_dict().values()) for mention in mentions] == expected


def test_utterances_are_analysed_once_in_a_bounded_cache(oracle: OracleGraph) -> None:
    splitter = Splitter()
    linker = Linker(oracle, splitter, cache_size=2)
    assert linker.link_batch(["dog", "cat", "dog"]) == [linker.link("dog"), linker.link("cat"), linker.link("dog")]
    assert splitter.seen == ["dog", "cat"]
    linker.link_batch(["moon", "dog"])
    assert splitter.seen == ["dog", "cat", "moon"]
    linker.link("cat")
    assert splitter.seen == ["dog", "cat", "moon", "cat"]
    forgetful = Linker(oracle, splitter, cache_size=0)
    assert forgetful.link_batch(["dog", "dog"]) == [linker.link("dog")] * 2


WORDS = [
    "dog",
    "Dogs",
    "hot",
    "stand",
    "ice-cream",
    "ice",
    "cream",
    "the",
    "of",
    ".",
    "-",
    "’",
    "ll",
    "rode",
    "bikes",
    "😀",
    "犬",
    "\n",
]


@settings(deadline=None, max_examples=80)
@given(st.one_of(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join), st.text(st.characters(exclude_categories=["Cs"]))))
def test_mentions_are_known_concepts_in_order(oracle: OracleGraph, analyser: SpacyAnalyser, text: str) -> None:
    mentions = Linker(oracle, analyser).link(text)
    end = 0
    for mention in mentions:
        assert end <= mention.start < mention.end <= len(text)
        assert mention.concept in oracle.concepts
        assert mention.text == text[mention.start : mention.end]
        assert len(mention.text.replace("-", " ").split()) <= 6
        end = mention.end
    assert mentions == Linker(oracle, analyser).link_batch(["dog", text])[1]
