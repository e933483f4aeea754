"""Files of judged tuples and of event tuples: every form, and what is wrong with a line."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.errors import InputError
from tacit.loaders import HumanTuple, ItemError, JudgedTuple, read_event_tuples, read_judged_tuples

CSV = (
    "head,relation,tail,label,class,split\r\n"
    'PersonX says "hi",xWant,"to wait, and to listen",1,cs_head,dev\r\n'
    "\r\n"
    "PersonX eats,xReact,sad,0,all_head,dev\r\n"
)
LINES = (
    '{"head": "PersonX eats", "relation": "xReact", "tail": "full", "label": 1, "id": 3}',
    '{"head": "PersonX eats", "relation": "xReact", "tail": "sad", "label": false}',
    '{"head": "PersonX eats", "relation": "xReact", "tail": "çok", "label": "1.0"}',
)


def test_csv_of_the_benchmark(tmp_path: Path) -> None:
    expected = [
        JudgedTuple('PersonX says "hi"', "xWant", "to wait, and to listen", True),
        JudgedTuple("PersonX eats", "xReact", "sad", False),
    ]
    (tmp_path / "plain.csv").write_bytes(b"\xef\xbb\xbf" + CSV.encode())
    (tmp_path / "zipped.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    for name in ("plain.csv", "zipped.csv.gz"):
        assert list(read_judged_tuples(tmp_path / name)) == expected


def test_json_lines(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("\n" + "\n".join(LINES), encoding="utf-8")
    tuples = list(read_judged_tuples(tmp_path / "f"))
    assert [(row.tail, row.plausible) for row in tuples if isinstance(row, JudgedTuple)] == [
        ("full", True), ("sad", False), ("çok", True),
    ]  # fmt: skip
    assert len(tuples) == 3


@pytest.mark.parametrize(
    ("heading", "line", "reason"),
    [
        ("head,relation,tail,label", "PersonX eats,xReact,full", "label is missing; expected 1 or 0"),
        ("head,relation,tail,label", "PersonX eats,xReact,full,yes", "label is 'yes'; expected 1 or 0"),
        ("head,relation,tail,label", "PersonX eats,xReact,full,", "label is missing; expected 1 or 0"),
        ("head,relation,tail,label", ",xReact,full,1", "head is empty"),
        ("head,relation,tail,label", "PersonX eats", "relation is empty"),
        ("head,relation,tail,label", "PersonX eats,gReact,full,1", "there is no relation 'gReact' between events; choose from"),
        ("head,relation,tail,label", "a,xReact,b,1,2", "5 cells under 4 columns"),
        ("head,relation,tail,label", 'PersonX "eats,xReact,"fu"ll,1', "not CSV"),
        ("", '{"head": 3, "relation": "xReact", "tail": "full", "label": 1}', "head is not a text"),
        ("", '{"head": "PersonX eats", "relation": "xReact", "label": 1}', "tail is missing"),
        ("", '{"head": "PersonX eats", "relation": "xReact", "tail": "full", "label": 2}', "label is 2; expected 1 or 0"),
        ("", '{"head": "PersonX eats", "relation": ["xReact"], "tail": "full", "label": 1}', "relation is not a text"),
        ("", '{"head": "PersonX', "not JSON"),
        ("", "[1]", "not a JSON object"),
        ("", "\udcff", "not UTF-8"),
    ],
)
def test_invalid_lines_are_reported_and_skipped(tmp_path: Path, heading: str, line: str, reason: str) -> None:
    good = "PersonX eats,xReact,full,1" if heading else LINES[0]
    text = "\n".join(filter(None, (heading, good, line, good))) + "\n"
    (tmp_path / "f").write_bytes(text.encode(errors="surrogateescape"))
    first, fault, last = read_judged_tuples(tmp_path / "f")
    assert isinstance(fault, ItemError)
    assert fault.line == (3 if heading else 2)
    assert reason in fault.reason
    assert first == last == JudgedTuple("PersonX eats", "xReact", "full", True)


def test_unknown_relations_are_errors(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("\n".join(LINES), encoding="utf-8")
    assert all(isinstance(event_tuple, ItemError) for event_tuple in read_judged_tuples(tmp_path / "f", ["xWant"]))


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    for text, reason in (
        ("a,b,c\n1,2,3\n", "has the columns a, b, c; wanted are head, relation, tail, label$"),
        ("once upon a time\n", "has no judged tuples in a supported format; .* with head, relation, tail, label$"),
    ):
        (tmp_path / "f").write_text(text)
        with pytest.raises(InputError, match=reason):
            list(read_judged_tuples(tmp_path / "f"))
    with pytest.raises(InputError, match="does not exist"):
        read_judged_tuples(tmp_path / "missing")
    (tmp_path / "empty").write_text("")
    assert list(read_judged_tuples(tmp_path / "empty")) == []


def test_complete_lines_of_a_truncated_file_are_read(tmp_path: Path) -> None:
    data = gzip.compress(("head,relation,tail,label\n" + "PersonX eats,xReact,full,1\n" * 20_000).encode())
    (tmp_path / "cut.gz").write_bytes(data[: len(data) // 2])
    *rows, last = read_judged_tuples(tmp_path / "cut.gz")
    assert rows
    assert all(isinstance(row, JudgedTuple) for row in rows)
    assert isinstance(last, ItemError)


# Files of human event tuples: both forms of DECO, and what is wrong with a row.


TRAIN = {
    "history": " Hi . </UTT> I won . </UTT>",
    "response": " Great !\n",
    "GUID": 7,
    "tuples_single": [["PersonX be glad", "xAttr", "PersonX be nice"]],
    "tuples_pair": [["PersonX wins", "oReact", "PersonY feels great"]],
}
TEST = {"history": ["Hi ."], "response": "Yes .", "tuples": {"xNeed": [["a", "xNeed", "b", "pair"]], "xWant": []}}


def write(folder: Path, rows: list[Any], *, lines: bool = False) -> Path:
    """Write rows as a JSON list, or as JSON lines."""
    path = folder / "deco.json"
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("lines", [False, True])
def test_both_forms_are_read(tmp_path: Path, lines: bool) -> None:
    first, second = read_event_tuples(write(tmp_path, [TRAIN, TEST], lines=lines))
    assert (first.id, first.history, first.response) == ("7", ("Hi .", "I won ."), "Great !")
    assert first.tuples == (
        HumanTuple("PersonX be glad", "xAttr", "PersonX be nice", "single"),
        HumanTuple("PersonX wins", "oReact", "PersonY feels great", "pair"),
    )
    assert (second.id, second.history) == ("2", ("Hi .",))
    assert second.tuples == (HumanTuple("a", "xNeed", "b", "pair"),)


def test_gzip_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deco.json.gz"
    path.write_bytes(gzip.compress(json.dumps([TRAIN]).encode()))
    assert len(read_event_tuples(path)) == 1
    path.write_bytes(gzip.compress(json.dumps([TRAIN]).encode())[:-9])
    with pytest.raises(InputError, match="is damaged"):
        read_event_tuples(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"history": 3}, "row 1: history is neither a text nor a list of texts"),
        ({"response": None}, "row 1: response is not a text"),
        ({"tuples_pair": [["a", "b"]]}, r"row 1: \['a', 'b'\] is not \[head, relation, tail\]"),
        ({"tuples_pair": [["a", "IsA", "b"]]}, "row 1: there is no relation 'IsA' in ATOMIC"),
        ({"tuples": {"xNeed": [["a", "xNeed", "b", "both"]]}}, "row 1: 'both' is neither single nor pair"),
        ({"tuples_single": [["", "xNeed", "b"]]}, "row 1: .* is not"),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_event_tuples(write(tmp_path, [TRAIN | change]))


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "contains no row"), ("[]", "contains no row"), ("{", "row 1: not JSON"), ("[1]", "row 1: not a JSON object"),
     ("[", "is damaged .the JSON list has no end"),
     ('{"history": [], "response": "a"}', "row 1: there are no tuples")],
)  # fmt: skip
def test_a_file_without_event_tuples_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_event_tuples(path)


def test_deco_has_the_counts_of_its_card(data_dir: Path) -> None:
    rows = read_event_tuples(data_dir / "judgements" / "deco-train.json.gz")
    assert len(rows) == 200
    assert Counter(event_tuple.kind for row in rows for event_tuple in row.tuples) == {"single": 173, "pair": 134}
    assert len({event_tuple.relation for row in rows for event_tuple in row.tuples}) == 12
