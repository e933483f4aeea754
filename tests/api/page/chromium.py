"""Chromium without a window, for the tests of the page, and what is measured in it: names, headings, contrast, widths."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
_CONTROLS = {"button", "link", "textbox", "combobox", "checkbox", "spinbutton", "searchbox", "listbox", "option", "image"}
_CONTROLS |= {"DisclosureTriangle", "navigation", "dialog", "region", "search"}


def chromium() -> str:
    """The path of Chromium; without one the test is skipped."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("TACIT_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("there is no chromium; on Debian: apt install chromium, or name one in TACIT_CHROMIUM")
    return path


@contextmanager
def browser() -> Iterator[Browser]:
    """A Chromium of its own."""
    path = chromium()
    api = pytest.importorskip("playwright.sync_api", reason="chromium is driven by playwright; run: pip install playwright")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield opened
        opened.close()


def nameless(page: Page) -> list[str]:
    """Controls, images and landmarks without a name, as the accessibility tree has them."""
    session = page.context.new_cdp_session(page)
    nodes: list[dict[str, Any]] = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    controls = [node for node in nodes if not node["ignored"] and node["role"]["value"] in _CONTROLS]
    assert len(controls) > 2, "the tree is not read"
    return [node["role"]["value"] for node in controls if not str(node.get("name", {}).get("value", "")).strip()]


def headings(page: Page) -> list[int]:
    """The levels of the headings that are shown, in order."""
    agreements: list[int] = page.evaluate(
        "() => [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].filter(e => e.checkVisibility()).map(e => +e.tagName[1])"
    )
    return agreements


def dim(page: Page) -> list[str]:
    """Shown texts whose contrast with what is behind them is below WCAG 2 AA: 4.5, or 3 for large ones."""
    agreements: list[str] = page.evaluate(_CONTRAST)
    return agreements


def too_wide(page: Page) -> int:
    """How many pixels the page is wider than its window."""
    width: int = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width


_CONTRAST = """() => {
  const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length > 3 ? n : [...n, 1]; };
  const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3]));
  const linear = (v) => (v <= 10 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = (c) => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const bad = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility()) continue;
    if (element.closest('.away, option, svg, noscript, script, .skip')) continue;
    const style = getComputedStyle(element), back = behind(element), front = over(parse(style.color), back);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    seen += 1;
    if (ratio < (large ? 3 : 4.5)) bad.push(`${node.data.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return seen > 10 ? bad : [`only ${seen} texts were seen`];
}"""
