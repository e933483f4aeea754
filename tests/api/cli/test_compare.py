"""The command ``compare``: table, JSON, page, and the exit status for CI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.api.conftest import Tacit

HISTORIES = [f"Tell me about number {number}." for number in range(12)]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for path, response in ((first, "It is a small number."), (second, "It is <b>small</b>.")):
        rows = [{"history": [history], "response": response} for history in HISTORIES]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return first, second


def test_table_page_and_json_agree(tacit: Tacit, files: tuple[Path, Path], tmp_path: Path) -> None:
    done = tacit("compare", *files, "--metrics", "length", "--html", tmp_path / "page.html", "--show", 1)
    assert "-2.000 [-2.000, -2.000]*" in done.out
    assert "A > It is a small number." in done.out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "-2.000 to -2.000" in page
    assert "It is &lt;b&gt;small&lt;/b&gt;." in page
    assert "<b>small" not in page
    answer = tacit("compare", *files, "--metrics", "length", "--json", "--quiet").json
    assert (answer["metrics"][0]["difference"], answer["metrics"][0]["conversations"]) == (-2.0, 12)
    assert answer["signatures"]["length"].startswith("length|")


def test_fail_under_sets_the_exit_status(tacit: Tacit, files: tuple[Path, Path]) -> None:
    command = ["compare", *files, "--metrics", "length", "--quiet", "--fail-under"]
    assert tacit(*command, "-2.5").status == 0
    assert tacit(*command, "-1.5").status == 1
    assert tacit(*command, "nan").status == 2


def test_bad_input_is_one_sentence(tacit: Tacit, files: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"history": ["x"], "response": "y"}\n', encoding="utf-8")
    done = tacit("compare", files[0], other, "--metrics", "length")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "no history is in both inputs" in done.err
    assert "there is no file" in tacit("compare", files[0], tmp_path / "none.jsonl", "--metrics", "length").err
