"""OpenTelemetry events for scores (``pip install 'tacit-kg[otel]'``): :func:`emit` logs ``gen_ai.evaluation.result``.

The event and its attributes are those of the semantic conventions for generative AI
(https://github.com/open-telemetry/semantic-conventions-genai, in development).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from time import time_ns
from typing import Any

from ...graph.errors import MissingExtra
from .response_scorer import MetricResult

try:
    from opentelemetry._logs import LoggerProvider, LogRecord, get_logger
    from opentelemetry.context import Context
except ModuleNotFoundError as error:
    raise MissingExtra("opentelemetry", "otel") from error

EVENT = "gen_ai.evaluation.result"
NAME = "gen_ai.evaluation.name"
VALUE = "gen_ai.evaluation.score.value"
LABEL = "gen_ai.evaluation.score.label"
EXPLANATION = "gen_ai.evaluation.explanation"
RESPONSE_ID = "gen_ai.response.id"
PERCENTILE = "tacit.score.percentile"
SIGNATURE = "tacit.score.signature"


def emit(
    results: Sequence[MetricResult],
    *,
    response_id: str | None = None,
    context: Context | None = None,
    logger_provider: LoggerProvider | None = None,
) -> None:
    """Emit one event for each result, within the current span.

    The convention asks that the event belongs to the span of the generation that it evaluates: call this within that span, or
    pass its ``context``; where neither is possible, ``response_id``. The explanation quotes words of the dialogue.

    Args:
        results: what a :class:`.response_scorer.ResponseScorer` returned.
        response_id: the ``gen_ai.response.id`` of the evaluated response.
        context: the context with the span; by default the current one.
        logger_provider: by default the global one. Without an SDK that is set up, nothing is recorded.
    """
    logger = get_logger("tacit", version("tacit-kg"), logger_provider)
    for result in results:
        logger.emit(
            LogRecord(timestamp=time_ns(), context=context, event_name=EVENT, attributes=_attributes(result, response_id))
        )


def _attributes(result: MetricResult, response_id: str | None) -> dict[str, Any]:
    """Return the attributes of an event; a response that cannot be judged has the label ``not_judged`` and no value."""
    attributes = {
        NAME: result.metric,
        VALUE: result.value,
        LABEL: result.label or None,
        EXPLANATION: result.explanation,
        RESPONSE_ID: response_id,
        PERCENTILE: result.percentile,
        SIGNATURE: result.signature,
    }
    return {name: value for name, value in attributes.items() if value is not None}
