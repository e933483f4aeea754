"""Tables in and out: CSV, TSV and Parquet have the numbers of JSON lines, and no text becomes a formula."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.api import score_file
from tacit.api.scoring.rows import OutputFormat, delimited_line, heading, read_delimited
from tacit.graph.errors import InputError
from tacit.reasoning.scorer import ItemScores

Tacit = Callable[..., Any]

NAMED = ["--column", "history=context", "--column", "response=answer"]
METRICS = ["--metrics", "grounding,length"]


@pytest.fixture(scope="module")
def talk(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sample dialogues as JSON lines, CSV, TSV and Parquet, the tables with columns of other names."""
    folder = tmp_path_factory.mktemp("talk")
    rows = [json.loads(line) for line in (sample / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = [
        {"id": row["id"], "history": _turns(row["history"]), "response": row["response"]} for row in rows if "response" in row
    ]
    rows.append({"id": "=1+2", "history": ['One, "two"\tthree.'], "response": "A dog,\nand a cat."})
    rows.append({"id": "wordless", "history": ["Hello."], "response": "?!"})
    (folder / "talk.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    named = [
        {"id": row["id"], "context": row["history"], "answer": row["response"], "human": 1 + index % 5}
        for index, row in enumerate(rows)
    ]
    (folder / "named.jsonl").write_text("".join(json.dumps(row) + "\n" for row in named))
    (folder / "named.json").write_text(json.dumps(named))
    pq.write_table(pa.Table.from_pylist(named), folder / "named.parquet")
    for suffix, delimiter in (("csv", ","), ("tsv", "\t")):
        with (folder / f"named.{suffix}").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter)
            writer.writerow(["Id", "Context", "Answer", "Human"])
            writer.writerows([row["id"], json.dumps(row["context"]), row["answer"], row["human"]] for row in named)
    return folder


def _turns(history: str | list[str]) -> list[str]:
    return history.splitlines() if isinstance(history, str) else history


@pytest.fixture(scope="module")
def expected(talk: Path, sample_graph: str) -> list[dict[str, Any]]:
    """The rows of JSON lines."""
    score_file(talk / "talk.jsonl", talk / "expected.jsonl", sample_graph, ["grounding", "length"])
    return [json.loads(line) for line in (talk / "expected.jsonl").read_text(encoding="utf-8").splitlines()]


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of an output as JSON values."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.suffix == ".parquet":
        from tacit.api.scoring.rows import read_parquet

        return [row.to_dict(False) for row in read_parquet(path, ("grounding", "length"))]
    return [row.to_dict(False) for row in read_delimited(path, ("grounding", "length"), OutputFormat(path.suffix[1:]))]


@pytest.mark.parametrize("source", ["named.jsonl", "named.json", "named.csv", "named.tsv", "named.parquet"])
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv", "parquet"])
def test_every_output_format_has_the_numbers_of_json_lines(
    source: str, suffix: str, talk: Path, expected: list[dict[str, Any]], sample_graph: str, tmp_path: Path, tacit: Tacit
) -> None:
    output = tmp_path / f"out.{suffix}"
    outcome = tacit("score", talk / source, "--output", output, "--graph", sample_graph, *METRICS, *NAMED, "--quiet")
    assert outcome.status == 0, outcome.err
    assert read(output) == expected


def test_the_cells_of_csv(talk: Path, expected: list[dict[str, Any]], sample_graph: str, tmp_path: Path, tacit: Tacit) -> None:
    output = tmp_path / "out.csv"
    words = ["score", talk / "talk.jsonl", "--output", output, "--graph", sample_graph, *METRICS]
    assert tacit(*words, "--explain").status == 0
    with output.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows[-2:]] == ["'=1+2", "wordless"]
    assert [float(row["score.grounding"]) for row in rows[:-2]] == [row["scores"]["grounding"] for row in expected[:-2]]
    assert rows[-1]["score.grounding"] == ""
    assert rows[-1]["note.grounding"] == expected[-1]["notes"]["grounding"]
    assert json.loads(rows[0]["evidence"])["grounding"]["pieces"]
    resumed = tacit(*words, "--explain", "--resume")
    assert "is complete" in resumed.err
    assert tacit(*words, "--resume").status == 0, "another --explain: scored again"
    assert "evidence" not in output.read_text(encoding="utf-8").splitlines()[0]


def test_csv_to_standard_output_is_the_file(talk: Path, sample_graph: str, tmp_path: Path, tacit: Tacit) -> None:
    output = tmp_path / "out.tsv"
    words = ["score", talk / "talk.jsonl", "--graph", sample_graph, *METRICS, "--quiet"]
    assert tacit(*words, "--output", output).status == 0
    assert tacit(*words, "--format", "tsv").out == output.read_text(encoding="utf-8")


