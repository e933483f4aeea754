"""The ConceptNet API: documented answers, the shape of every answer, queries, paging, errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tacit.api.server import create_app
from tacit.api.server.keys import Keys, editing_keys, new_key
from tacit.graph import Graph
from tacit.graph.errors import InputError
from tacit.reasoning import Reasoner

from tests.api.server.conceptnet.conftest import ASSERTIONS
from tests.api.server.conceptnet.shapes import ANSWER, EDGE, EDGES, ERROR, FEATURES, URI, differences
from tests.api.server.conftest import InProcessClient

Tacit = Callable[..., Any]

# https://github.com/commonsense/conceptnet5/wiki/API, "Quick start"; "@type" is newer than the page.
DOCUMENTED = {
    "@id": "/a/[/r/IsA/,/c/en/example/n/,/c/en/information/n/]",
    "dataset": "/d/wordnet/3.1",
    "end": {
        "@id": "/c/en/information/n", "label": "information", "language": "en", "sense_label": "n", "term": "/c/en/information",
    },
    "license": "cc:by/4.0",
    "rel": {"@id": "/r/IsA", "label": "IsA"},
    "sources": [{"@id": "/s/resource/wordnet/rdf/3.1", "contributor": "/s/resource/wordnet/rdf/3.1"}],
    "start": {"@id": "/c/en/example/n", "label": "example", "language": "en", "sense_label": "n", "term": "/c/en/example"},
    "weight": 2.0,
}  # fmt: skip


def plain(value: Any) -> Any:
    """Return a part of an answer without types and ``surfaceText``."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items() if name not in ("@type", "surfaceText")}
    return [plain(part) for part in value] if isinstance(value, list) else value


