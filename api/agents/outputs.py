"""The JSON schemas of the tools' structured results, derived from the answers of the service.

A result that fits on one page is structured as the answer of the service is; of a longer one only the number of its characters
and the next offset are, since its text comes in pages. Members that only ``detail`` returns are allowed and not described.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from inspect import cleandoc
from typing import Any

from pydantic import TypeAdapter

_NEVER = frozenset(("svg", "other", "evidence"))  # members of answers that no tool asks for
_ROLE = re.compile(r":\w+:`~?\.*([^`]*)`")
_LONG = {
    "characters": {
        "type": "integer",
        "minimum": 0,
        "description": "Only for a result longer than a page: its characters. The text has one page of it; the other members "
        "are absent here.",
    },
    "next_offset": {
        "type": "integer",
        "minimum": 1,
        "description": "Only for a page with others after it: the offset, in characters, of the next.",
    },
}


def output_schema(answers: Sequence[Any], left_out: Collection[str]) -> dict[str, Any]:
    """Return the schema of structured results that are each one of ``answers``, types of the service, or a part of a page.

    Args:
        answers: types with the same members; where these differ, both forms are allowed.
        left_out: names of members, at every depth, that are not described.
    """
    hidden = {*left_out, *_NEVER}
    found: dict[str, Any] = {}
    for answer in answers:
        schema = TypeAdapter(answer).json_schema(mode="serialization")
        for name, one in _plain(schema, schema.get("$defs", {}), hidden)["properties"].items():
            found[name] = one if found.get(name, one) == one else _either(found[name], one)
    return {"type": "object", "properties": {**found, **_LONG}}


def _either(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a list whose rows have one of two forms."""
    return {"type": "array", "items": {"anyOf": [one["items"], other["items"]]}}


def _plain(schema: Any, defined: Mapping[str, Any], hidden: Collection[str]) -> Any:
    """Return a schema without references, titles and hidden members, whose members have the descriptions of their type."""
    if isinstance(schema, list):
        return [_plain(one, defined, hidden) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _plain(defined[schema["$ref"].rpartition("/")[2]], defined, hidden)
    found = {name: one for name, one in schema.items() if name not in ("$defs", "title", "default", "description", "properties")}
    found = {name: _plain(one, defined, hidden) for name, one in found.items()}
    if schema.get("type") == "object" and "properties" in schema:
        members = {name: one for name, one in schema["properties"].items() if name not in hidden}
        told = attributes(schema.get("description", ""))
        found["properties"] = {name: _described(_plain(one, defined, hidden), told.get(name)) for name, one in members.items()}
        if "required" in found:
            found["required"] = [name for name in found["required"] if name not in hidden]
    elif "description" in schema and "enum" not in schema:
        found["description"] = schema["description"]
    return found


def _described(schema: Any, text: str | None) -> Any:
    return {**schema, "description": text} if text else schema


def attributes(docstring: str) -> dict[str, str]:
    """Return what the section ``Attributes`` of a docstring says of each attribute; names that share a text each get it."""
    _, _, section = cleandoc(docstring).partition("Attributes:\n")
    lines = re.sub(r"\n +(?=\S)", lambda found: "\n" if len(found[0]) == 5 else " ", f"\n{section}".partition("\n\n")[0])
    found: dict[str, str] = {}
    for entry in re.split(r"\n|; (?=\w+(?:, \w+)*: )|(?<=\.) (?=[a-z]\w*(?:, \w+)*: )", lines.strip()):
        names, _, text = entry.partition(": ")
        if re.fullmatch(r"\w+(?:, \w+)*", names) and text:
            found.update(dict.fromkeys(names.split(", "), _ROLE.sub(r"\1", text).replace("``", "").rstrip(".;")))
    return found
