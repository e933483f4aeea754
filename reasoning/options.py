"""Options of metrics: their types, read from the signature of the function that makes the metric, and checks of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ..graph.errors import InputError

if TYPE_CHECKING:
    from .plugins import Kind, Range

FOR_PROGRAMS = frozenset(("progress",))  # callbacks, which only the Python API can pass
_TYPE_NAMES = {
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
_JSON_TYPES = (bool, int, float, str, list, tuple, dict)


def annotated_types(make: Callable[..., Any], option: str) -> list[str]:
    """Return the members of the union type that ``option`` has in the signature of ``make``; ``["Any"]`` without a type."""
    found = make.__annotations__.get(option, "Any")
    return [part.strip() for part in (found.__name__ if isinstance(found, type) else str(found)).split("|")]


def option_types(make: Callable[..., Any], option: str) -> list[str]:
    """Return the types that ``option`` takes, as keys of ``_TYPE_NAMES``; ``object`` where only the Python API can pass a
    value."""
    known = {name: [name] for name in _TYPE_NAMES} | {"Path": ["str"], "FilePath": ["str"]}
    known["Any"] = ["object", "None"] if option in FOR_PROGRAMS else ["str", "object", "None"]
    return list(dict.fromkeys(kind for name in annotated_types(make, option) for kind in known.get(name, ["object"])))


def check_option(name: str, kind: Kind, option: str, value: Any) -> None:
    """Raise :class:`InputError` when the value of an option of ``name`` is of the wrong type or out of range."""
    limits = kind.range_of(option)
    kinds = option_types(kind.maker(), option)
    if ("object" in kinds and not isinstance(value, _JSON_TYPES)) or any(_TESTS[one](value) for one in kinds if one in _TESTS):
        low, high = limits
        number = isinstance(value, Real) and not isinstance(value, bool)
        if not number or ((low is None or value >= low) and (high is None or value <= high)):
            return
    wanted = [_TYPE_NAMES[one] + (_range(limits) if one in ("int", "float") else "") for one in kinds if one in _TYPE_NAMES]
    raise InputError(f"the option {option} of {name} must be {' or '.join(wanted) or 'set by a program'}, not {value!r}")


def _range(limits: Range) -> str:
    low, high = limits
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    return f" of {low:g} or more" if low is not None else ""
