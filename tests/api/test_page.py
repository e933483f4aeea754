"""The page in a real Chromium: what people do with it, by mouse and by keyboard, and what must never happen on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tacit.api.keyring import new_key, write_keys
from tacit.api.service import Keys, create_app
from tacit.graph import open_graph, open_index
from tacit.loaders import read_items
from tacit.reasoning import Reasoner

from .asking_services import at_socket
from .browsing import browser, dim, headings, nameless, too_wide

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

PAGE = Path(__file__).parents[2] / "api" / "page"
VIEWS = ("#/score", "#/explore", "#/explore/dog", "#/explore/dog/doctor", "#/cookbook/similar")
FOCUSED = """() => {
  const element = document.activeElement, style = getComputedStyle(element);
  return [element.outerHTML.slice(0, 200), parseFloat(style.outlineWidth), style.outlineStyle];
}"""
HOSTILE = "<img src=x onerror=window.hit=1><script>window.hit=1</script>\"'`${1}"


@pytest.fixture(scope="module")
def reasoner(sample_graph: str) -> Iterator[Reasoner]:
    with open_graph(sample_graph) as store, open_index(store) as index:
        yield Reasoner(index, ["grounding", "commonsense", "bleu"])


@pytest.fixture(scope="module")
def url(reasoner: Reasoner) -> Iterator[str]:
    with at_socket(create_app(reasoner)) as address:
        yield address


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


class Visit:
    """One tab at the page, and what it must not do: fail in a script, break the policy, send anything elsewhere."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.tab: Page = context.new_page()
        self.faults: list[str] = []
        self.asked: list[str] = []
        self.tab.set_default_timeout(10_000)
        self.tab.on("pageerror", lambda error: self.faults.append(str(error)))
        self.tab.on("console", lambda message: self.faults.append(message.text) if "Content Security" in message.text else None)
        context.on("request", lambda request: self.asked.append(request.url))

    def go(self, view: str = "") -> Page:
        """Open a view and wait until it shows what it has."""
        self.tab.goto(f"{self.url}/{view}")
        self.tab.wait_for_selector("#metrics input", state="attached")
        if view.startswith("#/explore/"):
            self.tab.wait_for_selector("#explore-results article, .fault")
        if view.startswith("#/cookbook"):
            self.tab.wait_for_function("() => document.getElementById('cypher').value")
        return self.tab

    def check(self) -> None:
        """Nothing of what must not happen has happened."""
        assert not self.faults
        elsewhere = [address for address in self.asked if not address.startswith((self.url, "data:"))]
        assert self.asked
        assert not elsewhere


@pytest.fixture
def visit(chromium: Browser, url: str) -> Iterator[Visit]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
    made = Visit(context, url)
    yield made
    made.check()
    context.close()


def score(tab: Page) -> None:
    tab.wait_for_function("() => document.getElementById('response').value")
    tab.click("#score-form button[type=submit]")
    tab.wait_for_selector("#score-results article")


def test_a_dialogue_is_scored_and_explained(visit: Visit, reasoner: Reasoner) -> None:
    tab = visit.go()
    tab.select_option("#example", label="What to cook, a fitting response")
    score(tab)
    history, response = tab.input_value("#history").split("\n"), tab.input_value("#response")
    expected = reasoner.explain(history, response)
    assert tab.locator("article h2").all_inner_texts() == list(expected)
    assert tab.locator("article .value").all_inner_texts() == [
        f"{expected['grounding'].score.value:.3f}",
        f"{expected['commonsense'].score.value:.3f}",
        "none",
    ]
    card = tab.locator("article", has=tab.locator("h2", has_text="grounding"))
    assert card.locator("img.picture").evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
    card.get_by_text("Evidence in words").click()
    assert card.locator(".words").inner_text().splitlines()[1].strip() == expected["grounding"].text().splitlines()[1].strip()
    card.get_by_text("Evidence as a table").click()
    assert card.locator("tbody tr").count() == len(expected["grounding"].score.evidence.pieces)
    signature = str(expected["grounding"].score.signature)
    assert card.locator(".signature code").inner_text() == signature
    card.get_by_role("button", name="Copy the signature of grounding").click()
    tab.wait_for_function("() => [...document.querySelectorAll('button')].some(b => b.textContent === 'Copied')")
    assert tab.evaluate("navigator.clipboard.readText()") == signature
    assert "3 scores in" in tab.inner_text("#score-status")
    absent = tab.locator("article", has=tab.locator("h2", has_text="bleu"))
    assert absent.locator(".note").inner_text() == expected["bleu"].score.evidence.note


