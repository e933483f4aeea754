"""Arguments and options that several commands share, with one name, meaning and help text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from ... import reasoning
from ...graph.errors import InputError, TacitError, did_you_mean
from ...graph.schema import json_or_text
from ...reasoning.plugins import Kind, Registry, check_option
from ...reasoning.registry import METRIC_REGISTRY, metric_kind
from ...reasoning.registry import metric_options as known_options
from ..config import GRAPH, check_metric_option
from ..opening import Address, EngineName, Options
from ..opening import open_reasoner as open_reasoner
from ..terminal.screen import note
from .settings import check_default_graph, config_options, default_graph, print_settings, took_option


class Group(TyperGroup):
    """A command that has commands, whose help shows the whole summary of each."""

    def sections(self) -> dict[str, Sequence[str]]:
        """Return the names of the commands by the heading under which help lists them."""
        return {"Commands": list(self.commands)}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names and summaries of the commands."""
        for heading, names in self.sections().items():
            commands = {name: self.get_command(ctx, name) for name in names}
            with formatter.section(heading):
                formatter.write_dl([(name, found.get_short_help_str(limit=200)) for name, found in commands.items() if found])

    def get_help_option(self, ctx: Any) -> Any:
        """Return the ``--help`` flag with a default: without one typer imports pydantic, which takes 0.1 s."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option


class GraphFirst(TyperCommand):
    """A command whose first argument, GRAPH, may be left out where ``TACIT_GRAPH`` or ``tacit.toml`` names a graph.

    The first argument is taken as GRAPH if it is a URL or an existing path, and the others are not missing then.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        default = None if ctx.resilient_parsing or "--help" in args else default_graph()
        if default:
            indices = self._arguments(args)
            arguments = [parameter for parameter in self.params if parameter.param_type_name == "argument"]
            needed = max(sum(parameter.required for parameter in arguments), min(2, len(arguments)))
            if len(indices) < needed or not ("://" in args[indices[0]] or os.path.lexists(args[indices[0]])):
                index = indices[0] if indices else len(args)
                args = [*args[:index], default, *args[index:]]
        return super().parse_args(ctx, args)

    def _arguments(self, args: Sequence[str]) -> list[int]:
        """Return the indices of the words that are neither options nor their values."""
        takes_value = {name for parameter in self.params if not getattr(parameter, "is_flag", True) for name in parameter.opts}
        indices: list[int] = []
        index = 0
        while index < len(args):
            if args[index] == "--":
                return [*indices, *range(index + 1, len(args))]
            if not args[index].startswith("-") or args[index] == "-":
                indices.append(index)
            index += 2 if args[index] in takes_value else 1
        return indices


def argument(metavar: str, help: str, *, default: str | bool = True, **more: Any) -> Any:
    """Declare an argument of a command; ``default`` says in words what is used without it, False: say nothing."""
    return typer.Argument(metavar=metavar, help=help, show_default=default, **more)


def option(metavar: str, help: str, *names: str, default: str | bool = True, **more: Any) -> Any:
    """Declare an option that takes a value; without ``names`` it has the name of its parameter."""
    return typer.Option(*names, metavar=metavar, help=help, show_default=default, **more)


Dtype = Literal["float32", "bfloat16"]
"""Floating-point type of a model's weights."""

RecordFile = Annotated[str, argument("FILE", "JSON, CSV or Parquet, plain or gzip; - reads stdin.")]
GRAPH_ENV: Any = {"envvar": GRAPH, "show_envvar": False, "default": False}
# GRAPH of a command without other arguments; those with others have the class GraphFirst too.
GraphArgument = Annotated[
    str, argument("GRAPH", "A path, or a URL: neo4j://, neo4j+s:// or bolt:// [env TACIT_GRAPH, tacit.toml].", **GRAPH_ENV)
]
GraphRequired = Annotated[
    str, option("GRAPH", "A path, or a neo4j:// or bolt:// URL [env TACIT_GRAPH, tacit.toml].", "--graph", **GRAPH_ENV)
]
Resamples = Annotated[int, option("N", "Number of bootstrap resamples for the 95% intervals.", min=100)]
ResampleSeed = Annotated[int, option("N", "Random seed of the resamples.", min=0, max=2**32 - 1)]
Output = Annotated[Path | None, option("FILE", "Write to this file, replaced atomically.", "--output", "-o")]
Limit = Annotated[int, option("N", "Maximum number of results, best first.", min=0)]
LimitOrAll = Annotated[int | None, option("N", "Maximum number of results, best first.", default="all", min=0)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
JsonReport = Annotated[bool, typer.Option("--json", help="Print the report as JSON; needs --output.")]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first line that cannot be read.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Language = Annotated[str, option("CODE", "Language of the texts.")]
Relations = Annotated[list[str] | None, option("NAME", "Only this relation; repeatable.", "--relation")]
Param = Annotated[list[str] | None, option("NAME=VALUE", "A $parameter, as JSON or else text; repeatable.", "--param", "-p")]
EngineChoice = Annotated[
    EngineName,
    typer.Option(
        "--engine", help="index: compiled, built when missing; store: the database itself; auto: the index where it can be kept."
    ),
]


# The options of the command line that name metrics and their options.

Graph = Annotated[
    str | None,
    option(
        "GRAPH", "A path, or a neo4j:// or bolt:// URL; most metrics need it [env TACIT_GRAPH, tacit.toml].", "--graph",
        **GRAPH_ENV,
    ),
]  # fmt: skip


def complete_names(incomplete: str, known: Iterable[str]) -> list[str]:
    """Complete names that are separated by commas for the shell, after the last comma."""
    before, comma, prefix = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in known if name.startswith(prefix) and name not in before.split(",")]


