"""Damaged files: a store, an index or a table of events answers as if it were whole, or says in one sentence that it is damaged.

The cases are deterministic: flipped bits, blank and exchanged pages, cut, longer and swapped files. They run in a process of
their own with a limit of time, so that a crash or an endless loop is a failure and not the end of the tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tacit.graph import open_graph
from tacit.reasoning.metrics.accent.tails.event_table import open_table

from tests.graph.example_rows import random_rows

ROOT = Path(__file__).parents[2]
RUN = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.attacks.damaging import main; "


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two graphs, each with its index and its table of events."""
    folders = []
    for seed in (1, 2):
        folder = tmp_path_factory.mktemp(f"graph-{seed}")
        with open_graph(folder, create=True, progress=False) as graph:
            graph.load(random_rows(300, 60, seed))
            graph.resolve(["concept 0"])
            open_table(graph)
        folders.append(folder)
    return folders[0], folders[1]


def rows_of(graphs: tuple[Path, Path], part: str, cases: range, work: Path, seconds: float) -> list[dict[str, Any]]:
    """Run the cases and return a row for each."""
    words = [str(graphs[0]), str(graphs[1]), str(work), part]
    program = f"{RUN}main(*{words!r}, {cases.start}, {cases.stop})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=seconds, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (rows[-1:], done.returncode, done.stderr[-2000:])
    assert [row["case"] for row in rows] == list(cases)
    return rows


def check(part: str, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        assert row["changed"], row
        refused, _, sentence = row["direct"].partition(": ")
        assert refused == "refused", row
        assert "\n" not in sentence, row
        assert row["file"].split("/")[0].removesuffix(".sums") in sentence, row
        if part != "store":
            assert row["usual"] == "equal", row


@pytest.mark.parametrize("part", ["store", "index", "events"])
def test_damage_never_changes_an_answer(part: str, graphs: tuple[Path, Path], tmp_path: Path) -> None:
    check(part, rows_of(graphs, part, range(21), tmp_path, 240))


@pytest.mark.long
@pytest.mark.parametrize("part", ["store", "index", "events"])
def test_damage_never_changes_an_answer_in_many_cases(part: str, graphs: tuple[Path, Path], tmp_path: Path) -> None:
    check(part, rows_of(graphs, part, range(21, 521), tmp_path, 3600))
