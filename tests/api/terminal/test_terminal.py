"""What people and programs get to see: tables, JSON, CSV, texts that would steer a terminal, files that appear whole."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import os
import stat
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.api.terminal.output import check_output, lines_to
from tacit.api.terminal.progress import Meter
from tacit.api.terminal.screen import (
    cell,
    duration,
    facts,
    json_text,
    number,
    plural,
    print_csv,
    print_json,
    show,
    size,
    table,
    visible,
)
from tacit.graph.errors import InputError


@given(st.text())
def test_visible_text_cannot_steer_a_terminal(text: str) -> None:
    shown = visible(text)
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in shown)
    assert not set(shown) & set("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")
    assert shown.splitlines() == ([shown] if shown else [])


def test_visible_text_stays_as_it_is() -> None:
    assert visible("naïve café 犬 🐕") == "naïve café 犬 🐕"
    assert visible("\x1b[31mred\n") == "\\x1b[31mred\\n"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, ""), (True, "yes"), (False, "no"), (3423004, "3,423,004"), (2.0, "2"), (0.25, "0.25"), (1 / 3, "0.3333"),
     ("a\tb", "a\\tb"), (["a", 1], '["a", 1]'), ({"text": "dog"}, '{"text": "dog"}')],
)  # fmt: skip
def test_cells(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_numbers_for_people() -> None:
    assert [duration(seconds) for seconds in (0.004, 9.994, 12.34, 185, 7621)] == [
        "0.00 s", "9.99 s", "12.3 s", "3 min 05 s", "2 h 07 min",
    ]  # fmt: skip
    assert [size(number) for number in (0, 999, 1500, 81_400_000, 2_500_000_000)] == [
        "0 bytes", "999 bytes", "1.5 kB", "81.4 MB", "2.50 GB",
    ]  # fmt: skip
    assert [number(value) for value in (1, 0.5, 0.12345, 100.0)] == ["1", "0.5", "0.1235", "100"]
    assert [number(value) for value in (1e300, -2.5e15, 123456789012345.0)] == ["1e+300", "-2.5e+15", "123456789012345"]
    assert (plural(1, "row"), plural(2000, "row")) == ("1 row", "2,000 rows")


def test_tables_off_a_terminal_are_plain_and_whole(capsys: pytest.CaptureFixture[str]) -> None:
    long = "word " * 60 + "end"
    show(table(("text", ">n"), [(long, 1), ("[bold]x[/] :dog: https://a.b 12", 20)]))
    show(facts([("digest", "abc"), ("assertions", 1234)]))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    lines = out.splitlines()
    assert lines[0].split() == ["text", "n"]
    assert long in lines[2]
    assert lines[3].startswith("[bold]x[/] :dog: https://a.b 12 ")
    assert all(line == line.rstrip() for line in lines)
    assert lines[-1].split() == ["assertions", "1,234"]


def test_json_says_everything() -> None:
    value = {"a": 2**70, "b": datetime.date(2020, 2, 3), 3: b"\xff", "s": {"z", "a"}}
    assert json.loads(json_text(value)) == {"a": 2**70, "b": "2020-02-03", "3": "ff", "s": ["a", "z"]}
    assert json.loads(json_text({"a": float("nan"), "b": "\x1b\u2028"})) == {"a": None, "b": "\x1b\u2028"}
    assert "\x1b" not in json_text("\x1b")
    assert json.loads(json_text("\ud800")) == "\ud800"
    assert json_text("caf\u00e9 \x9b31m") == '"caf\u00e9 \\u009b31m"'


def test_json_lists_have_one_element_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_json([{"a": 1}, {"a": 2}])
    print_json([])
    print_json({"a": [1]})
    assert capsys.readouterr().out == '[{"a": 1},\n {"a": 2}]\n[]\n{"a": [1]}\n'


def test_csv_quotes_what_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    print_csv(("a", "b"), [('say "hi", friend', 1.5), ("two\nlines", ["x"]), (None, True)])
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows == [["a", "b"], ['say "hi", friend', "1.5"], ["two\nlines", '["x"]'], ["", "True"]]


def test_output_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "scores.jsonl"
    target.write_text("before")

    def crash() -> None:
        with lines_to(target) as write:
            write("half\n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        crash()
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]
    with lines_to(target) as write:
        write("naïve\n")
        assert target.read_text() == "before"
    assert target.read_bytes() == "naïve\n".encode()
    assert list(tmp_path.iterdir()) == [target]


def test_output_can_be_gzip_and_is_the_same_twice(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        with lines_to(tmp_path / name / "out.jsonl.gz") as write:
            write("text\n" * 100)
    packed = [(tmp_path / name / "out.jsonl.gz").read_bytes() for name in ("a", "b")]
    assert packed[0] == packed[1]
    assert gzip.decompress(packed[0]).decode() == "text\n" * 100


def test_output_follows_links_and_leaves_devices_alone(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real" / "out.jsonl")
    with lines_to(tmp_path / "link.jsonl") as write:
        write("text\n")
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "real" / "out.jsonl").read_text() == "text\n"
    with lines_to(Path(os.devnull)) as write:
        write("text\n")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_output_must_be_writable_and_not_the_input(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text("")
    (tmp_path / "link").symlink_to(file)
    for path in (tmp_path, tmp_path / "no" / "out", file, tmp_path / "link", Path("a\0b"), Path("-")):
        with pytest.raises(InputError):
            check_output(path, str(file))
    assert check_output(tmp_path / "out", str(file)) == (tmp_path / "out").resolve()


def test_meter_is_silent_for_short_work_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Meter("file", 100) as meter:
        meter.add(10, done=50)
    assert (meter.number, meter.done) == (10, 50)
    assert capsys.readouterr().err == ""


def test_meter_reports_long_work_now_and_then(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("tacit.api.terminal.progress.time.monotonic", lambda: now[0])
    for quiet in (False, True):
        now[0] = 0.0
        with Meter("file.csv", 1_000_000, quiet=quiet) as meter:
            for second in range(1, 21):
                now[0] = float(second)
                meter.add(100, done=second * 25_000)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "file.csv: 5% (50.0 kB of 1.0 MB), 200 rows, 100/s",  # the first seconds tell nothing about the rest
        "file.csv: 30% (300 kB of 1.0 MB), 1,200 rows, 100/s, 28.0 s left",
    ]
    now[0] = 0.0
    with Meter("scoring", 2, noun="items") as meter:
        now[0] = 3.0
        meter.add(1)
    assert capsys.readouterr().err == "scoring: 50% (1 of 2), 1 item, 0.3/s\n"


def test_meter_counts_no_time_for_what_an_earlier_run_did(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("tacit.api.terminal.progress.time.monotonic", lambda: now[0])
    with Meter("training", 400, unit="steps", noun="steps") as meter:
        for step in range(301, 321):
            now[0] += 1.0
            meter.advance_to(step, 400)
    assert (meter.number, meter.done) == (20, 320)
    assert capsys.readouterr().err.splitlines()[-1] == "training: 78% (312 of 400), 12 steps, 1.0/s, 1 min 28 s left"


def test_meter_watches_work_that_does_not_report(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.api.terminal.progress._SILENT_SECONDS", 0.0)
    monkeypatch.setattr("tacit.api.terminal.progress._POLL_SECONDS", 0.01)
    seen = []

    def watch() -> tuple[int, float, float | None]:
        seen.append(1)
        return 7, 1000, 1000

    with Meter("file.csv", 1000, watch=watch) as meter:
        while len(seen) < 2:
            time.sleep(0.01)
    assert meter.number == 7
    shown = capsys.readouterr().err
    assert shown.startswith("file.csv: 100% (1.0 kB of 1.0 kB), 7 rows, ")
    assert shown.endswith("finishing\n")
    with Meter("file.csv", 1000, watch=watch, quiet=True):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_meter_draws_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with Meter("[b]file", 100) as meter:
        meter.add(10, done=50)
    assert "[b]file" in terminal.getvalue()
    assert "10 rows" in terminal.getvalue()
