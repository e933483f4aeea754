"""``tacit create``: what it writes and reports, that the seed decides, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tacit.loaders import read_targets
from tacit.loaders.targets import Targets

from tests.api.conftest import Tacit

TOPICS = ("dog", "cat", "sea", "car", "book", "song")


def turns_about(topic: str, number: int = 6) -> list[str]:
    return [f"I'm sure that my {topic} is number {topic}{place} of them all" for place in range(number)]


@pytest.fixture
def dialogues(tmp_path: Path) -> Path:
    rows = [{"id": topic, "turns": turns_about(topic, 5 + place)} for place, topic in enumerate(TOPICS)]
    rows += [{"id": "again", "turns": turns_about("dog", 5)}, {"id": "short", "turns": ["Hello", "Hi"]}]
    rows += [{"id": "dog", "turns": turns_about("cow")}, {"turns": turns_about("hat")}, {"id": "none", "turns": 3}]
    file = tmp_path / "dialogues.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_targets_are_written_as_records_of_cicero(tacit: Tacit, dialogues: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    done = tacit("create", "targets", dialogues, "--output", output, "--json")
    report = done.json
    assert "records without a dialogue" in done.err
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


def test_nothing_is_written_when_no_dialogue_is_left(tacit: Tacit, dialogues: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text(json.dumps({"turns": ["Hello", "Hi"]}) + "\n", encoding="utf-8")
    output = tmp_path / "out.jsonl"
    refused = tacit("create", "targets", few, "--output", output)
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "none of the 1 dialogues" in refused.err
    assert "1 for too few turns" in refused.err
    assert not output.exists()
    assert "is given twice" in tacit("create", "targets", few, few).err
    assert "is the input" in tacit("create", "targets", dialogues, few, "--output", few).err
