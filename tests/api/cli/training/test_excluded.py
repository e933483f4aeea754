"""Files of ``--exclude``: their turns, and the report of records that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tacit.api.cli.training.data import excluded_turns, read_unjudged
from tacit.graph.errors import InputError

DIALOGUES = '{"turns": ["Hello.", "Hi."]}\n{"turns": 7}\n[\n'
JUDGEMENTS = '{"history": ["Hello."], "response": "Hi.", "rating": 3}\n{"response": "Hi.", "rating": 3}\n[\n'


@pytest.mark.parametrize(
    ("content", "turns", "noun"),
    [(DIALOGUES, ("Hello.", "Hi."), "a dialogue"), (JUDGEMENTS, ("Hello.",), "a judgement")],
    ids=["dialogues", "judgements"],
)
def test_records_that_cannot_be_read_are_reported(
    content: str, turns: tuple[str, ...], noun: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "evaluation.jsonl"
    file.write_text(content)
    assert excluded_turns([str(file)], strict=False) == [turns]
    heading, *faults = capsys.readouterr().err.splitlines()
    assert heading == f"records of {file} without {noun}:"
    assert [fault.partition(":")[0].strip() for fault in faults] == ["line 2", "line 3"]
    with pytest.raises(InputError, match=r"evaluation\.jsonl(:|, row )2: "):
        excluded_turns([str(file)], strict=True)


def test_grade_reports_records_without_judgements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, dialogues = tmp_path / "evaluation.jsonl", tmp_path / "dialogues.jsonl"
    file.write_text(JUDGEMENTS)
    dialogues.write_text('{"turns": ["Hello.", "Hi."]}\n{"turns": ["Good day.", "Hi."]}\n')
    kept_dialogues, _ = read_unjudged([str(dialogues)], [str(file)], strict=False)
    assert kept_dialogues == [("Good day.", "Hi.")]
    assert f"records of {file} without a judgement:\n  line 2" in capsys.readouterr().err
