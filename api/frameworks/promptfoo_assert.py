"""An assertion for promptfoo: :func:`get_assert`, which a Python file of yours imports and ``value: file://…`` names.

promptfoo is a program of its own (for Node.js) and needs nothing in Python. It calls ``get_assert(output, context)`` in a new
process for each assertion, so each takes the time to open the metrics.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ...graph.errors import InputError
from .response_scorer import ResponseScorer, in_words, metadata_of

_SETTINGS = ("metrics", "graph", "options", "threshold", "history", "unjudged")
_HISTORY = "history"


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Return promptfoo's ``GradingResult`` for the output of a model.

    ``score`` is the value of the first metric, ``pass`` whether it reaches the threshold (true without one), ``reason`` the
    evidence in words; ``namedScores`` has the values of all metrics, ``componentResults`` a result for each, ``metadata``
    percentiles and signatures. promptfoo has no result without a verdict: a response that the first metric cannot judge has the
    score 0 and fails (with ``unjudged: pass`` it passes), its ``reason`` says why, and ``metadata`` has a ``note``.

    Args:
        output: the response.
        context: promptfoo's context. Its ``config``, from the YAML of the assertion, may have ``metrics``, ``graph``,
            ``options`` and ``threshold`` (see :class:`ResponseScorer`), ``history`` (the test's variable with the
            history; default ``history``) and ``unjudged`` (``fail`` or ``pass``). The history is that variable: a list of texts
            or messages, or one text as JSON or with one turn a line. Without it, it is the prompt: a text, or chat messages as
            JSON.

    Raises:
        InputError: a setting is unknown or invalid, or the history cannot be read; promptfoo reports the message.
    """
    config = context.get("config") or {}
    unknown = [name for name in config if name not in _SETTINGS]
    if unknown:
        raise InputError(
            f"unknown setting {unknown[0]!r} in the config of the assertion; the settings are {', '.join(_SETTINGS)}"
        )
    unjudged = config.get("unjudged", "fail")
    if unjudged not in ("fail", "pass"):
        raise InputError(f"unjudged is {unjudged!r} in the config of the assertion; give fail or pass")
    if not isinstance(output, str):
        raise InputError(f"the output is of type {type(output).__name__}; tacit scores texts, so leave this assertion out")
    settings = {name: config[name] for name in _SETTINGS[:4] if config.get(name) is not None}
    results = _judge(json.dumps(settings, sort_keys=True))(_history(context, config.get("history")), output)
    headline = results[0]
    return {
        "pass": unjudged == "pass" if headline.value is None else headline.passed is not False,
        "score": 0.0 if headline.value is None else headline.value,
        "reason": in_words(results),
        "namedScores": {result.metric: result.value for result in results if result.value is not None},
        "componentResults": [
            {
                "pass": (unjudged == "pass" if result is headline else True)
                if result.value is None
                else result.passed is not False,
                "score": 0.0 if result.value is None else result.value,
                "reason": result.explanation,
            }
            for result in results
        ],
        "metadata": metadata_of(results),
    }


@lru_cache(maxsize=8)
def _judge(settings: str) -> ResponseScorer:
    """Return the scorer for some settings as JSON; the same one for each call in a process."""
    arguments = json.loads(settings)
    return ResponseScorer(arguments.pop("metrics", None), **arguments)


def _history(context: Mapping[str, Any], name: str | None) -> tuple[str, ...]:
    """Return the history: the variable ``name`` of the test, or else the prompt."""
    variables = context.get("vars") or {}
    if name is not None and name not in variables:
        raise InputError(f"the test has no variable {name!r}, which history names in the config of the assertion; add it to vars")
    value = variables.get(name or _HISTORY)
    if value is not None:
        return _turns(value, f"the variable {name or _HISTORY!r}")
    prompt = context.get("prompt")
    if prompt is None:
        raise InputError(
            f"the test has neither a variable {_HISTORY!r} nor a prompt; give the turns before the output in one of them"
        )
    messages = _parsed_list(prompt)
    return _turns(messages, "the prompt") if messages is not None else (prompt,)


def _turns(value: Any, what: str) -> tuple[str, ...]:
    """Return the turns in a list of texts or messages, or in a text."""
    from ...loaders.dialogues import BrokenRecord, history_of

    entries = _parsed_list(value) if isinstance(value, str) else value
    of_messages = isinstance(entries, list) and bool(entries) and isinstance(entries[0], dict)
    try:
        return history_of({"messages": entries} if of_messages else {"history": value})
    except BrokenRecord as broken:
        raise InputError(f"{what} cannot be read as a history: {broken}; give a list of texts, or of messages") from None


def _parsed_list(text: Any) -> list[Any] | None:
    """Return the list in a JSON text; None when it is something else."""
    if not isinstance(text, str) or not text.lstrip().startswith("["):
        return None
    try:
        parsed = json.loads(text)
    except ValueError:
        return None
    return parsed if isinstance(parsed, list) and all(isinstance(entry, str | dict) for entry in parsed) else None