def test_a_claim_shows_its_query_and_the_cookbook_runs_it(visit: Visit) -> None:
    tab = visit.go()
    score(tab)
    card = tab.locator("article").first
    card.get_by_text("claims in the graph").click()
    claim = card.locator(".claims > li").first
    head, tail = claim.locator(".edge .concept").all_inner_texts()
    claim.get_by_text("The query that returns it").click()
    assert "MATCH" in claim.locator(".query").inner_text()
    claim.get_by_role("button", name="Open in the cookbook").click()
    tab.wait_for_selector("#parameters input")
    tab.click("#cookbook-form button[type=submit]")
    row = tab.locator("#cookbook-results tbody tr").first.inner_text()
    assert head in row
    assert tail in row


def test_only_chosen_metrics_are_asked_and_none_is_said(visit: Visit) -> None:
    tab = visit.go()
    tab.uncheck("input[value=commonsense]")
    tab.uncheck("input[value=bleu]")
    score(tab)
    assert tab.locator("article h2").all_inner_texts() == ["grounding"]
    tab.uncheck("input[value=grounding]")
    tab.click("#score-form button[type=submit]")
    assert tab.get_by_role("alert").inner_text() == "Choose at least one metric."


def test_a_concept_is_completed_by_keyboard(visit: Visit) -> None:
    tab = visit.go("#/explore")
    tab.focus("#concept")
    tab.keyboard.type("do")
    tab.wait_for_selector("#concept-list li")
    field = tab.get_by_role("combobox", name="Concept")
    assert field.get_attribute("aria-expanded") == "true"
    assert tab.locator("#concept-list li").all_inner_texts() == ["doctor", "dog"]
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    active = field.get_attribute("aria-activedescendant")
    assert tab.inner_text(f"#{active}") == "dog"
    assert tab.get_attribute(f"#{active}", "aria-selected") == "true"
    tab.keyboard.press("ArrowDown")
    assert tab.inner_text(f"#{field.get_attribute('aria-activedescendant')}") == "doctor"
    tab.keyboard.press("ArrowUp")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#concept-title")
    assert (tab.inner_text("#concept-title"), tab.input_value("#concept")) == ("dog", "dog")
    assert tab.is_hidden("#concept-list")
    assert tab.url.endswith("#/explore/dog")


def test_escape_closes_the_completions_and_then_empties_the_field(visit: Visit) -> None:
    tab = visit.go("#/explore")
    tab.focus("#concept")
    tab.keyboard.type("do")
    tab.wait_for_selector("#concept-list li")
    tab.keyboard.press("Escape")
    assert (tab.is_hidden("#concept-list"), tab.input_value("#concept")) == (True, "do")
    tab.keyboard.press("Escape")
    assert tab.input_value("#concept") == ""


def test_edges_are_followed_by_keyboard_and_back_leads_back(visit: Visit) -> None:
    tab = visit.go("#/explore/dog")
    tab.get_by_role("link", name="bone", exact=True).first.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_function("() => document.getElementById('concept-title')?.textContent === 'bone'")
    assert tab.evaluate("document.activeElement.id") == "concept-title"
    assert tab.locator("#trail li").all_inner_texts() == ["dog", "bone"]
    assert "Desires" in tab.locator("#explore-results").inner_text()
    tab.go_back()
    tab.wait_for_function("() => document.getElementById('concept-title')?.textContent === 'dog'")
    assert tab.locator("#trail li").count() == 0