def complete_metrics(incomplete: str) -> list[str]:
    """Complete names of metrics for the shell."""
    return complete_names(incomplete, METRIC_REGISTRY.names())


def complete_options(incomplete: str) -> list[str]:
    """Complete ``METRIC.NAME=`` for the shell."""
    return complete_options_of(METRIC_REGISTRY, incomplete)


def complete_options_of(registry: Registry[Any], incomplete: str) -> list[str]:
    """Complete ``OWNER.NAME=VALUE`` for the shell, where the owner is an entry of the registry; values of enumerations only."""
    owner, dot, _ = incomplete.partition(".")
    if not dot:
        return [f"{name}." for name in registry.names() if name.startswith(owner)]
    try:
        kind = registry.kind(owner)
        names = [f"{owner}.{name}=" for name in kind.options()]
        values = [f"{owner}.{name}={value}" for name in kind.options() for value in kind.choices_of(name)]
        return [text for text in (values if "=" in incomplete else names) if text.startswith(incomplete)]
    except TacitError:
        return []


def check_report(json: bool, output: Path | None) -> None:
    """Check that a command which prints its report as JSON writes its records to a file."""
    if json and output is None:
        raise InputError("--json prints the report to stdout; give a file for the output with --output")


def metrics_option(help: str, *old_names: str) -> Any:
    """Declare the option that names metrics, the same on every command: ``--metrics a,b``, or ``-m a -m b``."""
    return option("NAME,...", help, "--metrics", "-m", *old_names, default=False, autocompletion=complete_metrics)


_METRICS = "Metrics, separated by commas or repeated; tacit metrics lists them."
Metrics = Annotated[
    list[str] | None, metrics_option(f"{_METRICS} Default: the best that is ready; with a graph, also grounding.")
]
MetricsRequired = Annotated[list[str], metrics_option(_METRICS)]
_OPTION = "An option of a metric: JSON, else text; repeatable."
MetricOptions = Annotated[
    list[str] | None, option("METRIC.NAME=VALUE", _OPTION, "--option", "-O", autocompletion=complete_options)
]
Columns = Annotated[
    list[str] | None,
    option("FIELD=NAME", "The column, or JSON key, that has a field, e.g. history=context; repeatable.", "--column"),
]
Pipeline = Annotated[str | None, option("NAME", "A spaCy pipeline's name or folder.", "--pipeline", default="tacit's own")]
BatchSize = Annotated[
    int | None,
    option("N", "Items per batch; affects speed only.", "--batch-size", default="by metric, 256 or 1,024", min=1),
]


def names_in(texts: Sequence[str], option: str, known: Sequence[str]) -> list[str]:
    """Return the names in texts of names separated by commas, none of them twice; ``known`` is for the error message."""
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"{option} is empty; choose from {', '.join(known)}")
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{option} names {name} twice; name it once")
    return names


def metric_names(texts: Sequence[str]) -> list[str]:
    """Return the metrics in texts of names separated by commas."""
    names = names_in(texts, "--metrics", METRIC_REGISTRY.names())
    for name in names:
        metric_kind(name)
    return names


def judge_names(texts: Sequence[str] | None, known: Sequence[str]) -> list[str] | None:
    """Return the judges in texts of names separated by commas, each of which must be ``known``; None for None."""
    if texts is None:
        return None
    names = names_in(texts, "--judges", known)
    for name in names:
        if name not in known:
            raise InputError(f"unknown judge {name!r}; {did_you_mean(name, known, 'choose from ' + ', '.join(known))}")
    return names


def chosen_metrics(texts: Sequence[str] | None, graph: str | None) -> tuple[list[str], reasoning.DefaultMetrics | None]:
    """Return the metrics that ``--metrics`` names; without it the default metrics, and why they are chosen."""
    if texts:
        return metric_names(texts), None
    default = reasoning.default_metrics(graph)
    return list(default.names), default


def print_default(default: reasoning.DefaultMetrics | None, quiet: bool, *, not_run: bool = True) -> None:
    """Print to stderr what ``tacit.toml`` set, which metrics score by default and why, and with ``not_run`` which do not."""
    print_settings(quiet)
    if default is None or quiet:
        return
    note(f"{default.reason}; --metrics chooses others")
    if not_run and default.not_run:
        note(f"not run: {default.not_run}")


