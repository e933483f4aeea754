"""Pictures on the page and in reports, by day and by night: what is read and what is told apart, measured in Chromium."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tacit.api.report.pages import explained_page
from tacit.api.report.score_report import histogram
from tacit.graph.model import Assertion
from tacit.graph.model import Path as Chain
from tacit.loaders import Item
from tacit.reasoning import Evidence, Explanation, Piece, Reasoner, Score, Signature
from tacit.reasoning.text.linking import Mention

from tests.api.page.visit import Visit, score

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HISTORY, RESPONSE = ("Yesterday it rained.", "My dog looks sad and hungry."), "Take him for a walk in the park with a violin."

MEASURED = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const linear = (v) => (v <= 10 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = (c) => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const ratio = (one, other) => {
    const [a, b] = [light(parse(one)), light(parse(other))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };
  const found = [];
  for (const picture of document.querySelectorAll('svg')) {
    const grounds = [];
    for (const mark of picture.querySelectorAll('rect, text, path')) {
      const box = mark.getBBox(), style = getComputedStyle(mark);
      const x = box.x + box.width / 2, y = box.y + box.height / 2;
      const inside = (one) => one.x <= x && x <= one.x + one.width && one.y <= y && y <= one.y + one.height;
      const below = grounds.filter((one) => inside(one.box)).pop()?.fill;
      const kind = mark.localName;
      if (kind === 'rect') {
        if (below && style.stroke !== 'none') found.push(['edge', ratio(style.stroke, below), style.stroke]);
        grounds.push({ box, fill: style.fill });
      } else {
        const ink = style.stroke === 'none' ? style.fill : style.stroke;
        found.push([kind, ratio(ink, below), mark.textContent || ink]);
      }
    }
  }
  return found;
}"""


def many_sided() -> Explanation:
    """An explanation whose picture has every mark there is: what is asserted, what a model holds, bars that add and take away."""
    word = Mention(3, 16, "dog looks sad", "/c/en/dog", "dog", "NOUN")
    reply = Mention(15, 19, "walk", "/c/en/walk", "walk", "NOUN")
    path = Chain(("/c/en/dog", "/c/en/walk"), (Assertion("/c/en/dog", "Desires", "/c/en/walk", 1.0, "conceptnet", "/d/x"),))
    pieces = [
        Piece("concept", 0.5, 0.5, reply, 1, word, 1, path),
        Piece("concept", 0.2, 0.2, reply, 1, word, 1, path, asserted=False),
        Piece("concept", 0.0, 0.0, Mention(39, 45, "violin", "/c/en/violin", "violin", "NOUN")),
        Piece("feature", 2.0, 0.3, name="one-hop triples"),
        Piece("feature", 9.0, -0.4, name="length"),
    ]
    return Explanation(HISTORY, RESPONSE, Score(0.6, Evidence(tuple(pieces)), Signature("grounding", (), 1)))


@pytest.fixture(scope="module")
def report(reasoner: Reasoner, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with pictures of metrics, of one with everything in it, and of a distribution."""
    explanations = {**reasoner.explain(HISTORY, RESPONSE), "all": many_sided()}
    body = explained_page([(Item(HISTORY, RESPONSE, id="1"), explanations, None)])
    drawn = f'<div class="scroll">{histogram([0.1, 0.2, 0.2, 0.9], "grounding")}</div>'
    file = tmp_path_factory.mktemp("pictures") / "report.html"
    file.write_text(body.replace("</main>", f"{drawn}</main>"), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(params=["light", "dark"])
def tab(chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1100, "height": 900}, color_scheme=request.param)
    yield context.new_page()
    context.close()


def test_texts_and_lines_have_contrast_in_light_and_dark(tab: Page, report: str) -> None:
    tab.goto(report)
    agreements: Sequence[tuple[str, float, str]] = tab.evaluate(MEASURED)
    assert {kind for kind, _, _ in agreements} == {"text", "path", "edge"}
    assert len(agreements) > 60
    assert [entry for entry in agreements if entry[0] == "text" and entry[1] < 4.5] == []
    faint = {"rgb(213, 218, 224)", "rgb(59, 69, 76)"}  # frames around what is told apart without them
    assert [entry for entry in agreements if entry[0] == "path" and entry[2] not in faint and entry[1] < 3] == []
    assert [entry for entry in agreements if entry[0] == "edge" and entry[2] not in faint and entry[1] < 2.5] == []


def pixel(tab: Page, selector: str, x: float, y: float) -> tuple[int, ...]:
    """The colour that is shown at a place of an element, from 0 to 1."""
    image: Any = pytest.importorskip("PIL.Image")
    shown = image.open(io.BytesIO(tab.locator(selector).first.screenshot())).convert("RGB")
    colour: tuple[int, ...] = shown.getpixel((int(shown.width * x), int(shown.height * y)))
    return colour


@pytest.mark.parametrize(("scheme", "card"), [("light", (255, 255, 255)), ("dark", (28, 34, 38))])
def test_a_picture_on_the_page_and_its_file_are_light_or_dark_and_its_png_is_light(
    visit: Visit, scheme: Any, card: tuple[int, ...], tmp_path: Path
) -> None:
    visit.tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    tab = visit.go()
    score(tab)
    tab.wait_for_function("() => [...document.querySelectorAll('img.picture')].every((one) => one.naturalWidth > 300)")
    assert pixel(tab, "img.picture", 0.99, 0.5) == card
    with tab.expect_download() as saved:
        tab.get_by_role("link", name="SVG").first.click()
    saved.value.save_as(tmp_path / "grounding.svg")
    with tab.expect_download() as saved_image:
        tab.get_by_role("button", name="PNG").first.click()
    image: Any = pytest.importorskip("PIL.Image")
    shown = image.open(saved_image.value.path()).convert("RGB")
    assert shown.getpixel((int(shown.width * 0.99), shown.height // 2)) == (255, 255, 255)
    browser = tab.context.browser
    assert browser is not None
    with closing(browser.new_context(color_scheme=scheme)) as context:
        alone = context.new_page()
        alone.goto((tmp_path / "grounding.svg").as_uri())
        assert pixel(alone, "svg", 0.99, 0.5) == card
