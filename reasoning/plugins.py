"""Registry classes: metadata of metrics, tuple scorers and extractors, read without importing them, and plugins.

Other distributions add metrics and tuple scorers by the entry points ``tacit.metrics`` and ``tacit.tuple_scorers``, each of which
refers to a :class:`MetricKind` or a :class:`ScorerKind` (docs/plugins.md). Modules are imported when first used. Entry points are
read only when a name is not one of tacit's own, or when all names are listed.
"""

from __future__ import annotations

import importlib
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Integral, Real
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..graph.errors import InputError, PluginError, TacitError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Range = tuple[float | None, float | None]
"""Least and greatest value of a number; None for a bound that does not exist or depends on the model."""

Choices = str | Sequence[str] | Callable[[], Iterable[str]]
"""The values of an enumeration, a function that returns them, or ``module:name`` of either within this package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a registry knows about an entry without opening it.

    Attributes:
        home: the function that makes it, or ``module:function`` within this package; its keyword-only arguments are the
            options.
        summary: one plain sentence, ending in a period.
        ranges: least and greatest value of each numeric option; None for a bound that does not exist or depends on the model.
        choices: values of each option that is an enumeration.
        plugin: distribution and version that it comes from, e.g. ``tacit-vowels 0.1``; empty for tacit's own. Set by tacit.
    """

    home: str | Callable[..., Any]
    summary: str
    ranges: Mapping[str, Range] = field(default_factory=dict)
    choices: Mapping[str, Choices] = field(default_factory=dict)
    plugin: str = ""

    def maker(self) -> Callable[..., Any]:
        """Import and return the function that makes it."""
        function: Callable[..., Any] = _referenced(self.home)
        return function

    def options(self) -> dict[str, Any]:
        """Return the options with their defaults."""
        return dict(getattr(self.maker(), "__kwdefaults__", None) or {})

    def range_of(self, option: str) -> Range:
        """Return the least and greatest value of an option."""
        return self.ranges.get(option) or _RANGES.get(option, (None, None))

    def choices_of(self, option: str) -> tuple[str, ...]:
        """Return the values that an option may have; empty for one that is not an enumeration."""
        choices = _referenced(self.choices.get(option) or _CHOICES.get(option, ()))
        return tuple(choices() if callable(choices) else choices)


