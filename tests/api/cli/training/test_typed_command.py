"""The command line that a model's card tells: as it was typed, without the folders of one machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from tacit.api.cli.training.run import as_typed


def test_files_and_folders_lose_what_stands_before_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some talk.jsonl").touch()
    output = tmp_path / "new"
    typed = [str(tmp_path / "some talk.jsonl"), "a/b", "--graph=" + str(tmp_path), f"--output={output}", "--for", "same"]
    for name in ("grade", "coherence"):
        monkeypatch.setattr("sys.argv", ["tacit", "train", name, *typed])
        assert (
            as_typed(name, [], output)
            == f"tacit train {name} 'some talk.jsonl' a/b --graph={tmp_path.name} --output=new --for same"
        )


def test_a_call_from_python_tells_the_words_it_stands_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["pytest", "-q"])
    assert (
        as_typed("grade", [str(tmp_path), "-o", str(tmp_path / "new")], tmp_path / "new")
        == f"tacit train grade {tmp_path.name} -o new"
    )