def test_weights_and_groups_are_the_graphs(visit: Visit) -> None:
    tab = visit.go("#/explore/penguin")
    group = tab.locator(".group", has_text="penguin IsA")
    assert group.locator(".concept").all_inner_texts() == ["bird"]
    assert "edge" in tab.inner_text("#explore-status")


def test_paths_join_two_concepts(visit: Visit) -> None:
    tab = visit.go("#/explore/dog")
    tab.fill("#target", "doctor")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".paths")
    first = tab.locator(".paths li").first
    assert first.locator(".concept").all_inner_texts() == ["dog", "pet", "vet", "doctor"]
    assert first.locator(".relation").all_inner_texts() == ["IsA", "RelatedTo", "IsA"]
    assert "paths of 3 hops" in tab.inner_text("#explore-status")


def test_an_unknown_concept_is_a_sentence(visit: Visit) -> None:
    tab = visit.go("#/explore/qwrtz")
    assert tab.get_by_role("alert").inner_text().startswith("'qwrtz' names no concept")


def test_the_cookbook_runs_a_query_and_says_how_many_rows(visit: Visit) -> None:
    tab = visit.go("#/cookbook/similar")
    tab.fill("#parameter-concept", "dog")
    tab.fill("#limit", "1")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#cookbook-results table")
    assert tab.locator("#cookbook-results th").all_inner_texts() == ["concept", "shared"]
    assert tab.locator("#cookbook-results tbody tr").count() == 1
    assert tab.inner_text("#cookbook-status").startswith("the first 1 row in ")
    assert tab.inner_text("#cookbook-status").endswith("there are more")


def test_a_query_of_ones_own_gets_fields_for_its_parameters(visit: Visit) -> None:
    tab = visit.go("#/cookbook/own")
    tab.fill("#cypher", "UNWIND $numbers AS x RETURN x + $more AS sum, '$no' AS text ORDER BY sum")
    assert tab.locator("#parameters input").evaluate_all("inputs => inputs.map(input => input.name)") == ["numbers", "more"]
    tab.fill("#parameter-numbers", "[1, 2]")
    tab.fill("#parameter-more", "40")
    tab.click("#cookbook-form button[type=submit]")
    tab.wait_for_selector("#cookbook-results table")
    assert tab.locator("#cookbook-results td").all_inner_texts() == ["41", "$no", "42", "$no"]


@pytest.mark.parametrize(("query", "said"), [("CREATE (:Concept)", "CREATE"), ("MATCH (a) RETURN b", "b")])
def test_a_query_that_cannot_run_is_a_sentence(visit: Visit, query: str, said: str) -> None:
    tab = visit.go("#/cookbook/own")
    tab.fill("#cypher", query)
    tab.click("#cookbook-form button[type=submit]")
    told = tab.get_by_role("alert").inner_text()
    assert said in told
    assert told.endswith(".")
    assert told[0].isupper()


def test_what_people_type_is_never_markup(visit: Visit) -> None:
    tab = visit.go()
    tab.fill("#history", f"My dog is sad. {HOSTILE}")
    tab.fill("#response", f"Give him a bone. {HOSTILE}")
    score(tab)
    for summary in tab.locator("article summary").all():
        summary.click()
    tab.fill("#response", " ")
    tab.goto(f"{visit.url}/#/explore/{HOSTILE.replace('/', '%2F')}")
    assert "<img" in tab.locator("#explore .fault").inner_text()
    tab.goto(f"{visit.url}/#/cookbook/own")
    tab.fill("#cypher", "RETURN $text AS text, {a: $text} AS nested")
    tab.fill("#parameter-text", HOSTILE)
    tab.click("#cookbook-form button[type=submit]")
    tab.wait_for_selector("#cookbook-results td")
    assert tab.locator("#cookbook-results td").first.inner_text() == HOSTILE
    tab.wait_for_timeout(200)
    assert tab.evaluate("window.hit") is None
    assert tab.locator("img[src=x]").count() == 0
    assert tab.locator("main script").count() == 0


