"""``/v1/infer``: answers with edges, and wrong requests as problem documents of one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tacit.api.server.app import create_app
from tacit.graph import open_graph
from tacit.graph.schema import load
from tacit.reasoning import Reasoner
from tacit.reasoning.inference import TurnAnswers
from tacit.reasoning.metrics.judgement import MODEL_FILE

from tests.api.server.conftest import InProcessClient
from tests.reasoning.metrics.accent.tiny_judges import save_judge

TURNS = ["A: I cooked dinner for you.", "B: Thank you!"]


def test_answers_about_a_turn(ask: InProcessClient) -> None:
    [turn] = ask("POST", "/v1/infer", json={"dialogue": TURNS, "target": -2, "questions": ["reaction"]}).json()["turns"]
    assert (turn["turn"], turn["text"], list(turn["answers"])) == (0, "I cooked dinner for you.", ["reaction"])
    [first, *_] = turn["answers"]["reaction"]
    assert (first["text"], first["relation"], first["origin"]) == ("the listener feels full", "oReact", "graph")
    rows = ask("POST", "/v1/cypher", json={"query": turn["query"], "parameters": first["parameters"]}).json()["rows"]
    assert [(row["relation"], row["tail_text"]) for row in rows] == [("oReact", "full")]
    assert len(ask("POST", "/v1/infer", json={"dialogue": TURNS}).json()["turns"]) == 2


def test_answers_as_a_picture(ask: InProcessClient) -> None:
    body = {"dialogue": TURNS, "svg": True, "width": 500}
    first, second = ask("POST", "/v1/infer", json=body).json()["turns"]
    assert load(TurnAnswers, first).svg(500) == first["svg"]
    assert 'aria-label="Five questions about turn 2"' in second["svg"]
    assert "svg" not in ask("POST", "/v1/infer", json={"dialogue": TURNS, "target": 0}).json()["turns"][0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"dialogue": TURNS, "target": 2}, "there is no turn 2; the dialogue has 2, from 0"),
        ({"dialogue": TURNS, "questions": ["why"]}, "unknown question 'why'"),
        ({"dialogue": "Hi."}, "dialogue is a text; give a list of texts"),
        ({"dialogue": []}, "dialogue is empty"),
        ({}, "the body has no dialogue; give a list of texts"),
        ({"dialogue": TURNS, "limit": 0}, "limit must be >= 1"),
        ({"dialogue": TURNS, "svg": True, "width": 100}, "width must be >= 240"),
        ({"dialogue": TURNS, "svg": "yes"}, "svg is a text; give true or false"),
        ({"dialogue": ["x" * 300_000, "y" * 200_000]}, "the texts have 500,000 characters"),
        ({"dialogue": ["x" * 300_000]}, "the maximum is 200,000"),
    ],
)
def test_errors_are_one_sentence(ask: InProcessClient, body: Any, message: str) -> None:
    answer = ask("POST", "/v1/infer", json=body)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]


def test_a_service_without_a_graph_says_so(service: Callable[..., InProcessClient]) -> None:
    answer = service(Reasoner(None, ["length"]))("POST", "/v1/infer", json={"dialogue": TURNS})
    assert answer.status_code == 404
    assert "this service has no graph" in answer.json()["detail"]


CHOICES = {
    "dialogue": TURNS,
    "target": "I cooked dinner for you.",
    "question": "motivation",
    "choices": ["He is kind.", "He is not."],
}


def test_choices(ask: InProcessClient, service: Callable[..., InProcessClient]) -> None:
    row = ask("POST", "/v1/choose", json=CHOICES).json()
    assert (row["id"], len(row["scores"]), row["chosen"]) == ("1", 2, [0])
    alone = service(Reasoner(None, ["length"]))("POST", "/v1/choose", json=CHOICES | {"answers": 2}).json()
    assert (alone["chosen"], list(alone["choices"][0]["shares"])) == ([0, 1], ["answers"])


def test_the_service_offers_its_judges(sample_graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    model = save_judge(
        tmp_path / "cache" / "models" / MODEL_FILE, layers=2, more=["yes no", ": yes", ": no"]
    )  # a folder in place of a file
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tacit.reasoning.metrics.judgement.has_default", model.exists)
    with open_graph(sample_graph) as graph:
        ask = InProcessClient(create_app(Reasoner(graph, ["length"]), judges=["graph", "yes-no"]))
        answer = ask("POST", "/v1/choose", json=CHOICES)
    assert answer.status_code == 200, answer.text
    row = answer.json()
    assert list(row["choices"][0]["shares"]) == ["graph", "yes-no"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"question": "why"}, "unknown question 'why'"),
        ({"choices": ["one"]}, "choices"),
        ({"target": " "}, "the target is blank"),
        ({"answers": 0}, "answers must be >= 1"),
        ({"choices": "one"}, "choices is a text; give a list of texts"),
    ],
)
def test_invalid_choices_are_one_sentence(ask: InProcessClient, changed: Any, message: str) -> None:
    answer = ask("POST", "/v1/choose", json=CHOICES | changed)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]
