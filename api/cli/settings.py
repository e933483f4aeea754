"""The settings of ``tacit.toml`` as defaults of the command line: the one place where commands get them.

:func:`begin` gives every command that takes a graph or metrics the file's values as defaults (click's ``default_map``), which
come after the words of the command line and the environment. Options of metrics are merged one by one, by
:func:`config_options`. The values that a command takes are recorded, so that :func:`print_settings` can print them once. The file
is read when a value is needed, so help and completion work even if it has an error.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..config import GRAPH as GRAPH
from ..config import Config, check_metrics, check_options, display_path, find_config, without_credentials
from ..opening import Options
from ..terminal.screen import json_text, note


@dataclass
class _Run:
    """State of one command: its words, the settings, whether they were looked for, and the values that it took from them."""

    words: Sequence[str] = ()
    looked: bool = False
    config: Config | None = None
    taken: dict[str, str] = field(default_factory=dict)
    shown_once: bool = False


_run: ContextVar[_Run] = ContextVar("run")


def begin(root: Any) -> None:
    """Start a command: give the commands below the context ``root`` their defaults."""
    _run.set(_Run(root.obj or ()))
    root.default_map = _defaults(root.command)


def _defaults(command: Any) -> dict[str, Any]:
    """Return the defaults of a command, as functions that are called when they are needed, or of each command below it."""
    if hasattr(command, "commands"):
        return {name: _defaults(subcommand) for name, subcommand in command.commands.items()}
    graphs = [param.name for param in command.params if getattr(param, "envvar", None) == GRAPH]
    return dict.fromkeys(graphs, _graph) | {param.name: _metrics for param in command.params if param.name == "metrics"}


def typed_words() -> Sequence[str]:
    """Return the words of this command as they were typed, without ``tacit``."""
    return _this_run().words


def current_config() -> Config | None:
    """Return the settings for this command; None without a file."""
    run = _this_run()
    if not run.looked:
        run.config = find_config(note)
        run.looked = True
    return run.config


def default_graph() -> str | None:
    """Return the graph of commands that are given none: by ``TACIT_GRAPH``, else by the file."""
    return os.environ.get(GRAPH) or _graph()


def check_default_graph(graph: str) -> None:
    """Check that a folder which the file names as the graph is there."""
    run = _this_run()
    config = run.config
    from_file = config is not None and "graph" in run.taken and graph == config.graph and "://" not in graph
    if from_file and config is not None and not os.path.lexists(graph):
        raise config.error("graph", f"there is no graph at {graph}; name another, or make one with tacit setup or tacit load")


def from_config(key: str) -> bool:
    """Return whether the command took ``graph`` or ``metrics`` from the file."""
    return key in _this_run().taken


def config_options(names: Sequence[str]) -> Options:
    """Return the options in the file for the metrics ``names``."""
    options: Options = {}
    config = current_config()
    if config is not None:
        for metric in config.options:
            checked = check_options(config, metric, values=metric in names)
            if metric in names:
                options[metric] = checked
    return options


def took_option(metric: str, name: str, value: Any) -> None:
    """Record that the command uses an option of the file."""
    _this_run().taken[f"{metric}.{name}"] = value if isinstance(value, str) else json_text(value)


def print_settings(quiet: bool) -> None:
    """Print to stderr, once in a command, what it took from the file."""
    run = _this_run()
    if quiet or run.shown_once or not run.taken or run.config is None:
        return
    run.shown_once = True
    first = ("graph", "metrics")
    settings = [f"{key} {run.taken[key]}" for key in first if key in run.taken]
    settings += [f"{key}={value}" for key, value in run.taken.items() if key not in first]
    note(f"settings of {display_path(run.config.path)}: {', '.join(settings)}")


def _this_run() -> _Run:
    run = _run.get(None)
    if run is None:  # a command's function that is called from Python
        _run.set(run := _Run())
    return run


def _graph() -> str | None:
    config = current_config()
    if config is None or config.graph is None:
        return None
    graph = config.graph
    _this_run().taken["graph"] = without_credentials(graph) if "://" in graph else _relative(Path(graph))
    return config.graph


def _relative(path: Path) -> str:
    """Return ``path`` relative to the working directory if that is shorter."""
    try:
        return min(os.path.relpath(path), str(path), key=len)
    except OSError:  # the working directory was deleted
        return str(path)


def _metrics() -> list[str] | None:
    config = current_config()
    if config is None or not config.metrics:
        return None
    check_metrics(config)
    _this_run().taken["metrics"] = " ".join(config.metrics)
    return list(config.metrics)
