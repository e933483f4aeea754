"""JSON lines as numbered objects, in constant memory; a line that holds none comes out with the reason in its place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from .lines import decode, lines
from .source import ByteSource


class JsonRow(NamedTuple):
    """A line: its number from 1, its object, and why there is none (empty when there is)."""

    number: int
    data: dict[str, Any]
    fault: str = ""


def json_rows(path: str | os.PathLike[str]) -> Iterator[JsonRow]:
    """Yield the objects of a file of JSON lines (gzip or plain; ``-`` is standard input) in its order, without blank lines.

    Raises:
        InputError: the file cannot be opened; this is raised at once.
    """
    return _rows(ByteSource(path))


def _rows(source: ByteSource) -> Iterator[JsonRow]:
    try:
        for line in lines(source):
            text, flaw = decode(line)
            if flaw is None and not text.strip():
                continue
            yield JsonRow(line.number, {}, flaw) if flaw is not None else _row(line.number, text)
    finally:
        source.close()


def _row(number: int, text: str) -> JsonRow:
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return JsonRow(number, {}, f"not JSON ({error.msg})")
    return JsonRow(number, data) if isinstance(data, dict) else JsonRow(number, {}, "not a JSON object")
