"""Judgement files: every form in which ratings are published, rows without a rating, and the published files themselves."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tacit.graph.errors import InputError
from tacit.loaders import ItemError, Judgement, JudgementError, read_judgements
from tacit.loaders.judgements import dataset_name

DECO: dict[str, Any] = {
    "history": " hi there </UTT>how are you ?</UTT>", "response": "fine .\n", "source": "PersonaChat", "system": "PLATO-2",
    "GUID": 7, "event_cs_raw": [3, 4, 5], "general_cs_raw": [1, 2, 3], "event_cs": 4.0, "general_cs": 2.0, "tuples_single": [],
}  # fmt: skip
GRADE: dict[str, Any] = {
    "id": 0, "dataset": "dailydialog_EVAL", "model": "transformer_ranker", "history": ["a", "b"], "response": "c",
    "ratings": [1, 2, 5],
}  # fmt: skip
PLAIN: dict[str, Any] = {"history": "a\nb", "response": "c", "rating": 2.5}


def written(tmp_path: Path, content: str | bytes, name: str = "some-ratings.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(tmp_path: Path, content: str | bytes, name: str = "some-ratings.jsonl", **options: Any) -> list[Judgement | ItemError]:
    return list(read_judgements(written(tmp_path, content, name), **options))


def test_deco_is_read(tmp_path: Path) -> None:
    expected = Judgement("7", ("hi there", "how are you ?"), "fine .", 4.0, (), "some-ratings", "PLATO-2", (3.0, 4.0, 5.0))
    assert read(tmp_path, json.dumps([DECO])) == [expected]
    [general] = read(tmp_path, json.dumps([DECO]), rating="general_cs")
    assert isinstance(general, Judgement)
    assert (general.rating, general.ratings) == (2.0, (1.0, 2.0, 3.0))
    with pytest.raises(InputError, match="unknown DECO rating"):
        read_judgements(written(tmp_path, "[]"), rating="specific_cs")


def test_grade_as_lines_and_as_a_list(tmp_path: Path) -> None:
    expected = Judgement("0", ("a", "b"), "c", 8 / 3, (), "dailydialog_EVAL", "transformer_ranker", (1.0, 2.0, 5.0))
    other = GRADE | {"id": 1, "dataset": "empatheticdialogues", "ratings": [2]}
    for content in (f"{json.dumps(GRADE)}\n\n{json.dumps(other)}\n", json.dumps([GRADE, other], indent=2)):
        first, second = read(tmp_path, content)
        assert first == expected
        assert isinstance(second, Judgement)
        assert (second.dataset, second.rating) == ("empatheticdialogues", 2.0)


RELEASED: dict[str, Any] = {
    "ID": 4, "Dataset": "convai2", "DialogModel": "bert_ranker", "Context": "hi , how are you ?|||fine , and you ?",
    "Response": "i am well .", "HumanScores": "[5, 4, 3, 4]",
}  # fmt: skip


def test_the_file_that_grade_released(tmp_path: Path) -> None:
    history, ratings = ("hi , how are you ?", "fine , and you ?"), (5.0, 4.0, 3.0, 4.0)
    expected = Judgement("4", history, "i am well .", 4.0, (), "convai2", "bert_ranker", ratings)
    assert read(tmp_path, json.dumps([RELEASED, RELEASED | {"HumanScores": [5, 4, 3, 4]}])) == [expected, expected]
    reasons = {"Context": (None, "Context is not a text"), "HumanScores": ("4 and 5", "HumanScores is not a list of numbers")}
    for key, (value, reason) in reasons.items():
        [error] = read(tmp_path, json.dumps([RELEASED | {key: value}]))
        assert isinstance(error, JudgementError)
        assert error.reason == reason


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (PLAIN, Judgement("1", ("a", "b"), "c", 2.5, (), "some-ratings")),
        (PLAIN | {"history": ["a\nb", "c"]}, Judgement("1", ("a\nb", "c"), "c", 2.5, (), "some-ratings")),
        (PLAIN | {"history": ""}, Judgement("1", (), "c", 2.5, (), "some-ratings")),
        (PLAIN | {"history": [], "response": ""}, Judgement("1", (), "", 2.5, (), "some-ratings")),
        (PLAIN | {"id": "x", "system": "s", "dataset": "d"}, Judgement("x", ("a", "b"), "c", 2.5, (), "d", "s")),
        (PLAIN | {"system": None, "dataset": " "}, Judgement("1", ("a", "b"), "c", 2.5, (), "some-ratings")),
        (PLAIN | {"reference": "r"}, Judgement("1", ("a", "b"), "c", 2.5, ("r",), "some-ratings")),
        (PLAIN | {"references": ["r", "s"]}, Judgement("1", ("a", "b"), "c", 2.5, ("r", "s"), "some-ratings")),
        (PLAIN | {"rating": "3", "ratings": [2, 4]}, Judgement("1", ("a", "b"), "c", 3.0, (), "some-ratings", None, (2.0, 4.0))),
        (
            PLAIN | {"rating": None, "ratings": [2, None, "", 4]},
            Judgement("1", ("a", "b"), "c", 3.0, (), "some-ratings", None, (2.0, 4.0)),
        ),
        (PLAIN | {"turn_ratings": "", "HumanScores": None}, Judgement("1", ("a", "b"), "c", 2.5, (), "some-ratings")),
        (PLAIN | {"ratings": "4;5"}, Judgement("1", ("a", "b"), "c", 2.5, (), "some-ratings")),
        (PLAIN | {"id": 3.0, "system": 1.0, "dataset": 2.5}, Judgement("3", ("a", "b"), "c", 2.5, (), "2.5", "1")),
        (PLAIN | {"history": "[laughs]\nyes"}, Judgement("1", ("[laughs]", "yes"), "c", 2.5, (), "some-ratings")),
        (
            PLAIN | {"history": "さくら\n🌸", "response": "ñandú 👩\u200d👩"},
            Judgement("1", ("さくら", "🌸"), "ñandú 👩\u200d👩", 2.5, (), "some-ratings"),
        ),
    ],
)  # fmt: skip
def test_plain_rows_are_read(tmp_path: Path, row: dict[str, Any], expected: Judgement) -> None:
    assert read(tmp_path, json.dumps(row)) == [expected]
    assert read(tmp_path, json.dumps(row, ensure_ascii=False).encode()) == [expected]
    assert read(tmp_path, b"\xef\xbb\xbf" + json.dumps([row]).encode(), "some-ratings.json") == [expected]
    assert read(tmp_path, gzip.compress(json.dumps(row).encode()), "some-ratings.jsonl.gz") == [expected]


def test_csv_is_read(tmp_path: Path) -> None:
    content = (
        "History,response,Rating,system,reference,dataset\r\n"
        '"a, b\r\nc",d,4,s,r,\r\n'
        '"[""x"", ""y\nz""]",e,3.5,,,other\r\n'
        "\r\n"
        "a,b,nan,,,\r\n"
        "a,b,,,,\r\n"
        "a,b,good,,,\r\n"
        "a,b,1,,,,,too many\r\n"
        "a,b\r\n"
    )
    rows = read(tmp_path, content, "mine.csv")
    assert rows[:2] == [
        Judgement("2", ("a, b", "c"), "d", 4.0, ("r",), "mine", "s"),
        Judgement("4", ("x", "y\nz"), "e", 3.5, (), "other"),
    ]
    assert [(row.line, row.reason) for row in rows[2:] if isinstance(row, ItemError)] == [
        (7, "rating is nan, which is not a rating"), (8, "rating is missing"), (9, "rating is not a number"),
        (10, "8 cells under 6 columns"), (11, "rating is missing"),
    ]  # fmt: skip
    for delimiter in "\t;":
        assert read(tmp_path, f"rating{delimiter}response{delimiter}history\n1{delimiter}b{delimiter}a\n", "m.tsv") == [
            Judgement("2", ("a",), "b", 1.0, (), "m")
        ]


def test_ratings_in_a_cell_and_under_another_name(tmp_path: Path) -> None:
    [row] = read(tmp_path, 'history,response,ratings\na,b,"[4, null, ""2""]"\n', "m.csv")
    assert row == Judgement("2", ("a",), "b", 3.0, (), "m", None, (4.0, 2.0))
    [row] = read(tmp_path, json.dumps(PLAIN | {"all": [5, 3]}), columns={"ratings": "all"})
    assert row == Judgement("1", ("a", "b"), "c", 4.0, (), "some-ratings", None, (5.0, 3.0))
    [error] = read(tmp_path, json.dumps(PLAIN | {"rating": [4, 5]}))
    assert error == JudgementError(1, "rating is a list; the list of several people's ratings is ratings", "some-ratings")


def test_csv_with_broken_bytes(tmp_path: Path) -> None:
    content = b"history,response,rating\na,\xff,1\na,b,2\na,c,3.75"
    error, *rows = read(tmp_path, content, "m.csv")
    assert error == JudgementError(2, "not UTF-8", "m")
    assert [row.rating for row in rows if isinstance(row, Judgement)] == [2.0, 3.75]
    cut = gzip.compress(content)[:-9]  # the last line may lack its end, so it is no judgement
    assert read(tmp_path, cut, "m.csv.gz")[1:] == [
        Judgement("3", ("a",), "b", 2.0, (), "m"), JudgementError(4, "truncated gzip", "m"),
    ]  # fmt: skip


def test_rated_turns_from_the_second_on_are_judgements(tmp_path: Path) -> None:
    row = {"id": "t", "turns": ["a", "b", "c", "d", "e"], "turn_ratings": ["Poor", "Excellent", "", "Not Good", "passable"]}
    assert read(tmp_path, json.dumps(row)) == [
        Judgement("t/2", ("a",), "b", 5.0, (), "some-ratings"),
        Judgement("t/4", ("a", "b", "c"), "d", 2.0, (), "some-ratings"),
        Judgement("t/5", ("a", "b", "c", "d"), "e", 3.0, (), "some-ratings"),
    ]
    [error] = read(tmp_path, json.dumps(row | {"turn_ratings": ["", "superb", "", "", ""]}))
    assert isinstance(error, ItemError)
    assert "nor one of Poor" in error.reason
    first, error, last = read(tmp_path, json.dumps(row | {"turn_ratings": ["", "Good", None, "superb", 4]}))
    assert isinstance(error, JudgementError)
    assert (error.id, error.line) == ("t/4", 1)
    assert [judgement.rating for judgement in (first, last) if isinstance(judgement, Judgement)] == [4.0, 4.0]
    [short] = read(tmp_path, json.dumps(row | {"turn_ratings": ["Good"]}))
    assert isinstance(short, ItemError)


@pytest.mark.parametrize(
    "line",
    [
        '{"history": "a", "response": "b", "rating": NaN}', '{"history": "a", "response": "b", "rating": Infinity}',
        '{"history": "a", "response": "b", "rating": null}', '{"history": "a", "response": "b", "rating": true}',
        '{"history": "a", "response": "b", "rating": "good"}', '{"history": "a", "response": "b", "rating": [3]}',
        '{"history": "a", "response": "b", "rating": "1_0"}', '{"history": "a", "response": "b", "rating": 1e999}',
        '{"history": "a", "response": "b"}', '{"history": "a", "rating": 1}', '{"response": "a", "rating": 1}',
        '{"history": [1], "response": "b", "rating": 1}', '{"history": {"a": 1}, "response": "b", "rating": 1}',
        '{"history": "a", "response": 7, "rating": 1}', '{"history": "a", "response": "b", "ratings": []}',
        '{"history": "a", "response": "b", "ratings": [null]}', '{"history": "a", "response": "b", "ratings": 3}',
        '{"history": "a", "response": "b", "rating": 1, "references": [1]}', '{"turns": ["a", "b"]}', "[]", "7", "null", "{",
        "\0",
        '{"history": "a", "response": "b", "general_cs": 1}', '{"history": "a", "response": "b", "rating": 1} x', "{" * 3000,
        '{"history": "a", "response": "b", "rating": ' + "9" * 5000 + "}",
    ],
)  # fmt: skip
def test_rows_without_a_judgement_are_yielded_in_order(tmp_path: Path, line: str) -> None:
    good = json.dumps(PLAIN)
    path = written(tmp_path, f"{good}\n\n{line}\n{good}\n")
    first, error, last = read_judgements(path)
    assert isinstance(first, Judgement)
    assert isinstance(last, Judgement)
    assert isinstance(error, JudgementError)
    assert (error.line, error.dataset) == (3, "some-ratings")
    assert error.reason
    with pytest.raises(InputError, match=r"some-ratings\.jsonl, row 3: "):
        list(read_judgements(path, strict=True))


def test_a_nan_rating_drops_one_row_only(tmp_path: Path) -> None:
    first, error, last = read(tmp_path, json.dumps([DECO, DECO | {"event_cs": float("nan")}, DECO]))
    assert error == JudgementError(2, "event_cs is nan, which is not a rating", "some-ratings")
    assert first == last


@pytest.mark.parametrize("content", ["head,relation,tail\na,b,c\n", "history,response\na,b\n", "some prose\n", '"text"', "\0\1"])
def test_files_of_other_formats_are_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(
        InputError, match=r"(no judgements in a supported format; .*|wanted are )history \(or context\), response"
    ):
        read(tmp_path, content)


def test_empty_and_truncated_files_are_refused(tmp_path: Path) -> None:
    assert read(tmp_path, "") == []
    assert read(tmp_path, " \n\n") == []
    assert read(tmp_path, "[]") == []
    error, row = read(tmp_path, "not json\n" + json.dumps(PLAIN))
    assert isinstance(error, JudgementError)
    assert (error.line, error.reason.split(" (")[0]) == (1, "not JSON")
    assert isinstance(row, Judgement)
    [error] = read(tmp_path, '[{"history": "a", "respo')
    assert isinstance(error, ItemError)
    packed = gzip.compress((json.dumps(PLAIN) + "\n").encode() * 2000, 0)
    *rows, cut = read(tmp_path, packed[:-3000], "x.jsonl.gz")
    assert len(rows) > 1000
    assert all(isinstance(row, Judgement) for row in rows)
    assert cut == JudgementError(len(rows) + 1, "truncated gzip", "x")
    *rows, cut = read(tmp_path, gzip.compress(json.dumps([PLAIN] * 9).encode())[:-8], "x.json.gz")
    assert len(rows) == 9
    assert cut == JudgementError(10, "truncated gzip", "x")


def test_a_long_response(tmp_path: Path) -> None:
    response = "word " * 10_000
    [row] = read(tmp_path, json.dumps(PLAIN | {"response": response}))
    assert isinstance(row, Judgement)
    assert row.response == response
    [row] = read(tmp_path, f"history,response,rating\na,{response},1\n")
    assert isinstance(row, Judgement)
    assert row.response == response


def test_standard_input_and_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(PLAIN).encode())))
    assert list(read_judgements("-")) == [Judgement("1", ("a", "b"), "c", 2.5, (), "stdin")]
    [row] = read(tmp_path, json.dumps(PLAIN), dataset="given")
    assert isinstance(row, Judgement)
    assert row.dataset == "given"
    names = {
        "d/fed-turn.jsonl.gz": "fed-turn",
        "a.b.csv": "a.b",
        "x": "x",
        ".json": ".json",
        "Y.JSON": "Y",
        "v1.2.json.gz": "v1.2",
    }
    assert {path: dataset_name(path) for path in names} == names


def test_mutated_rows_never_raise(tmp_path: Path) -> None:
    rng = random.Random(5)
    seeds = [json.dumps(row) for row in (DECO, GRADE, PLAIN, {"turns": ["a", "b"], "turn_ratings": ["Good", "Poor"]})]
    lines = [json.dumps(PLAIN).encode()]
    for _ in range(10_000):
        data = bytearray(rng.choice(seeds).encode())
        for _ in range(rng.choice((1, 1, 2))):
            data[rng.randrange(len(data))] = rng.choice((rng.randrange(256), ord('"'), ord("]"), ord("{"), 0))
        lines.append(bytes(data).replace(b"\n", b" "))
    rows = read(tmp_path, b"\n".join(lines))
    errors = [row for row in rows if isinstance(row, ItemError)]
    assert len(errors) > 1000
    assert len(rows) - len(errors) > 500
    table = b"history,response,rating\n" + b"\n".join(line.replace(b'{"', b"") for line in lines[:2000])
    assert read(tmp_path, table)


@pytest.mark.parametrize(
    ("file", "datasets", "systems", "low", "high"),
    [
        ("fed-turn", {"fed-turn": 375}, 0, 0.2, 4.0),
        ("dailydialog-zhao", {"dailydialog-zhao": 900}, 0, 1.0, 5.0),
        ("persona-zhao", {"persona-zhao": 900}, 0, 1.0, 5.0),
        ("dailydialog-gupta", {"dailydialog-gupta": 500}, 0, 1.0, 5.0),
        ("grade-dailydialog-empathetic", {"dailydialog_EVAL": 300, "empatheticdialogues": 300}, 2, 1.0, 5.0),
        ("deco-train", {"deco-train": 200}, 4, 1.0, 5.0),
    ],
)
def test_published_files(data_dir: Path, file: str, datasets: dict[str, int], systems: int, low: float, high: float) -> None:
    [path] = (data_dir / "judgements").glob(f"{file}.*")
    rows = list(read_judgements(path, strict=True))
    judgements = [row for row in rows if isinstance(row, Judgement)]
    assert judgements == rows
    assert {name: sum(row.dataset == name for row in judgements) for name in {row.dataset for row in judgements}} == datasets
    assert len({row.system for row in judgements} - {None}) == systems
    assert all(row.history and row.response.strip() and "</UTT>" not in "".join(row.history) for row in judgements)
    assert low <= min(row.rating for row in judgements) <= max(row.rating for row in judgements) <= high
    if systems:
        assert all(row.rating == pytest.approx(sum(row.ratings) / len(row.ratings)) for row in judgements)


def test_published_dialogues(data_dir: Path) -> None:
    rows = list(read_judgements(data_dir / "dialogues" / "topical-chat-test-freq.jsonl.gz", strict=True))
    with gzip.open(data_dir / "dialogues" / "topical-chat-test-freq.jsonl.gz", "rt", encoding="utf-8") as file:
        dialogues = [json.loads(line) for line in file]
    assert len(rows) == sum(rating != "" for dialogue in dialogues for rating in dialogue["turn_ratings"][1:])
    first = rows[0]
    assert isinstance(first, Judgement)
    assert (first.history, first.response) == (tuple(dialogues[0]["turns"][:1]), dialogues[0]["turns"][1])
    assert {row.rating for row in rows if isinstance(row, Judgement)} == {1.0, 2.0, 3.0, 4.0, 5.0}
