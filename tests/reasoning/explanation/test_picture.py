"""The picture: no end labels overlap, whatever is explained; what lines mean; texts of any kind; the same bytes every time."""

from __future__ import annotations

import os
import shutil
from itertools import pairwise
from math import nan
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tacit.graph.errors import InputError
from tacit.graph.model import Assertion, Path
from tacit.reasoning import Evidence, Explanation, Piece, Score, Signature
from tacit.reasoning.explanation.svg import fit, one_line, width_of, wrap

from tests.reasoning.explanation.example_explanations import SVG, boxes, explanations, frame, mention, overlaps

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
SIGNATURE = Signature("grounding", (("graph", "0" * 16),), 1)


def dense(side: int = 12) -> Explanation:
    """``side`` keywords on either side, each joined to one of the other, over one to three hops."""
    words = [f"keyword{number}" for number in range(side)]
    text = " ".join(words)
    pieces = []
    for number, word in enumerate(words):
        other = words[(5 * number) % side]
        nodes = ["/c/en/" + other, *[f"/c/en/middle_{number}_{hop}" for hop in range(number % 3)], "/c/en/" + word]
        rows = [
            Assertion(start, "HasPrerequisite", end) if number % 2 else Assertion(end, "UsedFor", start)
            for start, end in pairwise(nodes)
        ]
        left, right = mention(other, text.index(other), False), mention(word, text.index(word), False)
        pieces.append(Piece("concept", 1.0, (number + 1) / 100, right, 0, left, len(rows), Path(tuple(nodes), tuple(rows))))
    return Explanation((text,), text, Score(0.5, Evidence(tuple(pieces)), SIGNATURE))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(explanations(), st.sampled_from([320, 640, 960, 1400]))
def test_labels_do_not_overlap_and_stay_inside_the_picture(explanation: Explanation, width: int) -> None:
    svg = explanation.svg(width)
    rectangles = boxes(svg)
    assert not overlaps(rectangles)
    whole = frame(svg)
    assert all(box.left > 0 and box.right < whole.right + 0.1 and box.top > 0 and box.bottom < whole.bottom for box in rectangles)
    assert svg == explanation.svg(width)


def test_twelve_by_twelve_keywords_are_all_drawn() -> None:
    texts = [box.text for box in boxes(dense().svg())]
    for number in range(12):
        assert texts.count(f"keyword{number}") == 2
    assert not overlaps(boxes(dense().svg()))
    assert not any("not shown" in text for text in texts)


def test_omitted_pieces_are_counted() -> None:
    texts = [box.text for box in boxes(dense(20).svg())]
    assert "8 weaker ones are not shown" in texts
    assert "keyword19" in texts  # the strongest
    assert not overlaps(boxes(dense(20).svg()))


def test_lines_show_source_and_strength() -> None:
    dog, bone, piece = mention("dog", 2, False), mention("bone", 2, False), Assertion("/c/en/dog", "Desires", "/c/en/bone", 2.0)
    path = Path(("/c/en/dog", "/c/en/bone"), (piece,))
    known = Piece("concept", 0.5, 0.5, bone, 0, dog, 1, path)
    held = Piece("term", 0.5, 0.25, mention("eat", 9, False), 0, dog, 1, path, asserted=False)
    svg = Explanation(("A dog.",), "A bone. Eat.", Score(0.75, Evidence((known, held)), SIGNATURE)).svg()
    lines = [node.attrib for node in ElementTree.fromstring(svg).iter(f"{SVG}path") if "stroke-width" in node.attrib]
    asserted = {line["stroke-width"] for line in lines if line["class"] == "line graph"}
    predicted = {line["stroke-width"] for line in lines if line["class"] == "line model"}
    assert asserted == {"5", "3"}  # the strongest; 3 is the key's
    assert predicted == {"3.1", "3"}  # half of it: 1.2 + 3.8 / 2
    texts = [box.text for box in boxes(svg)]
    assert {"Desires", "+0.500", "+0.250", "in the graph", "predicted by a model"} <= set(texts)
    assert "similarity" not in texts


