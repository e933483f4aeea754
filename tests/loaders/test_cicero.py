"""CICERO files: both versions, questions with answers, candidates, records that are refused, and the published validation set."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph.errors import DamagedInput, InputError
from tacit.graph.questions import QUESTIONS, Answered, Instance, Question
from tacit.loaders import Candidates, ItemError, read_answered, read_candidates, read_cicero

SECOND: dict[str, Any] = {
    "ID": "daily-dialogue-1", "Dialogue": ["A: Dad , why are you taping the windows ?", "B: A typhoon is coming ."],
    "Target": "A typhoon is coming .", "Question": "What subsequent event happens or could happen following the target?",
    "Choices": ["They buy food.", "They stay at home.", "They go sailing.", "They open the windows."], "Correct Answers": [0, 1],
}  # fmt: skip
FIRST = SECOND | {
    "Question": "What is or could be the prerequisite of target?",
    "Choices": [*SECOND["Choices"], "He heard the news."],
    "Human Written Answer": [4],
    "Correct Answers": [4],
}  # fmt: skip


def written(tmp_path: Path, *records: Any, name: str = "cicero.json") -> Path:
    path = tmp_path / name
    path.write_text("".join(f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records))
    return path


def test_both_versions_as_lines_as_a_list_and_compressed(tmp_path: Path) -> None:
    expected = [
        Instance(
            "daily-dialogue-1", SECOND["Dialogue"], SECOND["Target"], Question.SUBSEQUENT, SECOND["Choices"], (0, 1)
        ),
        Instance("daily-dialogue-1", SECOND["Dialogue"], SECOND["Target"], Question.PREREQUISITE, FIRST["Choices"], (4,), (4,)),
    ]  # fmt: skip
    lines = written(tmp_path, SECOND, FIRST)
    whole = tmp_path / "list.json"
    whole.write_text(json.dumps([SECOND, FIRST], indent=1))
    packed = tmp_path / "lines.json.gz"
    packed.write_bytes(gzip.compress(lines.read_bytes()))
    for path in (lines, whole, packed):
        assert list(read_cicero(path)) == expected


def test_a_file_without_answers_can_be_read(tmp_path: Path) -> None:
    [instance] = read_cicero(written(tmp_path, {name: value for name, value in SECOND.items() if name != "Correct Answers"}))
    assert isinstance(instance, Instance)
    assert instance.correct == ()


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ({}, "ID is missing; expected ID, Dialogue, Target, Question, Choices"),
        (SECOND | {"Question": "Who did it?"}, "unknown question 'Who did it?'"),
        (SECOND | {"Choices": ["one"]}, "the choices are 1 in number"),
        (SECOND | {"Correct Answers": [4]}, "the correct answers have 4, which is not the number of a choice, 0 to 3"),
        (SECOND | {"Dialogue": "A: Hi ."}, "the dialogue is not a list of texts"),
    ],
)
def test_invalid_records_are_reported_with_their_line(tmp_path: Path, record: Any, reason: str) -> None:
    path = written(tmp_path, SECOND, record, FIRST)
    first, wrong, last = read_cicero(path)
    assert isinstance(first, Instance)
    assert isinstance(last, Instance)
    assert isinstance(wrong, ItemError)
    assert wrong.line == 2
    assert reason in wrong.reason
    with pytest.raises(InputError, match=r"cicero\.json:2: "):
        list(read_cicero(path, strict=True))


def test_files_of_other_formats_are_named(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("ID,Dialogue\n1,2\n")
    with pytest.raises(InputError, match="wanted are ID, Dialogue, Target, Question, Choices as JSON"):
        list(read_cicero(table))
    with pytest.raises(InputError, match="does not exist"):
        read_cicero(tmp_path / "missing.json")
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(gzip.compress(json.dumps([SECOND] * 50).encode())[:-20])
    *_, last = read_cicero(cut)
    assert isinstance(last, ItemError)
    assert last.damage
    with pytest.raises(DamagedInput, match="ends early"):
        list(read_cicero(cut, strict=True))


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1).filter(lambda text: bool(text.strip()))


@given(
    st.builds(
        dict, ID=TEXT, Dialogue=st.lists(TEXT, min_size=1, max_size=3), Target=TEXT,
        Question=st.sampled_from([question.text for question in QUESTIONS]), Choices=st.lists(TEXT, min_size=2, max_size=8),
        **{"Correct Answers": st.lists(st.integers(0, 1), unique=True)},
    )
)  # fmt: skip
def test_written_instances_are_read_back(tmp_path_factory: pytest.TempPathFactory, record: dict[str, Any]) -> None:
    [instance] = read_cicero(written(tmp_path_factory.mktemp("any"), record))
    assert isinstance(instance, Instance), instance
    assert (
        instance.id, list(instance.dialogue), instance.target, instance.question.text, list(instance.choices),
        list(instance.correct),
    ) == (
        record["ID"], record["Dialogue"], record["Target"], record["Question"], record["Choices"],
        sorted(record["Correct Answers"]),
    )  # fmt: skip


def test_the_published_validation_set(data_dir: Path) -> None:
    rows = list(read_cicero(data_dir / "cicero" / "v2-val.json.gz", strict=True))
    instances = [row for row in rows if isinstance(row, Instance)]
    assert (len(rows), len(instances), len({row.id for row in instances})) == (1253, 1253, 344)
    assert Counter(row.question for row in instances) == {
        Question.SUBSEQUENT: 618, Question.MOTIVATION: 330, Question.CAUSE: 189, Question.REACTION: 116,
    }  # fmt: skip
    assert min(len(row.correct) for row in instances) == 2
    assert {len(row.choices) for row in instances} == {4, 5, 6, 7, 8}


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
        instance, two, bare, text = read_answered(path)
        assert instance == Answered(1, "d", ("A: Hi", "B: Ho"), "Hi", Question.CAUSE, ("x",))
        assert isinstance(two, Answered)
        assert (two.line, two.right, two.wrong) == (2, ("b",), ("a",))
        assert isinstance(bare, ItemError)
        assert (bare.line, bare.id) == (3, "d")
        assert isinstance(text, ItemError)
        assert text.reason == "the answers are not a list of texts"
        with pytest.raises(InputError, match=r":3: there is no right answer"):
            list(read_answered(path, strict=True))


def test_candidates_are_matched_to_instances_by_id(tmp_path: Path) -> None:
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
    answered = Answered(1, "d", ("A: Hi",), "Hi", Question.CAUSE, ("r",))
    other = Answered(1, "d", ("A: Hi",), "Hi", Question.REACTION, ("r",))
    assert (every.are_for(answered), every.are_for(other), some.are_for(answered), some.are_for(other)) == (
        True,
        True,
        True,
        False,
    )
    reasons = [row.reason for row in wrong if isinstance(row, ItemError)]
    assert [reason.partition(";")[0].partition(" (")[0] for reason in reasons] == [
        "unknown question 'why'", "Candidates is not a list of texts", "ID is missing or not a text", "Target is not a text",
    ]  # fmt: skip
