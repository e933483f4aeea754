"""Errors as people see them: one sentence on stderr and an exit status; the traceback only when ``TACIT_DEBUG`` is set."""

from __future__ import annotations

import os
import sys
import traceback

import typer

from ...graph.errors import TacitError
from .output import FULL
from .text import visible

_WRONG_INPUT = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


def describe(error: Exception) -> tuple[str, int]:
    """Return the sentence and the exit status for ``error``."""
    if isinstance(error, TacitError):
        return str(error), error.exit_status
    if isinstance(error, typer.TyperException):
        return _usage(error), 2
    if isinstance(error, typer.Abort):
        return "stopped", 130
    if isinstance(error, OSError) and error.errno in FULL:
        where = f"{error.filename} cannot be written" if error.filename else "the output cannot be written"
        return f"{where}: {os.strerror(error.errno or 0)}; free some space, or write elsewhere", 2
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}", 2 if isinstance(error, _WRONG_INPUT) else 1
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; try a smaller --limit or --batch-size", 1
    detail = f": {error}" if str(error) else ""
    return f"unexpected {type(error).__name__}{detail} (a fault in tacit; TACIT_DEBUG=1 shows where)", 1


def report(error: Exception) -> int:
    """Write ``error`` to stderr as one sentence and return the exit status."""
    if os.environ.get("TACIT_DEBUG", "0") not in ("", "0"):
        traceback.print_exception(error)
    sentence, status = describe(error)
    if status != 130:
        print("tacit:", visible(" ".join(sentence.split())), file=sys.stderr)
    return status


def _usage(error: typer.TyperException) -> str:
    """A usage error of the argument parser: its message, in our own form, with the command whose help to read."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    message = message.strip().rstrip(".").replace("Value error, ", "")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "tacit"
    return f"{message[:1].lower()}{message[1:]}; see: {path} --help"
