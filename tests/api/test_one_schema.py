"""The command line's ``--json``, the HTTP service and the client give the same names and values for each kind of answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tacit.api.client import AsyncClient
from tacit.api.details import Completion
from tacit.graph import KnowledgeGraph, open_graph, open_index
from tacit.graph.model import FoundPath
from tacit.graph.questions import Instance
from tacit.graph.schema import dump
from tacit.reasoning import Reasoner

from tests.api.conftest import Tacit
from tests.api.server.conftest import HISTORY, RESPONSE, InProcessClient
from tests.api.server.conftest import service as service

EVENT = "PersonX cooks dinner for PersonY"


@pytest.fixture(scope="module")
def reasoner(sample_graph: str) -> Iterator[Reasoner]:
    with open_graph(sample_graph) as store, open_index(store) as index:
        yield Reasoner(index, ["grounding", "length"])


@pytest.fixture
def ask(service: Callable[..., InProcessClient]) -> InProcessClient:
    return service()


def of_client(ask: InProcessClient, call: Callable[[AsyncClient], Any]) -> Any:
    """Return the client's answer over the application in this process."""
    import asyncio

    async def answer() -> Any:
        async with AsyncClient("http://service", transport=httpx.ASGITransport(ask.app)) as client:
            return await call(client)

    return asyncio.run(answer())


def names(value: Any) -> Any:
    """Return the names in ``value``, in order, at every depth."""
    if isinstance(value, dict):
        return [(name, names(part)) for name, part in value.items()]
    return [names(part) for part in value] if isinstance(value, list) else None


def agree(*values: Any) -> None:
    """Check that all ``values`` are equal, with their names in one order; the first is not empty."""
    assert values[0]
    for value in values[1:]:
        assert value == values[0]
        assert names(value) == names(values[0])


ITEM = {"id": "dinner", "history": HISTORY, "response": RESPONSE}


@pytest.mark.parametrize("explain", [False, True])
def test_score_rows_and_evidence(tacit: Tacit, ask: InProcessClient, sample_graph: str, tmp_path: Path, explain: bool) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps(ITEM) + "\n" + json.dumps(ITEM | {"id": "2", "response": ""}) + "\n", encoding="utf-8")
    words = ["--explain"] if explain else []
    shown = tacit("score", file, "--metrics", "grounding,length", "--graph", sample_graph, *words, "-q").rows
    items = [ITEM, ITEM | {"id": "2", "response": ""}]
    rows = ask("POST", "/v1/score", json={"items": items, "explain": explain}).json()["items"]
    returned_rows = [(item["id"], item["history"], item["response"]) for item in items]

    async def call(client: AsyncClient) -> Any:
        return [row async for row in client.score_items(returned_rows, explain=explain)]

    agree(shown, rows, [row.to_dict(explain) for row in of_client(ask, call)])
    assert [row.get("evidence") is not None for row in shown] == [explain, explain]


def test_explanations(tacit: Tacit, ask: InProcessClient, sample_graph: str, tmp_path: Path) -> None:
    output = tmp_path / "told.json"
    words = ["--metrics", "grounding,length", "--graph", sample_graph, "--output", output, "-q"]
    turns = [word for turn in HISTORY for word in ("--history", turn)]
    assert tacit("explain", *turns, "--response", RESPONSE, *words).status == 0
    [shown] = json.loads(output.read_text(encoding="utf-8"))["items"]
    body = {"history": HISTORY, "response": RESPONSE, "svg": False}
    answer = ask("POST", "/v1/explain", json=body).json()["explanations"]
    explanations = of_client(ask, lambda client: client.explain(HISTORY, RESPONSE))
    agree(shown["explanations"], answer, {name: explanation.to_dict() for name, explanation in explanations.items()})
    drawn = ask("POST", "/v1/explain", json=body | {"svg": True}).json()["explanations"]
    assert [*drawn["grounding"]] == [*answer["grounding"], "svg"]


