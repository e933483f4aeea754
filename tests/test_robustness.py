"""The rules of benchmarks/robustness.py: what they make of a reply, and which replies they leave alone."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.reasoning.text.language import load_pipeline

HISTORY = ("Hello Mary, this is Tom.", "Do you know whether Mary likes tea?")


@pytest.fixture(scope="module")
def program() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
        return importlib.import_module("robustness")


@pytest.mark.parametrize(
    ("rule", "response", "expected"),
    [
        ("negated", "She likes tea.", "She does not like tea."),
        ("negated", "We are at home.", "We are not at home."),
        ("negated", "She does not like tea.", "She does like tea."),
        ("negated", "Tea!", None),
        ("speakers turned", "I think you lost my key.", "You think I lost your key."),
        ("speakers turned", "I am glad that you're here.", "You are glad that I'm here."),
        ("repeated turn", "Yes.", HISTORY[-1]),
        ("swapped names", "Mary drinks tea every day.", "Paris drinks tea every day."),
        ("swapped names", "Yes, she likes it.", None),
        ("question for a question", "Yes.", "Where is it?"),
        ("shuffled words", "Yes, she does.", None),
        ("random", "Yes.", "It is in Paris."),
    ],
)
def test_perturbations_by_rule(program: Any, rule: str, response: str, expected: str | None) -> None:
    drawn = program.Drawn(HISTORY, response, "It is in Paris.", "Where is it?", ("Paris", "Rome"))
    assert program.RULES[rule](drawn, load_pipeline().nlp, np.random.default_rng(0)) == expected


def test_shuffling_keeps_the_words_and_dull_replies_are_of_the_list(program: Any) -> None:
    drawn, random = program.Drawn(HISTORY, "a b c d e f g h", "", "", ()), np.random.default_rng(0)
    shuffled = program.RULES["shuffled words"](drawn, None, random)
    assert shuffled != drawn.response
    assert Counter(shuffled.split()) == Counter(drawn.response.split())
    assert program.RULES["dull reply"](drawn, None, random) in program.DULL


def test_pairs_are_repeatable_and_of_different_texts(program: Any) -> None:
    dialogues = [(f"How are you, number {n}?", f"I am well, number {n}.", f"You said {n} before.") for n in range(8)]
    nlp = load_pipeline().nlp
    drawn = list(program.draw(dialogues, 6, 3, nlp))
    assert drawn == list(program.draw(dialogues, 6, 3, nlp))
    assert len({drawn_reply.history[0] for drawn_reply in drawn}) == 6
    talks = [("Have you met Anna?", "I like Anna."), ("How is it?", "Good."), ("Is Tom here?", "I see Tom.")]
    named = list(program.draw_named(talks, 2, 0, nlp))
    assert [{drawn_reply.response, *drawn_reply.names} for drawn_reply in named] in (
        [{"I see Tom.", "Anna"}],
        [{"I like Anna.", "Tom"}],
    )
    pairs = program.pairs_of(drawn, named, nlp, 3)
    assert pairs == program.pairs_of(drawn, named, nlp, 3)
    assert all(real[0] == changed[0] and real[1] != changed[1] for rows in pairs.values() for real, changed in rows)
    drawn_reply = program.pairs_of(drawn, named, nlp, 3, ["shuffled words"])
    assert drawn_reply == {"shuffled words": pairs["shuffled words"]}
