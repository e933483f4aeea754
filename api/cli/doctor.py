"""The command ``doctor``: what is installed, which graph and models are available, and how to get what is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ..terminal.screen import console, print_json, show, visible
from . import options as opts
from .options import option

if TYPE_CHECKING:
    from ..diagnosis import Diagnosis

_MARKS = {"ok": ("ok", ""), "missing": ("-", "yellow"), "wrong": ("WRONG", "red")}
_INDENT = 8


def doctor(
    graph: Annotated[
        str | None, option("GRAPH", "Look at this graph instead of the default.", default="TACIT_GRAPH, else tacit.toml")
    ] = None,
    json: opts.Json = False,
) -> None:
    """Say what is installed, which graph and models are available, and how to get what is missing.

    The exit status is 0 if tacit score FILE can run without options, else 1. Nothing is downloaded, and no network is used,
    except that a Neo4j server that is the default graph is asked whether it answers.
    """
    from rich.text import Text

    from ..diagnosis import diagnose

    diagnosis = diagnose(opts.server_given(), graph)
    if json:
        print_json(diagnosis.to_dict())
    else:
        for line, style in _lines(diagnosis):
            show(Text(visible(line), style), wrap=False)
    if not diagnosis.ready:
        raise typer.Exit(1)


def _lines(diagnosis: Diagnosis) -> Iterator[tuple[str, str]]:
    """Yield the lines and their styles: groups, below each its checks, below each the command that gets what is missing."""
    from textwrap import wrap

    width = console(sys.stdout).width - 1
    group = ""
    for check in diagnosis.checks:
        if check.group != group:
            yield from [("", "")] if group else []
            yield check.group.capitalize(), "bold"
            group = check.group
        mark, style = _MARKS[check.state]
        text = f"  {mark:<6}{check.name}: {check.detail}"
        for line in wrap(text, width, subsequent_indent=" " * _INDENT, break_long_words=False, break_on_hyphens=False):
            yield line, style
        if check.command:
            yield f"{' ' * _INDENT}get it with: {check.command}", "cyan"  # one line, to be copied
    yield "", ""
    yield (f"Ready: tacit score FILE runs {', '.join(diagnosis.metrics)}.", "bold") if diagnosis.ready else (
        "Not ready: tacit score FILE cannot run; see the lines marked WRONG.", "bold red"
    )  # fmt: skip
