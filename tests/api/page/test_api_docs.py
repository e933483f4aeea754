"""The page of the API at /docs: every request is listed, and can be tried; light, dark, narrow, with names and contrast."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.api.page.chromium import dim, headings, nameless, too_wide
from tests.api.page.visit import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page


def opened(visit: Visit) -> Page:
    visit.tab.goto(f"{visit.url}/docs")
    visit.tab.wait_for_selector("#operations article.operation")
    return visit.tab


def test_every_request_is_listed_and_can_be_tried(visit: Visit) -> None:
    document = httpx.get(f"{visit.url}/openapi.json").json()
    tab = opened(visit)
    operations = {
        operation["operationId"]: f"{method.upper()}{path}"
        for path, path_item in document["paths"].items()
        for method, operation in path_item.items()
    }
    for name, title in operations.items():
        assert tab.inner_text(f"#{name} h2").replace("\n", "").replace(" ", "") == title
        tab.click(f"#{name} details.trial summary")
        tab.click(f"#{name} button[type=submit]")
        tab.wait_for_function("(name) => / ms$/.test(document.querySelector(`#${name} [role=status]`).textContent)", arg=name)
        status = "422 " if title == "GET/v1/concept-tails" else "200 "  # the events of the sample graph are not linked
        assert tab.inner_text(f"#{name} [role=status]").startswith(status), title
        assert tab.inner_text(f"#{name} .answer")
    for name in document["components"]["schemas"]:
        assert tab.locator(f"#form-{name} tbody tr").count() > 0
    assert tab.locator("a[href^='#form-']").evaluate_all("(all) => all.every((a) => document.getElementById(a.hash.slice(1)))")


def test_input_is_sent_and_results_are_escaped(visit: Visit) -> None:
    tab = opened(visit)
    article = tab.locator("article.operation", has=tab.locator("h2", has_text="/v1/cypher"))
    article.locator("details.trial summary").click()
    word = "<img src=x onerror=alert(1)>"
    article.locator("textarea").fill(json.dumps({"query": "RETURN $x AS x", "parameters": {"x": word}}))
    article.locator("button[type=submit]").click()
    article.locator(".answer", has_text="columns").wait_for()
    assert json.loads(article.locator(".answer").inner_text())["rows"] == [{"x": word}]
    assert article.locator("img").count() == 0
    assert "curl --json" in article.locator(".signature").inner_text()
    article.locator("textarea").fill("no json")
    article.locator("button[type=submit]").click()
    article.locator("[role=status]", has_text="400").wait_for()
    assert "not JSON" in article.locator(".answer").inner_text()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 320)])
def test_the_api_documentation_is_accessible(visit: Visit, scheme: Any, width: int) -> None:
    visit.tab.set_viewport_size({"width": width, "height": 800})
    visit.tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    tab = opened(visit)
    for summary in tab.locator("article.operation summary").all()[:6]:
        summary.click()
    assert nameless(tab) == []
    assert headings(tab)[0] == 1
    assert headings(tab).count(1) == 1
    assert dim(tab) == []
    assert too_wide(tab) <= 0