def test_neighbours_paths_and_tails(tacit: Tacit, ask: InProcessClient, sample_graph: str) -> None:
    answer = ask("GET", "/v1/neighbours", params={"concept": "dog", "limit": 5}).json()["neighbours"]
    rows = of_client(ask, lambda client: client.neighbours("dog", limit=5))
    agree(tacit("neighbours", sample_graph, "dog", "--limit", 5, "--json").json, answer, [dump(entry) for entry in rows])
    answer = ask("GET", "/v1/hops", params={"source": "dog", "target": ["bone", "doctor"]}).json()["hops"]
    agree(tacit("hops", sample_graph, "dog", "bone", "doctor", "--json").json, answer)
    assert of_client(ask, lambda client: client.hops("dog", ["bone", "doctor"])) == [row["hops"] for row in answer]
    answer = ask("GET", "/v1/paths", params={"source": "dog", "target": "doctor", "limit": 2}).json()["paths"]
    rows = of_client(ask, lambda client: client.paths("dog", "doctor", limit=2))
    shown = tacit("paths", sample_graph, "dog", "doctor", "--limit", 2, "--json").json
    agree(shown, answer, [dump(entry, FoundPath) for entry in rows])
    answer = ask("GET", "/v1/tails", params={"head": EVENT, "limit": 3}).json()["tails"]
    rows = of_client(ask, lambda client: client.tails(EVENT, limit=3))
    agree(tacit("tails", sample_graph, EVENT, "--limit", 3, "--json").json, answer, [dump(entry) for entry in rows])
    assert isinstance(of_client(ask, lambda client: client.complete("do"))[0], Completion)


def test_inferences(tacit: Tacit, ask: InProcessClient, sample_graph: str, tmp_path: Path) -> None:
    turns = ["I cooked dinner for you.", "Thank you!"]
    file = tmp_path / "dialogue.jsonl"
    file.write_text(json.dumps({"turns": turns}))
    [shown] = tacit("infer", file, "--graph", sample_graph, "--json", "-q").rows
    answer = ask("POST", "/v1/infer", json={"dialogue": turns}).json()["turns"]
    turns_answered = of_client(ask, lambda client: client.infer(turns))
    agree(shown["turns"], answer, [turn.to_dict() for turn in turns_answered])


def test_choices(tacit: Tacit, ask: InProcessClient, sample_graph: str, tmp_path: Path) -> None:
    instance = Instance(
        "d", ["A: I cooked dinner for you."], "I cooked dinner for you.", "motivation", ["He is kind.", "He hates food."]
    )
    file = tmp_path / "cicero.json"
    record = {
        "ID": instance.id,
        "Dialogue": instance.dialogue,
        "Target": instance.target,
        "Question": instance.question.text,
        "Choices": instance.choices,
    }
    file.write_text(json.dumps(record))
    [shown] = tacit("choose", file, "--graph", sample_graph, "--json", "-q").rows
    body = {
        "id": "d",
        "dialogue": instance.dialogue,
        "target": instance.target,
        "question": "motivation",
        "choices": instance.choices,
    }
    agree(shown, ask("POST", "/v1/choose", json=body).json(), of_client(ask, lambda client: client.choose(instance)).to_dict())


def test_rows_of_cypher_and_the_cookbook(tacit: Tacit, ask: InProcessClient, sample_graph: str) -> None:
    body = {"query": "used_for", "parameters": {"concept": "knife"}}
    answer = ask("POST", "/v1/cypher", json=body).json()["rows"]
    rows = of_client(ask, lambda client: client.cypher("used_for", {"concept": "knife"}))
    agree(tacit("cypher", sample_graph, "used_for", "--param", "concept=knife", "--json").json, answer, rows.records())


def test_the_graph_and_the_metrics(tacit: Tacit, ask: InProcessClient, sample_graph: str) -> None:
    shown, answer = tacit("info", sample_graph, "--json").json, ask("GET", "/v1/info").json()
    agree(answer, dump(of_client(ask, lambda client: client.info())))
    shared = ["digest", "concepts", "events", "assertions", "relations"]
    agree({name: shown[name] for name in shared}, {name: answer["graph"][name] for name in shared})
    listed = {row["name"]: row["summary"] for row in tacit("metrics", "--json").json}
    agree({name: listed[name] for name in answer["metrics"]}, {name: row["summary"] for name, row in answer["metrics"].items()})


def test_the_api_description_has_the_names_of_the_answers(ask: InProcessClient, sample_graph: str) -> None:
    schemas = ask("GET", "/openapi.json").json()["components"]["schemas"]
    with open_graph(sample_graph) as graph:
        neighbour, path, tail = graph.neighbours("/c/en/dog", 1, 1)[0], _path(graph), graph.tails(EVENT, None, 1)[0]
    for kind, row in (("Neighbour", dump(neighbour)), ("FoundPath", dump(path, FoundPath)), ("Assertion", dump(tail))):
        described = [*schemas[kind]["properties"]]
        assert [name for name in described if name in row] == [*row], kind
        assert set(schemas[kind]["required"]) <= set(row), kind
    row = ask("POST", "/v1/score", json={"items": [ITEM], "explain": True}).json()["items"][0]
    assert set(row) <= set(schemas["ScoreRow"]["properties"])
    assert [*row["evidence"]["grounding"]["pieces"][0]] == [*schemas["Piece"]["properties"]]


def _path(graph: KnowledgeGraph) -> Any:
    return graph.paths("/c/en/dog", "/c/en/doctor", 6, 1)[0]
