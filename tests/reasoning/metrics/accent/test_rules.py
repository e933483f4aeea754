"""The extractor ``rules``: golden tuples by hand, edge cases, and what must hold over real dialogues."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.graph.errors import ModelError
from tacit.graph.item import Item
from tacit.graph.schema import dump
from tacit.reasoning.metrics.accent.events import RELATIONS, EventTuple, Kind, Where, head_form
from tacit.reasoning.metrics.accent.extractors.clauses import clauses_of
from tacit.reasoning.metrics.accent.extractors.dependency_tree import TIMES, attach_times
from tacit.reasoning.metrics.accent.extractors.rules import RuleExtractor, make
from tacit.reasoning.text.parsing import Parse, Parser, Word, open_parser


@pytest.fixture(scope="module")
def rules() -> RuleExtractor:
    return make()


def triples(rules: RuleExtractor, response: str, *history: str) -> set[tuple[str, str, str]]:
    """Head, relation and tail of every tuple of a response."""
    return {event_tuple[:3] for event_tuple in rules.extract_batch([Item(history, response)])[0]}


@pytest.mark.parametrize(
    ("history", "response", "wanted"),
    [
        ("", "I am moving to Paris to marry my boyfriend.",
         ("PersonX moves to paris", "xIntent", "PersonX marries PersonX's boyfriend")),
        ("", "I don't eat cheese because I am sick.", ("PersonX eats cheese", "HinderedBy", "PersonX is sick")),
        ("", "He was tired so he went home.", ("PersonX is tired", "xEffect", "PersonX goes home")),
        ("", "If you pass the test, I will buy you a car.", ("PersonX passes the test", "oEffect", "PersonY buys PersonX a car")),
        ("", "You can get a job if you finish school.", ("PersonX gets a job", "xNeed", "PersonX finishes school")),
        ("", "I brushed my teeth and then I went to bed.", ("PersonX goes to bed", "isAfter", "PersonX brushes PersonX's teeth")),
        ("", "I bought the house before I met her.", ("PersonX meets PersonY", "isAfter", "PersonX buys the house")),
        ("", "I listen to music when I work.", ("PersonX listens to music", "HasSubEvent", "PersonX works")),
        ("", "I'm glad that you came.", ("PersonX comes", "oReact", "PersonY feels glad")),
        ("i found a hole in my sock", "Oh, that is awful!",
         ("PersonX finds a hole in PersonX's sock", "oReact", "PersonY feels awful")),
        ("I found a hole in the sheet.", "May I see the invoice?",
         ("PersonX finds a hole in the sheet", "oWant", "PersonY sees the invoice")),
        ("I made you a cake.", "Thank you so much!", ("PersonX makes PersonY a cake", "oEffect", "PersonY thanks PersonX")),
        ("Why are you so late?", "I missed the bus.", ("PersonX is so late", "xIntent", "PersonX misses the bus")),
        ("Do you go to concerts?", "I would but I have a farm.",
         ("PersonX goes to concerts", "HinderedBy", "PersonX has a farm")),
        ("", "Yesterday I cooked because I was hungry.", ("PersonX is hungry", "xEffect", "PersonX cooks yesterday")),
        ("", "This morning I missed the bus because I was so late.",
         ("PersonX is so late", "xEffect", "PersonX misses the bus this morning")),
        ("", "Monday I went home because I was sick.", ("PersonX is sick", "xEffect", "PersonX goes home")),
        ("", "Two days ago I lost my keys so I was sad.",
         ("PersonX loses PersonX's keys two days ago", "xEffect", "PersonX is sad")),
        ("My brother won the lottery.", "He is a lucky man.", ("PersonX wins the lottery", "xAttr", "PersonX is a lucky man")),
    ],
)  # fmt: skip
def test_cues_become_tuples(rules: RuleExtractor, history: str, response: str, wanted: tuple[str, str, str]) -> None:
    assert wanted in triples(rules, response, *([history] if history else []))


def test_tuples_have_the_spans_of_their_events(rules: RuleExtractor) -> None:
    item = Item(["Hello.", "I made you a cake."], "Thank you! I will eat it because I am hungry.")
    event_tuples = rules.extract_batch([item])[0]
    thanks = next(event_tuple for event_tuple in event_tuples if event_tuple.tail == "PersonY thanks PersonX")
    assert (thanks.kind, thanks.head_at) == (Kind.PAIR, Where(1, 0, 17))
    eats = next(
        event_tuple for event_tuple in event_tuples if event_tuple.head == "PersonX is hungry" and event_tuple.kind is Kind.SINGLE
    )
    assert eats.head_at is not None
    assert item.response[eats.head_at.start : eats.head_at.end] == "I am hungry"
    assert dump(thanks)["head_at"] == {"turn": 1, "start": 0, "end": 17}


@pytest.mark.parametrize(
    "response",
    [
        "",
        "   ",
        "...",
        "😀 😀",
        "😀" * 500,
        "(" * 3000,
        "Das ist ein sehr schöner Hund.",
        "私は犬が好きです。",
        "asdf qwer zxcv",
        "\n\n \t",
        "never",
    ],
)
@pytest.mark.parametrize("history", [[], [""], ["😀"], ["我喜欢狗。", "   "]])
def test_any_text_is_accepted_and_most_noise_gives_no_tuple(rules: RuleExtractor, response: str, history: list[str]) -> None:
    for event_tuple in rules.extract_batch([Item(history, response)])[0]:
        assert event_tuple.relation in RELATIONS


@pytest.mark.parametrize("response", ["", "   ", "...", "😀 😀", "Hello!", "Yes."])
def test_without_events_there_is_no_tuple(rules: RuleExtractor, response: str) -> None:
    assert rules.extract_batch([Item(["I like dogs."], response)]) == [[]]
    assert rules.extract_batch([Item([], response)]) == [[]]


def test_without_items_there_are_no_tuples(rules: RuleExtractor) -> None:
    assert rules.extract_batch([]) == []


@pytest.mark.parametrize(
    ("turn", "events"),
    [
        ("I no longer feel sad.", ["PersonX no longer feels sad"]),
        ("We are no longer friends.", ["PersonX is no longer friends"]),
        ("He doesn't smoke anymore.", ["PersonX no longer smokes"]),
        ("The old phone no longer works.", ["the old phone no longer works"]),
        ("I used to play the guitar.", ["PersonX used to play the guitar", "PersonX plays the guitar"]),
        ("I didn't use to like it.", ["PersonX never used to like it", "PersonX does not like it"]),
        ("She uses it to cook.", ["PersonX uses it to cook"]),
        ("I could have won the race.", ["PersonX could have won the race", "PersonX wins the race"]),
        ("You should not have told him.", ["PersonX should not have told PersonY", "PersonX does not tell PersonY"]),
        ("I would have been killed.", ["PersonX would have been killed", "PersonX is killed"]),
        ("I was going to call her.", ["PersonX is going to call PersonY", "PersonX calls PersonY"]),
        ("I can't wait to see you.", ["PersonX wants to see PersonY", "PersonX sees PersonY"]),
        ("I tried not to laugh.", ["PersonX tries not to laugh"]),
        ("I don't have to work.", ["PersonX does not have to work"]),
        ("I don't feel well.", ["PersonX does not feel well"]),
        ("I'd rather stay home.", ["PersonX stays home"]),
        ("I've got no idea about it.", ["PersonX has no idea about it"]),
        ("I have never been to Japan.", ["PersonX does not go to japan"]),
        ("I seldom watch tv.", ["PersonX seldom watches tv"]),
        ("The game only has ten minutes.", ["the game only has ten minutes"]),
        ("I neither drink nor smoke.", ["PersonX does not drink nor smoke"]),
    ],
)
def test_negation_and_aspect_are_kept(rules: RuleExtractor, turn: str, events: list[str]) -> None:
    assert [event.text for event in rules.events_batch([turn])[0]] == events


def test_what_somebody_no_longer_does_is_hindered(rules: RuleExtractor) -> None:
    found = triples(rules, "I no longer eat cheese because I am sick.")
    assert ("PersonX eats cheese", "HinderedBy", "PersonX is sick") in found


@pytest.mark.parametrize("unit", ["i went home because she was sad and ", "she said that ", "go and ", "a. ", "no ! "])
def test_very_long_texts_are_read(rules: RuleExtractor, unit: str) -> None:
    response = " ".join((unit * 3_000).split()[:3_000])
    event_tuples = rules.extract_batch([Item(["I like dogs."], response)])[0]
    assert all(len(event_tuple.tail.split()) < 40 for event_tuple in event_tuples)


def test_batches_equal_single_items(rules: RuleExtractor) -> None:
    items = [
        Item(["I lost my dog."], "I'm sorry to hear that. I will help you look for him."),
        Item([], "I want to go home because I am tired."),
        Item(["Do you swim?", "I lost my dog."], "That's terrible!"),
    ]
    together = rules.extract_batch(items)
    assert any(together)
    fresh = RuleExtractor(Parser(rules.parser.nlp, rules.parser.digest))
    assert [fresh.extract_batch([item])[0] for item in items[::-1]] == together[::-1]


def test_a_turn_is_parsed_once(rules: RuleExtractor, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = Parser._words

    def count(self: Parser, doc: object, offsets: list[int] | None) -> object:
        parsed.append(str(doc))
        return parse(self, doc, offsets)

    monkeypatch.setattr(Parser, "_words", count)
    extractor = RuleExtractor(Parser(rules.parser.nlp, "0"))
    parsed.clear()
    items = [Item(["We met in a far town."], "I liked it there."), Item(["We met in a far town."], "So did I.")]
    extractor.extract_batch(items)
    extractor.extract_batch(items)
    assert sorted(parsed) == ["I liked it there.", "So did I.", "We met in a far town."]


def test_imprecise_rules_are_disabled(rules: RuleExtractor) -> None:
    item = Item(["I bought a house last year."], "You should sell the house.")
    assert "xWant" not in {event_tuple.relation for event_tuple in rules.extract_batch([item])[0]}


def test_the_signature_names_rules_and_pipeline(rules: RuleExtractor) -> None:
    assert rules.signature.startswith("rules-4;pipeline=")


def test_a_missing_pipeline_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"the spaCy pipeline .* cannot be opened"):
        make(pipeline=tmp_path)


def test_a_pipeline_without_a_parser_is_refused(tmp_path: Path) -> None:
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(ModelError, match="en_pipeline has no parser for Universal Dependencies"):
        open_parser(tmp_path / "blank")


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(max_size=40), max_size=2), st.text(max_size=80))
def test_any_text_is_accepted(history: list[str], response: str) -> None:
    event_tuples = make().extract_batch([Item(tuple(history), response)])[0]
    assert all(event_tuple.head and event_tuple.tail for event_tuple in event_tuples)


def test_tuples_of_real_dialogues_fit_their_relations(rules: RuleExtractor, data_dir: Path) -> None:
    items = deco(data_dir)
    event_tuples = rules.extract_batch(items)
    assert 1 < sum(map(len, event_tuples)) / len(items) < 6
    for item, tuples in zip(items, event_tuples, strict=True):
        assert [RELATIONS.index(event_tuple.relation) for event_tuple in tuples] == sorted(
            RELATIONS.index(event_tuple.relation) for event_tuple in tuples
        )
        assert len({event_tuple[:3] for event_tuple in tuples}) == len(tuples)
        for event_tuple in tuples:
            _check(event_tuple, item)


@pytest.mark.parametrize("question", ["What ?", "Who ?", "Why not ?", "You what ?", "And him ?", "How about you ?"])
def test_a_question_without_a_verb_has_no_event(rules: RuleExtractor, question: str) -> None:
    response = "I like dogs because they are nice."
    assert (
        triples(rules, response, question) == triples(rules, response) == {("PersonX is nice", "oEffect", "PersonY likes dogs")}
    )
    assert triples(rules, question, "I like dogs.") == set()


def test_a_thousand_real_responses_are_read(rules: RuleExtractor, data_dir: Path) -> None:
    with gzip.open(data_dir / "dialogues" / "dailydialog-test.jsonl.gz", "rt", encoding="utf-8") as file:
        dialogues = [json.loads(line)["turns"] for line in file][:150]
    items = [Item(turns[:number], turns[number]) for turns in dialogues for number in range(1, len(turns))][:1000]
    for item, tuples in zip(items, rules.extract_batch(items), strict=True):
        for event_tuple in tuples:
            _check(event_tuple, item)


def _check(event_tuple: EventTuple, item: Item) -> None:
    assert event_tuple.head == head_form(event_tuple.head)
    assert event_tuple.tail == head_form(event_tuple.tail)
    if event_tuple.relation[0] in "xo":
        assert event_tuple.head.startswith("PersonX ")
        assert event_tuple.tail.startswith("PersonX " if event_tuple.relation[0] == "x" else "PersonY ")
    assert event_tuple.head_at is not None
    assert event_tuple.tail_at is not None
    assert event_tuple.tail_at.turn is None
    assert event_tuple.head_at.turn == (len(item.history) - 1 if event_tuple.kind is Kind.PAIR else None)
    text = item.response if event_tuple.head_at.turn is None else item.history[event_tuple.head_at.turn]
    assert 0 <= event_tuple.head_at.start < event_tuple.head_at.end <= len(text)
    assert 0 <= event_tuple.tail_at.start < event_tuple.tail_at.end <= len(item.response)


def deco(data_dir: Path) -> list[Item]:
    """The dialogues of DECO's training set."""
    with gzip.open(data_dir / "judgements" / "deco-train.json.gz", "rt", encoding="utf-8") as file:
        rows = json.load(file)
    turns = [tuple(turn.strip() for turn in row["history"].split("</UTT>") if turn.strip()) for row in rows]
    return [Item(history, row["response"].strip()) for history, row in zip(turns, rows, strict=True)]


