"""Scores and explanations over HTTP are the library's, whoever asks beside; what cannot be scored says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tacit.graph import GraphUnavailable, KnowledgeGraph
from tacit.reasoning import Reasoner
from tacit.reasoning.base import Evidence, Score, Signature

from tests.api.server.conftest import HISTORY, RESPONSE, InProcessClient

VOCABULARY = ["dog", "bone", "cook", "dinner", "soup", "carrot", "park", "walk", "the", "I", "happy", "library", "?", "🐶"]
WORDS = st.lists(st.sampled_from(VOCABULARY), max_size=8)
TEXTS = WORDS.map(" ".join)


def test_rows_equal_those_of_the_library_byte_for_byte(ask: InProcessClient, reasoner: Reasoner) -> None:
    items = [
        ("one", HISTORY, RESPONSE, ["A soup."]),
        (2, HISTORY, "The library is closed."),
        (3, [], ""),
        (7, HISTORY, "?" * 300_000),
    ]
    sent = [
        {"id": name, "history": history, "response": response, "references": (list(extra) or [[]])[0]}
        for name, history, response, *extra in items
    ]
    for explain in (False, True):
        answer = ask("POST", "/v1/score", json={"items": sent, "explain": explain})
        assert answer.status_code == 200
        rows = [row.to_dict(explain) for row in reasoner.stream(items, explain=explain)]  # type: ignore[arg-type]
        returned_rows = orjson.loads(answer.content)["items"]
        assert orjson.dumps(returned_rows) == orjson.dumps(rows)
        assert "the maximum is 200,000" in returned_rows[3]["error"]


def test_items_without_an_id_are_numbered(ask: InProcessClient) -> None:
    answer = ask("POST", "/v1/score", json={"items": [{"history": [], "response": "a dog"}] * 3, "metrics": ["length"]})
    assert [(row["id"], row["scores"]) for row in answer.json()["items"]] == [(line, {"length": 2.0}) for line in (1, 2, 3)]


def test_the_error_about_a_missing_list_shows_a_valid_body(ask: InProcessClient) -> None:
    answer = ask("POST", "/v1/score", json={"history": HISTORY, "response": RESPONSE})
    assert answer.status_code == 422
    problem = answer.json()
    assert (problem["type"], problem["errors"][0]["at"]) == ("urn:tacit:problem:invalid-body", "items")
    body = problem["detail"].partition("list: ")[2]
    assert ask("POST", "/v1/score", content=body, headers={"Content-Type": "application/json"}).status_code == 200


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.lists(TEXTS, max_size=3), TEXTS), min_size=1, max_size=40))
def test_concurrent_requests_do_not_change_scores(
    ask: InProcessClient, reasoner: Reasoner, items: list[tuple[list[str], str]]
) -> None:
    requests = [
        ("POST", "/v1/score", {"items": [{"history": history, "response": response}], "explain": bool(index % 2)})
        for index, (history, response) in enumerate(items)
    ]
    answers = ask.together(requests)
    for index, ((history, response), answer) in enumerate(zip(items, answers, strict=True)):
        [row] = reasoner.stream([(1, history, response)], explain=bool(index % 2))
        assert answer.json() == {"items": [json.loads(orjson.dumps(row.to_dict(bool(index % 2))))]}


def test_long_and_short_requests_share_batches(service: Callable[..., InProcessClient], reasoner: Reasoner) -> None:
    ask = service(batch_items=5, batch_characters=60)
    long = {"items": [{"history": HISTORY, "response": f"{RESPONSE} {index}"} for index in range(100)]}
    short = [{"items": [{"history": HISTORY, "response": f"soup {index}"}]} for index in range(20)]
    answers = ask.together([("POST", "/v1/score", body) for body in (long, *short)])
    for body, answer in zip((long, *short), answers, strict=True):
        rows = reasoner.stream((index, item["history"], item["response"]) for index, item in enumerate(body["items"], 1))
        assert answer.json() == {"items": [json.loads(orjson.dumps(row.to_dict())) for row in rows]}


def test_explanations_equal_those_of_the_library(ask: InProcessClient, reasoner: Reasoner) -> None:
    answer = ask("POST", "/v1/explain", json={"history": HISTORY, "response": RESPONSE})
    explanations = answer.json()["explanations"]
    for name, explanation in reasoner.explain(HISTORY, RESPONSE).items():
        assert explanations[name].pop("svg") == explanation.svg()
        assert explanations[name] == json.loads(orjson.dumps(explanation.to_dict()))
    assert "other" not in answer.json()
    both = ask("POST", "/v1/explain", json={"history": HISTORY, "response": "x", "other": RESPONSE}).json()
    assert both["other"] == answer.json()["explanations"]
    assert both["explanations"] != both["other"]
    plain = ask("POST", "/v1/explain", json={"history": HISTORY, "response": RESPONSE, "svg": False, "metrics": ["length"]})
    assert list(plain.json()["explanations"]) == ["length"]
    assert "svg" not in plain.json()["explanations"]["length"]
    schemas = ask("GET", "/openapi.json").json()["components"]["schemas"]
    assert "svg" in schemas["DrawnExplanation"]["properties"]
    assert "svg" not in schemas["DrawnExplanation"]["required"], "the answer without a picture must fit the document too"


def test_two_responses_count_as_two_items(service: Callable[..., InProcessClient]) -> None:
    ask = service(items=1)
    body = {"history": HISTORY, "response": RESPONSE}
    assert ask("POST", "/v1/explain", json=body).status_code == 200
    refused = ask("POST", "/v1/explain", json=body | {"other": "x"})
    assert refused.json()["detail"] == "there are 2 items; send at most 1 at once"


@pytest.mark.parametrize(
    ("path", "body", "status", "kind"),
    [
        ("/v1/score", {"items": []}, 422, "invalid-body"),
        ("/v1/score", {}, 422, "invalid-body"),
        ("/v1/score", {"items": [{"history": "one text", "response": "x"}]}, 422, "invalid-body"),
        ("/v1/score", {"items": [{"history": ["x"], "response": 7}]}, 422, "invalid-body"),
        ("/v1/score", {"items": [{"history": ["x"]}]}, 422, "invalid-body"),
        ("/v1/score", {"items": [{"history": [], "response": "x", "respones": "y"}]}, 422, "invalid-body"),
        ("/v1/score", {"items": [{"history": [], "response": "x"}], "metrics": ["bleurt"]}, 422, "unknown-metric"),
        ("/v1/score", {"items": [{"history": [], "response": "x"}], "metrics": []}, 422, "invalid-body"),
        ("/v1/score", {"items": [{"history": [], "response": "x"}] * 1001}, 422, "too-many-items"),
        ("/v1/explain", {"history": [], "response": "x" * 400_001}, 422, "too-long"),
        ("/v1/explain", {"history": []}, 422, "invalid-body"),
    ],
)
def test_malformed_uris_are_refused(ask: InProcessClient, path: str, body: Any, status: int, kind: str) -> None:
    answer = ask("POST", path, json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    document = answer.json()
    assert document["type"] == f"urn:tacit:problem:{kind}"
    assert document["status"] == status
    assert document["instance"] == path
    assert document["request_id"] == answer.headers["x-request-id"]
    assert "xxxx" not in answer.text


ONE = {"history": [], "response": "a dog"}


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        ("score", [ONE], "the body is a list; give an object with items"),
        ("score", {"item": [ONE]}, "the body has an unknown name 'item'; did you mean items?"),
        ("score", {"items": [ONE], "zzz": 1}, "the body has an unknown name 'zzz'; the names are items, metrics, explain"),
        ("score", {"items": []}, "items is empty; give at least one item"),
        ("score", {"items": ONE}, "items is an object; give a list of items"),
        ("score", {"items": ["x"]}, "items[0] is a text; give an object with history and response"),
        ("score", {"items": [ONE, ONE | {"history": "one text"}]}, "items[1].history is a text; give a list of texts"),
        ("score", {"items": [ONE | {"history": ["x", 3]}]}, "items[0].history[1] is a number; give a text"),
        ("score", {"items": [{"history": []}]}, "items[0] has no response; give a text"),
        (
            "score",
            {"items": [{"history": [], "respons": ""}]},
            "items[0] has an unknown name 'respons'; did you mean response?",
        ),
        ("score", {"items": [ONE | {"id": [1]}]}, "items[0].id is a list; give a text or a whole number"),
        ("score", {"items": [ONE], "explain": 1, "metrics": None}, "explain is a number; give true or false"),
        ("explain", {"response": "x"}, "the body has no history; give a list of texts"),
        ("explain", {"response": 1}, "the body has no history; give a list of texts (1 more error)"),
        ("cypher", {"query": "RETURN 1", "limit": -1}, "limit must be >= 0"),
        ("cypher", {"query": "RETURN 1", "timeout": 0}, "timeout must be > 0"),
        ("cypher", {"query": "RETURN 1", "limit": "many"}, "limit is a text; give a whole number"),
        ("cypher", {"query": "RETURN 1", "parameters": []}, "parameters is a list; give an object"),
    ],
)
def test_an_invalid_body_is_one_plain_sentence(ask: InProcessClient, path: str, body: Any, detail: str) -> None:
    answer = ask("POST", f"/v1/{path}", json=body)
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)
    assert detail.startswith(answer.json()["errors"][0]["reason"])
    assert "xxxx" not in ask("POST", f"/v1/{path}", json={"x" * 5000: body}).text.replace("x" * 60, "")


@pytest.mark.parametrize(
    ("method", "path", "detail"),
    [
        ("GET", "/v1/neighbours?concept=dog&limt=3", "unknown query parameter 'limt'; did you mean limit?"),
        ("GET", "/v1/tails?head=x&hop=1", "unknown query parameter 'hop'; the parameters are head, relation, limit"),
        ("GET", "/v1/concepts/dog?limit=3", "unknown query parameter 'limit'; the parameters are language"),
        ("GET", "/v1/info?x=1", "unknown query parameter 'x'; there are none"),
        ("POST", "/v1/score?explain=true", "unknown query parameter 'explain'; there are none"),
        ("POST", "/v1/cypher?limit=3", "unknown query parameter 'limit'; there are none"),
        ("GET", "/v1/neighbours", "the parameter concept is missing"),
        ("GET", "/v1/neighbours?concept=dog&limit=many", "the parameter limit is a text; give a whole number"),
        ("GET", "/v1/neighbours?concept=dog&hop=9", "the parameter hop must be <= 6"),
        ("GET", "/v1/paths?source=dog&target=cat&limit=-1", "the parameter limit must be >= 0"),
        ("GET", f"/v1/tails?head={'x' * 2000}", "the parameter head has more than 1,000 characters; give a shorter text"),
    ],
)
def test_invalid_parameters_are_refused_by_name(ask: InProcessClient, method: str, path: str, detail: str) -> None:
    content = {"json": {"items": [ONE]}} if method == "POST" else {}
    answer = ask(method, path, **content)
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)
    assert answer.json()["type"] == "urn:tacit:problem:invalid-parameter"
    assert ask("GET", "/healthz?probe=1").status_code == 200


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b'{"items":[{"history":[],"response":"\xc3"}]}', b"[" * 50_000, b"NaN", b'"\\ud800"', b"null"],
)
def test_invalid_json_bodies_are_refused(ask: InProcessClient, content: bytes) -> None:
    for path in ("/v1/score", "/v1/explain", "/v1/cypher"):
        answer = ask("POST", path, content=content, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 422)
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_with_another_content_type_is_refused(ask: InProcessClient) -> None:
    assert ask("POST", "/v1/score", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415


class Scripted:
    """A metric that does what a response says."""

    name = "scripted"
    signature = Signature("scripted", (), 1)

    def score(self, history: Any, response: str, references: Any = (), *, explain: bool = False) -> Score:
        return self.score_batch([(history, response, references)], explain=explain)[0]

    def score_batch(self, items: Any, *, explain: bool = False) -> list[Score]:
        assert explain in (False, True)
        for item in items:
            if item.response == "gone":
                raise GraphUnavailable("the server went away")
            if item.response == "fault":
                raise RuntimeError("a secret of the dialogue")
        return [Score(float("nan") if item.response == "nan" else 1.0, Evidence(), self.signature) for item in items]


def test_errors_of_a_metric_belong_to_their_items(service: Callable[..., InProcessClient], index: KnowledgeGraph) -> None:
    ask = service(Reasoner(index, [Scripted()]))
    items = [{"history": [], "response": response} for response in ("good", "fault", "nan")]
    rows = ask("POST", "/v1/score", json={"items": items}).json()["items"]
    assert rows[0]["scores"] == {"scripted": 1.0}
    assert "RuntimeError" in rows[1]["error"]
    assert rows[2]["scores"] == {"scripted": None}


def test_a_lost_graph_is_a_503_with_retry_after(service: Callable[..., InProcessClient], index: KnowledgeGraph) -> None:
    ask = service(Reasoner(index, [Scripted()]))
    for path, body in (
        ("/v1/score", {"items": [{"history": [], "response": "gone"}]}),
        ("/v1/explain", {"history": [], "response": "gone"}),
    ):
        answer = ask("POST", path, json=body)
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        assert answer.json()["type"] == "urn:tacit:problem:graph-unavailable"
    assert ask("POST", "/v1/score", json={"items": [{"history": [], "response": "good"}]}).status_code == 200
