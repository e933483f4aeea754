"""What the tests of the page share: one Chromium, and one service over the sample graph at a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tacit.api.server import create_app
from tacit.graph import open_graph, open_index
from tacit.reasoning import Reasoner

from tests.api.page.chromium import browser
from tests.api.page.visit import Visit
from tests.api.service_callers import at_socket

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="package")
def reasoner(sample_graph: str) -> Iterator[Reasoner]:
    with open_graph(sample_graph) as store, open_index(store) as index:
        yield Reasoner(index, ["grounding", "commonsense", "bleu"])


@pytest.fixture(scope="package")
def url(reasoner: Reasoner) -> Iterator[str]:
    with at_socket(create_app(reasoner)) as address:
        yield address


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def visit(chromium: Browser, url: str) -> Iterator[Visit]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
    new_visit = Visit(context, url)
    yield new_visit
    new_visit.check()
    context.close()