# Times at the head of a clause: trees as the small parser gives them, set right by hand, and what must hold for any tree.


def parse_of(text: str) -> Parse:
    """A tree from ``word/POS/TAG/relation/head`` separated by blanks; a lemma is the word in lower case."""
    words, at = [], 0
    for number, term in enumerate(text.split()):
        word, pos, tag, relation, head = term.split("/")
        head_number = number if relation == "ROOT" else int(head)
        words.append(Word(word, at, at + len(word), word.lower(), pos, tag, relation, head_number, 0))
        at += len(word) + 1
    return tuple(words)


def tree_of(parse: Parse) -> list[tuple[str, str, str]]:
    """Each word, its relation, and its head."""
    return [(word.text, word.relation, parse[word.head].text) for word in parse]


MISSED = (
    "This/DET/DT/det/1 morning/NOUN/NN/ROOT/1 I/PRON/PRP/nsubj/3 missed/VERB/VBD/acl:relcl/1 it/PRON/PRP/obj/3 ./PUNCT/./punct/1"
)


def test_time_phrases_attach_to_the_event() -> None:
    assert tree_of(attach_times(parse_of(MISSED))) == [
        ("This", "det", "morning"), ("morning", "obl:unmarked", "missed"), ("I", "nsubj", "missed"), ("missed", "ROOT", "missed"),
        ("it", "obj", "missed"), (".", "punct", "missed"),
    ]  # fmt: skip


