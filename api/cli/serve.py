"""The commands ``serve`` (the HTTP service), ``mcp`` (the same for agents) and ``keys`` (its file of API keys)."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ... import reasoning
from ...graph.errors import InputError, MissingExtra
from ..opening import Options, open_engine
from ..terminal.screen import note, plural, print_json, show, table
from . import options as opts
from .options import argument, option
from .settings import print_settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from ...graph.protocol import KnowledgeGraph

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANY = ("", "0.0.0.0", "::")


KeysFile = Annotated[Path | None, option("FILE", "File of API keys, made by tacit keys add.", "--keys")]
HostNames = Annotated[
    list[str] | None, option("NAME", "Host name of the service, e.g. behind a proxy; repeatable.", "--host-name")
]
NoAuth = Annotated[bool, typer.Option("--no-auth", help="Require no API key, even if other machines can reach the address.")]
ServiceLimits = Annotated[
    list[str] | None, option("NAME=NUMBER", "A limit, e.g. items=100; repeatable; docs/service.md lists them.", "--limit")
]
LogText = Annotated[bool, typer.Option("--log-text", help="Log the texts of requests too.")]


SERVED_JUDGES = ("answers", "graph", "similarity", "yes-no")
"""Judges that a service can open without being given a model."""


def complete_judges(incomplete: str) -> list[str]:
    """Complete names of judges for the shell."""
    return opts.complete_names(incomplete, SERVED_JUDGES)


def serve(
    graph: opts.GraphArgument,
    host: Annotated[str, option("ADDRESS", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("N", "Port to listen on; 0: any free port.", min=0, max=65535)] = 8000,
    metrics: opts.Metrics = None,
    option_values: opts.MetricOptions = None,
    pipeline: opts.Pipeline = None,
    keys: KeysFile = None,
    host_name: HostNames = None,
    no_auth: NoAuth = False,
    limit: ServiceLimits = None,
    conceptnet_api: Annotated[
        bool, typer.Option("--conceptnet-api", help="Also answer the URLs of the public ConceptNet API, such as /c/en/dog.")
    ] = False,
    judges: Annotated[
        list[str] | None,
        option(
            "NAME,...",
            "Judges of /v1/choose: answers, graph, similarity, or yes-no by the model of tacit fetch judge.",
            "--judges",
            "--judge",
            default="answers, graph",
            autocompletion=complete_judges,
        ),
    ] = None,
    log_text: LogText = False,
    engine: opts.EngineChoice = "auto",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Log only what went wrong; show no progress.")] = False,
) -> None:
    """Run the HTTP service: scores, explanations, graph queries and a web page."""
    check_access(host, keys, no_auth)
    names, default = opts.chosen_metrics(metrics, graph)
    options = opts.metric_options(option_values, names, pipeline)
    judge_names = opts.judge_names(judges, SERVED_JUDGES)
    if judge_names is not None and "yes-no" in judge_names:
        from ...reasoning.metrics.judgement import fetched_model

        fetched_model()  # report a missing model at the start, not at the first request
    with _needs_extra("serve"):
        from ..server.listening import bind
        from ..server.listening import serve as listen

        access = _access(host, keys, host_name, limit, log_text)
    with bind(host, port) as bound, open_engine(opts.address_at(graph), engine, quiet=quiet) as opened:
        app = _application(opened, names, options, **access, logging=not quiet, conceptnet_api=conceptnet_api, judges=judge_names)
        if _watched(default, quiet):
            note(f"the page is at http://{host}:{bound.getsockname()[1]}/; Ctrl+C stops")
        listen(app, bound, access["settings"], quiet=quiet)


@contextmanager
def _needs_extra(extra: str) -> Iterator[None]:
    """Turn a failed import into the error that names the extra."""
    try:
        yield
    except ImportError as error:
        raise MissingExtra((error.name or extra).partition(".")[0], extra) from error


def check_access(host: str, keys: Path | None, no_auth: bool) -> None:
    """Check that an address that other machines can reach needs a key, unless ``no_auth`` says otherwise."""
    if keys is None and host not in _LOOPBACK and not no_auth:
        raise InputError(
            f"other machines can reach this service on {host}; give --keys FILE to require API keys, or --no-auth to need none"
        )
    if keys is not None and no_auth:
        raise InputError("--keys and --no-auth cannot be given together; give one of them")


def _access(
    host: str, keys: Path | None, host_name: Sequence[str] | None, limit: Sequence[str] | None, log_text: bool
) -> dict[str, Any]:
    """Return settings, keys and host names of the application; the packages of the extra ``serve`` are installed."""
    from ..server.keys import Keys
    from ..server.service import Settings

    own_name = () if host in _ANY else (f"[{host}]" if ":" in host else host,)
    return {
        "settings": Settings.of(limit or (), log_text=log_text), "keys": None if keys is None else Keys(keys),
        "host_names": [*(host_name or ()), *own_name],
    }  # fmt: skip


def _application(opened: KnowledgeGraph, names: Sequence[str], options: Options, **arguments: Any) -> FastAPI:
    """Return the service over an open graph, ready for its first request; ``arguments`` are those of ``create_app``."""
    from ..server.app import create_app

    app = create_app(reasoning.Reasoner(opened, names, options=options), opened, **arguments)
    warm(opened)
    return app


def _watched(default: reasoning.DefaultMetrics | None, quiet: bool) -> bool:
    """Tell the settings and, to a person at a terminal, which metrics were chosen by default; return whether there is one."""
    print_settings(quiet)
    watched = sys.stderr.isatty() and not quiet
    if watched:
        opts.print_default(default, quiet)
    return watched


def warm(graph: KnowledgeGraph) -> None:
    """Run the queries that scores and explanations need, so that the first request does not wait for compiled code."""
    from ...graph.open import index_of

    index = index_of(graph)
    concepts = [] if index is None else index.complete("", 2)
    if len(concepts) == 2:
        graph.hop_distances(concepts, concepts)
        graph.paths(concepts[0], concepts[1], limit=1)
        graph.neighbours(concepts[0])


# The command ``mcp``, which serves a graph to programs with a language model.


def mcp(
    graph: opts.GraphArgument,
    http: Annotated[
        str | None,
        option(
            "[HOST:]PORT",
            "Serve over HTTP on this address, with the routes of tacit serve, e.g. 8000; without it on stdin and stdout.",
        ),
    ] = None,
    metrics: opts.Metrics = None,
    option_values: opts.MetricOptions = None,
    pipeline: opts.Pipeline = None,
    keys: KeysFile = None,
    host_name: HostNames = None,
    no_auth: NoAuth = False,
    limit: ServiceLimits = None,
    log_text: LogText = False,
    engine: opts.EngineChoice = "auto",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Log only what went wrong; show no progress.")] = False,
) -> None:
    """Serve a graph and metrics to agents, by the Model Context Protocol (MCP).

    An agent's program starts it by itself; docs/agents.md has the line of configuration for each.
    """
    if http is None:
        for name, value in (("--keys", keys), ("--host-name", host_name), ("--no-auth", no_auth)):
            if value:
                raise InputError(
                    f"{name} needs --http, since there is only one client without it; add --http, or leave {name} out"
                )
    host, port = ("127.0.0.1", 0) if http is None else address_in(http)
    check_access(host, keys, no_auth)
    names, default = opts.chosen_metrics(metrics, graph)
    options = opts.metric_options(option_values, names, pipeline)
    with _needs_extra("mcp"):
        from ..agents.mcp_server import PATH, mount, serve_stdio
        from ..server.listening import bind
        from ..server.listening import serve as listen

        access = _access(host, keys, host_name, limit, log_text)
    import asyncio

    with ExitStack() as stack:
        bound = None if http is None else stack.enter_context(bind(host, port))
        with redirect_stdout(sys.stderr):  # stdout is the protocol's
            opened = stack.enter_context(open_engine(opts.address_at(graph), engine, quiet=quiet))

        def app() -> FastAPI:
            application = _application(opened, names, options, **access, logging=bound is not None and not quiet)
            stack.callback(application.state.service.close)
            return application

        watched = _watched(default, quiet)
        if bound is None:
            if watched and sys.stdin.isatty():
                note("waiting for an agent's program on stdin; docs/agents.md says how to configure one; Ctrl+C stops")
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # the thread that reads stdin cannot be interrupted otherwise
            asyncio.run(serve_stdio(app, access["settings"], names))
        else:
            served = app()
            mount(served)
            if watched:
                shown_host = f"[{host}]" if ":" in host else host
                note(f"the address for agents is http://{shown_host}:{bound.getsockname()[1]}{PATH}; Ctrl+C stops")
            listen(served, bound, access["settings"], quiet=quiet)


def address_in(text: str) -> tuple[str, int]:
    """Return host and port of ``[HOST:]PORT``; an IPv6 address is in brackets."""
    match = re.fullmatch(r"(?:(\[[0-9A-Fa-f:.]+\]|[^\[\]:/\s]+):)?([0-9]{1,5})", text)
    if match is None or int(match[2]) > 65_535:
        raise InputError(f"--http {text} is not [HOST:]PORT; give e.g. 8000, 127.0.0.1:8000 or [::1]:8000")
    return (match[1] or "127.0.0.1").strip("[]"), int(match[2])


# The commands ``keys add``, ``keys list`` and ``keys remove``.

File = Annotated[Path, argument("FILE", "The file of API keys.")]

keys = typer.Typer(cls=opts.Group, help="Manage the API keys of a service.", rich_markup_mode=None)


@keys.command()
def add(file: File, name: Annotated[str, argument("NAME", "A name for the key, e.g. of its owner.")]) -> None:
    """Make an API key and print it once; the file stores only its hash."""
    from ..server.keys import editing_keys, new_key

    key, entry = new_key(name)
    with editing_keys(file, create=True) as entries:
        entries.append(entry)
    print(key)
    note(f"the key of {entry.name}; keep it, since it cannot be shown again: {file} has only its hash")


@keys.command("list")
def list_keys(file: File, json: opts.Json = False) -> None:
    """List the IDs and names of the keys in a file."""
    from ..server.keys import read_keys

    entries = read_keys(file)
    if json:
        print_json({"id": entry.id, "name": entry.name} for entry in entries)
    else:
        show(table(("id", "name"), [(entry.id, entry.name) for entry in entries]))


@keys.command()
def remove(file: File, name: Annotated[str, argument("NAME", "The name or the ID of the key.")]) -> None:
    """Remove a key by its name or ID; a running service refuses it within two seconds."""
    from ..server.keys import editing_keys

    with editing_keys(file) as entries:
        removed = [entry for entry in entries if name in (entry.id, entry.name)]
        if not removed:
            raise InputError(f"{file} has no key {name!r}; tacit keys list {file} shows them")
        entries[:] = [entry for entry in entries if entry not in removed]
    note(f"removed {plural(len(removed), 'key')} of {name}")
