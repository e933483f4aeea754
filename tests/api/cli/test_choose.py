"""``tacit choose``: a row an instance with scores, shares and edges, and wrong usage in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Tacit = Callable[..., Any]
RECORD = {
    "ID": "c-1", "Dialogue": ["A: I cooked dinner for you .", "B: Thank you !"], "Target": "I cooked dinner for you .",
    "Question": "What is or could be the motivation of target?",
    "Choices": ["The speaker wants to feed the listener.", "The speaker does not want to feed the listener.", "Zorble frimps."],
    "Correct Answers": [0],
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cicero.json"
    path.write_text(json.dumps(RECORD) + "\n")
    return path


def test_infer_prints_one_row_per_instance(tacit: Tacit, file: Path, sample_graph: str, tmp_path: Path) -> None:
    output = tmp_path / "chosen.jsonl"
    assert tacit("choose", file, "--graph", sample_graph, "--output", output, "--quiet").status == 0
    [row] = map(json.loads, output.read_text().splitlines())
    assert (row["id"], row["question"], len(row["scores"])) == ("c-1", "motivation", 3)
    assert row["scores"] == [choice["score"] for choice in row["choices"]]
    assert 0 in row["chosen"]
    assert row["choices"][0]["evidence"][0]["speaks"] == "for"
    assert row["choices"][1]["evidence"][0]["speaks"] == "against"
    assert row["choices"][2]["note"] == "no edge"
    assert row["query"].startswith("MATCH")
    assert tacit("choose", file, "--graph", sample_graph, "--json", "--quiet").rows == [row]
    shown = tacit("choose", file, "--graph", sample_graph, "--answers", "1", "--quiet").out.splitlines()
    assert shown[0] == "c-1, motivation: I cooked dinner for you ."
    assert sum(line.startswith("*") for line in shown) == 1
    assert any("; no edge)" in line for line in shown)


def test_an_interrupted_run_continues(tacit: Tacit, file: Path, tmp_path: Path) -> None:
    file.write_text("".join(json.dumps({**RECORD, "ID": f"c-{number}"}) + "\n" for number in range(4)))
    output, partial = tmp_path / "chosen.jsonl", tmp_path / "chosen.jsonl.partial"
    words = ["choose", file, "--judge", "answers", "--output", output, "-q"]
    assert tacit(*words).status == 0
    whole = output.read_text()
    assert [json.loads(line)["id"] for line in whole.splitlines()] == ["c-0", "c-1", "c-2", "c-3"]
    assert not partial.exists()
    output.unlink()
    first, second, *_ = whole.splitlines(keepends=True)
    marked = first.replace('"id": "c-0"', '"id":  "c-0"')  # a row that is kept, not judged again
    partial.write_text(marked + second[:20])
    shown = tacit(*words)
    assert (shown.status, output.exists()) == (2, False)
    assert "has the rows of an unfinished run; continue it with --resume" in shown.err
    for more, message in ((["--answers", "1"], "rows of other instances or --answers"), (["--judge", "graph"], "needs a graph")):
        shown = tacit(*words, "--resume", *more)
        assert (shown.status, message in shown.err) == (2, True), shown.err
    assert tacit(*words, "--resume").status == 0
    assert output.read_text() == whole.replace(first, marked)
    assert not partial.exists()
    partial.write_text(first.replace("answer-only", "answer-none"))
    assert "rows with the signature" in tacit(*words, "--resume").err
    assert "--resume continues a run into a file" in tacit("choose", file, "--judge", "answers", "--resume").err


def test_choose_does_not_read_the_right_answers(tacit: Tacit, file: Path, sample_graph: str, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**RECORD, "Correct Answers": [2]}))
    rows = [tacit("choose", path, "--graph", sample_graph, "--json", "-q").out for path in (file, other)]
    assert rows[0] == rows[1]


def test_judges_without_a_graph(tacit: Tacit, file: Path) -> None:
    [row] = tacit("choose", file, "--judge", "answers", "--json", "-q").rows
    assert [set(choice["shares"]) for choice in row["choices"]] == [{"answers"}] * 3
    assert not any("note" in choice for choice in row["choices"])


def test_broken_records_are_counted(tacit: Tacit, file: Path, sample_graph: str) -> None:
    file.write_text(file.read_text() + '{"ID": "x"}\n')
    shown = tacit("choose", file, "--graph", sample_graph, "--json", "-q")
    assert len(shown.rows) == 1
    assert "line 2: Dialogue is missing" in shown.err
    strict = tacit("choose", file, "--graph", sample_graph, "--json", "-q", "--strict")
    assert (strict.status, "cicero.json:2: Dialogue is missing" in strict.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the judge graph needs a graph; give one with --graph or TACIT_GRAPH"),
        (["--judges", "answers,likelihood"], "the judge likelihood needs a language model"),
        (["--judge", "answers", "--model", "/nowhere/model", "--judge", "likelihood"], "/nowhere/model"),
    ],
)
def test_errors_are_one_sentence(tacit: Tacit, file: Path, words: list[str], message: str) -> None:
    shown = tacit("choose", file, "-q", *words)
    assert shown.status in (1, 2)
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.count("\n") == 1


def test_a_file_without_cicero_instances_is_refused(tacit: Tacit, sample: Path, sample_graph: str) -> None:
    shown = tacit("choose", sample / "dialogues.jsonl", "--graph", sample_graph, "-q")
    assert (shown.status, shown.out) == (2, "")
    assert "has no instance of CICERO; the first error: line 1: ID is missing" in shown.err
