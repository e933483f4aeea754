"""Programs written for the public API, over a socket: one of PyPI's own clients, and the program of the documentation."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.api.server.conftest import Running, serving

client = pytest.importorskip("conceptnet_client", reason="needs pip install -e '.[dev]'")


@pytest.fixture(scope="module")
def server(example_path: str) -> Iterator[Running]:
    """``tacit serve --conceptnet-api`` over the example graph."""
    with serving(example_path, "--conceptnet-api") as running:
        yield running


def test_a_client_of_pypi_works_with_another_address(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client.api, "BASE_URL", server.url)
    first_page = client.ConceptNetAPI("en").lookup("Example", limit=3)
    assert [str(edge) for edge in first_page] == [
        "example [UsedFor] explain (weight=4.0)",
        "example [RelatedTo] sample (weight=3.464)",
        "example [IsA] information (weight=2.0)",
    ]
    assert first_page[2].start.to_dict() == {
        "@id": "/c/en/example/n", "label": "example", "language": "en", "term": "/c/en/example", "sense_label": "n",
    }  # fmt: skip
    assert first_page[2].source[0]["contributor"] == "/s/resource/wordnet/rdf/3.1"
    second_page = client.ConceptNetAPI("en").lookup("example", limit=50, offset=3)
    assert sorted((group.relation, len(group)) for group in second_page.group_by_relation()) == [
        ("RelatedTo", 1), ("Synonym", 2), ("UsedFor", 2), ("genre", 1),
    ]  # fmt: skip
    assert len(client.ConceptNetAPI("fr").lookup("exemple")) == 1
    assert len(client.ConceptNetAPI("en").lookup("qwertz")) == 0


def test_the_requests_of_the_documentation(server: Running) -> None:
    """Every kind of URL that the page "API" names, with its brackets and commas as they are."""
    with httpx.Client(base_url=server.url) as public:
        for path in (
            "/c/en/example",
            "/c/en/example?offset=5&limit=5",
            "/a/[/r/UsedFor/,/c/en/example/,/c/en/explain/]",
            "/query?start=/c/en/example&rel=/r/UsedFor",
            "/query?node=/c/en/example&other=/c/en/sample",
            "/query?start=/c/en/football&rel=/r/IsA&limit=1000",
            "/uri?language=en&text=ground+beef",
        ):
            answer = public.get(path)
            assert (answer.status_code, "error" in answer.json()) == (200, False), path
        edges, path = [], "/query?node=/c/en/example&limit=2"
        while path:
            answer = public.get(path).json()
            edges += answer["edges"]
            path = answer.get("view", {}).get("nextPage")
        assert len(edges) == 9
        assert public.get("/related/c/en/example").status_code == 501
