"""The question in the page's form: transcripts that are pasted, and links that hold it; nothing in either is run or sent."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from tests.api.page.visit import Visit, score

EVIL = "<img src=x onerror=\"document.title='caught'\">"
PASTE = """text => {
  const data = new DataTransfer();
  data.setData('text/plain', text);
  const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
  return document.getElementById('history').dispatchEvent(event);
}"""


def test_a_pasted_transcript_fills_the_form_and_can_be_undone(visit: Visit) -> None:
    tab = visit.go()
    tab.wait_for_function("() => document.getElementById('response').value")
    before = tab.input_value("#history"), tab.input_value("#response")
    transcript = f"Anna: I am so hungry.\n\nDr. Bob: What shall we cook?\n  {EVIL}\nAnna: A soup."
    assert tab.evaluate(PASTE, transcript) is False  # the browser does not paste it again
    assert (tab.input_value("#history"), tab.input_value("#response")) == (
        f"I am so hungry.\nWhat shall we cook? {EVIL}", "A soup."
    )  # fmt: skip
    assert tab.inner_text("#pasted").startswith("3 turns were recognised; the last one is the response.")
    assert tab.input_value("#example") == ""
    assert tab.locator(".turn").count() == 3
    tab.get_by_role("button", name="Undo").press("Enter")
    assert (tab.input_value("#history"), tab.input_value("#response")) == before
    assert tab.evaluate("document.activeElement.id") == "history"
    assert tab.inner_text("#pasted") == ""
    visit.check()


def test_undo_of_a_paste_keeps_later_typing(visit: Visit) -> None:
    tab = visit.go()
    tab.evaluate(PASTE, "A: I am so hungry.\nB: What shall we cook?")
    assert tab.get_by_role("button", name="Undo").count() == 1
    tab.locator("#response").press_sequentially(" Soup?")
    assert tab.inner_text("#pasted") == ""


def test_an_unknown_fragment_shows_the_form(visit: Visit) -> None:
    for name in ("constructor", "toString", "garbage"):
        tab = visit.go(f"#/{name}")
        assert tab.is_visible("#score-form")
    visit.check()


HI = ["Hi.", "Hello!", "Bye."]


@pytest.mark.parametrize(
    ("text", "turns", "transcript"),
    [
        ("[10:32] A: Hi.\n[10:33] B: Hello!\n[10:34] A: Bye.", HI, "3 turns were recognised;"),
        ("10:32 Al: Hi.\n10:33 Bo: Hello!\n11:01 AM Al: Bye.", HI, "3 turns were recognised;"),
        ("2024-05-01 10:32:11 Al: Hi.\n2024-05-01T10:32:12Z Bo: Hello!\n2024-05-02 09:00:00 Al: Bye.", HI, "3 turns were"),
        ("12/05/2024, 10:32 - Al: Hi.\n12/05/2024, 10:33 - Bo: Hello!\n[12.05.24, 10:34:01] Al: Bye.", HI, "3 turns were"),
        (
            "A: Hi.\nB:\nA: Hello!\nB: Bye.",
            HI,
            "3 turns were recognised; the last one is the response. 1 empty turn is left out.",
        ),
        ("User:\nHi.\nAssistant:\nHello!\nUser:\nBye.", HI, "3 turns were recognised;"),
        ("user: Hi.\nASSISTANT: Hello!", HI[:2], "2 turns were recognised;"),
        ("Speaker 1: Hi.\nSpeaker 2: Hello!", HI[:2], "2 turns were recognised;"),
        ("A: It is 10:30 now.\nB: No: 10:32.", ["It is 10:30 now.", "No: 10:32."], "2 turns were recognised;"),
    ],
)
def test_transcripts_of_many_formats_are_parsed(visit: Visit, text: str, turns: list[str], transcript: str) -> None:
    tab = visit.go()
    assert tab.evaluate(PASTE, text) is False
    assert [*tab.input_value("#history").split("\n"), tab.input_value("#response")] == turns
    assert tab.inner_text("#pasted").startswith(transcript)


@pytest.mark.parametrize(
    "text",
    [
        "I am hungry.\nWhat shall we cook?",
        "Note: I am hungry.\nNote: It is late.",
        "see http://a.b/c",
        "Shopping: milk\nDeadline: Friday",
        "Name: Ada\nAge: 36\nA: yes",
        "A: one speaker alone",
        "A:\nB:\n",
        "10:32 I am hungry.\n10:33 What shall we cook?",
    ],
)
def test_text_without_speakers_is_pasted_unchanged(visit: Visit, text: str) -> None:
    tab = visit.go()
    assert tab.evaluate(PASTE, text) is True
    assert tab.inner_text("#pasted") == ""


def test_a_link_restores_the_form_without_scoring(visit: Visit) -> None:
    tab = visit.go()
    tab.fill("#history", f"I am so hungry.\n{EVIL}")
    tab.fill("#response", "Let's cook a soup, 100 % / # good.")
    tab.get_by_role("button", name="Compare with another response").click()
    tab.fill("#other", "The exam was hard.")
    tab.uncheck("input[value=commonsense]")
    tab.get_by_role("button", name="Copy link").click()
    tab.wait_for_function("() => document.getElementById('score-status').textContent.startsWith('The link is copied')")
    link = tab.evaluate("navigator.clipboard.readText()")
    tab.goto("about:blank")
    already = len(visit.requested_urls)
    tab.goto(link)
    tab.wait_for_selector("#metrics input", state="attached")
    assert tab.input_value("#history") == f"I am so hungry.\n{EVIL}"
    assert tab.input_value("#response") == "Let's cook a soup, 100 % / # good."
    assert tab.input_value("#other") == "The exam was hard."
    assert tab.is_checked("input[value=grounding]")
    assert not tab.is_checked("input[value=commonsense]")
    assert tab.title() == "Score · tacit"
    requests = visit.requested_urls[already:]
    assert not [address for address in requests if "explain" in address or "hungry" in address]
    score(tab)
    assert tab.locator("#score-results tbody th").first.inner_text() == "grounding"
    visit.check()


def test_an_invalid_score_link_is_one_sentence(visit: Visit) -> None:
    for text in (
        EVIL,
        "{}",
        "null",
        json.dumps({"history": "no list", "response": "x"}),
        json.dumps({"history": [1], "response": "x"}),
    ):
        tab = visit.go(f"#/score/{quote(text, safe='')}")
        assert tab.get_by_role("alert").inner_text().startswith("The link does not hold a dialogue")
    length = "() => document.getElementById('score-status').textContent"
    for text, link in (("ü" * 1300, "copied"), ("ü" * 1330, "shorten the texts")):  # 6 characters each in a link
        tab.fill("#history", text)
        tab.fill("#response", "Yes.")
        tab.get_by_role("button", name="Copy link").click()
        tab.wait_for_function(f"link => ({length})().includes(link)", arg=link)
    question = {"response": "Yes.", "history": ["ü" * 1300]}
    tab = visit.go(f"#/score/{quote(json.dumps(question, ensure_ascii=False), safe='')}")
    assert tab.input_value("#history") == "ü" * 1300
    question["history"] = ["ü" * 1330]
    tab = visit.go(f"#/score/{quote(json.dumps(question, ensure_ascii=False), safe='')}")
    assert tab.get_by_role("alert").inner_text().startswith("The link does not hold a dialogue")
    tab.fill("#history", "so hungry " * 1000)
    tab.fill("#response", "Yes.")
    tab.get_by_role("button", name="Copy link").click()
    tab.wait_for_function("() => document.getElementById('score-status').textContent.includes('shorten the texts')")
    visit.check()


def test_metrics_of_a_link_that_the_service_lacks_are_named(visit: Visit) -> None:
    question = {"history": ["I am hungry."], "response": "Eat.", "metrics": ["nosuch"]}
    tab = visit.go(f"#/score/{quote(json.dumps(question), safe='')}")
    assert tab.inner_text("#score-status") == "This service has no metric nosuch, which the link names."
    assert tab.locator("input[name=metric]:checked").count() == tab.locator("input[name=metric]").count() > 1


def test_a_picture_is_downloaded_as_png(visit: Visit) -> None:
    tab = visit.go()
    score(tab)
    width = tab.locator("article img.picture").first.evaluate("image => image.decode().then(() => image.naturalWidth)")
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Download the picture of grounding as PNG").click()
    assert download.value.suggested_filename == "grounding.png"
    data = download.value.path().read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(data[16:20], "big") == 2 * width
    visit.check()
