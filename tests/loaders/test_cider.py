"""CIDER files: triplets with their turns, records that are refused with file and line, and the published file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph.errors import DamagedInput, InputError
from tacit.loaders import ItemError, MarkedDialogue, MarkedTriplet, Span, read_cider

TEXT = "A: I have a cold .    B: Drink some tea then .    A: Thanks . "
TEA: dict[str, Any] = {
    "head": "tea", "relation": "UsedFor", "tail": "cold", "headpos": [TEXT.index("tea"), TEXT.index("tea") + 3],
    "tailpos": [12, 16],
}  # fmt: skip
LATENT: dict[str, Any] = TEA | {"tail": "the speaker is ill", "tailpos": [-1, -1], "latent": True}
RECORD: dict[str, Any] = {"id": "one", "utterances": TEXT, "triplets": [TEA, LATENT]}


def written(tmp_path: Path, *records: Any) -> Path:
    path = tmp_path / "cider.json"
    path.write_text("".join(f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records))
    return path


def test_spans_have_their_turn_and_offsets_as_lines_as_a_list_and_compressed(tmp_path: Path) -> None:
    tea = Span("tea", 1, 11, 14)
    expected = MarkedDialogue(
        "one",
        ("I have a cold .", "Drink some tea then .", "Thanks ."),
        (
            MarkedTriplet(tea, "UsedFor", Span("cold", 0, 9, 13)),
            MarkedTriplet(tea, "UsedFor", Span("the speaker is ill")),
        ),
    )
    lines = written(tmp_path, RECORD)
    whole = tmp_path / "list.json"
    whole.write_text(json.dumps([RECORD], indent=4))
    packed = tmp_path / "list.json.gz"
    packed.write_bytes(gzip.compress(whole.read_bytes()))
    for path in (lines, whole, packed):
        assert list(read_cider(path)) == [expected]


def with_triplet(**fields: Any) -> dict[str, Any]:
    return RECORD | {"triplets": [TEA | fields]}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ({"id": "one", "utterances": TEXT}, "triplets is missing; expected id, utterances, triplets"),
        (RECORD | {"id": 3}, "the id is not a text"),
        (RECORD | {"utterances": [TEXT]}, "the utterances are not one text"),
        (RECORD | {"utterances": "Hello ."}, "do not begin with a speaker"),
        (RECORD | {"triplets": {}}, "the triplets are not a list"),
        (RECORD | {"triplets": [TEA, "tea"]}, "triplet 2 is not a JSON object"),
        (with_triplet(relation="used for"), "triplet 1: 'used for' is not a relation name"),
        (with_triplet(relation=None), "triplet 1 has the relation None, which is not a text"),
        (with_triplet(head=" "), "the head of triplet 1 is not a text"),
        (with_triplet(tailpos=[12]), r"the position of the tail of triplet 1 is \[12\], not two offsets"),
        (with_triplet(tailpos=[12, 1600]), "not two offsets in the utterances"),
        (with_triplet(tailpos=[-1, -1]), "not two offsets in the utterances"),
        (with_triplet(tailpos=[11, 15]), "the tail of triplet 1 is 'cold', but its position has ' col'"),
        (with_triplet(tail="cold .    B: Drink", tailpos=[12, 30]), "the tail of triplet 1 is not within one turn"),
    ],
)
def test_unusable_records_are_reported_with_their_line(tmp_path: Path, record: Any, reason: str) -> None:
    path = written(tmp_path, RECORD, record, RECORD)
    first, wrong, last = read_cider(path)
    assert isinstance(first, MarkedDialogue)
    assert isinstance(last, MarkedDialogue)
    assert isinstance(wrong, ItemError)
    assert wrong.line == 2
    with pytest.raises(InputError, match=rf"cider\.json:2: .*{reason}"):
        list(read_cider(path, strict=True))


def test_files_of_other_formats_are_named(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("id,utterances\n1,2\n")
    with pytest.raises(InputError, match="wanted are id, utterances, triplets as JSON"):
        list(read_cider(table))
    with pytest.raises(InputError, match="does not exist"):
        read_cider(tmp_path / "missing.json")
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(gzip.compress(json.dumps([RECORD] * 50).encode())[:-20])
    *_, last = read_cider(cut)
    assert isinstance(last, ItemError)
    assert last.damage
    with pytest.raises(DamagedInput, match="ends early"):
        list(read_cider(cut, strict=True))


WORDS = st.lists(st.text("abcdefg", min_size=1, max_size=6), min_size=1, max_size=6).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=4), st.data())
def test_spans_are_found_by_their_text(tmp_path_factory: pytest.TempPathFactory, turns: list[str], data: st.DataObject) -> None:
    text = "    ".join(f"{'AB'[index % 2]}: {turn}" for index, turn in enumerate(turns))
    turn = data.draw(st.integers(0, len(turns) - 1))
    start = data.draw(st.integers(0, len(turns[turn]) - 1))
    end = data.draw(st.integers(start + 1, len(turns[turn])))
    wording = turns[turn][start:end]
    if not wording.strip():
        return
    before = sum(len(entry) + 7 for entry in turns[:turn]) + 3
    position = [before + start, before + end]
    entry = TEA | {"head": wording, "headpos": position, "tail": wording, "tailpos": position}
    record = {"id": "any", "utterances": text, "triplets": [entry]}
    [row] = read_cider(written(tmp_path_factory.mktemp("any"), record))
    span = Span(wording, turn, start, end)
    assert row == MarkedDialogue("any", tuple(turns), (MarkedTriplet(span, "UsedFor", span),))


def test_the_published_file(data_dir: Path) -> None:
    rows = list(read_cider(data_dir / "cicero" / "cider.json.gz", strict=True))
    dialogues = [row for row in rows if isinstance(row, MarkedDialogue)]
    triplets = [triplet for row in dialogues for triplet in row.triplets]
    assert (len(rows), len(dialogues), len({row.id for row in dialogues}), len(triplets)) == (807, 807, 807, 4539)
    assert sum(triplet.head.turn is None or triplet.tail.turn is None for triplet in triplets) == 427
    assert len({triplet.relation for triplet in triplets}) == 56
    for row in dialogues:
        for span in (span for triplet in row.triplets for span in (triplet.head, triplet.tail) if span.turn is not None):
            assert row.turns[span.turn][span.start : span.end] == span.text  # type: ignore[index]
