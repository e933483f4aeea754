"""A scorer for inspect_ai (``pip install 'tacit-kg[inspect]'``): :func:`tacit_scorer`, registered as ``tacit/tacit``.

The entry point ``tacit`` of the group ``inspect_ai`` makes it known to the program ``inspect`` (``--scorer tacit/tacit``).
"""

from __future__ import annotations

from typing import Any

from ...graph.errors import MissingExtra
from .response_scorer import ResponseScorer, in_words, metadata_of

try:
    from anyio.to_thread import run_sync
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState
except ModuleNotFoundError as error:
    raise MissingExtra("inspect_ai", "inspect") from error


@scorer(metrics=[mean(), stderr()], name="tacit")  # type: ignore[untyped-decorator,unused-ignore]
def tacit_scorer(
    metrics: str | list[str] | None = None,
    graph: str | None = None,
    options: dict[str, dict[str, Any]] | None = None,
    threshold: float | None = None,
) -> Scorer:
    """Score the model's output as a response to the messages before it.

    The value is that of the first metric; a response that it cannot judge is unscored (NaN, with the reason ``not_judged``), so
    that ``mean`` and ``stderr`` leave it out. The explanation has the evidence of all metrics in words, the metadata their
    percentiles and signatures. Messages of the system and of tools, and messages without text, are not part of the history.
    The sample's target, if any, is the reference of metrics that need one.

    Args:
        metrics: names of metrics, the headline first; by default those that ``tacit score`` chooses.
        graph: path or URL of a graph; by default that of the environment variable ``TACIT_GRAPH``, if set.
        options: options by metric.
        threshold: the value from which on a response passes; only recorded, as ``label`` in the metadata.

    Raises:
        InputError: an argument is invalid; see :class:`ResponseScorer`.
    """
    judge = ResponseScorer(metrics, graph=graph, options=options, threshold=threshold)

    async def score(state: TaskState, target: Target) -> Score:
        history, response = _dialogue(state)
        references = [text for text in target if text]
        results = await run_sync(judge, history, response, references)
        headline, explanation, metadata = results[0], in_words(results), metadata_of(results)
        if headline.value is None:
            return Score.unscored(reason=headline.label, answer=response, explanation=explanation, metadata=metadata)
        return Score(value=headline.value, answer=response, explanation=explanation, metadata=metadata)

    return score


def _dialogue(state: TaskState) -> tuple[tuple[str, ...], str]:
    """Return the history and the response of a sample.

    The response is the model's output; without one, the last message of the assistant. When the solver has added the response
    to the messages, it and what follows it are not part of the history.
    """
    from ...loaders.dialogues import history_of

    messages = [{"role": message.role, "content": message.text} for message in state.messages if message.text.strip()]
    last = max((index for index, message in enumerate(messages) if message["role"] == "assistant"), default=None)
    reply = messages[last]["content"] if last is not None else ""
    response = state.output.completion if state.output.choices else reply
    if last is not None and reply.strip() == response.strip():
        messages = messages[:last]
    return history_of({"messages": messages}), response
