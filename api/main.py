"""Entry point of the ``tacit`` program: runs a command and converts errors to an exit status and one sentence on stderr.

Exit status 0: success; 2: wrong input or usage; 130: interrupted; 1: other errors. ``TACIT_DEBUG=1`` shows tracebacks. Heavy
imports are avoided, so that an interrupt in the first milliseconds is handled too.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import typer

from ..graph.atomic import DISK_FULL
from ..graph.errors import TacitError
from .terminal.screen import visible

_SUGGESTION = re.compile(r"(?:\. Did you mean | \(Possible options: )(.*?)[?)]$")  # as typer writes it
_WRONG_INPUT = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


def describe(error: Exception) -> tuple[str, int]:
    """Return the message and the exit status for ``error``."""
    if isinstance(error, TacitError):
        return str(error), error.exit_status
    if isinstance(error, typer.TyperException):
        return _usage(error), 2
    if isinstance(error, typer.Abort):
        return "stopped", 130
    if isinstance(error, OSError) and error.errno in DISK_FULL:
        where = f"{error.filename} cannot be written" if error.filename else "the output cannot be written"
        return f"{where}: {os.strerror(error.errno or 0)}; free some space, or write elsewhere", 2
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}", 2 if isinstance(error, _WRONG_INPUT) else 1
    if isinstance(error, MemoryError):
        return "not enough memory; try a smaller --limit or --batch-size", 1
    detail = f": {error}" if str(error) else ""
    return f"unexpected {type(error).__name__}{detail} (a fault in tacit; TACIT_DEBUG=1 shows the traceback)", 1


def report(error: Exception) -> int:
    """Write ``error`` to stderr as one sentence and return the exit status."""
    if os.environ.get("TACIT_DEBUG", "0") not in ("", "0"):
        traceback.print_exception(error)
    sentence, status = describe(error)
    if status != 130:
        print("tacit:", visible(" ".join(sentence.split())), file=sys.stderr)
    return status


def _usage(error: typer.TyperException) -> str:
    """Return the message of a usage error in tacit's form, with the command whose help to read."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    message = _SUGGESTION.sub(r"; did you mean \1?", message.strip()).rstrip(".").replace("Value error, ", "")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "tacit"
    if context is not None and getattr(error, "option_name", "") == "--graph":
        message += _graph_hint(context.command)
    return f"{message[:1].lower()}{message[1:]}{'' if message.endswith('?') else ';'} see: {path} --help"


def _graph_hint(command: Any) -> str:
    """Return how a command without the option ``--graph`` takes its graph; empty if it takes none."""
    names = [parameter.opts[0] for parameter in command.params if parameter.metavar in ("GRAPH", "{GRAPH}")]
    if not names:
        return ""
    return f"; give the graph as {names[0]} GRAPH" if names[0].startswith("--") else "; give the graph as the argument GRAPH"


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line with ``argv`` (default: ``sys.argv``; empty: ``--help``) and return the exit status."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a character that the terminal cannot encode must not be an error
                stream.reconfigure(errors="backslashreplace")
        _warn_of_other_tacit()
        from .cli.commands import command

        arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
        only = () if "_TACIT_COMPLETE" in os.environ else arguments
        status = command(only).main(args=arguments, prog_name="tacit", standalone_mode=False, obj=arguments)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return _discard_stdout()
    except SystemExit as leaving:  # raised by the argument parser for a broken pipe
        return leaving.code if isinstance(leaving.code, int) else 1
    except Exception as error:
        status = report(error)
        try:
            sys.stdout.flush()
        except (OSError, ValueError):  # buffered output cannot be written, e.g. because the disk is full
            _discard_stdout()
        return status


def main() -> NoReturn:
    """Entry point of the ``tacit`` program."""
    status = run()
    if status == 130:  # exit without waiting for threads of an engine, which may still run
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
    gc.freeze()  # else the interpreter's last search for cycles goes through all objects, a fifth of the time of a short command
    sys.exit(status)


def _warn_of_other_tacit() -> None:
    """Warn on stderr if the distribution ``tacit``, another project on PyPI, is installed over this one's files."""
    from pathlib import Path

    site = Path(next(iter(sys.modules["tacit"].__path__))).parent
    with contextlib.suppress(OSError):
        for folder in site.glob("tacit-*.dist-info"):
            print(
                f"tacit: the package {folder.stem.replace('-', ' ')}, another project, is installed here too and shares the "
                "import name with tacit-kg; run: pip uninstall --yes tacit && pip install --force-reinstall --no-deps tacit-kg",
                file=sys.stderr,
            )


def _discard_stdout() -> int:
    """Redirect stdout to ``/dev/null`` after a broken pipe, so that the interpreter does not report it again at exit."""
    with contextlib.suppress(OSError, ValueError):  # stdout may not be a file, e.g. in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
