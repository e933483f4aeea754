"""Tables, notes and formatted numbers for terminals, and JSON and CSV for programs.

A table is fitted to the terminal's width; in a pipe or a file it has no colours and its full width. Markup and terminal escapes
in texts of the graph are escaped.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

_FULL_WIDTH = 1_000_000
_LARGE = 1e15  # beyond, not every digit of a number before the point is exact
# C0 and C1 control characters, and those that change the writing direction.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_CONTROLS = re.compile("[\x7f-\x9f\u2028\u2029]")  # control characters that JSON does not escape


def console(stream: TextIO) -> Console:
    """Return a rich console on ``stream`` that interprets no markup."""
    from rich.console import Console

    if not stream.isatty():  # even with FORCE_COLOR: a pipe is read by a program
        return Console(
            file=stream, width=_FULL_WIDTH, color_system=None, force_terminal=False, highlight=False, markup=False, emoji=False
        )
    return Console(file=stream, highlight=False, markup=False, emoji=False)


def show(renderable: RenderableType, stream: TextIO | None = None, *, wrap: bool = True) -> None:
    """Print ``renderable`` to ``stream`` (default: stdout) without trailing blanks; ``wrap``: break long lines."""
    stream = stream or sys.stdout
    screen = console(stream)
    with screen.capture() as captured:
        screen.print(renderable, soft_wrap=not wrap)
    stream.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def note(sentence: str) -> None:
    """Print ``sentence`` to stderr."""
    sys.stdout.flush()
    print(visible(sentence), file=sys.stderr)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Return a table of JSON values, None as an empty cell; a ``>`` before a column's heading right-aligns the column."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    result = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False)
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
    """Return the text of ``value`` in a table."""
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
    """Return ``value`` as one line of JSON; NaN and infinity become null, values of other types text."""
    try:
        text = json.dumps(value, default=_as_json, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, TypeError):  # NaN or infinity, a lone surrogate, or a key that is not a text
        text = json.dumps(_json_safe(value), default=_as_json, ensure_ascii=True)
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def print_json(value: Any) -> None:
    """Print ``value`` as JSON: an object in one line, a list with one element per line."""
    if isinstance(value, Mapping):
        print(json_text(value))
        return
    separator = "["
    for element in value:
        sys.stdout.write(separator + json_text(element))
        separator = ",\n "
    print("[]" if separator == "[" else "]")


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print comma-separated values with a header line; lists and objects as JSON, None as an empty cell."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([value if value is None or isinstance(value, (str, int, float)) else json_text(value) for value in row])


def _json_safe(value: Any) -> Any:
    """Return ``value`` with text keys, and None for NaN and infinity."""
    if isinstance(value, Mapping):
        return {str(key): _json_safe(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_safe(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


# Texts, numbers and durations.


def visible(text: str) -> str:
    """Return ``text`` on one line, with control characters escaped (``\\x1b``)."""
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def count(number: int) -> str:
    """Return ``number`` with thousands separators: ``3,423,004``."""
    return f"{number:,}"


def size(number: float) -> str:
    """Return a number of bytes with a unit: ``81.4 MB``."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "bytes" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.2f} GB"


def duration(seconds: float) -> str:
    """Return ``seconds`` with units: ``0.42 s``, ``12.3 s``, ``3 min 05 s``, ``2 h 07 min``."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def rate(per_second: float) -> str:
    """Return a rate without its unit: ``0.7``, ``1,234``."""
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.1f}"


def plural(number: int, noun: str) -> str:
    """Return ``1 row``, ``2 rows``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def number(value: float) -> str:
    """Return ``value`` with at most four decimals, without trailing zeros; a very large one as ``1e+300``."""
    if abs(value) >= _LARGE:
        return f"{value:.6g}"
    return f"{value:.4f}".rstrip("0").rstrip(".")
