"""The report of a scored file: what it counts against an oracle, bounded memory, a file that asks for nothing, texts as texts."""

from __future__ import annotations

import json
import random
import re
import shutil
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tacit.api.report import score_report
from tacit.api.report.score_report import EXTREMES, Collected, counted
from tacit.api.scoring.plan import Plan, ScoredShard
from tacit.api.scoring.running import read_scores
from tacit.api.scoring.work_folder import WorkFolder
from tacit.graph.errors import InputError
from tacit.loaders import Item, ItemError
from tacit.reasoning import Evidence, ItemScores, Score, Signature

from tests.api.conftest import Tacit

CHROMIUM = shutil.which("chromium")
values = st.lists(st.floats(-1e6, 1e6) | st.just(nan), min_size=1, max_size=60)


def row(number: int, value: float) -> ItemScores:
    score = Score(value, Evidence(), Signature("m", (), 1))
    item = Item(("before",), f"said {number}", id=f"i{number}")
    return ItemScores(item.id, {"m": score}, item=item)


def fed(numbers: list[float], seed: int = 0) -> Collected:
    collected = Collected(["m"], seed)
    for number, value in enumerate(numbers):
        collected.add(row(number, value))
    return collected


@given(values)
@example([0.0, 5e-324])
@example([1.0, 1.0 + 2**-52, 1.0, 1.0])
def test_numbers_are_those_of_numpy(numbers: list[float]) -> None:
    column = fed(numbers).columns["m"]
    known = np.array([value for value in numbers if value == value])
    assert column.number == len(known)
    if len(known):
        assert column.mean == pytest.approx(known.mean(), abs=1e-6)
        assert column.quantiles() == pytest.approx(np.quantile(known, score_report.QUANTILES).tolist(), abs=1e-6)
        counts, least, largest = counted(known.tolist())
        assert (sum(counts), least, largest) == (len(known), known.min(), known.max())
        assert counts == np.histogram(known, len(counts))[0].tolist()
        if largest - least > 1e-6:
            assert len(counts) == min(40, max(1, round(len(known) ** 0.5)))
    if len(known) > 1:
        assert column.deviation == pytest.approx(known.std(ddof=1), abs=1e-4)
    else:
        assert column.deviation is None


@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=40))
def test_extremes_are_the_first_of_the_lowest_and_of_the_highest(numbers: list[float]) -> None:
    column = fed(numbers).columns["m"]
    places = range(len(numbers))
    worst = sorted(places, key=lambda index: (numbers[index], index))[:EXTREMES]
    best = sorted(places, key=lambda index: (-numbers[index], index))[:EXTREMES]
    assert [(value, index, item.id) for value, index, item in column.worst] == [(numbers[n], n, f"i{n}") for n in worst]
    assert [index for _, index, _ in column.best] == best


def test_memory_is_bounded_and_the_draw_is_fair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_report, "MAX_VALUES", 200)
    monkeypatch.setattr(score_report, "MAX_LISTED", 50)
    numbers = [float(number) for number in range(5_000)]
    collected = fed(numbers)
    column = collected.columns["m"]
    assert (len(column.values), len(collected.listed), column.number) == (200, 50, 5_000)
    assert column.mean == pytest.approx(2_499.5)
    assert 2_000 < column.quantiles()[3] < 3_000
    drawn = [listed.index for listed in collected.listed]
    assert len(set(drawn)) == 50
    assert np.mean(drawn) == pytest.approx(2_500, abs=700)
    assert [listed.index for listed in fed(numbers).listed] == drawn
    assert [listed.index for listed in fed(numbers, seed=1).listed] != drawn


