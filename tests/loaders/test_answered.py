"""Questions with right answers, and files of candidates: what is read, and the places of what is wrong."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tacit.graph.errors import InputError
from tacit.graph.item import ItemError
from tacit.graph.questions import Answered, Question
from tacit.loaders import Candidates, read_answered, read_candidates

PLAIN = {"ID": "d", "Dialogue": ["A: Hi", "B: Ho"], "Target": "Hi", "Question": "What is or could be the cause of target?"}


def test_questions_with_answers_are_read_from_lists_and_lines(tmp_path: Path) -> None:
    rows = [
        {**PLAIN, "Answers": ["x"]},
        {**PLAIN, "Choices": ["a", "b"], "Correct Answers": [1]},
        PLAIN,
        {**PLAIN, "Answers": "x"},
    ]
    listed, lines = tmp_path / "list.json", tmp_path / "lines.jsonl.gz"
    listed.write_text(json.dumps(rows), encoding="utf-8")
    lines.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    for path in (listed, lines):
        one, two, bare, text = read_answered(path)
        assert one == Answered(1, "d", ("A: Hi", "B: Ho"), "Hi", Question.CAUSE, ("x",))
        assert isinstance(two, Answered)
        assert (two.line, two.right, two.wrong) == (2, ("b",), ("a",))
        assert isinstance(bare, ItemError)
        assert (bare.line, bare.id) == (3, "d")
        assert isinstance(text, ItemError)
        assert text.reason == "the answers are not a list of texts"
        with pytest.raises(InputError, match=r":3: there is no right answer"):
            list(read_answered(path, strict=True))


def test_candidates_are_for_the_instances_that_they_name(tmp_path: Path) -> None:
    rows = [
        {"ID": "d", "Candidates": ["x", "y"]},
        {"ID": "d", "Question": "cause", "Target": "Hi", "Candidates": ["z"]},
        {"ID": "d", "Question": "why", "Candidates": ["z"]},
        {"ID": "d", "Candidates": []},
        {"ID": 3, "Candidates": ["z"]},
        {"ID": "d", "Target": 3, "Candidates": ["z"]},
    ]
    path = tmp_path / "pool.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    every, some, *wrong = read_candidates(path)
    assert isinstance(every, Candidates)
    assert isinstance(some, Candidates)
    assert every.texts == ("x", "y")
    asked = Answered(1, "d", ("A: Hi",), "Hi", Question.CAUSE, ("r",))
    other = Answered(1, "d", ("A: Hi",), "Hi", Question.REACTION, ("r",))
    assert (every.are_for(asked), every.are_for(other), some.are_for(asked), some.are_for(other)) == (True, True, True, False)
    reasons = [row.reason for row in wrong if isinstance(row, ItemError)]
    assert [reason.partition(";")[0].partition(" (")[0] for reason in reasons] == [
        "unknown question 'why'", "Candidates is not a list of texts", "ID is missing or not a text", "Target is not a text",
    ]  # fmt: skip
