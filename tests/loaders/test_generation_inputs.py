"""Dialogues to ask about: every form of dialogue files, CICERO's records, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.errors import InputError
from tacit.graph.questions import Question
from tacit.loaders import ItemError, Targets, read_targets


def read(tmp_path: Path, *records: Any) -> list[Targets | ItemError]:
    path = tmp_path / "dialogues.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return list(read_targets(path))


def test_every_form_of_inputs_is_read(tmp_path: Path) -> None:
    cicero = {"ID": "d-1", "Dialogue": ["A: Hi .", "B: Sit down ."], "Target": "Sit down .", "Question": Question.CAUSE.text}
    rows = read(
        tmp_path,
        {"id": "a", "turns": ["one", "two"]},
        {"history": "one\ntwo", "response": "three"},
        {"id": 3, "messages": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]},
        cicero,
        {"Dialogue": ["A: Hi ."]},
    )
    assert rows == [
        Targets(1, "a", ("one", "two")),
        Targets(2, "2", ("one", "two", "three")),
        Targets(3, "3", ("one", "two")),
        Targets(4, "d-1", ("A: Hi .", "B: Sit down ."), 1, Question.CAUSE),
        Targets(5, "5", ("A: Hi .",)),
    ]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ([], "not a JSON object"),
        ({"text": "a"}, "neither history and response, nor turns, nor messages"),
        ({"Dialogue": []}, "the dialogue has no turn"),
        ({"Dialogue": ["A: Hi ."], "Target": 1}, "Target is not a text"),
        ({"Dialogue": ["A: Hi ."], "Question": "Who?"}, "unknown question 'Who?'"),
        ({"Dialogue": ["A: Hi ."], "Question": 2}, "Question is not a text"),
    ],
)
def test_records_without_a_dialogue_are_reported_with_their_line(tmp_path: Path, record: Any, reason: str) -> None:
    good = {"turns": ["a", "b"]}
    _, wrong, last = read(tmp_path, good, record, good)
    assert isinstance(wrong, ItemError)
    assert wrong.line == 2
    assert reason in wrong.reason
    assert isinstance(last, Targets)
    with pytest.raises(InputError, match=r"dialogues\.jsonl:2: "):
        list(read_targets(tmp_path / "dialogues.jsonl", strict=True))