def test_even_a_script_in_the_page_would_not_run(visit: Visit) -> None:
    tab = visit.go()
    tab.evaluate("() => { document.body.insertAdjacentHTML('beforeend', `<img src=x onerror='window.hit=1'>`); }")
    tab.wait_for_timeout(200)
    assert tab.evaluate("window.hit") is None
    assert visit.faults
    assert all("Content Security Policy" in fault for fault in visit.faults)
    visit.faults.clear()


@pytest.mark.parametrize("width", [320, 375, 768])
@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_a_narrow_window(visit: Visit, view: str, width: int) -> None:
    visit.tab.set_viewport_size({"width": width, "height": 800})
    tab = visit.go(view)
    if view == "#/score":
        score(tab)
        for summary in tab.locator("#score-results summary").all():
            summary.click()
    if view.startswith("#/cookbook"):
        tab.click("#cookbook-form button[type=submit]")
        tab.wait_for_selector("#cookbook-results table")
    assert too_wide(tab) <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_everything_has_a_name_an_order_and_contrast(visit: Visit, view: str, scheme: Any) -> None:
    visit.tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    tab = visit.go(view)
    if view == "#/score":
        score(tab)
        for summary in tab.locator("#score-results summary").all():
            summary.click()
    if view.startswith("#/cookbook"):
        tab.fill("#parameter-concept", "dog")
        tab.click("#cookbook-form button[type=submit]")
        tab.wait_for_selector("#cookbook-results table")
    assert nameless(tab) == []
    levels = headings(tab)
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert dim(tab) == []
    assert tab.get_attribute("html", "lang") == "en"
    assert tab.evaluate("document.getAnimations().length") == 0


def test_every_stop_of_the_keyboard_can_be_seen(visit: Visit) -> None:
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


def test_the_skip_link_leads_to_the_content(visit: Visit) -> None:
    tab = visit.go()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"


def test_the_way_between_views_moves_the_focus_and_the_title(visit: Visit) -> None:
    tab = visit.go()
    tab.get_by_role("link", name="Cookbook").click()
    tab.wait_for_function("() => document.activeElement.id === 'cookbook-title'")
    assert tab.title() == "Cookbook · tacit"
    assert tab.locator("nav a[aria-current=page]").all_inner_texts() == ["Cookbook"]
    assert tab.is_hidden("#score")


def test_a_service_that_went_away_is_a_sentence(visit: Visit) -> None:
    tab = visit.go()
    tab.route("**/v1/explain", lambda route: route.abort())
    tab.wait_for_function("() => document.getElementById('response').value")
    tab.click("#score-form button[type=submit]")
    assert tab.get_by_role("alert").inner_text() == "The service does not answer. Is it still running?"


def test_a_key_is_asked_for_and_kept_in_the_tab(chromium: Browser, reasoner: Reasoner, tmp_path: Path) -> None:
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
        visit.check()
        context.close()


def test_the_examples_are_the_samples() -> None:
    examples = json.loads((PAGE / "examples.json").read_text(encoding="utf-8"))
    items: dict[str, Any] = {item.id: item for item in read_items(PAGE.parent / "sample" / "dialogues.jsonl", strict=True)}  # type: ignore[union-attr]
    assert len(examples) >= 4
    assert all(
        (tuple(one["history"]), one["response"]) == (items[one["id"]].history, items[one["id"]].response) for one in examples
    )


def test_nothing_in_the_files_points_elsewhere_or_runs_in_line() -> None:
    markup = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not [word for word in (" style=", " onclick", "<style", "javascript:") if word in markup]
    assert markup.count("<script") == 1
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, path.name
        assert "innerHTML" not in text, path.name
