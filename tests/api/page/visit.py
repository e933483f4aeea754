"""One visit to the page: how the tests come to a view, score there, and what must not happen meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

FILES = Path(__file__).parents[3] / "api" / "page"
VIEWS = ("#/score", "#/explore", "#/explore/dog", "#/explore/dog/doctor", "#/cookbook/similar")


class Visit:
    """One tab at the page, and what it must not do: fail in a script, break the policy, send anything elsewhere."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.tab: Page = context.new_page()
        self.faults: list[str] = []
        self.requested_urls: list[str] = []
        self.tab.set_default_timeout(30_000)
        self.tab.on("pageerror", lambda error: self.faults.append(str(error)))
        self.tab.on("console", lambda message: self.faults.append(message.text) if "Content Security" in message.text else None)
        context.on("request", lambda request: self.requested_urls.append(request.url))

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
        assert self.faults == [], self.faults  # pytest shows no values of this module
        elsewhere = [address for address in self.requested_urls if not address.startswith((self.url, "data:"))]
        assert self.requested_urls
        assert not elsewhere


def score(tab: Page) -> None:
    """Score what the form holds, and wait for the answer."""
    tab.wait_for_function("() => document.getElementById('response').value")
    tab.click("#score-form button[type=submit]")
    tab.wait_for_selector("#score-results article")


def unfold(tab: Page) -> None:
    """Open all that can be opened in the scores."""
    for summary in tab.locator("#score-results summary, #score-pairs summary").all():
        summary.click()
