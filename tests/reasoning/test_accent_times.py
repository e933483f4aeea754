"""Times at the head of a clause: trees as the small parser gives them, set right by hand, and what must hold for any tree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.reasoning.metrics.accent.extractors.clauses import clauses_of
from tacit.reasoning.metrics.accent.extractors.phrases import TIMES, attach_times
from tacit.reasoning.text.parsing import Parse, Word, open_parser


def parse_of(text: str) -> Parse:
    """A tree from ``word/POS/TAG/relation/head`` separated by blanks; a lemma is the word in lower case."""
    words, at = [], 0
    for number, one in enumerate(text.split()):
        word, pos, tag, relation, head = one.split("/")
        place = number if relation == "ROOT" else int(head)
        words.append(Word(word, at, at + len(word), word.lower(), pos, tag, relation, place, 0))
        at += len(word) + 1
    return tuple(words)


def tree_of(parse: Parse) -> list[tuple[str, str, str]]:
    """Each word, its relation, and its head."""
    return [(word.text, word.relation, parse[word.head].text) for word in parse]


MISSED = (
    "This/DET/DT/det/1 morning/NOUN/NN/ROOT/1 I/PRON/PRP/nsubj/3 missed/VERB/VBD/acl:relcl/1 it/PRON/PRP/obj/3 ./PUNCT/./punct/1"
)


def test_what_happened_governs_the_time() -> None:
    assert tree_of(attach_times(parse_of(MISSED))) == [
        ("This", "det", "morning"), ("morning", "obl:unmarked", "missed"), ("I", "nsubj", "missed"), ("missed", "ROOT", "missed"),
        ("it", "obj", "missed"), (".", "punct", "missed"),
    ]  # fmt: skip


def test_a_time_is_no_second_subject_and_no_connective() -> None:
    sunday = "Sunday/PROPN/NNP/nsubj/2 we/PRON/PRP/nsubj/2 play/VERB/VBP/ROOT/2"
    tonight = "Tonight/NOUN/NN/mark/3 he/PRON/PRP/nsubj/3 is/AUX/VBZ/aux/3 going/VERB/VBG/ROOT/3"
    assert tree_of(attach_times(parse_of(sunday)))[0] == ("Sunday", "obl:unmarked", "play")
    assert tree_of(attach_times(parse_of(tonight)))[0] == ("Tonight", "obl:unmarked", "going")


@pytest.mark.parametrize(
    "text",
    [
        "Yesterday/NOUN/NN/nsubj/3 was/AUX/VBD/cop/3 bad/ADJ/JJ/amod/3 weather/NOUN/NN/ROOT/3",  # what the sentence is about
        "That/PRON/DT/nsubj/3 was/AUX/VBD/cop/3 the/DET/DT/det/3 day/NOUN/NN/ROOT/3 I/PRON/PRP/nsubj/5 met/VERB/VBD/acl:relcl/3",
        "What/DET/WDT/det/2 a/DET/DT/det/2 day/NOUN/NN/ROOT/2 I/PRON/PRP/nsubj/4 had/VERB/VBD/acl:relcl/2",
        "The/DET/DT/det/1 day/NOUN/NN/ROOT/1 when/ADV/WRB/advmod/4 I/PRON/PRP/nsubj/4 met/VERB/VBD/acl:relcl/1",
        "A/DET/DT/det/1 day/NOUN/NN/ROOT/1 to/PART/TO/mark/3 remember/VERB/VB/acl/1",
        "The/DET/DT/det/1 dog/NOUN/NN/ROOT/1 I/PRON/PRP/nsubj/3 met/VERB/VBD/acl:relcl/1",
    ],
)  # fmt: skip
def test_other_trees_stay(text: str) -> None:
    assert attach_times(parse_of(text)) == parse_of(text)


@st.composite
def parses(draw: st.DrawFn) -> Parse:
    """Any trees over any words, many of them times."""
    number = draw(st.integers(1, 12))
    order = draw(st.permutations(range(number)))
    words: list[Word] = []
    heads = {place: order[draw(st.integers(0, rank))] for rank, place in enumerate(order)}
    for place in range(number):
        root = heads[place] == place
        lemma = draw(st.sampled_from(["day", "yesterday", "morning", "i", "go", "that"]))
        pos = "NOUN" if lemma in TIMES else draw(st.sampled_from(["VERB", "PRON", "AUX"]))
        tag = draw(st.sampled_from(["VBD", "NN", "WRB", "PRP"]))
        names = ["nsubj", "acl:relcl", "conj", "parataxis", "mark", "det", "obl:unmarked", "cop", "ccomp", "advmod"]
        relation = "ROOT" if root else draw(st.sampled_from(names))
        words.append(Word(lemma, 5 * place, 5 * place + len(lemma), lemma, pos, tag, relation, heads[place], 0))
    return tuple(words)


def up(parse: Parse, place: int) -> int:
    """The root above a word; fails on a ring."""
    for _ in parse:
        if parse[place].head == place:
            return place
        place = parse[place].head
    raise AssertionError("the heads go round")


@given(parses())
def test_a_tree_stays_a_tree_of_the_same_words(parse: Parse) -> None:
    found = attach_times(parse)
    assert [word._replace(head=0, relation="") for word in found] == [word._replace(head=0, relation="") for word in parse]
    for place, word in enumerate(found):
        assert (word.relation == "ROOT") == (word.head == place)
        up(found, place)
    assert len({up(found, place) for place in range(len(found))}) == len({up(parse, place) for place in range(len(parse))})
    assert clauses_of(found, 0) == clauses_of(parse, 0)


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("Yesterday I cooked.", ["cook yesterday"]),
        ("Today I am tired.", ["be tired today"]),
        ("Every day I go to the gym.", ["go to the gym every day"]),
        ("Last night my dog died.", ["die last night"]),
        ("Next year we want to get married.", ["want to get married next year"]),
        ("Good morning, I have an appointment.", ["have an appointment"]),
        ("I am two years old.", ["be two years old"]),
        ("I cooked yesterday.", ["cook yesterday"]),
    ],
)
def test_an_event_begins_with_its_verb(text: str, phrases: list[str]) -> None:
    found = clauses_of(open_parser().parse_batch([text])[0], 0)
    assert [" ".join(word if isinstance(word, str) else word.plain for word in one.phrase) for one in found] == phrases
