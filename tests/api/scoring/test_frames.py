"""Data frames: every library gives the same table, aligned with its rows, with the values of the metrics themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from tacit.api import score_file, score_frame
from tacit.graph.errors import InputError
from tacit.reasoning import Reasoner

HISTORY = [["I am hungry.", "What shall we cook?"], ["It is raining."], ["My dog is sick."]]
RESPONSE = ["Let's make a soup.", "Take an umbrella.", "Call the vet."]
COLUMNS = {"history": HISTORY, "response": RESPONSE}


def in_polars(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


def in_datasets(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict(columns)


MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": dict, "arrow": pa.table, "pandas": pd.DataFrame, "polars": in_polars, "datasets": in_datasets,
}  # fmt: skip


@pytest.fixture(scope="module")
def reasoner(sample_graph: str) -> Any:
    with Reasoner(sample_graph, ["grounding", "length"]) as opened:
        yield opened


@pytest.mark.parametrize("kind", MAKERS)
def test_data_frames_of_every_library_give_equal_scores(kind: str, reasoner: Reasoner) -> None:
    frame = score_frame(MAKERS[kind](COLUMNS), reasoner)
    assert isinstance(frame, pa.Table)
    assert frame["row"].to_pylist() == [0, 1, 2]
    for name in ("grounding", "length"):
        expected = [reasoner.score(*pair)[name].value for pair in zip(HISTORY, RESPONSE, strict=True)]
        assert frame[f"score.{name}"].to_pylist() == [None if math.isnan(value) else value for value in expected]
    assert set(frame["signature.length"].to_pylist()) == {reasoner.signatures["length"]}


def test_the_columns_are_those_of_a_parquet_output(reasoner: Reasoner, sample_graph: str, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table(COLUMNS), tmp_path / "in.parquet")
    score_file(tmp_path / "in.parquet", tmp_path / "out.parquet", sample_graph, ["grounding", "length"])
    written, frame = pq.read_table(tmp_path / "out.parquet"), score_frame(pa.table(COLUMNS), reasoner)
    assert frame.column_names == ["row", *written.column_names]
    for name in written.column_names:
        assert frame[name].to_pylist() == written[name].to_pylist()


def test_renamed_columns_and_rows_without_an_item(reasoner: Reasoner) -> None:
    frame = pd.DataFrame(
        {"context": ["I am hungry.\nWhat shall we cook?", "It is raining."], "Answer": ["Let's make a soup.", None]}
    )
    scored = score_frame(frame, reasoner, columns={"history": "context", "response": "Answer"})
    assert scored["score.length"].to_pylist() == [4, None]
    assert scored["error"].to_pylist() == [None, "response is missing"]
    frame["History"] = ["I am tired.", "I am tired."]  # a named column comes before one that is called like the field
    assert score_frame(frame, reasoner, columns={"history": "context", "response": "Answer"}).equals(scored)
    turns = score_frame({"turns": [["a", "b", "c"], ["d", "e"]]}, Reasoner(metrics=["length"]))
    assert (turns["row"].to_pylist(), turns["id"].to_pylist()) == ([0, 0, 1], ["1/2", "1/3", "2/2"])
    assert score_frame({"history": [], "response": []}, reasoner).num_rows == 0


def test_the_evidence_is_nested_and_adds_up(reasoner: Reasoner) -> None:
    frame = score_frame(COLUMNS, reasoner, explain=True)
    pieces = frame["evidence.grounding"].to_pylist()[1]
    assert sum(piece["share"] for piece in pieces if piece["depth"] == 0) == pytest.approx(frame["score.grounding"][1].as_py())
    umbrella = next(piece for piece in pieces if piece["response"] == "umbrella")
    assert (umbrella["history"], umbrella["turn"]) == ("raining", 0)
    assert "umbrella" in umbrella["path"]


def test_unreadable_input_is_named(reasoner: Reasoner) -> None:
    with pytest.raises(InputError, match=r"the frame has the columns question; wanted are history and response"):
        score_frame({"question": ["a"]}, reasoner)
    with pytest.raises(InputError, match="has no column 'reply' for response; it has history, response"):
        score_frame(COLUMNS, reasoner, columns={"response": "reply"})
    with pytest.raises(InputError, match="cannot read the list as a table"):
        score_frame([1, 2], reasoner)


def test_datasets_are_read_in_the_order_of_their_rows(reasoner: Reasoner) -> None:
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_dict(COLUMNS)
    lengths = [4, 3, 3]
    assert score_frame(whole, reasoner)["score.length"].to_pylist() == lengths
    assert score_frame(whole.select([2, 0]), reasoner)["score.length"].to_pylist() == [3, 4]
    assert score_frame(whole.with_format("numpy"), reasoner)["score.length"].to_pylist() == lengths
    renamed = whole.rename_columns({"history": "prompt", "response": "answer"})
    frame = score_frame(renamed, reasoner, columns={"history": "prompt", "response": "answer"})
    assert frame["score.length"].to_pylist() == lengths
    with pytest.raises(InputError, match="the DatasetDict has several tables; give one of them: train, test"):
        score_frame(datasets.DatasetDict(train=whole, test=whole), reasoner)
    with pytest.raises(InputError, match="the IterableDataset is read row by row; make a Dataset of it"):
        score_frame(whole.to_iterable_dataset(), reasoner)
