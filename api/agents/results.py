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
        opening, closing, members = "{", "}", [_lines(inner, f"{_json(str(name))}:") for name, inner in value.items()]
    else:
        opening, closing, members = "[", "]", [_lines(element) for element in value]
    for lines in members[:-1]:
        lines[-1] += ","
    return [prefix + opening, *(line for lines in members for line in lines), closing]


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


def without(value: Any, names: Collection[str]) -> Any:
    """Return JSON ``value`` without the members of these names, at every depth."""
    if isinstance(value, dict):
        return {name: without(inner, names) for name, inner in value.items() if name not in names}
    return [without(element, names) for element in value] if isinstance(value, list) else value


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
    properties: dict[str, Any] = {}
    for answer in answers:
        schema = inlined(TypeAdapter(answer).json_schema(mode="serialization"), {*left_out, *_NEVER})
        for name, member in _described(schema)["properties"].items():
            properties[name] = member if properties.get(name, member) == member else _either(properties[name], member)
    return {"type": "object", "properties": {**properties, **_LONG}}


def _either(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a list whose rows have one of two forms."""
    return {"type": "array", "items": {"anyOf": [first["items"], second["items"]]}}


def inlined(schema: Any, hidden: Collection[str] = (), defined: Mapping[str, Any] | None = None) -> Any:
    """Return pydantic's schema of a type without titles and hidden members, with what it refers to in place of references."""
    if isinstance(schema, list):
        return [inlined(inner, hidden, defined) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    defined = schema.get("$defs", {}) if defined is None else defined
    if "$ref" in schema:
        return inlined(defined[schema["$ref"].rpartition("/")[2]], hidden, defined)
    dropped = ("$defs", "title", "properties")
    plain = {name: inlined(inner, hidden, defined) for name, inner in schema.items() if name not in dropped}
    members = schema.get("properties", {}).items()
    if members:
        plain["properties"] = {name: inlined(inner, hidden, defined) for name, inner in members if name not in hidden}
    if "required" in schema:
        plain["required"] = [name for name in schema["required"] if name not in hidden]
    return plain


def _described(schema: Any) -> Any:
    """Return an inlined schema without defaults, whose members have the descriptions of their type."""
    if isinstance(schema, list):
        return [_described(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    dropped = ("default", "description", "properties")
    plain = {name: _described(inner) for name, inner in schema.items() if name not in dropped}
    if schema.get("type") == "object" and "properties" in schema:
        texts = attributes(schema.get("description", ""))
        plain["properties"] = {
            name: _described(inner) | ({"description": texts[name]} if texts.get(name) else {})
            for name, inner in schema["properties"].items()
        }
    elif "description" in schema and "enum" not in schema:
        plain["description"] = schema["description"]
    return plain


def attributes(docstring: str) -> dict[str, str]:
    """Return what the section ``Attributes`` of a docstring says of each attribute; names that share a text each get it."""
    _, _, section = cleandoc(docstring).partition("Attributes:\n")
    lines = re.sub(r"\n +(?=\S)", lambda match: "\n" if len(match[0]) == 5 else " ", f"\n{section}".partition("\n\n")[0])
    texts: dict[str, str] = {}
    for entry in re.split(r"\n|; (?=\w+(?:, \w+)*: )|(?<=\.) (?=[a-z]\w*(?:, \w+)*: )", lines.strip()):
        names, _, text = entry.partition(": ")
        if re.fullmatch(r"\w+(?:, \w+)*", names) and text:
            texts.update(dict.fromkeys(names.split(", "), _ROLE.sub(r"\1", text).replace("``", "").rstrip(".;")))
    return texts
