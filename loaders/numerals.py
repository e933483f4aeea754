"""Numbers as files write them, in the notation of XML Schema's decimal and double; any other text is no number."""

from __future__ import annotations

import math
import re

NOT_A_WEIGHT = "weight is not a finite number >= 0"

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_COUNT = re.compile(r"\+?[0-9]{1,18}")


def finite(text: str) -> float | None:
    """Return the finite number in ``text``, None for any other text (``1_0``, ``NaN``, ``1e999``)."""
    value = float(text) if _DECIMAL.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def weight(text: str) -> float | None:
    """Return the number >= 0 in ``text``, None for any other text."""
    value = finite(text)
    return None if value is None or value < 0 else abs(value)  # -0 is 0


def count(text: str) -> int | None:
    """Return the whole number >= 0 in ``text``, None for any other text."""
    return int(text) if _COUNT.fullmatch(text) else None
