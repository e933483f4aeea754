"""A scorer for MLflow 3 (``pip install 'tacit-kg[mlflow]'``): :func:`tacit_scorer`, for ``mlflow.genai.evaluate``.

MLflow sends usage data to its makers unless ``MLFLOW_DISABLE_TELEMETRY=true`` or ``DO_NOT_TRACK=true`` is set; this module sends
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ...graph.errors import InputError, MissingExtra
from .response_scorer import MetricResult, ResponseScorer, in_words, metadata_of

try:
    from mlflow.entities import AssessmentSource, AssessmentSourceType, Feedback
    from mlflow.genai.scorers import Scorer, scorer
except ModuleNotFoundError as error:
    raise MissingExtra("mlflow", "mlflow") from error

if TYPE_CHECKING:
    from ...graph.open import GraphLike

Reader = Callable[[Any, Any], tuple[Sequence[str], str]]
"""A function from a row's ``inputs`` and ``outputs`` to its history and response."""

_INPUTS = "inputs with history (a list of texts), with messages (role and content), or with a single text"
_OUTPUTS = "outputs that are a text, a message with content, or a chat completion with choices"


def tacit_scorer(
    metrics: str | Sequence[str] | None = None,
    *,
    graph: GraphLike | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    threshold: float | None = None,
    read: Reader | None = None,
    name: str = "tacit",
) -> Scorer:
    """Return a scorer that gives a ``Feedback`` for each row.

    ``value`` is that of the first metric, ``rationale`` the evidence of all metrics in words, ``source`` code (``tacit-kg``, its
    version and the metric); ``metadata`` has percentiles and signatures, as texts. A response that the first metric cannot judge
    gives a ``Feedback`` without a value, with the ``label`` ``not_judged`` in its metadata; MLflow leaves it out of means and of
    ``EvaluationResult.passed``. The reference of metrics that need one is ``expectations["expected_response"]``.

    Args:
        metrics: names of metrics; by default those that ``tacit score`` chooses.
        graph: an open graph, or the path or URL of one; by default that of the environment variable ``TACIT_GRAPH``, if set.
        options: options by metric.
        threshold: the first metric's value from which on a response passes, in ``EvaluationResult.passed`` and as ``label``.
        read: how to get history and response from a row; by default :func:`history_in` and :func:`response_in`.
        name: the scorer's name in MLflow, and that of its feedback; give each of several scorers its own.

    Raises:
        InputError: an argument is invalid; see :class:`ResponseScorer`.
    """
    judge = ResponseScorer(metrics, graph=graph, options=options, threshold=threshold)

    def score(inputs: Any, outputs: Any, expectations: dict[str, Any] | None = None) -> Feedback:
        history, response = read(inputs, outputs) if read is not None else (history_in(inputs), response_in(outputs))
        expected = (expectations or {}).get("expected_response")
        return _feedback(judge(history, response, [expected] if expected else ()))

    passes = None if judge.threshold is None else judge.passes
    description = "Commonsense score of a response, with its evidence."
    result: Scorer = scorer(score, name=name, description=description, pass_if=passes)
    return result


def history_in(inputs: Any) -> tuple[str, ...]:
    """Return the history in a row's ``inputs``: a text; or a mapping with ``history``, ``messages`` or a single text.

    Messages of the system and of tools are left out.

    Raises:
        InputError: it has another form.
    """
    from ...loaders.dialogues import BrokenRecord, history_of

    if isinstance(inputs, str):
        return (inputs,)
    if not isinstance(inputs, Mapping):
        raise InputError(f"the inputs are of type {type(inputs).__name__}; give {_INPUTS}, or a function read")
    key = next((key for key in ("history", "messages") if inputs.get(key) is not None), None)
    try:
        if key is not None:
            return history_of({key: inputs[key]})
    except BrokenRecord as broken:
        raise InputError(f"the inputs cannot be read: {broken}; give {_INPUTS}, or a function read") from None
    texts = [value for value in inputs.values() if isinstance(value, str)]
    if len(texts) != 1:
        raise InputError(
            f"the inputs have {len(texts)} texts ({', '.join(map(str, inputs))}); give {_INPUTS}, or a function read"
        )
    return (texts[0],)


def response_in(outputs: Any) -> str:
    """Return the response in a row's ``outputs``: a text, or that of a mapping.

    A mapping has ``response`` or ``content``, or ``messages``, the last of which is the response, or ``choices`` of a chat
    completion, the first of which is.

    Raises:
        InputError: it has another form.
    """
    from ...loaders.dialogues import BrokenRecord, history_of

    response: Any = outputs
    if isinstance(outputs, Mapping):
        choices, messages = outputs.get("choices"), outputs.get("messages")
        if isinstance(choices, Sequence) and choices and isinstance(choices[0], Mapping):
            response = (choices[0].get("message") or {}).get("content")
        elif messages is not None:
            try:
                response = next(iter(reversed(history_of({"messages": messages}))), None)
            except BrokenRecord as broken:
                raise InputError(f"the outputs cannot be read: {broken}; give {_OUTPUTS}, or a function read") from None
        else:
            response = next((outputs[key] for key in ("response", "content") if key in outputs), None)
    if not isinstance(response, str):
        raise InputError(f"the outputs, of type {type(outputs).__name__}, have no response; give {_OUTPUTS}, or a function read")
    return response


def _feedback(results: Sequence[MetricResult]) -> Feedback:
    """Return one ``Feedback`` for the results; it gets its name from the scorer."""
    headline = results[0]
    source = AssessmentSource(
        source_type=AssessmentSourceType.CODE, source_id=f"tacit-kg {version('tacit-kg')} {headline.metric}"
    )
    metadata = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in metadata_of(results).items()
        if value is not None
    }
    return Feedback(value=headline.value, rationale=in_words(results), source=source, metadata=metadata)
