"""The command ``serve``: the reasoner and its graph over HTTP, with the page at ``/``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...graph.errors import InputError, MissingExtra
from ..metrics import Metrics, OptionOption, Pipeline, metric_names, metric_options
from ..opening import Address, open_engine
from ..terminal.options import Database, Engine, EngineOption, Graph, Password, User

if TYPE_CHECKING:
    from ...graph.protocol import KnowledgeGraph

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANY = ("", "0.0.0.0", "::")


def serve(
    graph: Graph,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Listen at this address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Listen at this port; 0: any free one.")] = 8000,
    metrics: Metrics = None,
    option: OptionOption = None,
    pipeline: Pipeline = None,
    keys: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default=False, help="Who may use it; tacit keys add makes it.")
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option(
            "--host-name",
            metavar="NAME",
            show_default=False,
            help="A name by which others reach it; repeatable.",
        ),
    ] = None,
    no_auth: Annotated[bool, typer.Option("--no-auth", help="Let anybody who can reach the address use it.")] = False,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NUMBER", show_default=False, help="A limit, e.g. items=100; repeatable; docs/service.md lists them."
        ),
    ] = None,
    log_text: Annotated[bool, typer.Option("--log-text", help="Log the texts of requests too.")] = False,
    engine: EngineOption = Engine.AUTO,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Log only what went wrong; show no progress.")] = False,
    user: User = None,
    password: Password = None,
    database: Database = None,
) -> None:
    """Serve scores, explanations and the graph over HTTP."""
    if keys is None and host not in _LOOPBACK and not no_auth:
        raise InputError(
            f"others can reach this service at {host}; give their keys with --keys FILE, or let anybody use it with --no-auth"
        )
    if keys is not None and no_auth:
        raise InputError("--keys and --no-auth cannot be given together; give one of them")
    names = metric_names(metrics)
    options = metric_options(option, names, pipeline)
    try:
        from ..service.app import create_app
        from ..service.keys import Keys
        from ..service.listening import bind
        from ..service.listening import serve as listen
        from ..service.settings import Settings
    except ImportError as error:
        raise MissingExtra((error.name or "fastapi").partition(".")[0], "serve") from error
    from ...reasoning import Reasoner
    from ..terminal.screen import note

    known = None if keys is None else Keys(keys)
    settings = Settings.of(limit or (), log_text=log_text)
    names_here = [*(host_name or ()), *(() if host in _ANY else (f"[{host}]" if ":" in host else host,))]
    with bind(host, port) as bound, open_engine(Address(graph, user, password, database), engine, quiet=quiet) as opened:
        reasoner = Reasoner(opened, names, options=options)
        app = create_app(reasoner, opened, settings=settings, keys=known, host_names=names_here, logging=not quiet)
        _warm(opened)
        if sys.stderr.isatty() and not quiet:
            note(f"the page is at http://{host}:{bound.getsockname()[1]}/; Ctrl+C stops")
        listen(app, bound, settings, quiet=quiet)


def _warm(graph: KnowledgeGraph) -> None:
    """Ask what scores and explanations ask, so that the first request does not wait for compiled code to be loaded."""
    from ...graph.opening import index_of

    index = index_of(graph)
    known = [] if index is None else index.complete("", 2)
    if len(known) == 2:
        graph.hop_distances(known, known)
        graph.paths(known[0], known[1], limit=1)
        graph.neighbours(known[0])
