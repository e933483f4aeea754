"""Questions about a turn on the page: a picture whose answers lead to their edges, by mouse, by keyboard, and from a link."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from tacit.api.server import create_app
from tacit.graph import Assertion, open_graph
from tacit.graph.names import concept_uri, event_uri
from tacit.reasoning import Reasoner
from tacit.reasoning.inference import load_inference

from tests.api.page.chromium import dim, headings, nameless, too_wide
from tests.api.page.visit import Visit, score
from tests.api.service_callers import at_socket

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

EVIL = "I cooked dinner for you. <img src=x onerror=\"document.title='caught'\">"
HISTORY, RESPONSE = ["A: I cooked dinner for you.", "Thank you!"], "Let us cook a soup."


def ask_about(tab: Page, index: int, history: Iterable[str] = HISTORY, response: str = RESPONSE) -> None:
    """Fill the form, and choose a turn with the keyboard."""
    tab.wait_for_function("() => document.getElementById('response').value")
    tab.fill("#history", "\n".join(history))
    tab.fill("#response", response)
    tab.locator(".turn").nth(index).press("Enter")
    tab.wait_for_selector(".drawn, #turn-fault .fault, #turn-answers .note")


def test_answers_about_a_turn_are_a_picture_and_a_list(visit: Visit, reasoner: Reasoner) -> None:
    tab = visit.go()
    ask_about(tab, 0)
    assert tab.locator(".turn").all_inner_texts() == [*HISTORY, RESPONSE]
    assert tab.locator(".turn[aria-pressed=true]").all_inner_texts() == HISTORY[:1]
    assert reasoner.graph is not None
    [expected] = load_inference(reasoner.graph).answer([*HISTORY, RESPONSE], 0)
    answers = [answer for answers in expected.answers.values() for answer in answers]
    assert tab.inner_text("#turn-status").startswith(f"{len(answers)} answers in ")
    assert tab.locator(".drawn a").count() == len(answers)
    tab.get_by_text("Answers as a list").click()
    assert tab.locator("#turn-answers h3").all_inner_texts() == [
        "Cause", "Subsequent event", "Prerequisite", "Motivation", "Reaction"
    ]  # fmt: skip
    assert [text.split(" (")[0] for text in tab.locator("#turn-answers li > p:first-child").all_inner_texts()] == [
        answer.text for answer in answers
    ]
    ask_about(tab, 1)
    assert tab.locator(".drawn").get_by_text("no edge").count() == 5
    assert tab.locator(".drawn a").count() == 0
    assert tab.inner_text("#turn-status").startswith("no answer in ")
    visit.check()


def test_the_picture_is_drawn_anew_for_another_width(visit: Visit) -> None:
    tab = visit.go()
    ask_about(tab, 0)
    width = "() => document.querySelector('.drawn').viewBox.baseVal.width"
    wide = tab.evaluate(width)
    tab.set_viewport_size({"width": 500, "height": 900})
    tab.wait_for_function(f"() => document.querySelector('.drawn') && ({width})() < {wide}")
    assert too_wide(tab) <= 0
    tab.set_viewport_size({"width": 1280, "height": 900})
    tab.wait_for_function(f"() => document.querySelector('.drawn') && ({width})() === {wide}")
    visit.check()


def test_an_answer_shows_its_edge_and_links_to_its_query(visit: Visit) -> None:
    tab = visit.go()
    ask_about(tab, 0)
    tab.locator(".drawn a", has_text="the listener feels grateful").hover()
    assert tab.locator(".pointed span").all_inner_texts() == ["PersonX cooks dinner for PersonY", "oReact", "→", "grateful"]
    link = tab.locator(".drawn a", has_text="the speaker buys vegetables")
    tab.locator("#turn-answers .scroll").focus()
    while not link.evaluate("link => link === document.activeElement"):
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.closest('.drawn') !== null")
    assert tab.locator(".pointed span").all_inner_texts()[-1] == "to buy vegetables"
    assert link.evaluate("link => parseFloat(getComputedStyle(link).outlineWidth)") >= 2
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#parameters input")
    parameters = {box.get_attribute("name"): box.input_value() for box in tab.locator("#parameters input").all()}
    assert parameters == {
        "head": event_uri("PersonX cooks dinner for PersonY"),
        "relation": "xNeed",
        "tail": event_uri("to buy vegetables"),
    }
    assert tab.locator("#cookbook-results tbody").count() == 0
    assert tab.title() == "own · Cookbook · tacit"
    tab.click("#cookbook-form button[type=submit]")
    assert "to buy vegetables" in tab.locator("#cookbook-results tbody tr").first.inner_text()
    tab.go_back()
    assert tab.locator(".drawn").is_visible()
    visit.check()


def test_an_invalid_query_link_is_one_sentence(visit: Visit) -> None:
    for text in ("{", "{}", "[]", json.dumps({"query": 1, "parameters": {}}), json.dumps({"query": "x", "parameters": [1]})):
        tab = visit.go(f"#/cookbook/own/{quote(text, safe='')}")
        assert tab.locator("#cookbook").get_by_role("alert").inner_text().startswith("The link does not hold a query")


def test_text_of_turns_is_escaped(visit: Visit) -> None:
    tab = visit.go()
    ask_about(tab, 0, [EVIL])
    assert "<img" in " ".join(tab.locator(".drawn text").all_text_contents())
    assert tab.locator("#turns img").count() == 0
    picture = '<svg xmlns="http://www.w3.org/2000/svg" onload="x()"><script>x()</script><g data-answer="0 cause 0" onclick="x()">'
    picture += '<text x="1" class="x">hi</text><foreignObject/><a href="javascript:x()"/></g></svg>'
    hostile = [{"turn": 0, "text": "", "events": [], "answers": {}, "query": "", "signature": "", "svg": picture}]
    tab.route("**/v1/infer", lambda route: route.fulfill(json={"turns": hostile}))
    tab.locator(".turn").first.click()
    tab.wait_for_function("() => document.querySelector('.drawn text')?.textContent === 'hi'")
    assert tab.locator(".drawn").evaluate("one => one.innerHTML") == '<g><text x="1" class="x">hi</text></g>'
    visit.check()


def test_a_link_restores_the_dialogue_without_a_request(visit: Visit) -> None:
    tab = visit.go()
    ask_about(tab, 1)
    tab.get_by_role("button", name="Copy link").click()
    tab.wait_for_function("() => document.getElementById('score-status').textContent.startsWith('The link is copied')")
    link = tab.evaluate("navigator.clipboard.readText()")
    tab.goto("about:blank")
    already = len(visit.requested_urls)
    tab.goto(link)
    tab.wait_for_selector("#metrics input", state="attached")
    assert tab.locator(".turn[aria-pressed=true]").all_inner_texts() == ["Thank you!"]
    assert tab.inner_text("#turn-status") == "The link asks about turn 2: choose it to see the answers."
    assert not [address for address in visit.requested_urls[already:] if "infer" in address or "explain" in address]
    for turn in (7, -1, "0"):
        question = {"history": ["I am hungry."], "response": "Eat.", "turn": turn}
        visit.go(f"#/score/{quote(json.dumps(question), safe='')}")
        assert tab.locator(".turn[aria-pressed=true]").count() == 0
    visit.check()


def test_editing_the_dialogue_clears_the_answers(visit: Visit) -> None:
    tab = visit.go()
    ask_about(tab, 0)
    tab.locator("#response").press_sequentially("!")
    assert tab.locator(".drawn, .turn[aria-pressed=true]").count() == 0
    assert tab.locator(".turn").last.inner_text() == f"{RESPONSE}!"
    tab.fill("#history", "")
    tab.fill("#response", "")
    assert not tab.is_visible("#turns")


def test_the_answers_are_folded_above_the_scores(visit: Visit) -> None:
    tab = visit.go()
    ask_about(tab, 0)
    score(tab)
    assert not tab.locator(".drawn").is_visible()
    tab.locator("#turns > summary").press("Enter")
    assert tab.locator(".drawn").is_visible()
    visit.check()


def test_the_picture_is_downloaded(visit: Visit) -> None:
    tab = visit.go()
    ask_about(tab, 0)
    with tab.expect_download() as download:
        tab.locator("#turns").get_by_role("link", name="SVG").click()
    assert download.value.suggested_filename == "turn-1.svg"
    assert "data-answer" in download.value.path().read_text(encoding="utf-8")
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Download the picture of turn-1 as PNG").click()
    assert download.value.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    visit.check()


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_turns_view_is_accessible(visit: Visit, width: int) -> None:
    visit.tab.set_viewport_size({"width": width, "height": 900})
    tab = visit.go()
    ask_about(tab, 0)
    tab.get_by_text("Answers as a list").click()
    assert too_wide(tab) <= 0
    picture, panel = tab.locator(".drawn").bounding_box(), tab.locator("#turn-answers").bounding_box()
    assert picture is not None
    assert panel is not None
    assert picture["width"] <= max(panel["width"], 240) + 1
    assert nameless(tab) == []
    assert all(later <= earlier + 1 for earlier, later in pairwise(headings(tab)))
    scheme: Any
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert dim(tab) == [], scheme
        card = tab.locator(".drawn > rect").first.evaluate("one => getComputedStyle(one).fill")
        assert card == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(28, 34, 38)")


def test_without_events_or_a_graph_the_view_says_so(chromium: Browser, stored: Any, tmp_path: Path) -> None:
    rows = [Assertion(concept_uri("rain"), "Causes", concept_uri("flood"), 1.0, "conceptnet", "/d/test")]
    with open_graph(stored(rows, tmp_path / "graph")) as eventless:
        for graph, message in (
            (eventless, "This graph has no events, such as those of ATOMIC, so it cannot answer questions about a turn."),
            (None, "This service has no graph, so nothing can be asked about a turn; serve one with tacit serve GRAPH."),
        ):
            with at_socket(create_app(Reasoner(graph, ["length"]))) as url, closing(chromium.new_context()) as context:
                visit = Visit(context, url)
                ask_about(visit.go(), 0, ["I bought a ticket."])
                assert visit.tab.locator("#turn-fault .fault, #turn-answers .note").all_inner_texts() == [message]
                assert visit.tab.locator(".drawn").count() == 0
                visit.check()
