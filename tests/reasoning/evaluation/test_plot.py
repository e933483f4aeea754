"""The picture of an evaluation: the same bytes each time, as PNG and SVG, whatever the data."""

from __future__ import annotations

import io
import math
import warnings
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from tacit.graph.errors import MissingExtra
from tacit.reasoning.evaluation import Judged, evaluate
from tacit.reasoning.evaluation.plot import check_plotting, draw

matplotlib = pytest.importorskip("matplotlib")


def items(datasets: int = 2, size: int = 30) -> list[Judged]:
    rng = np.random.default_rng(0)
    return [
        Judged(f"set {number}", None, float(rating), {"m": float(rating + rng.normal()), "n": float(rng.normal())})
        for number in range(datasets)
        for rating in rng.integers(1, 6, size)
    ]


@pytest.mark.parametrize("form", ["png", "svg"])
def test_the_same_rows_give_the_same_bytes(form: str) -> None:
    data = items(1)
    rows = evaluate(data, ["m", "n"], resamples=50)
    picture = draw(data, rows, form, resamples=50)
    settings = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"font.size": 30, "savefig.dpi": 10}):  # a user's own settings change nothing
        assert draw(data, rows, form, resamples=50) == picture
    assert dict(matplotlib.rcParams) == settings
    assert draw(data, rows, form, resamples=50, seed=1) != picture


@pytest.mark.parametrize(("datasets", "columns", "lines"), [(1, 1, 1), (4, 4, 1), (5, 3, 2)])
def test_panels_stand_in_a_grid(datasets: int, columns: int, lines: int) -> None:
    data = items(datasets, 5)
    rows = evaluate(data, ["m"], resamples=5)
    picture = matplotlib.image.imread(io.BytesIO(draw(data, rows, "png", resamples=5)))
    assert picture.shape[:2] == (480 * lines, 555 * columns)


def test_an_svg_is_valid_and_labelled() -> None:
    data = items()
    rows = evaluate(data, ["m"], resamples=50)
    picture = draw(data, rows, "svg", resamples=50)
    root = ElementTree.fromstring(picture)
    assert root.tag.endswith("svg")
    comments = picture.decode()
    for text in ("set 0", "set 1", "human rating", "n = 30"):
        assert f"<!-- {text}" in comments
    assert b"<dc:date>" not in picture


def test_any_data_can_be_drawn() -> None:
    data = [Judged("$a_1$ 恐竜 🦕 <&>\n" + "long " * 30, None, 1.0, {"m": 1.0})]
    data += [Judged("same scores", None, rating, {"m": 0.5}) for rating in (1.0, 2.0, 3.0, 4.0)]
    data += [Judged("same ratings", None, 2.0, {"m": score}) for score in (1.0, 2.0, 3.0, 4.0)]
    data += [Judged("no scores", None, 2.0, {"m": math.nan}) for _ in range(4)]
    data += [Judged("huge", None, rating, {"m": rating * 1e300}) for rating in (1.0, 2.0, 3.0, 4.0)]
    rows = evaluate(data, ["m"], resamples=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert draw(data, rows, "png", resamples=50).startswith(b"\x89PNG")
        ElementTree.fromstring(draw(data, rows, "svg", resamples=50))


def test_without_matplotlib_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"pip install 'tacit-kg\[plot\]'"):
        check_plotting()
