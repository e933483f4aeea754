"""Keywords: the formula by hand, at most so many, only concepts, under one table."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph.errors import ModelError
from tacit.graph.protocol import KnowledgeGraph
from tacit.reasoning.metrics.grade.dialogue_graph import IdfTable, Keyword, KeywordFinder
from tacit.reasoning.metrics.grade.metric import POS
from tacit.reasoning.text.language import SpacyAnalyser
from tacit.reasoning.text.linking import Linker, Mention


@pytest.fixture
def linker(oracle: KnowledgeGraph, analyser: SpacyAnalyser) -> Linker:
    return Linker(oracle, analyser, pos=POS, max_words=1)


def keyword(concept: str, score: float) -> Keyword:
    return Keyword(Mention(0, 1, concept, f"/c/en/{concept}", concept, "NOUN"), score)


def test_the_score_is_worked_out_by_hand(linker: Linker) -> None:
    idf = IdfTable(99, {"dog": 9, "bone": 99})
    found = KeywordFinder(linker, idf).of_texts(["The dog and the dog want a bone", "A dog can fall"])
    assert [(one.mention.text, one.mention.start) for one in found[0]] == [("dog", 4)]  # bones are everywhere: idf 0
    assert found[0][0].score == pytest.approx(2 * 2 / 8 * log(100 / 10))
    scores = {one.mention.lemma: one.score for one in found[1]}
    assert scores == pytest.approx({"dog": 2 / 4 * log(10), "fall": 1 / 4 * log(100)})


def test_a_call_that_fills_the_cache_keeps_what_was_known_before_it(linker: Linker) -> None:
    idf = IdfTable(99, {"dog": 9})
    texts = ["a dog", "a bone", "a cat", "a puppy"]
    expected = [KeywordFinder(linker, idf).of_texts([text])[0] for text in texts]
    assert all(expected)
    finder = KeywordFinder(linker, idf, cache_size=2)
    finder.of_texts(texts[:1])
    assert finder.of_texts(texts) == expected


def test_words_that_are_no_concept_or_too_light_are_no_keywords(linker: Linker) -> None:
    finder = KeywordFinder(linker, IdfTable(0, {}))
    assert finder.of_texts(["The dog wants a bone"]) == [()]  # a table of nothing gives every word the idf 0
    heavy = KeywordFinder(linker, IdfTable(1000, {}), threshold=0.0)
    assert [one.mention.lemma for one in heavy.of_texts(["The zyzzyva sleeps near a dog"])[0]] == ["dog"]
    assert heavy.of_texts(["", "...", "the of"]) == [(), (), ()]


def test_idf_is_counted_once_for_each_utterance(linker: Linker) -> None:
    table = IdfTable.count(linker.link_batch(["a dog is a dog", "a cat", "a dog", "no such"]))
    assert table.utterances == 4
    assert table.counts == {"cat": 1, "dog": 2}
    assert table.idf("dog") == pytest.approx(log(5 / 3))
    assert table.idf("unheard") == pytest.approx(log(5))
    again = IdfTable.from_dict(table.to_dict())
    assert again.digest == table.digest != IdfTable(4, {"dog": 2}).digest


@pytest.mark.parametrize("broken", [None, {}, {"utterances": 1, "counts": {"a": 2}}, {"utterances": "1", "counts": {}}])
def test_a_damaged_table_is_named(broken: object) -> None:
    with pytest.raises(ModelError, match="idf table"):
        IdfTable.from_dict(broken)


@given(before=st.integers(0, 30), after=st.integers(0, 30), most=st.integers(1, 16))
def test_no_side_goes_below_half_for_the_other(before: int, after: int, most: int) -> None:
    finder = KeywordFinder(None, IdfTable(1, {}), most=most)  # type: ignore[arg-type]
    context = [keyword(f"c{n}", 1 + n) for n in range(before)]
    response = sorted((keyword(f"r{n}", 1 + n) for n in range(after)), key=lambda one: -one.score)
    found = finder.of_dialogue([context], response)
    assert len(found.context) + len(found.response) == min(before + after, most)
    assert len(found.response) >= min(after, most - most // 2)
    assert len(found.context) >= min(before, most // 2)
    assert [one.score for one in found.context] == sorted((one.score for one in found.context), reverse=True)
    assert min((one.score for one in found.context), default=9) >= before - len(found.context) + 1 or not found.context


def test_of_a_concept_in_several_turns_the_strongest_counts_and_of_equals_the_last() -> None:
    finder = KeywordFinder(None, IdfTable(1, {}))  # type: ignore[arg-type]
    turns = [[keyword("dog", 0.5)], [keyword("dog", 0.9), keyword("cat", 0.3)], [keyword("cat", 0.3), keyword("dog", 0.2)]]
    found = finder.of_dialogue(turns, [keyword("dog", 0.1)], first=4)
    assert [(one.mention.lemma, one.score, one.turn) for one in found.context] == [("dog", 0.9, 5), ("cat", 0.3, 6)]
    assert found.response[0].turn is None
