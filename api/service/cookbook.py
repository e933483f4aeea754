"""The cookbook as the service shows it: each query with its text, its parameters, and values for them that give something."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from ...cypher import cookbook

_EXAMPLE = re.compile(r"^// \$(\w+):.*?, e\.g\. (.+)$", re.MULTILINE)


@cache
def entries() -> list[dict[str, Any]]:
    """Return the queries, sorted by name: ``{"name", "summary", "text", "parameters", "example"}``."""
    return [
        {
            "name": name,
            "summary": entry.summary,
            "text": entry.text,
            "parameters": list(entry.parameters),
            "example": _example(name),
        }
        for name, entry in cookbook().items()
    ]


def _example(name: str) -> dict[str, Any]:
    """The values that the comment of the query's file names: JSON where it can be read as such, else text."""
    source = files("tacit.cypher").joinpath("explore", f"{name}.cypher").read_text(encoding="utf-8")
    return {parameter: _value(text.strip()) for parameter, text in _EXAMPLE.findall(source)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
