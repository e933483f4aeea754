"""A scored item in words, with what each score rests on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .text import visible

if TYPE_CHECKING:
    from ...reasoning.scoring import ItemScores

_DEEPER = 4


def in_words(row: ItemScores, *, first: bool = True) -> str:
    """Return what was said, and below it each score with its reasons; on a terminal set in its width, with a little emphasis."""
    lines = [_set(line, style) for line, style in _lines(row)]
    return ("" if first else "\n") + "".join(lines)


def _lines(row: ItemScores) -> Iterator[tuple[str, str]]:
    """The lines with their styles."""
    from ...reasoning.explanation import explain_pieces, explain_value

    item = row.item
    if item is None or row.fault is not None:
        yield row.fault or "", "red"
        return
    yield str(item.id), "bold"
    for turn in item.history:
        yield f"    {turn}", "dim"
    yield f"  > {item.response}", ""
    for score in row.scores.values():
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
