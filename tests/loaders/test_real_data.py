"""The real files: every line is accounted for, with known counts. Skipped where the data is not available."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tacit.graph.names import event_uri, normalise_event, text_of
from tacit.loaders import Item, ItemError, read_atomic, read_conceptnet, read_items

DATA = Path(os.environ.get("TACIT_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data")


def real(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there; set TACIT_TEST_DATA to the folder of real data")
    return path


@pytest.mark.slow
def test_conceptnet_loads_completely() -> None:
    reader = read_conceptnet(real("conceptnet/assertions-en.csv.gz"), strict=True)
    for _ in reader:
        pass
    assert (reader.report.read, reader.report.kept) == (289_251, 289_251)
    assert not reader.report.left_out()
    assert reader.bytes_read == reader.bytes_total


@pytest.mark.parametrize(("name", "lines"), [("train", 59_336), ("dev", 20_379), ("test", 152_209), ("atomic-v1", 244_825)])
@pytest.mark.slow
def test_atomic_loads_completely(name: str, lines: int) -> None:
    reader = read_atomic(real(f"atomic2020/{name}.tsv.gz"), strict=True)
    rows = list(reader)
    report = reader.report
    assert report.read == lines == report.kept + sum(report.dropped.values())
    assert set(report.dropped) <= {"none tail", "duplicate", "empty tail"}
    assert len({row[:3] for row in rows}) == len(rows)
    for row in rows[::97]:
        assert event_uri(text_of(row.head)) == row.head
        assert normalise_event(text_of(row.tail)) == text_of(row.tail)


@pytest.mark.parametrize(
    "name",
    ["dialogues/dailydialog-test", "judgements/grade-dailydialog-empathetic", "judgements/fed-turn"],
)
def test_dialogues_load_completely(name: str) -> None:
    rows = list(read_items(real(f"{name}.jsonl.gz"), strict=True))
    assert len(rows) >= 375
    assert all(isinstance(row, Item) and row.history for row in rows)
    assert len({row.id for row in rows if isinstance(row, Item)}) == len(rows)


def test_every_line_gives_a_row() -> None:
    rows = list(read_items(real("dialogues/mutual-dev.jsonl.gz")))
    lines = {row.id.partition("/")[0] if isinstance(row, Item) else row.id for row in rows}
    assert len(lines) == 886
    assert {row.reason for row in rows if isinstance(row, ItemError)} == {
        "turns holds one text; a response needs a turn before it"
    }
