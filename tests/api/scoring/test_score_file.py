"""Scoring from file to file as a Python function: the rows are those of the command, and a run that is cut short goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tacit.api import Address, Cluster, score_file
from tacit.api.scoring.rows import OutputFormat, read_lines, read_parquet
from tacit.graph.errors import InputError
from tacit.reasoning.scorer import ItemScores

from tests.api.conftest import Tacit


@pytest.fixture
def dialogues(tmp_path: Path) -> Path:
    path = tmp_path / "d.jsonl"
    path.write_text(
        '{"turns": ["Hi.", "I have a dog.", "Give it a bone!"]}\nno item\n{"id": "x", "history": [], "response": "Ok."}\n'
    )
    return path


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet"])
def test_score_file_writes_the_output_of_the_command(tacit: Tacit, sample_graph: str, dialogues: Path, name: str) -> None:
    ours, theirs = dialogues.parent / f"ours-{name}", dialogues.parent / f"theirs-{name}"
    seen: list[ItemScores] = []
    done = score_file(dialogues, ours, Address(sample_graph), ["grounding", "length"], explain=True, observers=[seen.append])
    ran = tacit("score", dialogues, "--graph", sample_graph, "-m", "grounding,length", "--explain", "-o", theirs)
    assert ran.status == 0, ran.err
    assert ours.read_bytes() == theirs.read_bytes()
    assert (done.tally.scored, done.tally.errors, done.fresh) == (3, 1, 4)
    assert [(row.id, row.line, row.item is None) for row in seen] == [
        ("1/2", None, False), ("1/3", None, False), (None, 2, True), ("x", None, False),
    ]  # fmt: skip
    form = OutputFormat.GZIP if name.endswith("gz") else OutputFormat.JSONL
    read = read_parquet(ours, ("grounding", "length")) if name.endswith("parquet") else read_lines(ours, form)
    assert [(row.id, row.line, row.error) for row in read] == [(row.id, row.line, row.error) for row in seen]


def test_score_file_resumes_an_interrupted_run(dialogues: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, output = dialogues.parent / "whole.jsonl", dialogues.parent / "out.jsonl"
    score_file(dialogues, whole, metrics=["length"], shard_lines=1)
    messages: list[str] = []

    def stop(row: ItemScores) -> None:
        if row.id == "x":
            raise KeyboardInterrupt

    options: dict[str, Any] = {"metrics": ["length"], "shard_lines": 1}
    with pytest.raises(KeyboardInterrupt):
        score_file(dialogues, output, observers=[stop], tell=messages.append, **options)
    assert not output.exists()
    assert ["3 rows are kept" in sentence for sentence in messages] == [True]
    with pytest.raises(InputError, match="3 rows of an unfinished run"):
        score_file(dialogues, output, **options)
    done = score_file(dialogues, output, resume=True, **options)
    assert (done.fresh, done.tally.rows) == (1, 4)
    assert output.read_bytes() == whole.read_bytes()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.parquet"])
def test_a_complete_output_is_left_as_it_is(tacit: Tacit, dialogues: Path, name: str) -> None:
    output = dialogues.parent / name
    words = ["score", dialogues, "--metrics", "length", "-o", output]
    assert tacit(*words).status == 0
    before = output.stat().st_ino
    again = tacit(*words, "--resume")
    assert again.status == 0
    assert output.stat().st_ino == before
    assert "is complete: its 4 rows were scored before" in again.err
    assert score_file(dialogues, output, metrics=["length"], resume=True).tally.scored == 3
    for other in (["--explain"], ["--metrics", "repetition"]):  # another run
        assert tacit(*words, *other, "--resume").status == 0
        assert output.stat().st_ino != before
        assert tacit(*words).status == 0
        before = output.stat().st_ino
    text = dialogues.read_text(encoding="utf-8")
    dialogues.write_text(text + text.splitlines()[-1] + "\n", encoding="utf-8")
    assert score_file(dialogues, output, metrics=["length"], resume=True).tally.rows == 5
    assert not output.with_name(f"{name}.partial").exists()


@pytest.mark.parametrize(
    ("name", "form", "expected"),
    [
        ("out.CSV", None, OutputFormat.CSV),
        ("out.Parquet", None, OutputFormat.PARQUET),
        ("out.JSONL.GZ", None, OutputFormat.GZIP),
        ("out.jsonl.gz", "jsonl", OutputFormat.GZIP),
        ("out.csv.gz", "jsonl", OutputFormat.GZIP),
        ("out.txt", "tsv", OutputFormat.TSV),
    ],
)
def test_the_format_is_named_or_that_of_the_suffix(dialogues: Path, name: str, form: str | None, expected: OutputFormat) -> None:
    output = dialogues.parent / name
    done = score_file(dialogues, output, metrics=["length"], form=form)
    assert done.plan.form is expected
    assert output.read_bytes().startswith(b"\x1f\x8b") == (expected is OutputFormat.GZIP)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"metrics": "length"}, "metrics must be a list of names"),
        ({"batch_size": 0}, "batch_size must be >= 1"),
        ({"shard_lines": 0}, "shard_lines must be >= 1"),
        ({"form": "xml"}, "form must be jsonl or jsonl.gz or parquet or csv or tsv, not 'xml'"),
        ({"output": "out.csv.gz"}, "only JSON lines are compressed"),
        ({"output": "out.gz", "form": "parquet"}, "only JSON lines are compressed"),
        ({"engine": "neo4j"}, "engine must be auto or store or index"),
        ({"options": {"grade": {}}}, "options has 'grade', which is not in metrics"),
        ({"output": "nowhere/out.jsonl"}, "there is no folder"),
        ({"file": "missing.jsonl"}, "there is no file missing.jsonl"),
    ],
)
def test_invalid_arguments_are_one_sentence(dialogues: Path, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        score_file(**{"file": dialogues, "output": dialogues.parent / "out.jsonl", "metrics": ["length"]} | options)  # type: ignore[arg-type]
    assert list(dialogues.parent.iterdir()) == [dialogues]


def test_an_unreachable_cluster_loses_no_rows(dialogues: Path) -> None:
    output = dialogues.parent / "out.jsonl"

    def stop(row: ItemScores) -> None:
        if row.id == "x":
            raise KeyboardInterrupt

    options: dict[str, Any] = {"metrics": ["length"], "shard_lines": 1, "tell": lambda _: None}
    with pytest.raises(KeyboardInterrupt):
        score_file(dialogues, output, observers=[stop], **options)
    shards = {path.name: path.read_bytes() for path in Path(f"{output}.partial").iterdir()}
    assert len(shards) > 1
    with pytest.raises(InputError, match="ray://"):
        score_file(dialogues, output, resume=True, cluster=Cluster("ray://head:10001"), **options)
    assert {path.name: path.read_bytes() for path in Path(f"{output}.partial").iterdir()}.keys() == shards.keys()
