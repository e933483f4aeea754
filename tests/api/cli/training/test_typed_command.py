"""The command line that a model's card tells: as it was typed, without the folders of one machine."""

from __future__ import annotations

from pathlib import Path

from tacit.api.cli.training.run import as_typed


def test_recorded_paths_are_reduced_to_their_names(tmp_path: Path) -> None:
    (tmp_path / "some talk.jsonl").touch()
    output = tmp_path / "new"
    typed = [
        str(tmp_path / "some talk.jsonl"),
        "a/b",
        f"--graph={tmp_path}",
        f"--output={output}",
        "-o",
        str(output),
        "--for",
        "same",
    ]
    command = f"'some talk.jsonl' a/b --graph={tmp_path.name} --output=new -o new --for same"
    assert as_typed(["train", "grade", *typed], output) == f"tacit train grade {command}"
