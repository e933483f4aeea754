"""Dialogues and judgements as JSON lines, a JSON list, CSV, Parquet and chat messages: every form gives the same items."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph.errors import DamagedInput, InputError
from tacit.loaders import Dialogue, Item, ItemError, Judgement, read_dialogues, read_items, read_judgements


def item_of(id: str, history: tuple[str, ...], response: str, references: tuple[str, ...] = ()) -> Item:
    return Item(history, response, references, id)


ROWS = [
    {"id": "a", "history": ["Hi, you.", 'She said "no".'], "response": "I see; [really]?", "references": ["Oh.", "Ah."]},
    {"id": "b", "history": [], "response": "さくら\n🌸", "references": []},
    {"id": "c", "history": ["{x}\\"], "response": '\\"]', "references": ["r"]},
]
ITEMS = [
    item_of("a", ("Hi, you.", 'She said "no".'), "I see; [really]?", ("Oh.", "Ah.")),
    item_of("b", (), "さくら\n🌸"),
    item_of("c", ("{x}\\",), '\\"]', ("r",)),
]


def as_lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def as_list(rows: list[dict[str, Any]]) -> bytes:
    return json.dumps(rows, indent=2, ensure_ascii=False).encode()


def as_csv(rows: list[dict[str, Any]], delimiter: str = ",") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow([name.upper() for name in rows[0]])
    for row in rows:
        writer.writerow([json.dumps(cell) if isinstance(cell, list) else cell for cell in row.values()])
    return text.getvalue().encode()


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


FORMS: list[Callable[[list[dict[str, Any]]], bytes]] = [as_lines, as_list, as_csv, lambda rows: as_csv(rows, "\t"), as_parquet]


@pytest.fixture
def written(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes) -> Path:
        path = tmp_path / "file"  # the content tells the form
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_items(form: Callable[..., bytes], written: Callable[[bytes], Path]) -> None:
    content = form(ROWS)
    assert list(read_items(written(content), strict=True)) == ITEMS
    context = [{"id": row["id"], "context": row["history"], "response": row["response"]} for row in ROWS]
    assert [item.history for item in read_items(written(form(context)), strict=True)] == [item.history for item in ITEMS]  # type: ignore[union-attr]
    if form is not as_parquet:
        packed = gzip.compress(b"\xef\xbb\xbf" + content)
        assert list(read_items(written(packed), strict=True)) == ITEMS


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_judgements(form: Callable[..., bytes], written: Callable[[bytes], Path]) -> None:
    rated = [row | {"rating": index + 0.5} for index, row in enumerate(ROWS)]
    expected = [
        Judgement(item.id, item.history, item.response, index + 0.5, item.references, "file") for index, item in enumerate(ITEMS)
    ]
    assert list(read_judgements(written(form(rated)), strict=True)) == expected


@pytest.mark.parametrize("form", FORMS)
def test_turns_and_chat_messages(form: Callable[..., bytes], written: Callable[[bytes], Path]) -> None:
    turns = [{"id": "d", "turns": ["a", "b", "c"]}, {"id": "e", "turns": ["only one"]}]
    assert list(read_items(written(form(turns)))) == [
        item_of("d/2", ("a",), "b"),
        item_of("d/3", ("a", "b"), "c"),
        ItemError(3 if form(turns)[:3] == b"ID," or form(turns)[:3] == b"ID\t" else 2,
                  "turns holds one text; a response needs a turn before it", id="e"),
    ]  # fmt: skip
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hi!"},
        {"role": "user", "content": "Bye."},
        {"role": "assistant", "content": "See you."},
    ]
    assert list(read_items(written(form([{"id": "m", "messages": messages}])), strict=True)) == [
        item_of("m/2", ("Hello.",), "Hi!"),
        item_of("m/4", ("Hello.", "Hi!", "Bye."), "See you."),
    ]
    [whole] = read_dialogues(written(form([{"id": "m", "messages": messages}])), strict=True)
    assert isinstance(whole, Dialogue)
    assert whole.turns == ("Hello.", "Hi!", "Bye.", "See you.")
    assert whole.record["turns"] == list(whole.turns)
    [judged] = read_judgements(written(form([{"messages": messages, "rating": 4}])), strict=True)
    assert isinstance(judged, Judgement)
    assert (judged.history, judged.response, judged.rating) == (("Hello.", "Hi!", "Bye."), "See you.", 4.0)


@pytest.mark.parametrize(
    ("line", "items"),
    [
        ('{"messages": [{"role": "A", "content": "a"}, {"role": "B", "content": "b"}]}', [item_of("1/2", ("a",), "b")]),
        (
            '{"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}, '
            '{"role": "assistant", "content": null, "tool_calls": []}, {"role": "tool", "content": "7"}, '
            '{"role": "assistant", "content": "b"}]}',
            [item_of("1/2", ("a",), "b")],
        ),
        ('{"messages": [{"role": "user", "content": "a"}], "response": "b"}', [item_of("1", ("a",), "b")]),
        ('{"id": "x", "messages": [{"role": "assistant", "content": "a"}]}', "messages holds no reply of the assistant to"),
        ('{"id": "x", "messages": [{"from": "human", "value": "a"}]}', "messages is not a list of objects with role and content"),
        ('{"id": "x", "messages": "hello"}', "messages is not a list of objects"),
        ('{"id": "x", "history": ["a"], "response": null}', "response is missing"),
        ('{"id": "x", "context": ["a"]}', "response is missing"),
        ('{"id": "x", "turns": []}', "turns holds nothing"),
        ('{"id": "x", "mood": 1}', "neither history and response, nor turns, nor messages"),
    ],
)
def test_fields_of_a_record(line: str, items: list[Item] | str, written: Callable[[bytes], Path]) -> None:
    read_rows = list(read_items(written(line.encode())))
    if isinstance(items, list):
        assert read_rows == items
    else:
        [error] = read_rows
        assert isinstance(error, ItemError)
        assert (error.line, error.id) == (1, "x")
        assert error.reason.startswith(items)


@pytest.mark.parametrize("read", [read_items, read_dialogues, read_judgements])
def test_missing_columns_are_named_with_the_required_ones(read: Callable[..., Any], written: Callable[[bytes], Path]) -> None:
    rows = [{"prompt": "a", "answer": "b"}]
    for content in (as_csv(rows), as_csv(rows, "\t"), as_parquet(rows)):
        with pytest.raises(InputError, match=r"file has the columns prompt, answer; wanted are .*(response|turns)"):
            list(read(written(content)))
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        list(read(written(b"PAR1 is all there is")))
    with pytest.raises(InputError, match="in a supported format; expected JSON lines, a JSON list, CSV or Parquet with"):
        list(read(written(b"Dear diary\n")))


QUOTATION = 'x\ta\t1\ny\t"Carpe diem" he said\t2\nz\t"Never\t3\nx\tb\t4\ny\tsay "never\t5\nz\tever"\t6\n'


@pytest.mark.parametrize(
    ("text", "responses"),
    [
        (QUOTATION, ["a", '"Carpe diem" he said', '"Never', "b", 'say "never', 'ever"']),
        ('x\t"Never\t1\ny\tb\t2\nz\tit ever"\t3\n', ['"Never', "b", 'it ever"']),
        ('"x\tits end"\t1\ny\t"a\tb"\t2\nz\t"a ""b""\nc"\t3\n', ['its end"', "a\tb", 'a "b"\nc']),
        ('x,"Carpe diem" he said,1\ny,"Never,2\nz,b,3\nx,"a, b",4\n', ['"Carpe diem" he said', '"Never', "b", "a, b"]),
        ('x,"a, "b",1\ny,c,2\n', [(2, "not CSV (',' expected after '\"')"), "c"]),
        ('x,"a\nc,b,1\nd,e,f\n', [(2, "not CSV (unexpected end of data)"), "b", "e"]),
    ],
)
def test_a_misplaced_quote_takes_no_other_row(text: str, responses: list[Any], written: Callable[[bytes], Path]) -> None:
    heading = "history\tresponse\trating\n" if "\t" in text else "history,response,rating\n"
    rows = list(read_items(written((heading + text).encode())))
    assert [(row.line, row.reason) if isinstance(row, ItemError) else row.response for row in rows] == responses


def test_a_quote_that_closes_in_a_later_row_takes_no_row(written: Callable[[bytes], Path]) -> None:
    text = 'history,response,rating\nHi,"yes,3\nHi,no,4\nHi,"she said ""so"", yes",5\nHi,he left",2\n'
    rows = [(row.response, row.rating) for row in read_judgements(written(text.encode())) if isinstance(row, Judgement)]
    assert rows == [('"yes', 3), ("no", 4), ('she said "so", yes', 5), ('he left"', 2)]
    turns = 'history,response,rating\n"Well, hello, 1\nFine",Good,4\n'
    assert [row.history for row in read_judgements(written(turns.encode())) if isinstance(row, Judgement)] == [
        ("Well, hello, 1", "Fine"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["sep=;\r\nHistory;Response\r\nHi;yes\r\n", "sep=;\rHistory;Response\rHi;yes\r", "history|response\nHi|yes\n"]
)
def test_tables_of_spreadsheets_name_their_delimiter(text: str, written: Callable[[bytes], Path]) -> None:
    [item] = read_items(written(b"\xef\xbb\xbf" + text.encode()), strict=True)
    assert isinstance(item, Item)
    assert (item.history, item.response, item.id) == (("Hi",), "yes", "3" if text.startswith("sep") else "2")


def test_references_that_are_null_count_as_none(written: Callable[[bytes], Path]) -> None:
    rows: list[dict[str, Any]] = [
        {"history": ["Hi"], "response": "yes", "references": [None, "no"]},
        {"history": [], "response": "a", "reference": "[null]"},
    ]
    assert [row.references for row in read_items(written(as_lines(rows)), strict=True) if isinstance(row, Item)] == [("no",), ()]


def test_a_cell_that_is_too_long_or_has_no_end(written: Callable[[bytes], Path]) -> None:
    heading, too_long = "history,response\n", ItemError(2, "not CSV (field larger than field limit (131072))")
    long = heading + 'x,"' + "a, b, c\n" * 20_000 + '"\ny,c\n'
    assert list(read_items(written(long.encode()))) == [too_long, item_of("20003", ("y",), "c")]
    unclosed = heading + 'x,"a, b\n' + "y,c d e\n" * 20_000
    assert list(read_items(written(unclosed.encode())))[:2] == [too_long, item_of("3", ("y",), "c d e")]


@pytest.mark.parametrize(
    ("heading", "columns"),
    [
        ("history,response,Is it good?,sense [1-5]", {}),
        (f"history,response,,{'x' * 100}", {}),
        ("history,What would you say?,b,c", {"response": "what would you say?"}),
        ("history\trésponse: 1–5\tb\tb", {"response": "Résponse: 1–5"}),
    ],
)
def test_columns_of_any_name(heading: str, columns: dict[str, str], written: Callable[[bytes], Path]) -> None:
    content = heading + "\na,b,c,d".replace(",", "\t" if "\t" in heading else ",")
    assert list(read_items(written(content.encode()), strict=True, columns=columns)) == [item_of("2", ("a",), "b")]


def test_a_needed_column_that_is_there_twice_is_refused(written: Callable[[bytes], Path]) -> None:
    with pytest.raises(InputError, match="two columns 'response'"):
        list(read_items(written(b"history,response,Response\na,b,c\n")))


def test_line_ends_and_encodings(written: Callable[[bytes], Path]) -> None:
    for form in (as_lines, as_csv):
        old_mac = form(ROWS[2:] * 2).replace(b"\r\n", b"\n").replace(b"\n", b"\r")
        assert [item.history for item in read_items(written(old_mac), strict=True)] == [ITEMS[2].history] * 2  # type: ignore[union-attr]
        for encoding in ("utf-16", "utf-16-be"):
            text = form(ROWS).decode() if encoding == "utf-16" else "\ufeff" + form(ROWS).decode()
            with pytest.raises(InputError, match="is in UTF-16; save it as UTF-8"):
                list(read_items(written(text.encode(encoding))))


def test_bytes_in_parquet_are_texts(written: Callable[[bytes], Path]) -> None:
    rows = [{"history": b"a\nb", "response": response, "picture": b"\xff"} for response in ("é".encode(), b"\xff")]
    item, error = read_items(written(as_parquet(rows)))
    assert item == item_of("1", ("a", "b"), "é")
    assert error == ItemError(2, "response is not a text")


def test_keys_of_json_have_other_names(written: Callable[[bytes], Path]) -> None:
    line = b'{"context": "a", "answer": "b", "response": "own", "x": NaN}\n'
    columns = {"history": "context", "response": "answer"}
    assert list(read_items(written(line), strict=True, columns=columns)) == [item_of("1", ("a",), "b")]
    with pytest.raises(InputError, match="has no key 'anwser' for response; its first record has context, answer, response, x"):
        list(read_items(written(line), columns={"response": "anwser"}))
    [error] = read_items(written(b"{\n"), columns=columns)
    assert isinstance(error, ItemError)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"data": ROWS}, indent=1),
        json.dumps(ROWS[0], indent=1),
        '{"data": [\n' + ",\n".join(map(json.dumps, ROWS)) + "]}",
    ],
    ids=["list in an object", "object", "lines in an object"],
)
def test_an_object_of_several_lines_is_refused(text: str, written: Callable[[bytes], Path]) -> None:
    with pytest.raises(InputError, match="has a JSON object of several lines; expected one object per line"):
        list(read_items(written(text.encode())))


def test_parquet_cannot_be_read_from_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(as_parquet(ROWS))))
    with pytest.raises(InputError, match="cannot be read from standard input"):
        list(read_items("-"))


@pytest.mark.parametrize("content", [as_lines(ROWS * 50), as_list(ROWS * 50), as_csv(ROWS * 50)], ids=["lines", "list", "csv"])
def test_a_truncated_file_ends_with_an_error(content: bytes, written: Callable[[bytes], Path]) -> None:
    whole = list(read_items(written(content)))
    packed = bytearray(gzip.compress(content, 0))
    for cut in (bytes(packed[: len(packed) * 2 // 3]), bytes(packed[:-8])):
        *items, damage = read_items(written(cut))
        assert isinstance(damage, ItemError)
        assert (damage.reason, damage.damage) == ("truncated gzip", True)
        assert items == whole[: len(items)]
        assert len(items) > 60
        with pytest.raises(DamagedInput, match="ends early, at record"):
            list(read_items(written(cut), strict=True))
    packed[-6] ^= 1  # the checksum
    *items, damage = read_items(written(bytes(packed)))
    assert isinstance(damage, ItemError)
    assert (damage.reason, damage.damage) == ("corrupt gzip", True)


def test_a_truncated_json_list_ends_with_an_error(written: Callable[[bytes], Path]) -> None:
    first, damage = read_items(written(as_list(ROWS[:1])[:-2] + b', {"id": "b", "histo'))
    assert first == ITEMS[0]
    assert isinstance(damage, ItemError)
    assert (damage.line, damage.reason, damage.damage) == (2, "the JSON list has no end", True)
    *_, after = read_items(written(as_list(ROWS) + b"\nmore"))
    assert after == ItemError(4, "text after the end of the JSON list")
    assert list(read_items(written(b"[]"))) == []


def test_an_element_that_is_too_long_is_the_only_one_dropped(written: Callable[[bytes], Path]) -> None:
    long = {"id": "l", "history": ["a"], "response": "x, [" * 300_000}
    first, error, last = read_items(written(as_list([ROWS[0], long, ROWS[2]])))
    assert (first, last) == (ITEMS[0], ITEMS[2])
    assert error == ItemError(2, "line longer than 1,048,576 bytes")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(st.lists(JSON, max_size=6), st.integers(1, 40))
def test_json_list_elements_are_split_like_by_a_parser(values: list[Any], piece: int) -> None:
    from tacit.loaders.records import json_elements

    content = json.dumps(values).encode()
    chunks = [content[at : at + piece] for at in range(0, len(content), piece)]
    source: Any = SimpleNamespace(chunks=lambda: iter(chunks), damage=None)
    assert [json.loads(line.data) for line in json_elements(source)] == values
