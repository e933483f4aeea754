"""Judged tuples out of files: CSV as the CSKB population benchmark has it, JSON lines, and what is wrong with a line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tacit.graph.errors import InputError
from tacit.loaders import JudgedTuple, JudgedTupleError, read_judged_tuples

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


def test_csv_as_the_benchmark_has_it(tmp_path: Path) -> None:
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
    found = list(read_judged_tuples(tmp_path / "f"))
    assert [(one.tail, one.plausible) for one in found if isinstance(one, JudgedTuple)] == [
        ("full", True), ("sad", False), ("çok", True),
    ]  # fmt: skip
    assert len(found) == 3


@pytest.mark.parametrize(
    ("heading", "line", "reason"),
    [
        ("head,relation,tail,label", "PersonX eats,xReact,full", "label is missing; expected 1 or 0"),
        ("head,relation,tail,label", "PersonX eats,xReact,full,yes", "label is 'yes'; expected 1 or 0"),
        ("head,relation,tail,label", "PersonX eats,xReact,full,", "label is ''; expected 1 or 0"),
        ("head,relation,tail,label", ",xReact,full,1", "head is empty"),
        ("head,relation,tail,label", "PersonX eats", "relation is missing"),
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
def test_a_line_that_holds_none_is_named_and_the_others_go_on(tmp_path: Path, heading: str, line: str, reason: str) -> None:
    good = "PersonX eats,xReact,full,1" if heading else LINES[0]
    text = "\n".join(filter(None, (heading, good, line, good))) + "\n"
    (tmp_path / "f").write_bytes(text.encode(errors="surrogateescape"))
    first, fault, last = read_judged_tuples(tmp_path / "f")
    assert isinstance(fault, JudgedTupleError)
    assert fault.line == (3 if heading else 2)
    assert reason in fault.reason
    assert first == last == JudgedTuple("PersonX eats", "xReact", "full", True)


def test_relations_that_are_not_asked_for_are_faults(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("\n".join(LINES), encoding="utf-8")
    assert all(isinstance(one, JudgedTupleError) for one in read_judged_tuples(tmp_path / "f", ["xWant"]))


def test_a_file_of_another_form_is_refused(tmp_path: Path) -> None:
    for text in ("a,b,c\n1,2,3\n", "once upon a time\n", "[1]\n"):
        (tmp_path / "f").write_text(text)
        with pytest.raises(InputError, match="holds no judged tuples; expected JSON lines, or CSV with a heading"):
            list(read_judged_tuples(tmp_path / "f"))
    with pytest.raises(InputError, match="does not exist"):
        read_judged_tuples(tmp_path / "missing")
    (tmp_path / "empty").write_text("")
    assert list(read_judged_tuples(tmp_path / "empty")) == []


def test_what_a_cut_file_still_holds_comes_out(tmp_path: Path) -> None:
    data = gzip.compress(("head,relation,tail,label\n" + "PersonX eats,xReact,full,1\n" * 20_000).encode())
    (tmp_path / "cut.gz").write_bytes(data[: len(data) // 2])
    *rows, last = read_judged_tuples(tmp_path / "cut.gz")
    assert rows
    assert all(isinstance(one, JudgedTuple) for one in rows)
    assert isinstance(last, JudgedTupleError)
