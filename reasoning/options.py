"""Options of metrics: what type and range each has, and the check of a value before it reaches the metric.

Types are read from the signature of the function that makes the metric, ranges stand in its entry in :mod:`.registry`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from pathlib import PurePath
from typing import Any

from ..graph.errors import InputError

Range = tuple[float | None, float | None]
"""Least and greatest value of a number; None where there is no limit that always holds."""

FOR_PROGRAMS = frozenset(("progress",))  # callbacks, which only a program can give
_WORDS = {
    "int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text", "Sequence[str]": "a list of texts",
    "None": "null",
}  # fmt: skip
_TESTS: Mapping[str, Callable[[Any], bool]] = {
    "int": lambda value: isinstance(value, Integral) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value),
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str | PurePath),
    "Sequence[str]": lambda value: isinstance(value, list | tuple) and all(isinstance(one, str) for one in value),
    "None": lambda value: value is None,
}
_PLAIN = (bool, int, float, str, list, tuple, dict)


def annotation(make: Callable[..., Any], option: str) -> str:
    """Return the type of ``option`` as the signature of ``make`` has it; ``Any`` where it has none, or none that can be read."""
    found = make.__annotations__.get(option, "Any")
    text = found.__name__ if isinstance(found, type) else str(found)
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return "Any"
    return text


def option_types(make: Callable[..., Any], option: str) -> list[str]:
    """Return the types that ``option`` takes, as words of ``_WORDS``; ``object`` for what only a program can give."""
    return list(dict.fromkeys(_named(annotation(make, option), option)))


def check_option(metric: str, option: str, value: Any, make: Callable[..., Any], limits: Range | None = None) -> None:
    """Check the value of an option of ``metric``, which ``make`` makes; a number must be within ``limits``.

    Raises:
        InputError: it has another type than the option takes, or is out of its range.
    """
    kinds = option_types(make, option)
    if ("object" in kinds and not isinstance(value, _PLAIN)) or any(_TESTS[kind](value) for kind in kinds if kind in _TESTS):
        low, high = limits or (None, None)
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or ((low is None or value >= low) and (high is None or value <= high)):
            return
    wanted = [_WORDS[kind] + (_range(limits) if kind in ("int", "float") else "") for kind in kinds if kind in _WORDS]
    raise InputError(f"the option {option} of {metric} must be {' or '.join(wanted) or 'set by a program'}, not {value!r}")


def _range(limits: Range | None) -> str:
    low, high = limits or (None, None)
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    return f" of {low:g} or more" if low is not None else ""


def _named(annotation: str, option: str) -> list[str]:
    """The parts of a union, as words of ``_WORDS`` or ``object``."""

    def parts(node: ast.expr) -> list[str]:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return parts(node.left) + parts(node.right)
        name = ast.unparse(node)
        if name == "Any":
            return ["object", "None"] if option in FOR_PROGRAMS else ["str", "object", "None"]
        if name in ("Path", "FilePath"):
            return ["str"]
        return [name if name in _WORDS else "object"]

    return parts(ast.parse(annotation, mode="eval").body)
