"""The command ``mcp``, which serves a graph to programs with a language model."""

from __future__ import annotations

import re
import signal
import sys
from contextlib import ExitStack, redirect_stdout
from typing import TYPE_CHECKING, Annotated

import typer

from ...graph.errors import InputError, MissingExtra
from ..opening import open_engine
from .options import (
    Engine,
    EngineOption,
    GraphOrDefault,
    Metrics,
    OptionOption,
    Pipeline,
    address_at,
    chosen_metrics,
    metric_options,
)
from .serving import HostNames, KeysFile, Limits, LogText, NoAuth, Plan, check_access

if TYPE_CHECKING:
    from fastapi import FastAPI

_HOST = "127.0.0.1"


def mcp(
    graph: GraphOrDefault,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            show_default=False,
            help="Serve over HTTP on this address, with the routes of tacit serve, e.g. 8000; without it on stdin and stdout.",
        ),
    ] = None,
    metrics: Metrics = None,
    option: OptionOption = None,
    pipeline: Pipeline = None,
    keys: KeysFile = None,
    host_name: HostNames = None,
    no_auth: NoAuth = False,
    limit: Limits = None,
    log_text: LogText = False,
    engine: EngineOption = Engine.AUTO,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Log only what went wrong; show no progress.")] = False,
) -> None:
    """Serve a graph and metrics to agents, by the Model Context Protocol (MCP).

    An agent's program starts it by itself; docs/agents.md has the line of configuration for each.
    """
    if http is None:
        for name, given in (("--keys", keys), ("--host-name", host_name), ("--no-auth", no_auth)):
            if given:
                raise InputError(f"{name} is for --http, since stdin and stdout reach nobody else; give both or neither")
    host, port = (_HOST, 0) if http is None else address_in(http)
    check_access(host, keys, no_auth)
    names, default = chosen_metrics(metrics, graph)
    options = metric_options(option, names, pipeline)
    try:
        from ..agents.server import PATH, mount, serve_stdio
        from ..server.app import create_app
        from ..server.listening import bind, serve
    except ImportError as error:
        raise MissingExtra((error.name or "mcp").partition(".")[0], "mcp") from error
    import asyncio

    from ..terminal.screen import note

    plan = Plan.of(names, options, host, keys, host_name, limit, log_text)
    with ExitStack() as stack:
        bound = None if http is None else stack.enter_context(bind(host, port))
        with redirect_stdout(sys.stderr):  # stdout is the protocol's
            opened = stack.enter_context(open_engine(address_at(graph), engine, quiet=quiet))

        def app() -> FastAPI:
            found = plan.application(create_app, opened, logging=bound is not None and not quiet)
            stack.callback(found.state.service.close)
            return found

        watched = plan.tell(default, quiet)
        if bound is None:
            if watched and sys.stdin.isatty():
                note("waiting for an agent's program on stdin; docs/agents.md says how to configure one; Ctrl+C stops")
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # the thread that reads stdin cannot be interrupted otherwise
            asyncio.run(serve_stdio(app, plan.settings, names))
        else:
            served = app()
            mount(served)
            if watched:
                shown = f"[{host}]" if ":" in host else host
                note(f"the address for agents is http://{shown}:{bound.getsockname()[1]}{PATH}; Ctrl+C stops")
            serve(served, bound, plan.settings, quiet=quiet)


def address_in(text: str) -> tuple[str, int]:
    """Return host and port of ``[HOST:]PORT``; an IPv6 address is in brackets.

    Raises:
        InputError: the text has another form, or the port is above 65,535.
    """
    match = re.fullmatch(r"(?:(\[[0-9A-Fa-f:.]+\]|[^\[\]:/\s]+):)?([0-9]{1,5})", text)
    if match is None or int(match[2]) > 65_535:
        raise InputError(f"--http {text} is not [HOST:]PORT; give e.g. 8000, 127.0.0.1:8000 or [::1]:8000")
    return (match[1] or _HOST).strip("[]"), int(match[2])