def metric_options(values: Sequence[str] | None, names: Sequence[str], pipeline: str | None) -> Options:
    """Return the options of each metric from ``METRIC.NAME=VALUE`` texts, else from ``tacit.toml``.

    ``pipeline`` goes to the metrics that take one.
    """
    options: Options = {name: {} for name in names}
    for text in values or ():
        key, equals, value = text.partition("=")
        metric, dot, option = key.strip().partition(".")
        if not equals or not dot or not option:
            raise InputError(f"--option {text} is not METRIC.NAME=VALUE, e.g. grounding.max_hops=3")
        if metric not in options:
            raise InputError(f"--option {text} is for the metric {metric!r}, which --metrics does not name")
        parsed = json_or_text(value)
        check_metric_option(metric, option, parsed)
        options[metric][option] = parsed
    if pipeline is not None:
        for name in names:
            if "pipeline" in known_options(name):
                options[name].setdefault("pipeline", pipeline)
    for name, metric_values in config_options(names).items():
        for option, parsed in metric_values.items():
            if option not in options[name]:
                options[name][option] = parsed
                took_option(name, option, parsed)
    return options


def options_of(owner: str, kind: Kind, values: Sequence[str] | None, known: Sequence[str]) -> dict[str, Any]:
    """Return the options of ``owner`` from ``OWNER.NAME=VALUE`` texts, or ``NAME=VALUE``; the last value of a name counts.

    ``known`` are the options of ``kind`` that may be given.
    """
    options: dict[str, Any] = {}
    for text in values or ():
        key, equals, value = (part.strip() for part in text.partition("="))
        name = key.removeprefix(f"{owner}.")
        if not equals or not name:
            raise InputError(f"--option {text} is not {owner}.NAME=VALUE; the options of {owner} are {', '.join(known)}")
        if name not in known:
            raise InputError(f"{owner} has no option {name!r}; {did_you_mean(name, known, 'it has ' + ', '.join(known))}")
        options[name] = json_or_text(value)
        check_option(owner, kind, name, options[name])
    return options


ITEM_FIELDS = ("history", "response", "turns", "messages", "references", "reference", "id")
RATED_FIELDS = (*ITEM_FIELDS, "rating", "ratings", "turn_ratings", "dataset", "system")


def named_columns(values: Sequence[str] | None, fields: Sequence[str] = ITEM_FIELDS) -> dict[str, str]:
    """Return the column of each field from ``FIELD=NAME`` texts."""
    columns: dict[str, str] = {}
    known_fields = f"the fields are {', '.join(fields)}"
    for text in values or ():
        field, equals, column = (part.strip() for part in text.partition("="))
        if not equals or not field or not column:
            raise InputError(f"--column {text} is not FIELD=NAME, e.g. history=context")
        if field not in fields:
            raise InputError(f"--column {text}: unknown field {field!r}; {did_you_mean(field, fields, known_fields)}")
        if field in columns or column in columns.values():
            raise InputError(f"--column {text}: {field if field in columns else column} is given twice; give it once")
        columns[field] = column
    return columns


# The options --user, --password and --database, which every command that names a graph has.

_server: ContextVar[dict[str, str | None]] = ContextVar("server")


def _server_options(
    user: Annotated[str | None, option("NAME", "Server: user [env NEO4J_USERNAME].")] = None,
    password: Annotated[
        str | None, option("TEXT", "Server: password; better set NEO4J_PASSWORD, others may see commands.")
    ] = None,
    database: Annotated[str | None, option("NAME", "Server: database [env NEO4J_DATABASE].")] = None,
) -> None:
    """Declare the options; :func:`add_server_options` copies them."""


def add_server_options(command: Any) -> None:
    """Give ``command`` and its subcommands, where they name a graph, the options of a server, for :func:`server_given`."""
    app = typer.Typer(add_completion=False)
    app.command()(_server_options)
    options: list[Any] = typer.main.get_command(app).params
    for option in options:
        option.expose_value, option.callback = False, _store_server_option
    for leaf in all_commands(command):
        if {"graph", "into"} & {param.name for param in leaf.params}:
            leaf.params += options


def all_commands(command: Any) -> Iterator[Any]:
    """Yield ``command`` and all commands below it."""
    yield command
    for subcommand in getattr(command, "commands", {}).values():
        yield from all_commands(subcommand)


def hide_argument_types(command: Any) -> None:
    """Leave the Python types of arguments, such as ``<list[str]>``, out of the help of ``command`` and those below it."""
    for leaf in all_commands(command):
        for param in leaf.params:
            if param.param_type_name == "argument" and not param.type_descriptor.is_choice:
                param.display_type_rich = lambda ctx: ""  # noqa: ARG005


def _store_server_option(_: Any, option: Any, value: str | None) -> None:
    _server.set({**_server.get({}), option.name: value})


def server_given() -> dict[str, str | None]:
    """Return the values of ``--user``, ``--password`` and ``--database``."""
    return _server.get({})


def address_at(graph: str) -> Address:
    """Return the address of a graph that a command opens, with the server's options."""
    check_default_graph(graph)
    return new_address(graph)


def new_address(graph: str) -> Address:
    """Return the address of a graph that a command opens or creates, with the server's options."""
    return Address(graph, **server_given())


def address_of(graph: str | None) -> Address | None:
    """Return the address of a graph with the server's options; None without a graph."""
    return None if graph is None else Address(graph, **server_given())
