"""JSON of tacit's types, the same in ``--json``, the HTTP service and the client: pydantic's, derived from the types themselves.

The JSON of a dataclass has its fields, in order; :func:`shape` gives a type other names or another order. A type whose fields
cannot be found by name in a row has a class method ``json_fields`` that returns them. pydantic is imported at the first use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from inspect import getattr_static, isfunction
from math import isfinite, nan
from operator import attrgetter
from threading import RLock
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar, get_args, get_type_hints

from .errors import InputError

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter
    from pydantic_core.core_schema import CoreSchema

T = TypeVar("T")

Nullable = Annotated[float, "null in JSON when it is not finite"]
"""A number that may be NaN or infinite, in a type with a :func:`shape`; null in JSON becomes NaN."""

_EMPTY = ("", None)


def dump(value: Any, kind: Any = None) -> Any:
    """Return ``value`` as plain values for JSON, in the shape of ``kind`` or else of its own type."""
    shaped: Any = kind or type(value)
    return _adapter(shaped).dump_python(value, mode="json")


def load(kind: type[T], row: Any) -> T:
    """Read back what :func:`dump` gave; further names are ignored.

    Raises:
        ValueError: the row is not the JSON of a ``kind``.
    """
    from pydantic import ValidationError

    shaped: Any = kind
    try:
        value: T = _adapter(shaped).validate_python(row)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = ".".join(map(str, first["loc"]))
        raise ValueError(f"not the JSON of {kind.__name__}: {first['msg']}{location and ' at '}{location}") from None
    return value


def json_or_text(text: str) -> Any:
    """Return the value of a text that is JSON, else the text itself.

    Raises:
        InputError: the JSON is nested too deeply to be read.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        return text
    except RecursionError:
        raise InputError(f"the value {text[:20]}... is nested too deeply; keep its JSON to 20 levels") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class Unfit(ValueError):
    """A value that :func:`load_strictly` does not accept; the message says what it must be.

    Attributes:
        path: the keys and list indices that lead to it.
    """

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.path = path

    @property
    def key(self) -> str:
        """The path as one text, e.g. ``options.length`` or ``metrics[0]``."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path).removeprefix(".")


_UNKNOWN = "unexpected_keyword_argument"
_EXPECTED = {
    "string_type": "a text", "bool_type": "true or false", "float_type": "a number", "finite_number": "a number",
    "int_type": "a whole number", "int_from_float": "a whole number", "tuple_type": "a list", "dict_type": "a table",
    "dataclass_type": "a table", "greater_than": "> {gt:g}", "greater_than_equal": ">= {ge:g}", "less_than_equal": "<= {le:.10g}",
    "literal_error": "one of {expected}", "enum": "one of {expected}",
}  # fmt: skip


def load_strictly(kind: type[T], row: Mapping[str, Any]) -> T:
    """Return the dataclass ``kind``, whose ``__pydantic_config__`` forbids further keys, with the values of ``row``.

    A value of another type is refused, not converted.

    Raises:
        Unfit: a key is unknown or missing, or a value has the wrong type.
    """
    from pydantic import ValidationError

    try:
        shaped: Any = kind
        value: T = _adapter(shaped).validate_json(json.dumps(row, default=str), strict=True)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        first = next((problem for problem in problems if problem["type"] == _UNKNOWN), problems[0])
        location, name = first["loc"], first["type"]
        if name == _UNKNOWN:  # perhaps the reason why another is missing
            raise Unfit(location, _unknown_key(kind, location)) from None
        if name == "missing":
            raise Unfit(location, "is missing") from None
        expected = _EXPECTED[name].format(**first.get("ctx", {})) if name in _EXPECTED else first["msg"]
        value_text = json.dumps(first["input"], ensure_ascii=False)
        raise Unfit(location, f"is {value_text[:60]}; it must be {expected}") from None
    return value


def _unknown_key(kind: Any, path: tuple[str | int, ...]) -> str:
    """Return the message for an unknown key, with the one that is spelt alike or all keys of its table."""
    for step in path[:-1]:
        inner = (argument for argument in get_args(kind) if is_dataclass(argument))  # of dict[str, T] or tuple[T, ...]
        kind = get_type_hints(kind)[str(step)] if is_dataclass(kind) else next(inner)
    known = [field.name for field in fields(kind) if field.init]
    matches = get_close_matches(str(path[-1]), known, 1)
    return "is not a key there; " + (f"did you mean {matches[0]}?" if matches else f"the keys are {', '.join(known)}")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    with _lock:
        return TypeAdapter(kind)


def shape(*names: str, optional: Collection[str] = ()) -> Callable[[type[T]], type[T]]:
    """Return a decorator that sets the shape of a dataclass or named tuple in JSON.

    Args:
        names: fields, properties and methods without arguments, in order; ``"set=name"`` gives the field ``name`` under the name
            ``set``, ``"note=evidence.note"`` that of an attribute. By default all fields.
        optional: names that are left out when they are empty.
    """

    def decorate(cls: Any) -> Any:
        cls.json_shape = names, frozenset(optional)
        cls.__get_pydantic_core_schema__ = classmethod(_core_schema)
        return cls

    return decorate


def _core_schema(cls: Any, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    """Return the pydantic schema of a dataclass or named tuple."""
    from pydantic_core import core_schema

    reference = f"{cls.__module__}.{cls.__qualname__}:{id(cls)}"
    if cls in _in_progress:
        return core_schema.definition_reference_schema(reference)
    _in_progress.add(cls)
    try:
        field_names = [field.name for field in fields(cls)] if is_dataclass(cls) else list(cls._fields)
        entries, optional = cls.json_shape
        paths = {name: path or name for name, _, path in (text.partition("=") for text in entries or field_names)}
        hints = {name: _hint(cls, path.split(".")) for name, path in paths.items()}
        nullable = frozenset(name for name, hint in hints.items() if hint == Nullable)
        types_by_name = {
            name: core_schema.typed_dict_field(
                handler.generate_schema(float | None if name in nullable else hint), required=name not in optional
            )
            for name, hint in hints.items()
        }

        attributes = attrgetter(*paths.values())
        methods = [name for name, path in paths.items() if isfunction(getattr_static(cls, path, None))]

        def to_row(value: Any) -> dict[str, Any]:
            row = dict(zip(paths, attributes(value), strict=True))
            for name in methods:
                row[name] = row[name]()
            for name in nullable:
                if row[name] is not None and not isfinite(row[name]):
                    row[name] = None
            for name in optional:
                if row[name] in _EMPTY:
                    del row[name]
            return row

        def from_row(row: Any) -> Any:
            if not isinstance(row, Mapping):
                return row
            row = {name: nan if name in nullable and value is None else value for name, value in row.items()}
            if hasattr(cls, "json_fields"):
                try:
                    return cls.json_fields(row)
                except KeyError as error:
                    raise ValueError(f"{error} is missing") from None
            return {path: row[name] for name, path in paths.items() if path in field_names and name in row}

        serialization = core_schema.plain_serializer_function_ser_schema(
            to_row, return_schema=core_schema.typed_dict_schema(types_by_name, cls=cls)
        )
        return core_schema.no_info_before_validator_function(
            from_row, handler(source), ref=reference, serialization=serialization
        )
    finally:
        _in_progress.discard(cls)


_in_progress: set[Any] = set()  # types whose schema is being made, for types that contain themselves
_lock = RLock()


def _hint(kind: Any, path: list[str]) -> Any:
    """Return the type of an attribute: of a field, or what a property or method returns."""
    for name in path:
        hints = get_type_hints(kind, include_extras=True)
        if name not in hints:
            attribute = getattr_static(kind, name)
            function: Callable[..., Any] = getattr(attribute, "fget", None) or getattr(attribute, "func", None) or attribute
            hints = {name: get_type_hints(function, include_extras=True)["return"]}
        kind = hints[name]
    return kind


class Json:
    """Base of dataclasses with ``to_dict`` and ``from_dict``."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        row: dict[str, Any] = dump(self)
        return row

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Read back what :meth:`to_dict` gave.

        Raises:
            ValueError: ``row`` is something else.
        """
        return load(cls, row)
