"""What comes with a query: parameters as plain values, a row limit and a time limit, checked before any engine sees them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..errors import InputError

MAX_BYTES = 16 << 20
"""Most bytes of parameters that a query takes, and of rows that it brings back."""
MAX_SECONDS = 3600.0
MAX_ROWS = 1_000_000

_DEPTH = 20


def check_limits(limit: int, timeout: float) -> None:
    """Raise :class:`InputError` unless ``limit`` is from 0 to a million rows and ``timeout`` above 0 and at most an hour."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit <= MAX_ROWS:
        raise InputError(f"a row limit of {limit!r} cannot be used; give a whole number from 0 to {MAX_ROWS:,}")
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= MAX_SECONDS:
        raise InputError(f"a time limit of {timeout!r} seconds cannot be used; give a number above 0 and up to {MAX_SECONDS:g}")


def check_parameters(parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return ``parameters`` as plain values: None, booleans, 64-bit integers, finite floats, text, lists, dictionaries.

    Raises:
        InputError: a value is of another kind, nested too deeply, or all of them together are too large.
    """
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise InputError("a query's parameters come as a dictionary from names to values")
    budget = [MAX_BYTES]
    return {_key(name, "a parameter's name"): _value(value, str(name), _DEPTH, budget) for name, value in parameters.items()}


def _value(value: Any, name: str, depth: int, budget: list[int]) -> Any:
    budget[0] -= 8 + (len(value) if isinstance(value, str) else 0)
    if budget[0] < 0 or depth == 0:
        raise InputError(f"the parameters are too large at ${name}; keep them to {MAX_BYTES >> 20} MiB and {_DEPTH} levels")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, str):
        return _key(value, f"${name}")
    if isinstance(value, (list, tuple)):
        return [_value(item, name, depth - 1, budget) for item in value]
    if isinstance(value, Mapping):
        return {_key(key, f"a key in ${name}"): _value(item, name, depth - 1, budget) for key, item in value.items()}
    shown = f"the number {value!r}" if isinstance(value, (int, float)) else f"a value of type {type(value).__name__}"
    raise InputError(
        f"${name} holds {shown}; give text, 64-bit integers, finite numbers, booleans, None, or lists and dictionaries of them"
    )


def _key(text: Any, what: str) -> str:
    if not isinstance(text, str) or "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"{what} is not plain text ({text!a}); give characters other than NUL and lone surrogates")
    return str(text)


def uniform(values: dict[str, Any]) -> dict[str, Any]:
    """Return checked ``values`` as the embedded engine needs them, which types every list and would mix up what differs.

    Dictionaries in one list get the same keys in the same order, None where one had none.

    Raises:
        InputError: a list holds values of different kinds.
    """
    return {name: _fill(value, _shape(value, name)) for name, value in values.items()}


def _shape(value: Any, name: str) -> Any:
    """Return the type of ``value``: None when open, a word, a list of the one type of its items, or a dictionary of types."""
    if isinstance(value, list):
        shape: Any = None
        for item in value:
            shape = _merged(shape, _shape(item, name), name)
        return [shape]
    if isinstance(value, dict):
        return {key: _shape(item, name) for key, item in value.items()}
    if value is None:
        return None
    return "truth values" if isinstance(value, bool) else "text" if isinstance(value, str) else "numbers"


def _merged(one: Any, other: Any, name: str) -> Any:
    if one is None or other is None or one == other:
        return other if one is None else one
    if isinstance(one, list) and isinstance(other, list):
        return [_merged(one[0], other[0], name)]
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: _merged(one.get(key), other.get(key), name) for key in one.keys() | other.keys()}
    kinds = sorted({"list": "lists", "dict": "dictionaries"}.get(type(kind).__name__, kind) for kind in (one, other))
    raise InputError(f"${name} mixes {' and '.join(kinds)} in one list; the embedded engine takes lists of one kind")


def _fill(value: Any, shape: Any) -> Any:
    if isinstance(value, list):
        return [_fill(item, shape[0]) for item in value]
    if isinstance(value, dict):
        return {key: _fill(value.get(key), shape[key]) for key in sorted(shape)}
    return value
