"""Questions about the graph over HTTP: the rows of the command line, unknown things as 404, Cypher behind its walls."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tacit.api.server import create_app
from tacit.api.server.service import Service, Settings
from tacit.cypher import cookbook
from tacit.graph import GraphError, KnowledgeGraph, UnknownName, open_graph
from tacit.graph.cypher_store import Store
from tacit.graph.model import Assertion, FoundPath
from tacit.graph.model import Path as GraphPath
from tacit.graph.names import event_uri
from tacit.graph.schema import dump, load
from tacit.reasoning import Reasoner
from tacit.reasoning.base import Piece
from tacit.reasoning.event_links import link_events

from tests.api import service_callers as services
from tests.api.server.conftest import InProcessClient

EVENT = "PersonX cooks dinner for PersonY"


def test_concepts_and_their_neighbours(ask: InProcessClient, index: KnowledgeGraph) -> None:
    rows = [dump(neighbour) for neighbour in index.neighbours("/c/en/dog", 1, 10)]
    for text in ("dog", "the dogs", "/c/en/dog", "%2Fc%2Fen%2Fdog"):
        answer = ask("GET", f"/v1/concepts/{text}").json()
        assert (answer["uri"], answer["neighbours"]) == ("/c/en/dog", rows)
    two = ask("GET", "/v1/neighbours", params={"concept": "dog", "hop": 2, "limit": 3}).json()
    assert two == {"concept": "/c/en/dog", "neighbours": [dump(neighbour) for neighbour in index.neighbours("/c/en/dog", 2, 3)]}
    some = ask("GET", "/v1/neighbours", params={"concept": "dog", "relation": ["IsA", "UsedFor"]}).json()["neighbours"]
    assert some == [dump(neighbour) for neighbour in index.neighbours("/c/en/dog", 1, 10, ["IsA", "UsedFor"])]


def test_prefixes_are_completed_in_order(ask: InProcessClient) -> None:
    texts = [concept["text"] for concept in ask("GET", "/v1/concepts", params={"prefix": "ca", "limit": 4}).json()["concepts"]]
    assert len(texts) == 4
    assert texts == sorted(texts)
    assert all(text.startswith("ca") for text in texts)


def test_hops_from_one_concept_to_others(ask: InProcessClient, index: KnowledgeGraph) -> None:
    others = ["bone", "the dogs", "doctor", "/c/en/bone"]
    rows = ask("GET", "/v1/hops", params={"source": "dog", "target": others}).json()["hops"]
    expected = index.hop_distances(["dog"], others)[0].tolist()
    assert rows == [{"source": "dog", "target": target, "hops": hops} for target, hops in zip(others, expected, strict=True)]
    assert expected[1] == 0
    [near] = ask("GET", "/v1/hops", params={"source": "dog", "target": "doctor", "max_hops": 1}).json()["hops"]
    assert near["hops"] == -1
    unknown = ask("GET", "/v1/hops", params={"source": "dog", "target": ["bone", "qwertz", "qwert"]})
    assert unknown.status_code == 404
    assert unknown.json()["detail"].startswith("'qwertz', 'qwert' are not concepts of this graph; ")
    outcome = ask("GET", "/v1/hops", params={"source": "dog", "target": ["bone"] * 101})
    assert (outcome.status_code, outcome.json()["detail"]) == (422, "there are 101 targets; give at most 100 at once")


def test_paths_carry_their_assertions(ask: InProcessClient, index: KnowledgeGraph) -> None:
    answer = ask("GET", "/v1/paths", params={"source": "dog", "target": "doctor", "limit": 2}).json()["paths"]
    paths = index.paths("/c/en/dog", "/c/en/doctor", 6, 2)
    assert [(row["text"], row["hops"], row["strength"], tuple(row["nodes"])) for row in answer] == [
        (path.text(), path.hops, path.strength, path.nodes) for path in paths
    ]
    assert answer == [dump(path, FoundPath) for path in paths]  # as the command line prints it
    assert answer[0]["node_texts"] == ["dog", "pet", "vet", "doctor"]
    assert [len(row["steps"]) for row in answer] == [path.hops for path in paths]
    [same] = ask("GET", "/v1/paths", params={"source": "dog", "target": "dogs"}).json()["paths"]
    assert (same["hops"], same["strength"], same["steps"]) == (0, None, [])


def test_tails_of_an_event(ask: InProcessClient, index: KnowledgeGraph) -> None:
    answer = ask("GET", "/v1/tails", params={"head": EVENT, "relation": "xIntent"}).json()
    assert answer == {"tails": [dump(tail) for tail in index.tails(EVENT, "xIntent")]}
    assert answer["tails"]
    unknown = ask("GET", "/v1/tails", params={"head": "PersonX qwertzes"})
    assert (unknown.status_code, unknown.json()) == (200, {"tails": []})


def test_links_are_followed(ask: InProcessClient, sample_graph: str, tmp_path: Path) -> None:
    shutil.copytree(sample_graph, tmp_path / "linked")
    with open_graph(tmp_path / "linked") as graph:
        link_events(graph)
        linked = InProcessClient(create_app(Reasoner(graph, ["length"]), graph))
        concept = next(link.tail for link in graph.links() if link.head == event_uri(EVENT))
        tails = linked("GET", "/v1/concept-tails", params={"concept": concept, "limit": 3}).json()
        expected = graph.concept_tails(concept, None, 3)
        assert tails == {"concept": concept, "tails": [dump(row) for row in expected]}
        assert expected
        params: dict[str, Any] = {"source": EVENT, "target": "dog", "limit": 2, "events": True}
        paths = linked("GET", "/v1/paths", params=params).json()["paths"]
        assert paths == [dump(path, FoundPath) for path in graph.linked_paths(EVENT, "dog", 6, 2)] != []
        with services.in_process(linked.app) as clients:
            for client in clients:
                assert client.concept_tails(concept, None, 3) == expected
                assert client.linked_paths(EVENT, "dog", limit=2) == graph.linked_paths(EVENT, "dog", 6, 2)
                assert client.concept_tails("/c/en/nope") == graph.concept_tails("/c/en/nope") == []
                assert client.concept_tails(concept) == graph.concept_tails(concept)
                with pytest.raises(UnknownName, match="'nope' is neither a concept nor an event"):
                    client.linked_paths("nope", "dog")
        linked.app.state.service.close()
    for path in ("/v1/concept-tails?concept=dog", "/v1/paths?source=dog&target=doctor&events=true"):
        refused = ask("GET", path)
        assert (refused.status_code, refused.json()["type"].rsplit(":")[-1]) == (422, "not-linked")
    with services.in_process(ask.app) as clients, pytest.raises(GraphError, match="are not linked"):
        clients[0].linked_paths("dog", "doctor")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/concepts/qwertzuiop", 404),
        ("/v1/neighbours?concept=qwertzuiop", 404),
        ("/v1/paths?source=dog&target=qwertzuiop", 404),
        ("/v1/tails?head=%20", 422),
        ("/v1/tails?head=PersonX%20cooks&relation=xwant", 422),
        ("/v1/neighbours?concept=dog&hop=7", 422),
        ("/v1/neighbours?concept=dog&relation=Likes", 422),
        ("/v1/neighbours?concept=dog&relation=%60%7D", 422),
        ("/v1/neighbours", 422),
        ("/v1/concepts?limit=-1", 422),
        ("/v1/concepts/%00%ff%ed%a0%80", 404),
        ("/v2/score", 404),
        ("/v1/info/", 404),
        ("/v1/neighbours/?concept=dog", 404),
        ("/static", 404),
        ("/v1/score", 405),
    ],
)
def test_unknown_and_invalid_resources_have_their_status(ask: InProcessClient, path: str, status: int) -> None:
    answer = ask("GET", path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    assert answer.json()["status"] == status


def test_a_misspelt_name_gets_suggestions(ask: InProcessClient) -> None:
    assert ask("GET", "/v1/paths?source=dog&target=pianno").json()["detail"] == (
        "'pianno' is not a concept of this graph; did you mean piano?"
    )
    assert ask("GET", "/v1/tails?head=PersonX%20cooks&relation=xwant").json()["detail"] == (
        "unknown relation xwant; did you mean xWant?"
    )


def test_cypher_and_the_cookbook(ask: InProcessClient, index: KnowledgeGraph) -> None:
    text = "MATCH (a:Concept {text: $word})-[r]->(b) RETURN type(r) AS relation, b.text AS tail ORDER BY relation, tail"
    answer = ask("POST", "/v1/cypher", json={"query": text, "parameters": {"word": "dog"}, "limit": 3}).json()
    result = index.run(text, {"word": "dog"}, limit=3)
    assert answer == {"columns": list(result.columns), "rows": result.records(), "truncated": True}
    assert len(answer["rows"]) == 3
    for entry in ask("GET", "/v1/cookbook").json()["queries"]:
        assert set(entry["example"]) == set(entry["parameters"])
        named, written = (
            ask("POST", "/v1/cypher", json={"query": query, "parameters": entry["example"]}).json()
            for query in (entry["name"], entry["text"])
        )
        if not re.search(r"Mentions|SameEvent", entry["text"]):  # the service's graph is not linked
            assert named["rows"], entry["name"]
        assert named == written
    assert {entry["name"] for entry in ask("GET", "/v1/cookbook").json()["queries"]} == set(cookbook())


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"query": "MATCH (n) DETACH DELETE n"}, 400, "query-refused"),
        ({"query": "COPY (MATCH (n) RETURN n) TO 'x.csv'"}, 400, "query-refused"),
        ({"query": "LOAD FROM 'pyproject.toml' RETURN *"}, 400, "query-refused"),
        ({"query": "MATCH (n:Nothing) RETURN n"}, 422, "query-invalid"),
        ({"query": " "}, 422, "query-invalid"),
        ({"query": "used_for"}, 422, "query-invalid"),
        ({"query": "pyproject.toml"}, 400, "query-refused"),
        ({"query": "RETURN $x AS x", "parameters": {"x": 2**70}}, 422, "invalid-input"),
        ({"query": "RETURN 1 AS one", "limit": 10_001}, 422, "too-many-rows"),
        ({"query": "RETURN 1 AS one", "timeout": 1e6}, 422, "too-long"),
        ({"query": "RETURN 1 AS one", "timeout": 0}, 422, "invalid-body"),
    ],
)
def test_cypher_that_is_refused(ask: InProcessClient, body: Any, status: int, kind: str) -> None:
    answer = ask("POST", "/v1/cypher", json=body)
    assert (answer.status_code, answer.json()["type"]) == (status, f"urn:tacit:problem:{kind}"), answer.text


def test_a_query_timeout_is_a_504_and_is_counted(ask: InProcessClient) -> None:
    slow = "MATCH (a)-[]->(b), (c)-[]->(d), (e)-[]->(f), (g)-[]->(h) RETURN count(*) AS n"
    answer = ask("POST", "/v1/cypher", json={"query": slow, "timeout": 0.3})
    assert (answer.status_code, answer.json()["type"]) == (504, "urn:tacit:problem:query-timeout")
    assert "tacit_cypher_timeouts_total 1.0" in ask("GET", "/metrics").text


def test_too_many_concurrent_queries_are_a_429(service: Callable[..., InProcessClient]) -> None:
    ask = service(cypher_threads=1, waiting_queries=1)
    slow = "MATCH (a)-[]->(b), (c)-[]->(d), (e)-[]->(f), (g)-[]->(h) RETURN count(*) AS n"
    answers = ask.together([("POST", "/v1/cypher", {"query": slow, "timeout": 0.5})] * 4)
    assert sorted(answer.status_code for answer in answers) == [429, 429, 504, 504]
    assert all(answer.headers["retry-after"] for answer in answers if answer.status_code == 429)


def test_the_graph_runs_as_many_queries_at_once_as_the_settings_say(tmp_path: Path) -> None:
    with open_graph(tmp_path / "graph", create=True) as graph:
        Service(Reasoner(graph, ["length"]), graph, Settings(cypher_threads=3)).close()
        assert isinstance(graph.store, Store)
        assert graph.store._max_concurrent == 3


def test_info_describes_graph_metrics_and_limits(ask: InProcessClient, index: KnowledgeGraph) -> None:
    info = ask("GET", "/v1/info").json()
    assert info["graph"]["digest"] == index.manifest().digest
    assert info["graph"]["concepts"] == index.counts().concepts
    assert list(info["metrics"]) == ["grounding", "length"]
    assert info["metrics"]["grounding"]["signature"].startswith("grounding|graph:")
    assert info["limits"]["items"] == 1_000


NEEDS_LINKS = {"/v1/concept-tails"}
"""Routes that the sample graph, whose events are not linked, cannot answer."""


def test_the_examples_of_the_document_work(ask: InProcessClient) -> None:
    document = ask("GET", "/openapi.json").json()
    tried = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"]
            body = operation.get("requestBody")
            if body:
                for example in body["content"]["application/json"]["examples"].values():
                    answer = ask(method.upper(), path, json=example["value"])
                    assert answer.status_code == 200, answer.text
                    tried += 1
                continue
            shown = {
                parameter["name"]: parameter["schema"].get("examples", [None])[0] for parameter in operation.get("parameters", ())
            }
            filled = path.format(**shown)
            query = {name: value for name, value in shown.items() if value is not None and f"{{{name}}}" not in path}
            answer = ask(method.upper(), filled, params=query)
            expected = 422 if path in NEEDS_LINKS else 200
            assert answer.status_code == expected, (path, answer.text)
            tried += 1
    assert tried >= 15
    assert json.loads(json.dumps(document)) == document


def test_paths_have_one_json_form_everywhere(ask: InProcessClient, index: KnowledgeGraph) -> None:
    """What the service gives holds what the evidence of a score holds, and the client reads both."""
    [path, *_] = index.paths("/c/en/dog", "/c/en/doctor", 6, 1)
    [row] = ask("GET", "/v1/paths", params={"source": "dog", "target": "doctor", "limit": 1}).json()["paths"]
    evidence = Piece("concept", 1.0, 1.0, path=path).to_dict()["path"]
    assert {name: row[name] for name in evidence} == evidence
    assert GraphPath.from_dict(row) == GraphPath.from_dict(evidence) == path
    [tail, *_] = ask("GET", "/v1/tails", params={"head": EVENT}).json()["tails"]
    assert load(Assertion, tail) == index.tails(EVENT, None, 1)[0]
