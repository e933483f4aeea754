"""The scorer against MLflow itself: ``run`` and ``mlflow.genai.evaluate``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import EDGE, HISTORY, NO_WORDS, RESPONSE, needs

needs("mlflow")
import mlflow  # noqa: E402
from mlflow.entities import Feedback  # noqa: E402
from mlflow.genai.scorers import Scorer  # noqa: E402
from mlflow.telemetry.utils import is_telemetry_disabled  # noqa: E402
from tacit.api.frameworks.mlflow_scorer import history_in, response_in, tacit_scorer  # noqa: E402
from tacit.api.frameworks.response_scorer import ResponseScorer  # noqa: E402
from tacit.graph import InputError  # noqa: E402


def test_telemetry_is_off() -> None:
    assert is_telemetry_disabled() is True


def test_the_scorer_gives_feedback(graph: str) -> None:
    scorer = tacit_scorer(["grounding", "length"], graph=graph, threshold=0.5)
    assert isinstance(scorer, Scorer)
    result = scorer.run(inputs={"question": HISTORY[0]}, outputs=RESPONSE)
    own, length = ResponseScorer(["grounding", "length"], graph=graph)(HISTORY, RESPONSE)
    assert isinstance(result, Feedback)
    assert (result.name, result.value, result.error) == ("tacit", own.value, None)
    assert EDGE in result.rationale
    assert result.source.source_type == "CODE"
    assert result.source.source_id.startswith("tacit-kg ")
    assert result.source.source_id.endswith(" grounding")
    others = json.loads(result.metadata.pop("others"))
    assert own.percentile is not None
    shown = {"metric": "grounding", "percentile": str(own.percentile), "signature": own.signature, "label": "pass"}
    assert result.metadata == shown
    assert others == [{"metric": "length", "value": 6.0, "percentile": None, "signature": length.signature}]


def test_evaluate_means_over_what_can_be_judged(graph: str) -> None:
    rows = [{"inputs": {"messages": [{"role": "user", "content": HISTORY[0]}]}, "outputs": text} for text in (RESPONSE, "?!")]
    result = mlflow.genai.evaluate(data=rows, scorers=[tacit_scorer("grounding", graph=graph, threshold=0.5)])
    value = ResponseScorer("grounding", graph=graph)(HISTORY, RESPONSE)[0].value
    assert result.metrics == {"tacit/mean": value}
    assert result.passed is True
    by_response: dict[str, Any] = {row["response"]: row for _, row in result.result_df.iterrows()}
    assert by_response[RESPONSE]["tacit/value"] == value
    (none,) = by_response["?!"]["assessments"]
    assert none["feedback"] == {"value": None}
    assert NO_WORDS in none["rationale"]
    assert none["metadata"]["label"] == "not_judged"
    assert none["metadata"]["note"] == NO_WORDS


def test_a_value_below_the_threshold_does_not_pass(graph: str) -> None:
    rows = [{"inputs": {"question": HISTORY[0]}, "outputs": RESPONSE}]
    scorers = [tacit_scorer("grounding", graph=graph, threshold=0.99, name="grounded"), tacit_scorer("repetition", threshold=0.5)]
    result = mlflow.genai.evaluate(data=rows, scorers=scorers)
    assert result.passed is False
    assert result.reason.startswith("grounded: grounding ")
    assert set(result.metrics) == {"grounded/mean", "tacit/mean"}


def test_the_expected_response_is_the_reference() -> None:
    pytest.importorskip("rouge_score", reason="needs pip install 'tacit-kg[baselines]'")
    result = tacit_scorer("rouge_l").run(inputs="Hello.", outputs="Good day.", expectations={"expected_response": "Good day."})
    assert result.value == 1.0


def test_other_rows_are_read_by_a_function_of_the_user() -> None:
    scorer = tacit_scorer("repetition", read=lambda inputs, outputs: (inputs["said"].split("|"), outputs["reply"]["text"]))
    assert scorer.run(inputs={"said": "I like tea.|Tea is good."}, outputs={"reply": {"text": "Tea is good."}}).value > 0.5


@pytest.mark.parametrize(
    ("inputs", "history"),
    [
        ("Hi.", ("Hi.",)),
        ({"anything": "Hi."}, ("Hi.",)),
        ({"question": "Hi.", "top_k": 3}, ("Hi.",)),
        ({"history": ["Hi.", "Hello."]}, ("Hi.", "Hello.")),
        ({"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi."}]}, ("Hi.",)),
    ],
)
def test_histories_are_built_from_messages(inputs: Any, history: tuple[str, ...]) -> None:
    assert history_in(inputs) == history


@pytest.mark.parametrize(
    "outputs",
    [
        "Hello.",
        {"response": "Hello."},
        {"content": "Hello.", "role": "assistant"},
        {"choices": [{"message": {"role": "assistant", "content": "Hello."}}]},
        {"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]},
    ],
)
def test_responses_are_taken_from_rows(outputs: Any) -> None:
    assert response_in(outputs) == "Hello."


@pytest.mark.parametrize(
    ("inputs", "outputs", "reason"),
    [
        ({"question": "Hi.", "documents": "Doc."}, "a", r"the inputs have 2 texts \(question, documents\)"),
        ({"top_k": 3}, "a", "the inputs have 0 texts"),
        ({"messages": "Hi."}, "a", "the inputs cannot be read: messages is not a list"),
        (["Hi."], "a", "the inputs are of type list"),
        ("Hi.", {"answer": "a"}, "the outputs, of type dict, have no response"),
        ("Hi.", {"messages": [{"role": "user"}]}, "the outputs cannot be read"),
        ("Hi.", None, "of type NoneType, have no response"),
    ],
)
def test_rows_of_another_form_are_named(inputs: Any, outputs: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        tacit_scorer("length")(inputs=inputs, outputs=outputs)
