"""Files of contexts, such as SocialIQA's: JSON lines, a JSON list, CSV or Parquet with a text ``context`` in each record."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..graph.item import Item, ItemError
from .dialogues import BrokenRecord, json_object, own_id, parsed_rows
from .io import ByteSource
from .records import Columns


@dataclass(frozen=True, slots=True)
class Context:
    """A context: its record's number, from 1; the record's ID, or this number; the text."""

    line: int
    id: str
    text: str


def read_contexts(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Context | ItemError]:
    """Yield the contexts of a file (gzip or plain; ``-`` reads standard input) in its order, in constant memory.

    A record without a context gives an :class:`ItemError`.

    Raises:
        InputError: the file cannot be opened, or is a table without the column; under ``strict`` also, while iterating, for the
            first record without a context.
        DamagedInput: under ``strict``, the file ends early.
    """
    return parsed_rows(
        ByteSource(path), Columns(lambda names: "context" in names, "context", "contexts"), _context_in, strict=strict
    )


def _context_in(value: Any, line: int) -> Context:
    data = json_object(value, "context")
    text = data.get("context")
    if not isinstance(text, str):
        raise BrokenRecord("context is missing" if text is None else "context is not a text")
    return Context(line, own_id(data) or str(line), Item((), text).response)
