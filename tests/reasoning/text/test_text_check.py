"""The check of what can be judged: what people say passes; other languages, typed keys and rows of keywords do not."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.reasoning.text.text_check import BLANK, FOREIGN, KEYS, KEYWORDS, reason_not_judged, unreadable

CASES: dict[str, Any] = json.loads((Path(__file__).parent / "unjudgeable.json").read_text(encoding="utf-8"))
DATA = Path(os.environ.get("TACIT_TEST_DATA", Path(__file__).parents[3].parent / "shared" / "data")) / "dialogues"


@pytest.mark.parametrize("text", CASES["short"])
def test_short_turns_pass(text: str) -> None:
    assert unreadable(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "I 'm gonna be soooo late , do n't wait 4 me !!", "i recieved a new phone , it is definately tommorow",
        "😀 haha that's hilarious",
        "Hey Bob, this is Anneliese Kowalczyk from Wolfsburg.", "pizza, tacos, sushi, burgers and pasta", "no no no no no no no",
        "Have you been to the Musée d'Orsay in Paris?", "call me at 555 0123 4567 89", "U r right , my bday is 2moro",
    ],
)  # fmt: skip
def test_slang_typos_names_and_numbers_pass(text: str) -> None:
    assert unreadable(text) == ""


@pytest.mark.parametrize("language", CASES["foreign"])
def test_other_languages_are_detected(language: str) -> None:
    for text in CASES["foreign"][language]:
        assert unreadable(text) in (FOREIGN, KEYS), text


def test_unseen_languages_and_random_keys_are_detected() -> None:
    foreign = [text for texts in CASES["foreign, confirming"].values() for text in texts]
    assert sum(not unreadable(text) for text in foreign) <= 2
    assert sum(not unreadable(text) for text in CASES["mash, confirming"]) <= 1


def test_random_keys_are_detected() -> None:
    missed = [text for text in CASES["mash"] if unreadable(text) != KEYS]
    assert len(missed) <= 2, missed


@pytest.mark.parametrize("text", [*CASES["stuffed"], "bone " * 20, "movie actor director film award oscar winner"])
def test_keyword_lists_are_detected(text: str) -> None:
    assert unreadable(text) == KEYWORDS


@pytest.mark.parametrize("text", [*CASES["silent"], " \n\t", "。、！", "“…”"])
def test_empty_texts_are_detected(text: str) -> None:
    assert unreadable(text) == BLANK


def test_the_turn_before_the_response_is_checked_too() -> None:
    assert reason_not_judged([], "I have a dog.") == ""
    assert reason_not_judged(["Hola, me gusta mucho la playa de mi pueblo.", "Do you speak English?"], "I do.") == ""
    assert reason_not_judged(["How are you?", " ", "..."], "I'm fine.") == ""
    assert reason_not_judged(["dog cat bone park walk leash"], "Is that a list?") == ""  # people type keywords
    assert reason_not_judged(["Ich habe heute leider keine Zeit."], "Okay, see you then!") == (
        "the turn before the response cannot be read: it is not in English"
    )
    assert reason_not_judged(["asdf qwer zxcv"], "") == "the response cannot be judged: it has no words"


@given(st.text(max_size=60))
def test_any_text_is_checked(text: str) -> None:
    assert unreadable(text) in ("", BLANK, FOREIGN, KEYS, KEYWORDS)
    assert unreadable(text) == unreadable.__wrapped__(text)


@pytest.mark.parametrize("corpus", ["empatheticdialogues-test", "mutual-dev", "dailydialog-validation"])
def test_of_real_turns_fewer_than_one_in_a_hundred_are_refused(corpus: str) -> None:
    path = DATA / f"{corpus}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"no {path}; name the folder of real data in TACIT_TEST_DATA")
    turns: set[str] = set()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            turns.update(json.loads(line)["turns"])
            if len(turns) > 1_000:
                break
    refused = [turn for turn in turns if unreadable(turn)]
    assert len(turns) > 1_000
    assert len(refused) < len(turns) / 100, refused
