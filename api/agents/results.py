"""Results of tools: JSON with line breaks, cut into pages for a context window, and the schemas of their structured form.

A result that fits on one page is structured as the answer of the service is; of a longer one only the number of its characters
and the next offset are, since its text comes in pages. Members that only ``detail`` returns are allowed and not described.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from inspect import cleandoc
from typing import Any

import orjson
from pydantic import TypeAdapter

from ...graph.errors import InputError

PAGE = 12_000
"""Maximum number of characters of a page."""

_LINE = 400
"""Longest line, in characters, of JSON that could be broken further."""


def page(text: str, offset: int) -> tuple[str, int | None]:
    """Return the page of ``text`` that begins at ``offset``, and where the next one begins; None after the last page.

    A page ends at a line's end where one is in its second half. The pages from 0 on are together the whole text.
    """
    if 0 < offset >= len(text):
        raise InputError(f"offset must be < {len(text):,}, the number of characters of this result, not {offset:,}")
    end = offset + PAGE
    if end >= len(text):
        return text[offset:], None
    broken = text.rfind("\n", offset + PAGE // 2, end)
    end = end if broken < 0 else broken + 1
    return text[offset:end], end


def layout(value: Any) -> str:
    """Return ``value`` as JSON in which each member of an object or list that is too long for one line has its own line."""
    return "\n".join(_lines(value))


def _lines(value: Any, prefix: str = "") -> list[str]:
    compact = prefix + _json(value)
    if len(compact) <= _LINE or not value or not isinstance(value, dict | list):
        return [compact]
    if isinstance(value, dict):
        left, right, members = "{", "}", [_lines(one, f"{_json(str(name))}:") for name, one in value.items()]
    else:
        left, right, members = "[", "]", [_lines(one) for one in value]
    for lines in members[:-1]:
        lines[-1] += ","
    return [prefix + left, *(line for lines in members for line in lines), right]


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


def without(value: Any, names: Collection[str]) -> Any:
    """Return JSON ``value`` without the members of these names, at every depth."""
    if isinstance(value, dict):
        return {name: without(one, names) for name, one in value.items() if name not in names}
    return [without(one, names) for one in value] if isinstance(value, list) else value


# Schemas of structured results, derived from the answers of the service.

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

    Members named in ``left_out`` are not described at any depth; where the answers differ, both forms are allowed.
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
        described = attributes(schema.get("description", ""))
        found["properties"] = {
            name: _described(_plain(one, defined, hidden), described.get(name)) for name, one in members.items()
        }
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
