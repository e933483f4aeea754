"""The metrics against DeepEval itself: measured alone, by ``evaluate`` and by ``assert_test``."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from .conftest import EDGE, HISTORY, NO_WORDS, RESPONSE, needs

needs("deepeval")
from deepeval import assert_test, evaluate  # noqa: E402
from deepeval.evaluate.configs import AsyncConfig, DisplayConfig  # noqa: E402
from deepeval.metrics import BaseConversationalMetric, BaseMetric  # noqa: E402
from deepeval.telemetry.client import telemetry_opt_out  # noqa: E402
from deepeval.test_case import ConversationalTestCase, LLMTestCase, Turn  # noqa: E402
from tacit.api.frameworks.deepeval_metrics import TacitConversationalMetric, TacitMetric  # noqa: E402
from tacit.api.frameworks.response_scorer import ResponseScorer  # noqa: E402
from tacit.graph import InputError  # noqa: E402

QUIET = {"display_config": DisplayConfig(show_indicator=False, print_results=False)}
TALK = [*HISTORY, RESPONSE, "Yes, it was not there.", "Then call the police, or look in the park again."]


def conversation(*texts: str) -> ConversationalTestCase:
    """A test case in which user and assistant speak in turn."""
    roles = ("user", "assistant")
    return ConversationalTestCase(turns=[Turn(role=roles[index % 2], content=text) for index, text in enumerate(texts)])


def test_telemetry_is_off() -> None:
    assert telemetry_opt_out() is True


def test_the_last_reply_is_scored_against_all_turns_before_it(graph: str) -> None:
    metric = TacitConversationalMetric(["grounding", "length"], graph=graph, threshold=0.5)
    own = ResponseScorer(["grounding", "length"], graph=graph)(TALK[:3], TALK[3])
    assert isinstance(metric, BaseConversationalMetric)
    assert metric.measure(conversation(*TALK)) == metric.score == own[0].value
    assert metric.success is (own[0].value >= 0.5)  # type: ignore[operator]
    assert metric.is_successful() is metric.success
    assert metric.score_breakdown == {"grounding": own[0].value, "length": 10.0}
    assert metric.reason.startswith(own[0].explanation)
    assert metric.details[0]["signature"] == own[0].signature
    assert json.loads(metric.verbose_logs) == metric.details[0]
    assert metric.__name__ == "tacit grounding"


def test_turns_after_the_last_reply_are_left_out(graph: str) -> None:
    metric = TacitConversationalMetric("grounding", graph=graph)
    assert metric.measure(conversation(*TALK, "Thanks!")) == metric.measure(conversation(*TALK))
    assert metric.success is None, "there is no threshold"


def test_all_replies_give_their_mean(graph: str) -> None:
    metric = TacitConversationalMetric("grounding", graph=graph, turns="all", threshold=0.1)
    judge = ResponseScorer("grounding", graph=graph)
    values = [judge(TALK[:turn], TALK[turn])[0].value for turn in (1, 3)]
    assert metric.measure(conversation(*TALK, "Thanks!", "?!")) == pytest.approx(sum(values) / 2)  # type: ignore[arg-type]
    assert metric.score_breakdown == {"turn 2 grounding": values[0], "turn 4 grounding": values[1], "turn 6 grounding": None}
    assert metric.reason.startswith("turn 2: grounding ")
    assert f"turn 6: grounding none: {NO_WORDS}" in metric.reason
    assert [row["turn"] for row in metric.details] == ["turn 2", "turn 4", "turn 6"]
    assert metric.success is True


def test_a_single_response(graph: str) -> None:
    metric = TacitMetric("grounding", graph=graph, threshold=0.99)
    assert isinstance(metric, BaseMetric)
    assert metric.measure(LLMTestCase(input=HISTORY[0], actual_output=RESPONSE)) == metric.score
    assert (metric.success, metric.is_successful()) == (False, False)
    again = TacitMetric("grounding", graph=graph)
    assert asyncio.run(again.a_measure(LLMTestCase(input=HISTORY[0], actual_output=RESPONSE))) == metric.score


def test_asynchronous_equals_synchronous(graph: str) -> None:
    metric = TacitConversationalMetric("grounding", graph=graph)

    async def both() -> list[Any]:
        cases = [conversation(*TALK[:2]), conversation(*TALK)]
        copies = [TacitConversationalMetric(judge=metric.judge) for _ in cases]
        return list(await asyncio.gather(*(copy.a_measure(case) for copy, case in zip(copies, cases, strict=True))))

    assert asyncio.run(both()) == [metric.measure(conversation(*TALK[:2])), metric.measure(conversation(*TALK))]


@pytest.mark.parametrize("run_async", [True, False])
def test_evaluate_scores_conversations(graph: str, run_async: bool) -> None:
    metric = TacitConversationalMetric("grounding", graph=graph, threshold=0.5)
    cases = [conversation(*TALK[:2]), conversation(HISTORY[0], "?!"), conversation(HISTORY[0], "Then read.")]
    outcome = evaluate(cases, [metric], async_config=AsyncConfig(run_async=run_async), **QUIET)
    rows = {result.turns[1].content: result.metrics_data for result in outcome.test_results}
    (good,), (bad,) = rows[RESPONSE], rows["Then read."]
    assert (good.name, good.success, good.threshold) == ("tacit grounding", True, 0.5)
    assert good.score == ResponseScorer("grounding", graph=graph)(HISTORY, RESPONSE)[0].value
    assert EDGE in good.reason
    assert (bad.success, bad.error) == (False, None)
    assert [(row.score, row.success) for row in rows["?!"]] == ([] if run_async else [(None, None)])
    passed = {result.turns[1].content: result.success for result in outcome.test_results}
    assert passed == {RESPONSE: True, "?!": True, "Then read.": False}


def test_evaluate_scores_single_responses(graph: str) -> None:
    cases = [LLMTestCase(input=HISTORY[0], actual_output=text) for text in (RESPONSE, "?!")]
    outcome = evaluate(cases, [TacitMetric("grounding", graph=graph, threshold=0.5)], **QUIET)
    rows = {result.actual_output: result.metrics_data for result in outcome.test_results}
    assert [row.success for row in rows[RESPONSE]] == [True]
    assert not rows["?!"]


def test_copies_share_the_open_graph(graph: str) -> None:
    from deepeval.metrics.utils import copy_metrics

    metric = TacitConversationalMetric("grounding", graph=graph, threshold=0.5, turns="all")
    (copy,) = copy_metrics([metric])
    assert copy is not metric
    assert copy.judge is metric.judge
    assert (copy.turns, copy.threshold) == ("all", 0.5)


def test_assert_test_passes_and_fails(graph: str) -> None:
    assert_test(conversation(*TALK[:2]), [TacitConversationalMetric("grounding", graph=graph, threshold=0.5)])
    with pytest.raises(AssertionError, match="tacit grounding"):
        assert_test(conversation(*TALK[:2]), [TacitConversationalMetric("grounding", graph=graph, threshold=0.99)])


def test_wrong_input_is_named() -> None:
    with pytest.raises(InputError, match="turns is 'some'; give 'last' or 'all'"):
        TacitConversationalMetric("length", turns="some")  # type: ignore[arg-type,unused-ignore]
    with pytest.raises(InputError, match="the conversation has no reply"):
        TacitConversationalMetric("length").measure(conversation("Hello."))
    with pytest.raises(InputError, match="no actual_output"):
        TacitMetric("length").measure(LLMTestCase(input="Hello."))
