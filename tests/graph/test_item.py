"""Items: their texts are checked when an item is created, in every way to create one, and not again."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tacit.graph import item as items
from tacit.graph.errors import InputError
from tacit.graph.item import LONGEST_TEXT, Item, ItemError
from tacit.loaders import read_items
from tacit.reasoning import load_metric, score_items


def test_an_item_holds_its_texts_as_tuples() -> None:
    item = Item(["Hi.", "How are you?"], "Fine.", ["Good."], id=3)
    assert (item.history, item.response, item.references, item.id) == (("Hi.", "How are you?"), "Fine.", ("Good.",), 3)
    assert pickle.loads(pickle.dumps(item)) == item  # noqa: S301


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (("one text", "x"), "the history is one text"),
        (([1], "x"), "turn 1 of the history is of type int"),
        (({"a": 1}, "x"), "the history is of type dict"),
        ((["a"], None), "the response is of type NoneType"),
        ((["a"], "\ud800"), "half a surrogate pair"),
        ((["a"], "x", ["y" * (LONGEST_TEXT + 1)]), "reference 1 has 200,001 characters"),
        ((["a"], "x", "y"), "the references are one text"),
    ],
)
def test_texts_that_cannot_be_scored_are_refused(texts: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        Item(*texts)


def test_a_file_gives_errors_in_place_of_items_that_are_too_long(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"id": "d", "turns": ["a", "%s", "c"]}\n{"history": [], "response": "b"}\n' % ("x" * (LONGEST_TEXT + 1)))
    *wrong, good = read_items(path)
    assert [(type(row), row.id, row.line) for row in wrong] == [(ItemError, "d/2", 1), (ItemError, "d/3", 1)]  # type: ignore[union-attr]
    assert good == Item((), "b", id="2")
    with pytest.raises(InputError, match=r"d\.jsonl:1: the response has 200,001 characters"):
        list(read_items(path, strict=True))


def test_the_texts_of_a_file_are_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"id": "a", "history": ["How are you?"], "response": "Fine, thank you."}\nno item\n')
    seen: list[str] = []

    def check(text: str, what: str, check: Any = items._check_text) -> None:
        seen.append(text)
        check(text, what)

    monkeypatch.setattr(items, "_check_text", check)
    rows = list(score_items(read_items(path), [load_metric("length"), load_metric("repetition")]))
    assert seen == ["How are you?", "Fine, thank you."]
    assert [(row.id, row.line, row.fault is None) for row in rows] == [("a", None, True), (None, 2, False)]
    assert rows[0].item == Item(["How are you?"], "Fine, thank you.", id="a")


@pytest.mark.parametrize("size", [1, 2, 100])
def test_errors_keep_their_order_at_any_batch_size(size: int) -> None:
    returned_rows: Sequence[Any] = [
        ItemError(1, "a"), Item(["x"], "yes", id=1), ItemError(3, "b"), ItemError(4, "c"), (2, ["x"], 5), (3, ["x"], "no"),
    ]  # fmt: skip
    rows = list(score_items(returned_rows, [load_metric("length")], batch_size=size))
    assert [(row.id, row.line) for row in rows] == [(None, 1), (1, None), (None, 3), (None, 4), (2, None), (3, None)]
    assert [row.fault for row in rows][2:5] == ["line 3: b", "line 4: c", "item 2: the response is of type int; give a text"]
