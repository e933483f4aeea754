"""Lines of dialogue files become items; an invalid line gives an error in its place and changes nothing else."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path
from types import SimpleNamespace

import pytest
from tacit.graph.errors import InputError
from tacit.loaders import Dialogue, Item, ItemError, read_dialogues, read_items


def item_of(id: str, history: tuple[str, ...], response: str, references: tuple[str, ...] = ()) -> Item:
    return Item(history, response, references, id)


@pytest.mark.parametrize(
    ("line", "items"),
    [
        ('{"history": ["a", "b"], "response": "c"}', [item_of("1", ("a", "b"), "c")]),
        ('{"history": "a\\nb\\n", "response": "c"}', [item_of("1", ("a", "b"), "c")]),
        ('{"history": [], "response": "c"}', [item_of("1", (), "c")]),
        ('{"history": "", "response": ""}', [item_of("1", (), "")]),
        ('{"id": "d", "history": ["a"], "response": "c"}', [item_of("d", ("a",), "c")]),
        ('{"id": 7, "history": ["a"], "response": "c", "rating": 3}', [item_of("7", ("a",), "c")]),
        ('{"id": "d", "turns": ["a", "b", "c"]}', [item_of("d/2", ("a",), "b"), item_of("d/3", ("a", "b"), "c")]),
        ('{"turns": ["a", "b"]}', [item_of("1/2", ("a",), "b")]),
        ('{"context": "a\\nb", "response": "c"}', [item_of("1", ("a", "b"), "c")]),
        ('{"history": "a</UTT>b</UTT>", "response": "c"}', [item_of("1", ("a", "b"), "c")]),
        ('{"context": "a story", "turns": ["a", "b"]}', [item_of("1/2", ("a",), "b")]),
        ('{"id": 1.0, "history": ["a"], "response": "c"}', [item_of("1", ("a",), "c")]),
        ('{"id": 1.5, "history": ["a"], "response": "c"}', [item_of("1.5", ("a",), "c")]),
        (
            '{"history": ["dogs\'}) DETACH DELETE n //"], "response": "\\u0000"}',
            [item_of("1", ("dogs'}) DETACH DELETE n //",), "\0")],
        ),
    ],
)
def test_items(tmp_path: Path, line: str, items: list[Item]) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(line + "\n")
    assert list(read_items(path, strict=True)) == items


@pytest.mark.parametrize(
    ("text", "history"),
    [
        (r"""['a', "b's", 'it\'s \n']""", ("a", "b's", "it's \n")),
        ("['a' 'b'\n 'c']", ("a", "b", "c")),
        ("['a', 1]", ("['a', 1]",)),
        ("['a'] + ['b']", ("['a'] + ['b']",)),
        (r"['\x']", (r"['\x']",)),
        ("['a', '" + "(" * 9999, ("['a', '" + "(" * 9999,)),
        ("a __eou__ b __eou__", ("a", "b")),
        ("a ||| b\nc|||d", ("a", "b\nc", "d")),
        ("a [SEP] b", ("a", "b")),
        ("a </s> b </s>", ("a", "b")),
        (r"a\nb\r\nc", ("a", "b", "c")),
        ("see C:\\new\nb", ("see C:\\new", "b")),
        ("a | b || c [sep] d eou", ("a | b || c [sep] d eou",)),
    ],
)
def test_turns_of_a_history_that_is_one_text(tmp_path: Path, text: str, history: tuple[str, ...]) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"history": text, "response": "r"}))
    assert list(read_items(path, strict=True)) == [item_of("1", history, "r")]


@pytest.mark.parametrize(
    "line",
    [
        "{", "[]", "7", '"text"', "null", '{"history": ["a"]}', '{"response": "a"}', '{"history": [1], "response": "a"}',
        '{"history": {"a": 1}, "response": "a"}', '{"history": ["a"], "response": null}', '{"turns": "a"}', '{"turns": [1, 2]}',
        '{"utterances": ["a", "b"]}', '{"id": [], "turns": ["a", "b"]}', '{"id": true, "turns": ["a", "b"]}', "\0",
        '{"id": NaN, "turns": ["a", "b"]}', '{"history": ["a"], "response": "b"} x', "{" * 2000,
    ],
)  # fmt: skip
def test_errors_are_yielded_in_the_order_of_lines(tmp_path: Path, line: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(f'{{"turns": ["a", "b"]}}\n\n{line}\n{{"turns": ["a", "b"]}}\n')
    first, error, last = read_items(path)
    assert (first, last) == (item_of("1/2", ("a",), "b"), item_of("4/2", ("a",), "b"))
    assert isinstance(error, ItemError)
    assert error.line == 3
    assert error.reason
    with pytest.raises(InputError, match=r"d\.jsonl:3: "):
        list(read_items(path, strict=True))


def test_bad_bytes_and_gzip(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"turns": ["\xff", "b"]}\n{"turns": ["a", "b"]}\n')[:-4])
    assert list(read_items(path)) == [ItemError(1, "not UTF-8"), item_of("2/2", ("a",), "b"), ItemError(3, "truncated gzip")]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b'{"turns": ["a", "b"]}')))
    assert list(read_items("-")) == [item_of("1/2", ("a",), "b")]


def test_mutated_lines_never_raise(tmp_path: Path) -> None:
    rng = random.Random(3)
    seeds = [
        json.dumps({"id": "d", "turns": ["a", "b", "c"]}),
        json.dumps({"history": ["a"], "response": "é"}, ensure_ascii=False),
    ]
    lines = []
    for _ in range(20_000):
        data = bytearray(rng.choice(seeds).encode())
        for _ in range(rng.choice((1, 2, 4))):
            data[rng.randrange(len(data))] = rng.choice((rng.randrange(256), ord('"'), ord("]"), ord("{"), 0))
        lines.append(bytes(data).replace(b"\n", b" "))
    path = tmp_path / "d.jsonl"
    path.write_bytes(b"\n".join(lines))
    rows = list(read_items(path))
    errors = [row for row in rows if isinstance(row, ItemError)]
    assert len(errors) > 1000
    assert len(rows) - len(errors) > 1000
    assert [error.line for error in errors] == sorted({error.line for error in errors})


def test_dialogues_keep_all_fields_of_their_lines(tmp_path: Path) -> None:
    lines = [
        '{"id": [7], "turns": ["a", "b"], "mood": {"x": null}, "ratings": [1.5, 2]}', "not json", "", '{"turns": []}',
        '{"history": ["a"], "response": "b"}', '{"turns": "a"}', '{"turns": ["a", 1]}', "[]", '{"turns": ["\\ud800"]}',
    ]  # fmt: skip
    path = tmp_path / "d.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    dialogues = list(read_dialogues(path))
    assert dialogues[0] == Dialogue(1, ("a", "b"), json.loads(lines[0]))
    assert dialogues[2] == Dialogue(4, (), {"turns": []})
    assert [row.line for row in dialogues] == [1, 2, 4, 5, 6, 7, 8, 9]
    assert [isinstance(row, ItemError) for row in dialogues] == [False, True, False, True, True, True, True, True]
    with pytest.raises(InputError, match=f"{path}:2: not JSON"):
        list(read_dialogues(path, strict=True))
    with pytest.raises(InputError):
        read_dialogues(tmp_path / "nowhere.jsonl")
