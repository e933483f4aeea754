"""Answers on the screen: tables and notes for people, JSON and CSV for programs.

A table fits the terminal that it is shown in; into a pipe or a file it goes uncoloured and at full width. Texts of the graph are
shown literally: markup and terminal escapes in them have no effect.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from .text import number, visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

_FULL_WIDTH = 1_000_000
_STEERING = re.compile("[\x7f-\x9f\u2028\u2029]")  # characters that JSON leaves as they are and terminals obey


def console(stream: TextIO) -> Console:
    """Return a console on ``stream`` that interprets nothing in the texts it shows."""
    from rich.console import Console

    if not stream.isatty():  # whatever FORCE_COLOR says: what goes into a pipe is for programs
        return Console(
            file=stream, width=_FULL_WIDTH, color_system=None, force_terminal=False, highlight=False, markup=False, emoji=False
        )
    return Console(file=stream, highlight=False, markup=False, emoji=False)


def show(renderable: RenderableType, stream: TextIO | None = None, *, wrap: bool = True) -> None:
    """Print ``renderable`` to stdout or ``stream`` without the blanks that fill its lines up; ``wrap`` breaks long lines."""
    stream = stream or sys.stdout
    screen = console(stream)
    with screen.capture() as captured:
        screen.print(renderable, soft_wrap=not wrap)
    stream.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def note(sentence: str) -> None:
    """Say ``sentence`` on stderr, beside the answer."""
    sys.stdout.flush()
    print(visible(sentence), file=sys.stderr)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> Table:
    """Return a table; columns of numbers are set to the right.

    Args:
        columns: their headings; a heading that starts with ``>`` is set to the right, without the mark.
        rows: cells as text, numbers, booleans, None (shown as nothing) or anything that JSON can say.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    result = Table(
        title=Text(visible(title)) if title else None, title_justify="left", title_style="bold",
        box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False,
    )  # fmt: skip
    for column in columns:
        right = column.startswith(">")
        result.add_column(Text(visible(column.removeprefix(">"))), justify="right" if right else "left", overflow="fold")
    for row in rows:
        result.add_row(*(Text(cell(value)) for value in row))
    return result


def facts(rows: Iterable[tuple[str, Any]], title: str = "") -> Table:
    """Return a two-column table of names and values, without headings."""
    from rich.table import Table
    from rich.text import Text

    result = Table(
        title=Text(visible(title)) if title else None, title_justify="left", title_style="bold",
        box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0),
    )  # fmt: skip
    result.add_column(style="dim", no_wrap=True)
    result.add_column(overflow="fold")
    for name, value in rows:
        result.add_row(Text(visible(name)), value if not isinstance(value, (str, int, float)) else Text(cell(value)))
    return result


def cell(value: Any) -> str:
    """Return ``value`` as a table shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, str):
        return visible(value)
    return visible(json_text(value))


def json_text(value: Any) -> str:
    """Return ``value`` as one line of JSON; what JSON has no word for becomes text, and a number that is none becomes null."""
    try:
        text = json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, TypeError):  # a number that is none, half a surrogate pair, a key that is no text
        text = json.dumps(_speakable(value), default=_plain, ensure_ascii=True)
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def print_json(value: Any) -> None:
    """Print ``value`` as JSON: an object in one piece, a list with one element a line."""
    if isinstance(value, Mapping):
        print(json_text(value))
        return
    separator = "["
    for element in value:
        sys.stdout.write(separator + json_text(element))
        separator = ",\n "
    print("[]" if separator == "[" else "]")


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print comma-separated values with a heading; lists and maps as JSON in their cell, None as an empty one."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([value if value is None or isinstance(value, (str, int, float)) else json_text(value) for value in row])


def _speakable(value: Any) -> Any:
    """``value`` with text keys only, and None for numbers that JSON cannot say."""
    if isinstance(value, Mapping):
        return {str(key): _speakable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_speakable(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, bytes):
        return value.hex()
    return str(value)
