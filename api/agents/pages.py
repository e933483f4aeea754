"""Results as text: JSON with line breaks, without the details that nobody asked for, cut into pages for a context window."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import orjson

from ...graph.errors import InputError

PAGE = 12_000
"""Most characters of a page."""

_LINE = 400
"""Longest line, in characters, of JSON that could be broken further."""


class Page(NamedTuple):
    """A part of a result.

    Attributes:
        text: at most :data:`PAGE` characters.
        offset: where it begins in the whole result, in characters. total: characters of the whole result.
        next_offset: where the next page begins, None after the last page.
    """

    text: str
    offset: int
    total: int
    next_offset: int | None


def page(text: str, offset: int) -> Page:
    """Return the page of ``text`` that begins at ``offset``; it ends at a line's end where one is in its second half.

    The pages from 0 on, each beginning at the ``next_offset`` of the one before, are together the whole text.

    Raises:
        InputError: ``offset`` is beyond the end.
    """
    total = len(text)
    if offset > 0 and offset >= total:
        raise InputError(f"offset must be < {total:,}, the number of characters of this result, not {offset:,}")
    end = offset + PAGE
    if end >= total:
        return Page(text[offset:], offset, total, None)
    broken = text.rfind("\n", offset + PAGE // 2, end)
    end = end if broken < 0 else broken + 1
    return Page(text[offset:end], offset, total, end)


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
