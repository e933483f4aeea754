"""The experiment on training sets: controls of equal size and of equal words, and the line of the table."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("transformers")

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("responses")


def dialogues(name: str, number: int) -> list[tuple[str, ...]]:
    return [(f"{name} {index}", "word " * (index % 7 + 1)) for index in range(number)]


def test_controls_match_the_filtered_sets_in_dialogues_or_words(room: Any) -> None:
    dialogues_of = {name: dialogues(name, 60) for name in room.CORPORA}
    chosen = {name: [dialogue for index, dialogue in enumerate(some) if index % 7 > 3] for name, some in dialogues_of.items()}
    sets = room.training_sets(dialogues_of, chosen, 0)
    assert list(sets)[:6] == [*room.THREE, "filtered", "filtered +cd", "filtered +filtered cd"]
    for name, filtered in (("", "filtered"), (" +cd", "filtered +cd"), (" +random cd", "filtered +filtered cd")):
        assert len(sets[f"random, size{name}"]) == len(sets[filtered])
        words = room.words_in(sets[filtered])
        assert words <= room.words_in(sets[f"random, tokens{name}"]) <= words + 2 * 10
    assert set(sets["random, size"]) <= {dialogue for name in room.THREE for dialogue in dialogues_of[name]}
    assert room.training_sets(dialogues_of, chosen, 0) == sets
    assert room.training_sets(dialogues_of, chosen, 1)["random, size"] != sets["random, size"]


def test_a_line_has_means_and_ranges_over_the_seeds(room: Any) -> None:
    figures = [[10.0, *[0.25] * 5, 8.0, 1.0, np.nan], [12.0, *[0.75] * 5, 9.0, 1.0, np.nan]]
    cells = room.line("filtered", "3, 9", figures).split(" | ")
    assert cells[:4] == ["| filtered", "3, 9", "11.00 (10.00 to 12.00)", "0.500 (0.250 to 0.750)"]
    assert cells[8:] == ["8.5 (8.0 to 9.0)", "1.000 (1.000 to 1.000)", "– |"]
    assert room.mean([1.0, float("nan"), 3.0]) == 2.0
