"""How a scored item comes out: as one line of JSON for programs, or in words for people, with what each score rests on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .text import visible

if TYPE_CHECKING:
    from ...loaders.dialogues import Item, ItemError
    from ...reasoning.scoring import ItemScores

_DEEPER = 4


def fault_of(row: ItemScores | ItemError) -> str | None:
    """Return where and why there is no score, None when there is one."""
    from ...loaders import ItemError

    if isinstance(row, ItemError):
        return f"line {row.line}: {row.reason}"
    return None if row.error is None else f"item {row.id}: {row.error}"


def in_json(row: ItemScores | ItemError, explain: bool) -> str:
    """Return one line of JSON, with the evidence when ``explain``; a line of the input that holds no item says which and why."""
    from ...loaders import ItemError
    from .screen import json_text

    if isinstance(row, ItemError):
        return json_text({"id": row.id, "line": row.line, "error": row.reason}) + "\n"
    return json_text(row.to_dict(explain)) + "\n"


def in_words(item: Item | None, row: ItemScores | ItemError, *, first: bool = True) -> str:
    """Return what was said, and below it each score with its reasons; on a terminal set in its width, with a little emphasis."""
    lines = [_set(line, style) for line, style in _lines(item, row)]
    return ("" if first else "\n") + "".join(lines)


def _lines(item: Item | None, row: ItemScores | ItemError) -> Iterator[tuple[str, str]]:
    """The lines with their styles."""
    from ...reasoning.explanation import explain_pieces, explain_value

    fault = fault_of(row)
    if item is None or fault is not None:
        yield fault or "", "red"
        return
    yield str(item.id), "bold"
    for turn in item.history:
        yield f"    {turn}", "dim"
    yield f"  > {item.response}", ""
    for score in row.scores.values():  # type: ignore[union-attr]
        yield f"  {explain_value(score)}", "cyan"
        for line in explain_pieces(score.evidence.pieces):
            yield f"    {line}", ""


def _set(line: str, style: str) -> str:
    """``line`` as it is written: one line off a terminal, else wrapped between words, deeper from its second line on."""
    line = visible(line)
    if not sys.stdout.isatty():
        return f"{line}\n"
    from textwrap import wrap

    from rich.text import Text

    from .screen import console

    screen = console(sys.stdout)
    indent = " " * (len(line) - len(line.lstrip()) + _DEEPER)
    parts = wrap(line, screen.width - 1, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]
    with screen.capture() as captured:
        for part in parts:
            screen.print(Text(part, style), soft_wrap=True)
    return captured.get()
