"""Parses: offsets, heads and relations beside spaCy's own, white space left out, and a vocabulary that does not grow for ever."""

from __future__ import annotations

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.reasoning.text import spacy_pipeline
from tacit.reasoning.text.parsing import Parser, open_parser
from tacit.reasoning.text.spacy_pipeline import SHIPPED


@pytest.fixture(scope="module")
def parser() -> Parser:
    return open_parser()


def test_parses_equal_spacy(parser: Parser) -> None:
    text = "My brother won the lottery because he bought a ticket. Did you know?"
    doc = spacy.load(SHIPPED)(text)
    for word, token in zip(parser.parse_batch([text])[0], doc, strict=True):
        assert word[:3] == (token.text, token.idx, token.idx + len(token))
        assert (word.pos, word.tag, word.relation, word.head) == (token.pos_, token.tag_, token.dep_, token.head.i)
        assert word.lemma == token.lemma_.lower()
    assert [word.sentence for word in parser.parse_batch([text])[0]] == [0] * 11 + [1] * 4


def test_white_space_is_skipped_and_offsets_kept(parser: Parser) -> None:
    text = "  I  don ’ t \n know   him ."
    words = parser.parse_batch([text])[0]
    assert [word.text for word in words] == ["I", "do", "n’t", "know", "him", "."]
    assert [text[word.start : word.end].replace(" ", "") for word in words] == [word.text for word in words]
    assert words[4].relation == "obj"
    assert words[words[4].head].text == "know"


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=60))
def test_heads_are_words_and_every_sentence_has_a_root(text: str) -> None:
    words = open_parser().parse_batch([text])[0]
    for index, word in enumerate(words):
        assert 0 <= word.head < len(words)
        assert 0 <= word.start < word.end <= len(text)
        seen = {index}
        while words[index].head != index:
            index = words[index].head
            assert index not in seen
            seen.add(index)
    assert [word.sentence for word in words] == sorted(word.sentence for word in words)


def test_clearing_the_vocabulary_changes_no_parse(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"I met qx{number}zz in the old town and she was happy." for number in range(40)]
    expected = Parser(parser.nlp, "0").parse_batch(texts)
    monkeypatch.setattr(spacy_pipeline, "_PERMANENT_WORDS", 0)
    monkeypatch.setattr(spacy_pipeline, "_ZONE_WORDS", 30)
    nlp = spacy.load(SHIPPED)
    forgetful = Parser(nlp, "0")
    assert [forgetful.parse_batch([text])[0] for text in texts] == expected
    assert sum(f"qx{number}zz" in nlp.vocab.strings for number in range(40)) < 10
