"""The page for everybody: narrow and wide, light and dark, with names, order and contrast, by keyboard alone."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import pytest

from tests.api.page.chromium import dim, headings, nameless, too_wide
from tests.api.page.visit import VIEWS, Visit, score, unfold

SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
FOCUSED = """() => {
  const element = document.activeElement, style = getComputedStyle(element);
  return [element.outerHTML.slice(0, 200), parseFloat(style.outlineWidth), style.outlineStyle];
}"""


def shown(visit: Visit, view: str) -> Any:
    """The tab at a view, with all that a person can make it show."""
    tab = visit.go(view)
    if view == "#/score":
        tab.click("#compare")
        tab.fill("#other", "The library has an interesting book for the exam.")
        score(tab)
        unfold(tab)
    if view.startswith("#/cookbook"):
        tab.fill("#parameter-concept", "dog")
        tab.click("#cookbook-form button[type=submit]")
        tab.wait_for_selector("#cookbook-results table")
    return tab


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_a_narrow_window(visit: Visit, view: str) -> None:
    visit.tab.set_viewport_size({"width": 320, "height": 800})
    tab = shown(visit, view)
    for width in (320, 375, 768):
        tab.set_viewport_size({"width": width, "height": 800})
        assert tab.evaluate("window.innerWidth") == width
        assert too_wide(tab) <= 0, width


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_accessible(visit: Visit, view: str) -> None:
    tab = shown(visit, view)
    levels = headings(tab)
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert tab.get_attribute("html", "lang") == "en"
    for scheme in SCHEMES:
        tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert tab.evaluate("scheme => matchMedia(`(prefers-color-scheme: ${scheme})`).matches", scheme)
        assert nameless(tab) == []
        assert dim(tab) == [], scheme
        assert tab.evaluate("document.getAnimations().length") == 0


def test_keyboard_focus_is_always_visible(visit: Visit) -> None:
    tab = visit.go("#/score")
    score(tab)
    tab.focus(".skip")
    stops = set()
    for _ in range(40):
        tab.keyboard.press("Tab")
        name, outline, style = tab.evaluate(FOCUSED)
        if name.startswith("<body"):
            break
        assert outline >= 2, name
        assert style != "none", name
        stops.add(name)
    assert len(stops) > 20


def test_the_skip_link_moves_focus_to_the_content(visit: Visit) -> None:
    tab = visit.go()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"
