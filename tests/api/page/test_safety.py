"""What must never happen on the page: text read as markup, a request elsewhere, a key that outlives its tab."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.api.server import Keys, create_app
from tacit.api.server.keys import new_key, write_keys
from tacit.loaders import read_items
from tacit.reasoning import Reasoner

from tests.api.page.chromium import nameless
from tests.api.page.visit import FILES, Visit, score, unfold
from tests.api.service_callers import at_socket

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = "<img src=x onerror=window.hit=1><script>window.hit=1</script>\"'`${1}"


def test_input_is_escaped(visit: Visit) -> None:
    tab = visit.go()
    tab.fill("#history", f"My dog is sad. {HOSTILE}")
    tab.fill("#response", f"Give him a bone. {HOSTILE}")
    score(tab)
    unfold(tab)
    tab.fill("#response", " ")
    tab.goto(f"{visit.url}/#/explore/{HOSTILE.replace('/', '%2F')}")
    assert "<img" in tab.locator("#explore .fault").inner_text()
    tab.goto(f"{visit.url}/#/cookbook/own")
    tab.wait_for_load_state("networkidle")  # the form is filled when the list of queries is there
    tab.fill("#cypher", "RETURN $text AS text, {a: $text} AS nested")
    tab.fill("#parameter-text", HOSTILE)
    tab.click("#cookbook-form button[type=submit]")
    tab.wait_for_selector("#cookbook-results td")
    assert tab.locator("#cookbook-results td").first.inner_text() == HOSTILE
    tab.wait_for_timeout(200)
    assert tab.evaluate("window.hit") is None
    assert tab.locator("img[src=x]").count() == 0
    assert tab.locator("main script").count() == 0


def test_inline_scripts_are_blocked(visit: Visit) -> None:
    tab = visit.go()
    tab.evaluate("() => { document.body.insertAdjacentHTML('beforeend', `<img src=x onerror='window.hit=1'>`); }")
    tab.wait_for_timeout(200)
    assert tab.evaluate("window.hit") is None
    assert visit.faults
    assert all("Content Security Policy" in fault for fault in visit.faults)
    visit.faults.clear()


def test_an_unreachable_service_is_one_sentence(visit: Visit) -> None:
    tab = visit.go()
    tab.route("**/v1/explain", lambda route: route.abort())
    tab.wait_for_function("() => document.getElementById('response').value")
    tab.click("#score-form button[type=submit]")
    assert tab.get_by_role("alert").inner_text() == "The service does not answer. Is it still running?"


def test_the_page_asks_for_a_key_and_keeps_it_in_the_tab(chromium: Browser, reasoner: Reasoner, tmp_path: Path) -> None:
    key, entry = new_key("ada")
    write_keys(tmp_path / "keys", [entry])
    with at_socket(create_app(reasoner, keys=Keys(tmp_path / "keys"))) as address:
        context = chromium.new_context()
        visit = Visit(context, address)
        tab = visit.tab
        tab.goto(address)
        tab.wait_for_selector("#key-dialog[open]")
        assert tab.evaluate("document.activeElement.id") == "key"
        assert nameless(tab) == []
        tab.fill("#key", "tacit_wrong")
        tab.keyboard.press("Enter")
        tab.wait_for_function("() => document.getElementById('key-hint').textContent.includes('refused')")
        tab.fill("#key", key)
        tab.keyboard.press("Enter")
        tab.wait_for_selector("#metrics input")
        score(tab)
        tab.reload()
        tab.wait_for_selector("#metrics input")
        assert tab.evaluate("document.cookie + JSON.stringify(localStorage)") == "{}"
        tab.evaluate("sessionStorage.clear()")
        tab.goto(f"{address}/docs")
        info = tab.locator("article.operation", has=tab.locator("h2", has_text="/v1/info"))
        info.locator("details.trial summary").click()
        info.locator("button[type=submit]").click()
        tab.fill("#key-dialog[open] #key", key)
        tab.keyboard.press("Enter")
        info.locator(".answer", has_text="digest").wait_for()
        visit.check()
        context.close()


def test_the_examples_are_those_of_the_sample() -> None:
    examples = json.loads((FILES / "examples.json").read_text(encoding="utf-8"))
    items: dict[str, Any] = {item.id: item for item in read_items(FILES.parent / "sample" / "dialogues.jsonl", strict=True)}  # type: ignore[union-attr, misc]
    assert len(examples) >= 4
    for example in examples:
        item = items[example["id"]]
        assert (example["history"], example["response"]) == (list(item.history), item.response)
        assert example.get("references", []) == list(item.references)


def test_nothing_in_the_files_points_elsewhere_or_runs_in_line() -> None:
    for name in ("index.html", "docs.html"):
        markup = (FILES / name).read_text(encoding="utf-8")
        assert not [word for word in (" style=", " onclick", "<style", "javascript:") if word in markup]
        assert markup.count("<script") == 1
    for path in FILES.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, path.name
        assert "innerHTML" not in text, path.name