def test_texts_are_escaped_and_described_for_screen_readers() -> None:
    history, response = ("<script>alert(1)</script> & \x00\x1b[31m ‮evil",), "\ud800 ]]> 'quotes' \"too\" 👩‍👩‍👧"
    svg = Explanation(history, response, Score(nan, Evidence(note="no <b>number</b>"), SIGNATURE)).svg()
    root = ElementTree.fromstring(svg)
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == "grounding none: no <b>number</b>"
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert {node.tag.removeprefix(SVG) for node in root.iter()} <= {"svg", "title", "desc", "style", "g", "text", "rect", "path"}
    assert "no score" in [box.text for box in boxes(svg)]
    assert "There is no evidence to show." in [box.text for box in boxes(svg)]
    svg.encode()
    assert " id=" not in svg


def test_empty_texts_are_noted() -> None:
    svg = Explanation((), "", Score(0.0, Evidence(), SIGNATURE)).svg()
    assert {"the history is empty", "(empty)"} <= {box.text for box in boxes(svg)}
    assert Explanation((), "", Score(0.0, Evidence(), SIGNATURE))._repr_svg_() == Explanation(
        (), "", Score(0.0, Evidence(), SIGNATURE)
    ).svg(800)


def test_a_very_long_turn_is_shortened() -> None:
    explanation = Explanation(("x" * 200_000, "word " * 40_000), "y " * 100_000, Score(0.0, Evidence(), SIGNATURE))
    svg = explanation.svg()
    assert len(svg) < 20_000
    assert not overlaps(boxes(svg))


def test_bars_add_up_to_the_score() -> None:
    pieces = (Piece("base", 2.0, 2.0, name="base"), Piece("feature", 7.0, -3.0, name="length"))
    svg = Explanation(("a",), "b", Score(-1.0, Evidence(pieces), SIGNATURE)).svg()
    texts = [box.text for box in boxes(svg)]
    assert texts.count("+2.000") == texts.count("−3.000") == 1
    assert "length = 7" in texts
    wide = [float(node.attrib["width"]) for node in ElementTree.fromstring(svg).iter(f"{SVG}rect") if node.attrib["rx"] == "2"]
    assert wide[0] / wide[1] == pytest.approx(2 / 3, abs=0.01)
    assert wide[2] / wide[1] == pytest.approx(1 / 3, abs=0.01)


def test_invalid_widths_are_refused() -> None:
    for width in (0, 319, 2401):
        with pytest.raises(InputError, match="from 320 to 2400 pixels"):
            dense().svg(width)


@given(st.text(max_size=300), st.floats(60, 400), st.integers(1, 6))
def test_wrapped_lines_fit_and_mark_what_is_cut(text: str, width: float, max_lines: int) -> None:
    text = one_line(text)
    lines = wrap(text, 13, width, max_lines)
    assert len(lines) <= max_lines
    assert all(width_of(line, 13) <= max(width, width_of(line[0] + "…", 13)) for _, line in lines)
    whole = "".join("".join(line for _, line in lines).split())
    assert whole == "".join(text.split()) or lines[-1][1].endswith("…")
    assert all(text[start : start + len(line)] == line for start, line in lines[:-1])


@given(st.text(min_size=1, max_size=80), st.floats(20, 400))
def test_a_cut_text_fits(text: str, width: float) -> None:
    assert width_of(fit(text, 13, width), 13) <= max(width, width_of(text[0] + "…", 13))


@pytest.mark.skipif(not os.access(CHROMIUM, os.X_OK), reason="no Chromium")
def test_labels_do_not_overlap_in_a_real_browser() -> None:
    playwright: Any = pytest.importorskip("playwright.sync_api")
    script = """() => [...document.querySelectorAll("svg text")].map((node) => {
        const box = node.getBBox(); return [box.x, box.y, box.width, box.height, node.firstChild.textContent]; })"""
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            page = browser.new_page()
            page.set_content(dense().svg())
            seen = page.evaluate(script)
        finally:
            browser.close()
    planned = boxes(dense().svg())
    assert len(seen) == len(planned) > 60
    for (x, y, width, height, text), box in zip(seen, planned, strict=True):
        assert text == box.text
        assert (x, width) == pytest.approx((box.left, box.right - box.left), abs=1.5)
        assert y < box.top + 1.5
        assert y + height > box.bottom - 1.5
    inked = [(x, y + 0.18 * height, x + width, y + 0.95 * height) for x, y, width, height, _ in seen]  # letters in their line
    for index, rectangle in enumerate(inked):
        for other in inked[:index]:
            assert (
                min(rectangle[2], other[2]) - max(rectangle[0], other[0]) < 0.5
                or min(rectangle[3], other[3]) - max(rectangle[1], other[1]) < 0.5
            )
