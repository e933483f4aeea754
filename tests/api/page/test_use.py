"""What people do on the page, by mouse and by keyboard, and what they see then."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route
from tacit.reasoning import Reasoner

from tests.api.page.visit import Visit, score


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


def test_claims_show_their_queries_and_the_cookbook_runs_each(visit: Visit) -> None:
    tab = visit.go()
    score(tab)
    card = tab.locator("article").first
    card.get_by_text("claims in the graph").click()
    for index in (0, 1):
        claim = card.locator(".claims > li").nth(index)
        head, tail = claim.locator(".edge .concept").all_inner_texts()
        claim.get_by_text("The query that returns it").click()
        assert "MATCH" in claim.locator(".query").inner_text()
        claim.get_by_role("button", name="Open in the cookbook").click()
        tab.wait_for_selector("#parameters input")
        assert tab.locator("#cookbook-results tbody").count() == 0
        tab.click("#cookbook-form button[type=submit]")
        row = tab.locator("#cookbook-results tbody tr").first.inner_text()
        assert head in row
        assert tail in row
        tab.get_by_role("link", name="Score").click()


def test_reference_metrics_have_values_once_references_are_given(visit: Visit) -> None:
    tab = visit.go()
    tab.select_option("#example", label="A sad dog, a fitting response")
    assert tab.is_visible("#references")
    score(tab)
    assert float(tab.locator("article .value").last.inner_text()) > 0


def test_two_responses_are_compared_in_one_request(visit: Visit, reasoner: Reasoner) -> None:
    tab = visit.go()
    tab.select_option("#example", label="What to cook, a fitting response")
    button = tab.get_by_role("button", name="Compare with another response")
    button.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "other"
    text = "<b>The library</b> has an interesting book for the exam."
    tab.keyboard.type(text)
    score(tab)
    requests = [address for address in visit.requested_urls if address.endswith("/v1/explain")]
    assert len(requests) == 1
    history, response = tab.input_value("#history").split("\n"), tab.input_value("#response")
    values = [reasoner.explain(history, drawing)["grounding"].score.value for drawing in (response, text)]
    assert None not in values
    first, second = (float(value or 0) for value in values)
    row = tab.locator("#score-results tbody tr").first
    sign = "−" if second < first else "+"
    assert row.locator("td").all_inner_texts() == [f"{first:.3f}", f"{second:.3f}", f"{sign}{abs(second - first):.3f}"]
    assert tab.locator("#score-results tbody tr").last.locator("td").all_inner_texts() == ["none"] * 3
    assert tab.locator("#score-pairs .pair").first.locator("h3").all_inner_texts() == [
        "grounding, first response", "grounding, second response"
    ]  # fmt: skip
    edges = "() => [...document.querySelectorAll('.pair:first-of-type .card')].map(card => card.getBoundingClientRect().top)"
    drawing, other = tab.evaluate(edges)
    assert drawing == other
    tab.set_viewport_size({"width": 390, "height": 800})
    drawing, other = tab.evaluate(edges)
    assert other > drawing
    tab.get_by_role("button", name="Score one response only").click()
    score(tab)
    tab.wait_for_function("() => !document.querySelector('#score-pairs').children.length")
    assert tab.locator("#score-results h2").count() == 3


def test_only_chosen_metrics_are_requested_and_none_is_reported(visit: Visit) -> None:
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


def test_edges_are_followed_by_keyboard_with_browser_history(visit: Visit) -> None:
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


def test_weights_and_groups_equal_those_of_the_graph(visit: Visit) -> None:
    tab = visit.go("#/explore/penguin")
    group = tab.locator(".group", has_text="penguin IsA")
    assert group.locator(".concept").all_inner_texts() == ["bird"]
    assert "edge" in tab.inner_text("#explore-status")


def test_neighbours_are_shown_while_queries_are_delayed(visit: Visit) -> None:
    visit.tab.route("**/v1/cypher", lambda route: route.fulfill(status=429, json={"detail": "busy"}))
    tab = visit.go("#/explore/leash")
    assert "could not be asked" in tab.inner_text("#explore-results .note")
    assert set(tab.locator(".chips").first.locator("a").all_inner_texts()) == {"dog", "walk dog"}


def test_paths_join_two_concepts(visit: Visit) -> None:
    tab = visit.go("#/explore/dog")
    tab.fill("#target", "doctor")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".paths")
    first = tab.locator(".paths li").first
    assert first.locator(".concept").all_inner_texts() == ["dog", "pet", "vet", "doctor"]
    assert first.locator(".relation").all_inner_texts() == ["IsA", "RelatedTo", "IsA"]
    assert "paths of 3 hops" in tab.inner_text("#explore-status")


def test_an_unknown_concept_is_one_sentence(visit: Visit) -> None:
    tab = visit.go("#/explore/qwrtz")
    assert tab.get_by_role("alert").inner_text().startswith("'qwrtz' is not a concept")


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


def test_a_query_runs_before_the_cookbook_has_loaded(visit: Visit) -> None:
    held: list[Route] = []
    visit.tab.route("**/v1/cookbook", lambda route: held.append(route))
    tab = visit.go()
    tab.goto(f"{visit.url}/#/cookbook/own")
    tab.fill("#cypher", "RETURN $text AS text")
    tab.fill("#parameter-text", "bone")
    with tab.expect_request("**/v1/cypher"):
        tab.route("**/v1/cypher", lambda route: held.append(route))
        tab.click("#cookbook-form button[type=submit]")
    tab.wait_for_timeout(100)
    cookbook, cypher = held
    cookbook.continue_()
    tab.wait_for_selector("#recipe option", state="attached")
    cypher.continue_()
    tab.wait_for_selector("#cookbook-results td")
    assert tab.locator("#cookbook-results td").first.inner_text() == "bone"
    assert tab.input_value("#cypher") == "RETURN $text AS text"


def test_parameters_of_a_typed_query_get_fields(visit: Visit) -> None:
    tab = visit.go("#/cookbook/own")
    tab.fill("#cypher", "UNWIND $numbers AS x RETURN x + $more AS sum, '$no' AS text ORDER BY sum")
    assert tab.locator("#parameters input").evaluate_all("inputs => inputs.map(input => input.name)") == ["numbers", "more"]
    tab.fill("#parameter-numbers", "[1, 2]")
    tab.fill("#parameter-more", "40")
    tab.click("#cookbook-form button[type=submit]")
    tab.wait_for_selector("#cookbook-results table")
    assert tab.locator("#cookbook-results td").all_inner_texts() == ["41", "$no", "42", "$no"]


@pytest.mark.parametrize(("query", "message"), [("CREATE (:Concept)", "CREATE"), ("MATCH (a) RETURN b", "b")])
def test_a_refused_query_is_one_sentence(visit: Visit, query: str, message: str) -> None:
    tab = visit.go("#/cookbook/own")
    tab.fill("#cypher", query)
    tab.click("#cookbook-form button[type=submit]")
    alert = tab.get_by_role("alert").inner_text()
    assert message in alert
    assert alert.endswith(".")
    assert alert[0].isupper()


def test_changing_views_moves_focus_and_title(visit: Visit) -> None:
    tab = visit.go()
    tab.get_by_role("link", name="Cookbook").click()
    tab.wait_for_function("() => document.activeElement.id === 'cookbook-title'")
    assert tab.title() == "Cookbook · tacit"
    assert tab.locator("nav a[aria-current=page]").all_inner_texts() == ["Cookbook"]
    assert tab.is_hidden("#score")