def test_time_phrases_are_neither_subject_nor_connective() -> None:
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
def test_other_trees_are_unchanged(text: str) -> None:
    assert attach_times(parse_of(text)) == parse_of(text)


@st.composite
def parses(draw: st.DrawFn) -> Parse:
    """Any trees over any words, many of them times."""
    number = draw(st.integers(1, 12))
    order = draw(st.permutations(range(number)))
    words: list[Word] = []
    heads = {index: order[draw(st.integers(0, rank))] for rank, index in enumerate(order)}
    for index in range(number):
        root = heads[index] == index
        lemma = draw(st.sampled_from(["day", "yesterday", "morning", "i", "go", "that"]))
        pos = "NOUN" if lemma in TIMES else draw(st.sampled_from(["VERB", "PRON", "AUX"]))
        tag = draw(st.sampled_from(["VBD", "NN", "WRB", "PRP"]))
        names = ["nsubj", "acl:relcl", "conj", "parataxis", "mark", "det", "obl:unmarked", "cop", "ccomp", "advmod"]
        relation = "ROOT" if root else draw(st.sampled_from(names))
        words.append(Word(lemma, 5 * index, 5 * index + len(lemma), lemma, pos, tag, relation, heads[index], 0))
    return tuple(words)


def up(parse: Parse, index: int) -> int:
    """The root above a word; fails on a ring."""
    for _ in parse:
        if parse[index].head == index:
            return index
        index = parse[index].head
    raise AssertionError("the heads go round")


@given(parses())
def test_a_repaired_tree_is_a_tree_of_the_same_words(parse: Parse) -> None:
    attached = attach_times(parse)
    assert [word._replace(head=0, relation="") for word in attached] == [word._replace(head=0, relation="") for word in parse]
    for index, word in enumerate(attached):
        assert (word.relation == "ROOT") == (word.head == index)
        up(attached, index)
    assert len({up(attached, index) for index in range(len(attached))}) == len({up(parse, index) for index in range(len(parse))})
    assert clauses_of(attached, 0) == clauses_of(parse, 0)


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
    clauses = clauses_of(open_parser().parse_batch([text])[0], 0)
    assert [" ".join(word if isinstance(word, str) else word.plain for word in clause.phrase) for clause in clauses] == phrases