def get(ask: InProcessClient, path: str, status: int = 200) -> dict[str, Any]:
    """Return the answer to a request, whose status must be ``status``."""
    answer = ask("GET", path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json"), answer.text
    body: dict[str, Any] = answer.json()
    return body


def edges(ask: InProcessClient, path: str) -> list[str]:
    """Return the URIs of the edges of an answer, short: ``UsedFor example explain``."""
    response = get(ask, path)
    assert differences(response, EDGES) == []
    return [f"{edge['rel']['label']} {edge['start']['label']} {edge['end']['label']}" for edge in response["edges"]]


def test_the_documented_edge(public: InProcessClient) -> None:
    response = get(public, "/c/en/example")
    assert plain(DOCUMENTED) in [plain(edge) for edge in response["edges"]]
    assert (response["@id"], len(response["edges"])) == ("/c/en/example", 9)
    alone = get(public, DOCUMENTED["@id"])  # type: ignore[arg-type]
    assert differences(alone, {**ANSWER, **EDGE}) == []
    assert plain(alone) == {**DOCUMENTED, "@context": response["@context"], "version": response["version"]}


def test_a_page_has_the_documented_view(public: InProcessClient) -> None:
    view = get(public, "/c/en/example?offset=2&limit=3")["view"]
    assert view == {
        "@id": "/c/en/example?offset=2&limit=3",
        "@type": "PartialCollectionView",
        "comment": "There are more results. Follow the 'nextPage' link for more.",
        "firstPage": "/c/en/example?offset=0&limit=3",
        "nextPage": "/c/en/example?offset=5&limit=3",
        "paginatedProperty": "edges",
        "previousPage": "/c/en/example?offset=0&limit=3",
    }
    assert "view" not in get(public, "/c/en/example")
    assert "nextPage" not in get(public, "/c/en/example?offset=6&limit=3")["view"]


def test_look_ups(public: InProcessClient) -> None:
    assert edges(public, "/c/en/example/")[:3] == [
        "UsedFor example explain",
        "RelatedTo example sample",
        "IsA example information",
    ]
    assert edges(public, "/c/en/example/n") == ["IsA example information", "Synonym example illustration"]
    assert edges(public, "/c/en/example/n/wn") == ["Synonym example illustration"]
    assert edges(public, "/c/fr") == ["Synonym exemple example"]
    assert edges(public, "/r/UsedFor") == ["UsedFor example explain", "UsedFor example teach", "UsedFor story example"]
    assert edges(public, "/r/dbpedia") == edges(public, "/r/dbpedia/genre") == ["genre example r&b"]
    assert edges(public, "/d/wordnet") == ["IsA example information", "Synonym example illustration"]
    assert len(edges(public, "/s/contributor/omcs")) == 6
    assert edges(public, "/s/process/split_words") == ["UsedFor example teach"]
    senses = get(public, "/d/wordnet/3.1")["edges"][1]
    assert senses["start"] == {
        "@id": "/c/en/example/n/wn/cognition", "@type": "Node", "label": "example", "language": "en",
        "sense_label": "n, cognition", "term": "/c/en/example",
    }  # fmt: skip


def test_conceptnet_queries(public: InProcessClient) -> None:
    assert edges(public, "/query?start=/c/en/example&rel=/r/UsedFor") == ["UsedFor example explain", "UsedFor example teach"]
    assert edges(public, "/query?end=/c/en/example") == [
        "RelatedTo instance example", "UsedFor story example", "Synonym exemple example",
    ]  # fmt: skip
    assert edges(public, "/query?node=/c/en/example&other=/c/fr") == ["Synonym exemple example"]
    assert edges(public, "/query?other=/c/fr&node=/c/en/example&start=/c/en") == []
    assert edges(public, "/query?node=/c/en/example&sources=/s/process") == ["UsedFor example teach"]
    assert edges(public, "/query?node=/c/en/example&source=/s/process") == ["UsedFor example teach"]
    assert edges(public, "/query?dataset=/d/wiktionary") == ["Synonym exemple example"]
    assert edges(public, "/query?node=/c/en/r%26b&unknown=1") == ["genre example r&b"]
    assert len(edges(public, "/query")) == len(edges(public, "/search")) == len(ASSERTIONS)
    for nothing in ("start=dog", "start=", "rel=", "rel=/r/Is", "node=/c/en/exam", "dataset=", "node=/c/en/example/v"):
        assert edges(public, f"/query?{nothing}") == []
    response = get(public, "/query?start=/c/en/example&rel=/r/UsedFor&limit=1")
    assert response["@id"] == "/query?start=/c/en/example&rel=/r/UsedFor"
    assert response["view"]["nextPage"] == "/query?rel=/r/UsedFor&start=/c/en/example&offset=1&limit=1"


def test_sources_are_those_stored_in_the_graph(public: InProcessClient) -> None:
    [contributor, process] = (
        get(public, f"/query?start=/c/en/example&end=/c/en/{end}")["edges"][0]["sources"] for end in ("explain", "teach")
    )
    assert contributor == [{"@id": "/s/contributor/omcs/dev", "@type": "Source", "contributor": "/s/contributor/omcs/dev"}]
    assert process == [{"@id": "/s/process/split_words", "@type": "Source", "process": "/s/process/split_words"}]
    assert get(public, "/d/wiktionary")["edges"][0]["sources"] == []


def test_edges_by_feature(public: InProcessClient) -> None:
    response = get(public, "/c/en/example?grouped=true&limit=1")
    assert differences(response, FEATURES) == []
    assert response["term"] == "/c/en/example"
    assert [(entry["@id"], entry["symmetric"], len(entry["edges"]), "view" in entry) for entry in response["features"]] == [
        ("/query?rel=/r/UsedFor&start=/c/en/example", False, 1, True),
        ("/query?rel=/r/RelatedTo&node=/c/en/example", True, 1, True),
        ("/query?rel=/r/Synonym&node=/c/en/example", True, 1, True),
        ("/query?rel=/r/IsA&start=/c/en/example", False, 1, False),
        ("/query?rel=/r/UsedFor&end=/c/en/example", False, 1, False),
        ("/query?rel=/r/dbpedia/genre&start=/c/en/example", False, 1, False),
    ]
    assert [entry["edges"][0]["other"]["label"] for entry in response["features"]] == [
        "explain", "sample", "illustration", "information", "story", "r&b",
    ]  # fmt: skip
    for entry in response["features"]:
        assert entry["edges"] == [
            {**edge, "other": entry["edges"][0]["other"]} for edge in get(public, f"{entry['@id']}&limit=1")["edges"]
        ]
    sense = get(public, "/c/en/example/n?grouped=true")
    assert (sense["sense_label"], [entry["feature"]["rel"] for entry in sense["features"]]) == ("n", ["/r/IsA", "/r/Synonym"])


def test_invalid_numbers_are_refused(public: InProcessClient, serving_app: Callable[..., InProcessClient]) -> None:
    everything = edges(public, "/query")
    assert edges(public, "/query?limit=many&offset=x") == edges(public, "/query?limit=99999999999&offset=-3") == everything
    assert edges(public, "/query?limit=-1") == edges(public, f"/query?offset={10**30}") == []
    assert edges(public, "/query?limit=2&limit=5") == everything[:2]
    assert "view" not in get(public, "/query?limit=0")
    limited = serving_app(lookup_limit=4)
    assert edges(limited, "/query?limit=1000") == everything[:4]
    assert get(limited, "/query?limit=1000")["view"]["nextPage"] == "/query?offset=4&limit=4"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.sampled_from([
        "/query?", "/c/en?", "/c/en/example?", "/query?node=/c/en/example&", "/query?end=/c/en&", "/r/RelatedTo?",
        "/query?node=/c/en/r%26b&", "/s/contributor?", "/d/conceptnet/4?", "/query?rel=/r/IsA&start=/c/en/football&",
    ]),
    st.integers(1, 12),
)  # fmt: skip
def test_pages_hold_every_edge_once_in_one_order(public: InProcessClient, path: str, limit: int) -> None:
    whole = get(public, f"{path}limit=1000")["edges"]
    edges, following, pages = [], f"{path}limit={limit}", 0
    while following:
        answer = get(public, following)
        view = answer.get("view", {})
        if pages:
            assert get(public, view["previousPage"])["edges"] == edges[-limit:]
            assert get(public, view["firstPage"])["edges"] == edges[:limit]
        edges += answer["edges"]
        following, pages = view.get("nextPage"), pages + 1
    assert edges == whole
    assert len({edge["@id"] for edge in edges}) == len(edges) > 0
    assert pages == -(-len(whole) // limit)
    assert [edge["weight"] for edge in edges] == sorted((edge["weight"] for edge in edges), reverse=True)


@pytest.mark.parametrize(
    ("path", "details"),
    [
        ("/c/en/qwertz", "'/c/en/qwertz' is not a node in ConceptNet."),
        ("/r/Likes", "'/r/Likes' is not a node in ConceptNet."),
        ("/d/nothing", "'/d/nothing' is not a node in ConceptNet."),
        ("/s/nobody", "'/s/nobody' is not a node in ConceptNet."),
        ("/c/en/%00%ff%ed%a0%80", None),
    ],
)
def test_unknown_terms_have_no_edges_and_an_error(public: InProcessClient, path: str, details: str | None) -> None:
    response = get(public, path)
    assert differences(response, {**EDGES, "error": ERROR}) == []
    assert (response["edges"], response["error"]["status"]) == ([], 404)
    assert details in (None, response["error"]["details"])


def test_other_errors_in_the_body(public: InProcessClient) -> None:
    for nothing in ("/c/", "/a/", "/s//"):
        assert get(public, nothing, 404)["error"]["details"] == f"'{nothing[:3]}' isn't a URL that we understand."
    unknown = "/a/[/r/IsA/,/c/en/example/,/c/en/information/]"  # without the senses it is another one
    assert get(public, unknown)["error"] == {"status": 404, "details": f"'{unknown}' is not an assertion in ConceptNet."}
    for wrong in ("/a/x", "/a/[/r/IsA/,/c/en/,/c/fr/]", "/a/[/r/IsA/,/c/en/example/n/]"):
        assert get(public, wrong)["error"]["status"] == 404
    assert get(public, "/r/IsA?grouped=true")["error"] == {
        "status": 400, "details": "Only concept nodes (starting with /c/) can be grouped by feature.",
    }  # fmt: skip
    assert get(public, "/c/en/qwertz?grouped=true")["error"]["details"] == "'qwertz' is not a node in ConceptNet."
    assert get(public, "/c/en?grouped=true")["error"]["status"] == 404
    assert get(public, "/c/en/example?offset=100")["edges"] == []
    assert "error" not in get(public, "/c/en/example?offset=100")


def test_the_uri_of_a_text(public: InProcessClient) -> None:
    response = get(public, "/uri?language=en&text=This is a Test!")
    assert differences(response, URI) == []
    assert response["@id"] == "/c/en/this_is_test"
    for other in ("/normalize?language=en&text=this_is_a_test", "/standardize?language=EN&term=this is a test"):
        assert get(public, other) == response
    assert get(public, "/uri?text=x", 400)["error"]["details"] == "Please specify a 'language' parameter."
    assert get(public, "/uri?language=en", 400)["error"]["details"] == "Please specify a 'text' parameter."
    assert "has no word" in get(public, "/uri?language=en&text=,", 400)["error"]["details"]


def test_errors_of_the_service_have_the_form_of_the_api(
    serving_app: Callable[..., InProcessClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with editing_keys(tmp_path / "keys", create=True) as entries:
        key, entry = new_key("someone")
        entries.append(entry)
    ask = serving_app(keys=Keys(tmp_path / "keys"))
    for path in ("/c/en/example", "/query", "/related/c/en/example", "/relatedness", "/uri", "/search"):
        answer = ask("GET", path)
        assert (answer.status_code, answer.headers["content-type"]) == (401, "application/json")
        assert differences(answer.json(), {**ANSWER, "error": ERROR}) == []
    assert ask("GET", "/c/en/example", headers={"X-API-Key": key}).status_code == 200
    assert ask("GET", "/v1/info").headers["content-type"] == "application/problem+json"
    free = serving_app()
    assert free("GET", "/c/en/example", headers={"Host": "example.org"}).json()["error"]["status"] == 421
    assert free("DELETE", "/c/en/example").json()["error"]["status"] == 405
    monkeypatch.setattr(free.app.state.service.lookups, "open", 10_000)
    busy = free("GET", "/c/en/example")
    assert (busy.status_code, busy.json()["error"]["status"], busy.headers["retry-after"]) == (429, 429, "1")


def test_the_conceptnet_api_is_off_by_default(ask: InProcessClient) -> None:
    for path in ("/c/en/dog", "/query", "/uri"):
        answer = ask("GET", path)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


def test_related_terms_need_an_index(example: Graph, example_path: str, tacit: Tacit) -> None:
    with pytest.raises(InputError, match="is answered from the graph's index"):
        create_app(Reasoner(example.store, ["length"]), example.store, conceptnet_api=True)
    outcome = tacit("serve", example_path, "--engine", "store", "--metrics", "length", "--port", "0", "--conceptnet-api")
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1), outcome.err
    assert "serve a graph with --engine auto or index" in outcome.err


def test_events_are_not_listed(serving_app: Callable[..., InProcessClient], index: Any) -> None:
    over_sample = serving_app(index)
    assert get(over_sample, "/r/xWant")["edges"] == []
    assert index.counts().relations["xWant"] > 0
