"""``tacit create``: what it writes and reports, that the seed decides, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tacit.graph.questions import Instance
from tacit.loaders import Targets, read_cicero, read_targets

from tests.api.conftest import Tacit

TOPICS = ("dog", "cat", "sea", "car", "book", "song")


def turns_about(topic: str, number: int = 6) -> list[str]:
    return [f"I'm sure that my {topic} is number {topic}{index} of them all" for index in range(number)]


@pytest.fixture
def dialogues(tmp_path: Path) -> Path:
    rows = [{"id": topic, "turns": turns_about(topic, 5 + index)} for index, topic in enumerate(TOPICS)]
    rows += [{"id": "again", "turns": turns_about("dog", 5)}, {"id": "short", "turns": ["Hello", "Hi"]}]
    rows += [{"id": "dog", "turns": turns_about("cow")}, {"turns": turns_about("hat")}, {"id": "none", "turns": 3}]  # type: ignore[dict-item]
    file = tmp_path / "dialogues.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_targets_are_written_as_records_of_cicero(tacit: Tacit, dialogues: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    done = tacit("create", "targets", dialogues, "--output", output, "--json")
    report = done.json
    assert f"records of {dialogues} without a dialogue" in done.err
    left = {name: number for name, number in report["left_out"].items() if number}
    assert left == {"too few turns": 1, "duplicate of an earlier dialogue": 1}
    assert (report["read"], report["kept"], report["errors"]) == (10, 8, 1)
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == report["records"] == sum(report["questions"].values())
    assert report["targets"]["last"] == report["questions"]["reaction"] == 8
    assert {row["ID"] for row in rows} == {*TOPICS, "dog-2", "dialogues-10"}
    assert all(list(row) == ["ID", "Dialogue", "Target", "Question"] for row in rows)
    for row, read in zip(rows, read_targets(output), strict=True):
        assert isinstance(read, Targets)
        assert read.question is not None
        assert row["Dialogue"][read.target or 0] == f"{'AB'[(read.target or 0) % 2]}: {row['Target']}"


def test_the_seed_decides(tacit: Tacit, dialogues: Path, tmp_path: Path) -> None:
    texts = []
    for number, seed in enumerate((4, 4, 5)):
        output = tmp_path / f"{number}.jsonl"
        assert tacit("create", "targets", dialogues, "--output", output, "--seed", seed, "--quiet").status == 0
        texts.append(output.read_bytes())
    assert texts[0] == texts[1] != texts[2]
    shown = tacit("create", "targets", dialogues, "--seed", 4)
    assert shown.out.encode() == texts[0]
    assert "left out: too few turns" in shown.err


def test_without_a_kept_dialogue_nothing_is_written(tacit: Tacit, dialogues: Path, tmp_path: Path) -> None:
    file = tmp_path / "few.jsonl"
    file.write_text(json.dumps({"turns": ["Hello", "Hi"]}) + "\n", encoding="utf-8")
    output = tmp_path / "out.jsonl"
    refused = tacit("create", "targets", file, "--output", output)
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "none of the 1 dialogues" in refused.err
    assert "1 for too few turns" in refused.err
    assert not output.exists()
    assert "is given twice" in tacit("create", "targets", file, file).err
    assert "is the input" in tacit("create", "targets", dialogues, file, "--output", file).err


def questions(number: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for index in range(number):
        thing = f"{TOPICS[index % len(TOPICS)]} {index}"
        turns = [f"A: I bought the {thing}", f"B: How is the {thing} ?"]
        rows.append(
            {"ID": f"d{index}", "Dialogue": turns, "Target": turns[0][3:], "Question": "What is or could be the cause of target?"}
        )
    return rows


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    rows = [{**row, "Answers": [f"The speaker likes the {row['Target']}."]} for row in questions(12)]
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in (*rows, *questions(1))), encoding="utf-8")
    return file


def test_choices_are_written_as_records_of_cicero(tacit: Tacit, answers: Path, tmp_path: Path) -> None:
    pool = tmp_path / "pool.jsonl"
    candidates = [
        {"ID": "d3", "Candidates": ["The moon."]},
        {"ID": "d4", "Question": "reaction", "Candidates": ["x"]},
        {"ID": "d5"},
    ]
    pool.write_text("".join(json.dumps(row) + "\n" for row in candidates), encoding="utf-8")
    texts = []
    for number, seed in enumerate((3, 3, 4)):
        output = tmp_path / f"{number}.jsonl"
        words = ("--output", output, "--pool", pool, "--rounds", 2, "--folds", 3, "--seed", seed)
        done = tacit("create", "choices", answers, *words, "--json")
        report = done.json
        assert "there is no right answer" in done.err
        assert "Candidates is not a list of texts" in done.err
        texts.append(output.read_bytes())
        assert (report["instances"], report["errors"], report["discriminator"]) == (12, 1, "lexical-1")
        assert [entry["number"] for entry in report["rounds"]] == list(range(1, len(report["rounds"]) + 1))
        assert report["rounds"][-1]["swapped"] == 0
    assert texts[0] == texts[1] != texts[2]
    read = list(read_cicero(tmp_path / "0.jsonl"))
    assert len(read) == 12
    for number, entry in enumerate(read):
        assert isinstance(entry, Instance)
        assert len(entry.choices) == len(set(entry.choices)) == 5
        assert [entry.choices[index] for index in entry.correct] == [f"The speaker likes the {entry.target}."]
        assert ("The moon." in entry.choices) <= (number == 3)
    shown = tacit("create", "choices", answers, *words)
    assert "accuracy before" in shown.out
    assert "chance" in shown.out


def test_refused_choices_write_nothing(tacit: Tacit, answers: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    bare = tmp_path / "bare.jsonl"
    bare.write_text(json.dumps(questions(1)[0]) + "\n", encoding="utf-8")
    pool = tmp_path / "pool.jsonl"
    pool.write_text(json.dumps({"ID": "nobody", "Candidates": ["x"]}) + "\n", encoding="utf-8")
    for words, sentence in (
        ((bare,), "line 1: there is no right answer"),
        ((answers, "--strict"), "answers.jsonl:13: there is no right answer"),
        ((answers, "--wrong", 12), "record 1, cause, has 11 candidates for 12 wrong answers"),
        ((answers, "--candidates", 0), "has 0 candidates for 4 wrong answers"),
        ((answers, "--folds", 13), "12 conversations cannot be divided into 13 folds"),
        ((answers, "--model", tmp_path / "missing"), "missing"),
        ((answers, "--recipe", "x.toml"), "name one with --model"),
        ((answers, "--pool", pool), "has no candidates for the instances"),
        ((answers, "--pool", answers), "is given twice"),
    ):
        refused = tacit("create", "choices", *words, "--output", output)
        assert refused.status in (1, 2), refused
        assert sentence in refused.err
        assert "Traceback" not in refused.err
        assert not output.exists()
