"""Formatting of texts, numbers and durations for terminals, without heavy imports."""

from __future__ import annotations

import re

# C0 and C1 control characters, and those that change the writing direction.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


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
    """Return ``value`` with at most four decimals, without trailing zeros."""
    return f"{value:.4f}".rstrip("0").rstrip(".")
