"""Files of human event tuples: both forms of DECO, and what is wrong with a row."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.errors import InputError
from tacit.loaders import HumanTuple, read_event_tuples

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
    [("", "holds no row"), ("[]", "holds no row"), ("{", "line 1, is not JSON"), ("[1]", "row 1: not a JSON object"),
     ("[", "is not JSON"),
     ('{"history": [], "response": "a"}', "row 1: there are no tuples")],
)  # fmt: skip
def test_a_file_of_another_form_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_event_tuples(path)


def test_deco_holds_what_its_card_says(data_dir: Path) -> None:
    rows = read_event_tuples(data_dir / "judgements" / "deco-train.json.gz")
    assert len(rows) == 200
    assert Counter(one.kind for row in rows for one in row.tuples) == {"single": 173, "pair": 134}
    assert len({one.relation for row in rows for one in row.tuples}) == 12