#: Ranges and values of options that mean the same everywhere.
_RANGES: Mapping[str, Range] = {"batch_tokens": (1, None)}
_CHOICES: Mapping[str, Choices] = {"dtype": "models.hub:DTYPES"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricKind(Kind):
    """What the registry knows about a metric; ``home`` is ``function(graph, *, option=default, …)``, where ``graph`` may be
    left out if the metric needs none.

    Attributes:
        summary: what the metric measures.
        range: range of its values, with their unit where they have one.
        better: ``higher``, the default, or ``lower``; empty where neither end of the range is better.
        graph: it needs a graph; reference: it needs reference responses.
        extra: the optional dependencies of tacit that it needs, empty for none; packages: the modules of them that it imports.
        model: the model that it needs and that is not part of the package, as a hub id or a description.
        get_model: the command that fetches or trains that model; empty where installing ``extra`` is enough.
        combines: metrics whose scores it combines, so that it needs what they need.
        find_model: a function, or ``module:function``, that returns whether the model is on this machine without opening it; by
            default a hub id is looked up in the local cache.
        chosen_on: judgement sets on which the shipped model or recipe was chosen or tuned, so that agreement on them is
            optimistic.
        learnt_from: corpora that the shipped model was trained on.
    """

    range: str
    better: str = "higher"
    graph: bool = False
    reference: bool = False
    extra: str = ""
    packages: tuple[str, ...] = ()
    model: str = ""
    get_model: str = ""
    combines: tuple[str, ...] = ()
    find_model: str | Callable[[], bool] = ""
    chosen_on: tuple[str, ...] = ()
    learnt_from: tuple[str, ...] = ()

    def has_model(self) -> bool:
        """Return whether the model that the metric needs by default is on this machine; true when it needs none."""
        if not self.model:
            return True
        if self.find_model:
            return bool(_referenced(self.find_model)())
        from .models.hub import is_cached

        return is_cached(self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerKind(Kind):
    """What the registry knows about a tuple scorer; ``home`` is ``function(resources, *, option=default, …)``.

    ``resources`` is the :class:`.metrics.accent.scorers.resources.ScorerResources` over the graph. Of the options ``tails`` (the
    known tails to compare with), ``model``, ``probe`` and ``comet`` the function receives those that it has.

    Attributes:
        summary: what its score of a tuple is.
        batch_size: batch size of ``tacit score-tuples``; affects speed only.
    """

    batch_size: int = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorKind(Kind):
    """What the registry knows about an extractor of event tuples; ``home`` is ``function(*, option=default, …)``.

    Attributes:
        graph: it searches a graph, which ``home`` takes before the options.
    """

    graph: bool = False


K = TypeVar("K", bound=Kind)


class Registry(Generic[K]):
    """Kinds by name: tacit's own, and those of plugins.

    Attributes:
        own: tacit's own, in the order in which they are listed.
    """

    def __init__(self, what: str, group: str, kind: type[K], own: Mapping[str, K]) -> None:
        """Make a registry of ``own``.

        Args:
            what: the noun for an entry in error messages.
            group: the entry point group of plugins; empty for none.
            kind: the class that each entry must be an instance of.
        """
        self.own: Mapping[str, K] = own
        self._what, self._group, self._kind = what, group, kind

    def names(self) -> tuple[str, ...]:
        """Return all names, tacit's own first. Plugins are not imported, so one of them may be broken."""
        return (*self.own, *sorted(name for name in self._points() if name not in self.own))

    def kind(self, name: str) -> K:
        """Return the kind called ``name``.

        Raises:
            InputError: the name is unknown.
            PluginError: it is a plugin that cannot be used.
        """
        if name in self.own:
            return self.own[name]
        points = self._points().get(name)
        if points is None:
            advice = did_you_mean(name, self.names(), f"choose from {', '.join(self.names())}")
            raise InputError(f"unknown {self._what} {name!r}; {advice}")
        return self._loaded(name, points)

    def kinds(self) -> dict[str, K]:
        """Return all usable kinds by name, tacit's own first; :meth:`faults` describes the others."""
        return self._usable_and_faults()[0]

    def faults(self) -> list[str]:
        """Return an error message for each plugin that cannot be used."""
        return self._usable_and_faults()[1]

    def summary(self, name: str) -> str:
        """Return the summary of the kind called ``name``; empty when there is no usable kind of that name."""
        try:
            return self.kind(name).summary
        except TacitError:
            return ""

    def _usable_and_faults(self) -> tuple[dict[str, K], list[str]]:
        kinds, faults = dict(self.own), []
        for name, points in sorted(self._points().items()):
            if name in self.own:
                faults += [f"the {self._what} {name} of {_of(point)} is ignored, since tacit has a {self._what} of that name; "
                           f"ask its authors to rename it, or uninstall {_distribution(point)}" for point in points]  # fmt: skip
                continue
            try:
                kinds[name] = self._loaded(name, points)
            except PluginError as error:
                faults.append(str(error))
        return kinds, faults

    def _points(self) -> dict[str, list[EntryPoint]]:
        return _entry_points(self._group, tuple(sys.path)) if self._group else {}

    def _loaded(self, name: str, points: Sequence[EntryPoint]) -> K:
        """Import a plugin's kind.

        Raises:
            PluginError: its name is invalid, two distributions define it, it cannot be imported, or it is not a kind of this
                registry.
        """
        point = points[0]
        if len(points) > 1:
            raise PluginError(f"{' and '.join(map(_of, points))} both have a {self._what} {name}; uninstall one of them")
        if not re.fullmatch(r"\w[\w-]*", name):
            raise PluginError(
                f"{_of(point)} defines a {self._what} with the invalid name {name!r}; a name has letters, digits, _ and -, "
                f"so uninstall or repair {_distribution(point)}"
            )
        try:
            loaded = point.load()
        except Exception as error:
            raise PluginError(
                f"the {self._what} {name} of {_of(point)} cannot be imported ({type(error).__name__}: {error}); "
                f"repair {_distribution(point)} or uninstall it"
            ) from error
        if not isinstance(loaded, self._kind):
            raise PluginError(
                f"the {self._what} {name} of {_of(point)} is a {type(loaded).__name__}; its entry point must refer to a "
                f"tacit.reasoning.{self._kind.__name__}"
            )
        for attribute in ("home", "find_model"):
            value = getattr(loaded, attribute, None)
            if value and not callable(value):
                raise PluginError(
                    f"the {self._what} {name} of {_of(point)} has {attribute} = {value!r}; it must be a function, so repair "
                    f"{_distribution(point)} or uninstall it"
                )
        return replace(loaded, plugin=_of(point))


@lru_cache(maxsize=8)
def _entry_points(group: str, _path: tuple[str, ...]) -> dict[str, list[EntryPoint]]:
    """Return the entry points of a group by name; cached for each ``sys.path``, on which they are searched."""
    from importlib.metadata import entry_points

    result: dict[str, list[EntryPoint]] = {}
    for point in sorted(entry_points(group=group), key=_of):
        result.setdefault(point.name, []).append(point)
    return result


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _of(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value


def _referenced(value: Any) -> Any:
    """Import and return what ``module:name`` refers to within this package; return what is not a text unchanged."""
    if not isinstance(value, str):
        return value
    module, name = value.split(":")
    return getattr(importlib.import_module(f".{module}", __package__), name)


def takes_graph(maker: Callable[..., Any]) -> bool:
    """Return whether a function that makes a metric takes a graph before its options."""
    options = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    return any(parameter.kind not in options for parameter in inspect.signature(maker).parameters.values())


def call_plugin(what: str, kind: Kind, call: Callable[[], Any], fails: str = "cannot be opened") -> Any:
    """Return the result of a plugin's function.

    Raises:
        PluginError: it fails with an error that is not a :class:`TacitError`.
    """
    try:
        return call()
    except TacitError:
        raise
    except Exception as error:
        raise PluginError(
            f"{what} of {kind.plugin} {fails} ({type(error).__name__}: {error}); report it to its authors, or do not use it"
        ) from error


# Options of metrics: their types, read from the signature of the function that makes the metric, and checks of values.

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
    "Sequence[str]": lambda value: isinstance(value, list | tuple) and all(isinstance(text, str) for text in value),
    "None": lambda value: value is None,
}
_JSON_TYPES = (bool, int, float, str, list, tuple, dict)


def annotated_types(make: Callable[..., Any], option: str) -> list[str]:
    """Return the members of the union type that ``option`` has in the signature of ``make``; ``["Any"]`` without a type."""
    annotation = make.__annotations__.get(option, "Any")
    return [part.strip() for part in (annotation.__name__ if isinstance(annotation, type) else str(annotation)).split("|")]


def option_types(make: Callable[..., Any], option: str) -> list[str]:
    """Return the types that ``option`` takes, as keys of ``_TYPE_NAMES``; ``object`` where only the Python API can pass a
    value."""
    known = {name: [name] for name in _TYPE_NAMES} | {"Path": ["str"], "FilePath": ["str"]}
    known["Any"] = ["object", "None"] if option in FOR_PROGRAMS else ["str", "object", "None"]
    return list(dict.fromkeys(kind for name in annotated_types(make, option) for kind in known.get(name, ["object"])))


def check_option(name: str, kind: Kind, option: str, value: Any) -> None:
    """Raise :class:`InputError` when the value of an option of ``name`` is of the wrong type, out of range or not a choice."""
    limits, choices = kind.range_of(option), kind.choices_of(option)
    types = option_types(kind.maker(), option)
    typed = any(_TESTS[type_](value) for type_ in types if type_ in _TESTS)
    if (typed or ("object" in types and not isinstance(value, _JSON_TYPES))) and _is_allowed(value, limits, choices):
        return
    names = {**_TYPE_NAMES, **({"str": f"one of {', '.join(choices)}"} if choices else {})}
    expected = [names[type_] + (_range(limits) if type_ in ("int", "float") else "") for type_ in types if type_ in names]
    raise InputError(f"the option {option} of {name} must be {' or '.join(expected) or 'set by a program'}, not {value!r}")


def _is_allowed(value: Any, limits: Range, choices: Sequence[str]) -> bool:
    """Return whether a number is within its limits, and a text one of the choices if there are any."""
    if isinstance(value, str | PurePath):
        return not choices or value in choices
    low, high = limits
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return not is_number or ((low is None or value >= low) and (high is None or value <= high))


def _range(limits: Range) -> str:
    low, high = limits
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    return f" of {low:g} or more" if low is not None else ""
