"""The events against the real SDK, with its exporter in memory, and against the semantic conventions that are installed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tacit.api.frameworks.response_scorer import ResponseScorer

from .conftest import EDGE, HISTORY, NO_WORDS, RESPONSE, needs

needs("opentelemetry.sdk")
from opentelemetry.sdk._logs import LoggerProvider  # noqa: E402
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as conventions  # noqa: E402
from tacit.api.frameworks import otel_events  # noqa: E402
from tacit.api.frameworks.otel_events import emit  # noqa: E402


class Log:
    """A provider of loggers that keeps its records."""

    def __init__(self) -> None:
        self._exporter = InMemoryLogRecordExporter()
        self.provider = LoggerProvider()
        self.provider.add_log_record_processor(SimpleLogRecordProcessor(self._exporter))

    @property
    def records(self) -> list[Any]:
        """The records so far."""
        return list(self._exporter.get_finished_logs())


@pytest.fixture
def log() -> Log:
    return Log()


def test_attribute_names_follow_the_semantic_conventions() -> None:
    names = (otel_events.NAME, otel_events.VALUE, otel_events.LABEL, otel_events.EXPLANATION, otel_events.RESPONSE_ID)
    assert names == (
        conventions.GEN_AI_EVALUATION_NAME,
        conventions.GEN_AI_EVALUATION_SCORE_VALUE,
        conventions.GEN_AI_EVALUATION_SCORE_LABEL,
        conventions.GEN_AI_EVALUATION_EXPLANATION,
        conventions.GEN_AI_RESPONSE_ID,
    )


def test_each_metric_gives_an_event_within_the_span(graph: str, log: Log) -> None:
    results = ResponseScorer(["grounding", "length"], graph=graph, threshold=0.5)(HISTORY, RESPONSE)
    with TracerProvider().get_tracer("test").start_as_current_span("chat") as span:
        emit(results, response_id="r-1", logger_provider=log.provider)
    first, second = log.records
    record = first.log_record
    assert record.event_name == "gen_ai.evaluation.result"
    assert dict(record.attributes) == {
        "gen_ai.evaluation.name": "grounding",
        "gen_ai.evaluation.score.value": results[0].value,
        "gen_ai.evaluation.score.label": "pass",
        "gen_ai.evaluation.explanation": results[0].explanation,
        "gen_ai.response.id": "r-1",
        "tacit.score.percentile": results[0].percentile,
        "tacit.score.signature": results[0].signature,
    }
    assert EDGE in record.attributes["gen_ai.evaluation.explanation"]
    assert (record.trace_id, record.span_id) == (span.get_span_context().trace_id, span.get_span_context().span_id)
    assert record.timestamp
    assert first.instrumentation_scope.name == "tacit"
    assert second.log_record.attributes["gen_ai.evaluation.score.value"] == 6.0
    assert "gen_ai.evaluation.score.label" not in second.log_record.attributes


def test_a_response_that_cannot_be_judged_has_a_label_and_no_value(graph: str, log: Log) -> None:
    emit(ResponseScorer("grounding", graph=graph)(HISTORY, "?!"), logger_provider=log.provider)
    attributes = log.records[0].log_record.attributes
    assert attributes["gen_ai.evaluation.score.label"] == "not_judged"
    assert NO_WORDS in attributes["gen_ai.evaluation.explanation"]
    assert "gen_ai.evaluation.score.value" not in attributes


def test_the_percentile_is_an_attribute(log: Log) -> None:
    (result,) = ResponseScorer("repetition")(HISTORY, RESPONSE)
    emit([replace(result, percentile=63.5)], logger_provider=log.provider)
    assert log.records[0].log_record.attributes["tacit.score.percentile"] == 63.5


def test_without_a_provider_nothing_is_recorded() -> None:
    emit(ResponseScorer("length")(HISTORY, RESPONSE))