def test_lines_without_scores_are_counted() -> None:
    collected = Collected(["m"])
    collected.add(ItemScores.without_item(ItemError(3, "no JSON")))
    collected.add(ItemScores("x", error="too long", item=Item((), "", id="x")))
    collected.add(row(1, 0.5))
    assert (collected.tally.errors, collected.tally.scored, len(collected.listed)) == (2, 1, 1)


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A file whose texts would do harm if they were taken for HTML."""
    shuffled = random.Random(0)
    rows: list[Any] = [
        {
            "id": f"<b>{number}",
            "history": ["I have a <script>alert(1)</script> dog."],
            "response": f"A bone & {number} \u2028 '\"></td>",
        }
        for number in range(12)
    ]
    shuffled.shuffle(rows)
    file = tmp_path / "evil.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + "<img src=x onerror=alert(1)>\n", encoding="utf-8")
    return file


def test_a_report_beside_the_scores(tacit: Tacit, sample_graph: str, evil: Path, tmp_path: Path) -> None:
    html, output = tmp_path / "report.html", tmp_path / "scores.jsonl"
    words = ("score", evil, "--graph", sample_graph, "--metrics", "grounding,length,repetition", "--output", output)
    shown = tacit(*words, "--html", html)
    assert shown.status == 0, shown.err
    assert "report written to" in shown.err
    assert len(output.read_text(encoding="utf-8").splitlines()) == 13
    text = html.read_text(encoding="utf-8")
    assert text.count("<script>") == 1  # the page's own
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "<b>0" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; dog" in text
    assert not re.search(r"(?:href|src)=|url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)
    assert "default-src 'none'" in text
    assert "grounding|graph:" in text
    assert "Not scored: 1" in text
    assert 'aria-label="Histogram of length' in text
    first = html.read_bytes()
    assert tacit(*words, "--html", html, "--quiet").status == 0
    assert html.read_bytes() == first


@pytest.mark.parametrize("name", ["s.jsonl", "s.jsonl.gz", "s.parquet"])
def test_a_report_after_a_crash_is_that_of_an_undisturbed_run(
    tacit: Tacit, sample_graph: str, evil: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with evil.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": 7, "history": [], "response": "x" * 200_001}) + "\n\n")
        file.write(json.dumps({"turns": ["A dog.", "A bone.", "A walk in the park."]}) + "\n")
    words = ("score", evil, "--graph", sample_graph, "--metrics", "grounding,length,bleu", "--explain", "--shard-lines", 4)
    whole, resumed = tmp_path / "whole.html", tmp_path / "resumed.html"
    assert tacit(*words, "--output", tmp_path / f"whole-{name}", "--html", whole).status == 0

    keep, calls = WorkFolder.store, iter(range(2))

    def keep_two(self: WorkFolder, part: ScoredShard) -> None:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        keep(self, part)

    with monkeypatch.context() as patch:
        patch.setattr(WorkFolder, "store", keep_two)
        assert tacit(*words, "--output", tmp_path / name, "--html", resumed).status == 130
    assert not resumed.exists()
    shown = tacit(*words, "--output", tmp_path / name, "--html", resumed, "--resume")
    assert shown.status == 0, shown.err
    assert "8 of 16 rows were scored before" in shown.err
    text = resumed.read_text(encoding="utf-8")
    assert "Not scored: 2" in text
    assert "No item could be judged." in text  # no line has a reference for bleu
    assert text == whole.read_text(encoding="utf-8")


def test_an_output_of_another_file_is_no_ground_for_a_report(tacit: Tacit, evil: Path, tmp_path: Path) -> None:
    output = tmp_path / "s.jsonl"
    assert tacit("score", evil, "--metrics", "length", "--output", output).status == 0
    rows = list(read_scores(Plan(str(evil), ("length",), {}), output))
    assert len(rows) == 13
    assert [row.item is None for row in rows] == [False] * 12 + [True]
    lines = output.read_text(encoding="utf-8").splitlines(keepends=True)
    for changed in (lines[1:], lines[:-1], lines[::-1], [*lines, lines[0]]):
        output.write_text("".join(changed), encoding="utf-8")
        with pytest.raises(InputError, match="score the file again"):
            list(read_scores(Plan(str(evil), ("length",), {}), output))


def test_a_report_goes_where_nothing_else_is_written(tacit: Tacit, sample_graph: str, evil: Path, tmp_path: Path) -> None:
    over = tacit("score", evil, "--graph", sample_graph, "--html", evil)
    assert (over.status, "is the input" in over.err) == (2, True)
    twice = tacit("score", evil, "--graph", sample_graph, "--html", tmp_path / "s", "--output", tmp_path / "s")
    assert (twice.status, "is the output of the scores" in twice.err) == (2, True)
    nowhere = tacit("score", evil, "--graph", sample_graph, "--html", tmp_path / "no" / "r.html")
    assert (nowhere.status, nowhere.out, "there is no folder" in nowhere.err) == (2, "", True)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_the_list_is_sorted_and_searched_in_a_browser(tacit: Tacit, sample_graph: str, evil: Path, tmp_path: Path) -> None:
    playwright: Any = pytest.importorskip("playwright.sync_api")
    html = tmp_path / "report.html"
    assert tacit("score", evil, "--graph", sample_graph, "--metrics", "grounding,length", "--html", html).status == 0
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
             "--disable-background-networking", "--disable-component-update"]  # fmt: skip
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=flags)
        try:
            page = browser.new_page()
            messages: list[str] = []
            page.on("console", lambda message: messages.append(message.text))
            page.on("pageerror", lambda error: messages.append(str(error)))
            page.on("dialog", lambda dialog: messages.append(dialog.message))
            page.goto(html.as_uri())
            ids = (
                "[...document.querySelectorAll('tbody tr')].filter((row) => row.cells[2] && !row.hidden && row.closest('.list'))"
            )
            ids += ".map((row) => row.cells[0].textContent)"
            initial_ids = page.evaluate(ids)
            assert len(initial_ids) == 12
            page.get_by_role("button", name="id", exact=True).press("Enter")
            assert page.evaluate(ids) == sorted(initial_ids, key=lambda column: column)
            page.get_by_role("button", name="id", exact=True).click()
            assert page.evaluate(ids) == sorted(initial_ids, reverse=True)
            page.get_by_role("searchbox").fill("bone & 7")
            assert page.evaluate(ids) == ["<b>7"]
            assert page.get_by_role("status").text_content() == "1 of 12 shown"
            assert page.get_by_role("img").count() >= 2
        finally:
            browser.close()
    assert messages == []
