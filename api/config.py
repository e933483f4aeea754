"""Settings of a project: ``tacit.toml``, or ``[tool.tacit]`` in ``pyproject.toml``, in the working directory or above it.

The file that is nearest applies, alone: files of folders further up are not merged with it. In one folder ``tacit.toml`` comes
before ``pyproject.toml``, which counts only with a table ``tool.tacit``. The environment variable ``TACIT_CONFIG`` names a file
instead; ``/dev/null`` is an empty one.

A file that is found (not one that ``TACIT_CONFIG`` names) is used only if it belongs to the user who runs tacit, or to root:
settings name graphs, servers to which credentials are sent, and models that are loaded, so those of somebody else who can write
to a folder above must not apply. Git treats repositories of other users in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ..graph.errors import InputError, did_you_mean
from ..graph.schema import Unfit, load_strictly

GRAPH = "TACIT_GRAPH"
"""Environment variable: the graph of commands that are given none."""

CONFIG = "TACIT_CONFIG"
NAMES = ("tacit.toml", "pyproject.toml")
_SHARED = "pyproject.toml"
_MAX_BYTES = 1 << 20
_RELATIVE = ("./", "../")


@dataclass(frozen=True, slots=True)
class Settings:
    """The keys of the file, which pydantic checks."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    graph: str | None = None
    metrics: tuple[str, ...] | None = None
    options: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Config:
    """The settings in a file."""

    path: Path
    graph: str | None = None  # path (absolute) or URL of the default graph
    metrics: tuple[str, ...] = ()  # names of the default metrics
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by metric and name; ./ and ../ made absolute
    prefix: str = ""  # of the keys in the file: empty, or tool.tacit.

    def error(self, key: str, sentence: str) -> InputError:
        """Return the error that ``sentence`` is wrong with the value of ``key``."""
        return InputError(f"{display_path(self.path)}: {self.prefix}{key}: {sentence}")

    def absolute(self, path: str) -> str:
        """Return a path in the file as an absolute one: relative to the file's folder; ``~`` is the user's home."""
        return os.path.normpath(self.path.parent / Path(path).expanduser())


def display_path(path: Path) -> str:
    """Return ``path`` as a user reads it: relative to the working directory if it is in or above it, else absolute."""
    try:
        here = Path.cwd()
    except OSError:  # the working directory was deleted
        return str(path)
    return os.path.relpath(path, here) if here.is_relative_to(path.parent) else str(path)


def find_config(warn: Callable[[str], object] | None = None) -> Config | None:
    """Return the settings that apply in the working directory; None if there are none.

    ``warn`` is called with a sentence if a file is not used because it belongs to another user.
    """
    configured = os.environ.get(CONFIG)
    if configured:
        return read_config(Path(configured).expanduser().absolute())
    try:
        here = Path.cwd()
    except OSError:
        return None
    for folder in (here, *here.parents):
        for name in NAMES:
            path = folder / name
            if not path.is_file() or (name == _SHARED and not _concerns(path)):
                continue
            if not _trusted(path):
                if warn is not None:
                    warn(f"{display_path(path)} belongs to another user and is not used; to use it, set {CONFIG}={path}")
                return None
            return read_config(path)
    return None


def read_config(path: Path) -> Config:
    """Return the settings in ``path``; of a file named ``pyproject.toml`` those in its table ``tool.tacit``."""
    data: Any = _parsed(path)
    prefix = ""
    if path.name == _SHARED:
        prefix = "tool.tacit."
        tool = data.get("tool")
        data = tool.get("tacit", {}) if isinstance(tool, dict) else {}
        if not isinstance(data, dict):
            raise InputError(f"{display_path(path)}: tool.tacit is not a table; write [tool.tacit]")
    try:
        settings = load_strictly(Settings, data)
    except Unfit as error:
        raise InputError(f"{display_path(path)}: {prefix}{error.key} {error}") from None
    config = Config(path, prefix=prefix)
    if settings.metrics == ():
        raise config.error("metrics", "the list is empty; name a metric, or leave the key out")
    graph = settings.graph
    if graph is not None and (not graph.strip() or "\0" in graph):
        raise config.error("graph", "the text is not a path or a URL")
    options = {
        metric: {
            name: config.absolute(value) if isinstance(value, str) and value.startswith(_RELATIVE) else value
            for name, value in metric_options.items()
        }
        for metric, metric_options in data.get("options", {}).items()
    }
    if graph is not None and "://" not in graph:
        graph = config.absolute(graph)
    return Config(path, graph, settings.metrics or (), options, prefix)


def _concerns(path: Path) -> bool:
    """Return whether a ``pyproject.toml`` has a table for tacit; one that cannot be read has none unless it names it."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            return False
        data = path.read_bytes()
    except OSError:
        return False
    if b"tacit" not in data:
        return False
    import tomllib

    try:
        tool = tomllib.loads(data.decode()).get("tool")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return b"[tool.tacit" in data  # reading it says what is wrong
    return isinstance(tool, dict) and "tacit" in tool


def _trusted(path: Path) -> bool:
    """Return whether ``path`` belongs to this user or to root; to root also what belongs to the user of ``sudo``."""
    if not hasattr(os, "geteuid"):  # Windows
        return True
    try:
        owner = path.stat().st_uid
    except OSError:
        return False
    me = os.geteuid()
    sudo = os.environ.get("SUDO_UID", "") if me == 0 else ""
    return owner in (me, 0) or (sudo.isascii() and sudo.isdigit() and owner == int(sudo))


def _parsed(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"the settings in {display_path(path)} cannot be read: {error.strerror or error}") from None
    if len(data) > _MAX_BYTES:
        raise InputError(f"{display_path(path)} has more than 1 MiB, so it is not a file of settings")
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise InputError(f"{display_path(path)} is not TOML: it is not UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{display_path(path)} is not TOML: {error}") from None


# What the values mean: names and options of metrics.


def check_metrics(config: Config) -> None:
    """Check that the metrics in the file are known, and that none is named twice."""
    from ..reasoning.registry import metric_kind

    for index, name in enumerate(config.metrics):
        try:
            metric_kind(name)
        except InputError as error:
            raise config.error("metrics", str(error)) from None
        if name in config.metrics[:index]:
            raise config.error("metrics", f"{name} is there twice; name it once")


def check_options(config: Config, metric: str, *, values: bool = True) -> dict[str, Any]:
    """Return the options of one metric in the file.

    Without ``values`` only the metric's name is checked; checking the options imports the metric's module.
    """
    from ..reasoning.registry import metric_kind

    key = f"options.{metric}"
    options = dict(config.options[metric])
    try:
        metric_kind(metric)
        if values:
            for name, value in options.items():
                key = f"options.{metric}.{name}"
                check_metric_option(metric, name, value)
    except InputError as error:
        raise config.error(key, str(error)) from None
    return options


def check_metric_option(metric: str, option: str, value: Any) -> None:
    """Check that a metric has an option, and that the option can have the value."""
    from ..reasoning.plugins import check_option
    from ..reasoning.registry import metric_kind

    kind = metric_kind(metric)
    names = kind.options()
    if option not in names:
        advice = did_you_mean(option, names, f"it has {', '.join(names) or 'none'}")
        raise InputError(f"the metric {metric} has no option {option!r}; {advice}")
    if option != "vectors" or not isinstance(value, str):  # a folder, opened later
        check_option(metric, kind, option, value)


def without_credentials(graph: str) -> str:
    """Return a URL without what stands before ``@``; a path as it is."""
    scheme, colons, rest = graph.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if colons else graph