def test_an_interrupted_run_into_csv_is_resumed(talk: Path, sample_graph: str, tmp_path: Path) -> None:
    output, whole = tmp_path / "out.csv", tmp_path / "whole.csv"
    seen = 0

    def stop(_: ItemScores) -> None:
        nonlocal seen
        seen += 1
        if seen == 8:
            raise KeyboardInterrupt

    columns = {"history": "context", "response": "answer"}
    arguments: tuple[Any, ...] = (sample_graph, ["length"])
    with pytest.raises(KeyboardInterrupt):
        score_file(talk / "named.csv", output, *arguments, shard_lines=3, columns=columns, observers=[stop])
    with pytest.raises(InputError, match="another --column"):
        score_file(talk / "named.csv", output, *arguments, shard_lines=3, columns=columns | {"id": "id"}, resume=True)
    done = score_file(talk / "named.csv", output, *arguments, shard_lines=3, columns=columns, resume=True)
    assert 0 < done.fresh < done.tally.rows
    score_file(talk / "named.csv", whole, *arguments, columns=columns)
    assert output.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("source", ["named.csv", "named.tsv", "named.parquet", "named.json"])
def test_ratings_in_tables_agree_as_in_json_lines(source: str, talk: Path, tacit: Tacit) -> None:
    def agreement(file: str) -> Any:
        words = ["--metrics", "length", "--resamples", "100", "--json", *NAMED, "--column", "rating=human"]
        outcome = tacit("evaluate", talk / file, *words)
        assert outcome.status == 0, outcome.err
        return json.loads(outcome.out)

    assert agreement(source) == agreement("named.jsonl")
    assert agreement(source)[0]["n"] == 10


def test_explain_and_compare_take_named_columns(talk: Path, tacit: Tacit) -> None:
    outcome = tacit("explain", talk / "named.csv", *NAMED, "--metrics", "length", "--item", "dinner/bad")
    assert outcome.status == 0, outcome.err
    assert "The library has an interesting book" in outcome.out
    outcome = tacit(
        "compare", talk / "named.csv", talk / "named.parquet", *NAMED, "--metrics", "length", "--json", "--resamples", "100"
    )
    assert outcome.status == 0, outcome.err
    assert json.loads(outcome.out)["metrics"][0]["difference"] == 0


@pytest.mark.parametrize("source", ["named.csv", "named.parquet"])
def test_a_missing_column_is_named(source: str, talk: Path, tacit: Tacit) -> None:
    outcome = tacit("score", talk / source, "--metrics", "length", "--column", "history=story", "--column", "response=answer")
    assert outcome.status == 2
    assert outcome.err.lower().endswith("has no column 'story' for history; it has id, context, answer, human\n")


def test_a_column_with_the_name_of_a_renamed_field_is_left_out(tmp_path: Path, tacit: Tacit) -> None:
    table = tmp_path / "two.csv"
    table.write_text("history,response,prompt\nWrong.,One two.,Right.\n")
    keys = tmp_path / "two.jsonl"
    keys.write_text('{"history": "Wrong.", "response": "One two.", "prompt": "Right."}\n')
    for file in (table, keys):
        outcome = tacit("explain", file, "--metrics", "length", "--column", "history=prompt")
        assert "Right." in outcome.out
        assert "Wrong." not in outcome.out


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
FORMULAS = st.builds(str.__add__, st.sampled_from(["=", "+", "-", "@", "\t", "\r", "'", "'=", "''-"]), TEXTS)


@given(text=TEXTS | FORMULAS, form=st.sampled_from([OutputFormat.CSV, OutputFormat.TSV]))
def test_csv_texts_round_trip_and_are_no_formulas(
    text: str, form: OutputFormat, tmp_path_factory: pytest.TempPathFactory
) -> None:
    row = ItemScores.from_dict({"id": text, "line": 1, "error": f"{text}!"})
    path = tmp_path_factory.getbasetemp() / f"one.{form.value}"
    path.write_text(heading([], False, form) + delimited_line(row, [], False, form), encoding="utf-8", newline="")
    [entry] = read_delimited(path, [], form)
    assert (entry.id, entry.error) == (text, f"{text}!")
    with path.open(encoding="utf-8", newline="") as file:
        cells = list(csv.reader(file, delimiter="," if form is OutputFormat.CSV else "\t"))[1]
    for cell in (cells[0], cells[2]):
        assert cell[0] not in "=+-@\t\r" or float(cell) is not None
