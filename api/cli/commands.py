"""The table of commands, in the order and under the headings of ``tacit --help``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from ...graph.errors import InputError
from . import options as opts
from .settings import begin

_COMMANDS: dict[str, dict[str, str]] = {  # the function or group of a command, by its module, which is imported where needed
    "Build a graph": {
        "setup": "setup.setup", "load": "load.load", "link": "graphs.link", "fetch": "setup.fetch",
        "sources": "setup.sources", "info": "graphs.info", "index": "graphs.index", "check": "graphs.check",
        "export": "graphs.export",
    },
    "Query a graph": {
        "neighbours": "lookups.neighbours", "hops": "lookups.hops", "paths": "lookups.paths", "triples": "lookups.triples",
        "tails": "lookups.tails", "heads": "lookups.heads", "cypher": "cypher.cypher",
        "guard": "cypher.guard",
    },
    "Score dialogues": {
        "metrics": "metrics.metrics", "score": "score.score", "explain": "explain.explain",
        "filter": "filter.filter_dialogues", "evaluate": "evaluate.evaluate",
        "compare": "compare.compare",
        "evaluate-tuples": "evaluate_tuples.evaluate_tuples",
        "score-tuples": "event_tuples.score_tuples", "merge-cache": "event_tuples.merge_cache", "train": "training.table.train",
    },
    "Answer questions about a turn": {"infer": "infer.infer", "choose": "choose.choose"},
    "Respond": {"respond": "respond.respond", "perplexity": "respond.perplexity", "prompts": "respond.prompts"},
    "Create a data set": {"create": "create.create"},
    "Serve": {"serve": "serve.serve", "mcp": "serve.mcp", "keys": "serve.keys"},
    "Try it": {"demo": "demo.demo"},
    "Get help": {"help": "help.help_on", "doctor": "doctor.doctor"},
}  # fmt: skip

_CLASSES = {
    "triples": "lookups.MultiValueCommand",
    **dict.fromkeys(("neighbours", "hops", "paths", "tails", "heads", "cypher", "export"), "options.GraphFirst"),
}
_COMPLETION = {"--install-completion": "Install shell completion.", "--show-completion": "Print the completion script."}
_SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


class _Sections(opts.Group):
    """The root group, whose help lists the commands under headings."""

    def sections(self) -> dict[str, Sequence[str]]:
        return {heading: list(commands) for heading, commands in _COMMANDS.items()}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Handle ``--show-completion SHELL`` and ``--install-completion SHELL``; typer only detects the current shell."""
        if len(args) > 1 and args[0] in _COMPLETION:
            _complete_shell(args[0], args[1])
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


def _complete_shell(option: str, shell: str) -> None:
    """Print or install the completion script of ``shell``, and exit."""
    if shell not in _SHELLS:
        raise InputError(f"{option} does not support the shell {shell!r}; give one of {', '.join(_SHELLS)}")
    from typer._completion_classes import completion_init
    from typer._completion_shared import get_completion_script, install

    if option == "--install-completion":
        completion_init()
        _, path = install(shell=shell, prog_name="tacit")
        print(f"{shell} completion installed in {path}; it works in new shells")
    else:
        print(get_completion_script(prog_name="tacit", complete_var="_TACIT_COMPLETE", shell=shell))
    raise typer.Exit


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"tacit {version('tacit-kg')}")
        raise typer.Exit


def _root(
    ctx: typer.Context,
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    """Query a commonsense knowledge graph, and score dialogue responses with explanations."""
    begin(ctx)


def command_names() -> tuple[str, ...]:
    """Return the names of all commands, in the order of ``tacit --help``."""
    return tuple(name for commands in _COMMANDS.values() for name in commands)


def command(arguments: Sequence[str] = ()) -> Any:
    """Return the command line as one callable command.

    With ``arguments`` that begin with the name of a command it has this command only, since the others take 0.1 s.
    """
    name = arguments[0] if arguments else ""
    return _command(name if any(name in commands for commands in _COMMANDS.values()) else None)


@cache
def _command(only: str | None) -> Any:
    app = typer.Typer(cls=_Sections, rich_markup_mode=None, callback=_root, context_settings={"max_content_width": 110})
    for commands in _COMMANDS.values():
        for name, path in commands.items():
            if only not in (None, name):
                continue
            function = _imported(path)
            if isinstance(function, typer.Typer):
                app.add_typer(function, name=name)
            else:
                app.command(name, cls=_imported(_CLASSES[name]) if name in _CLASSES else None)(function)
    root = typer.main.get_command(app)
    opts.add_server_options(root)
    opts.hide_argument_types(root)
    options: list[Any] = root.params
    for option in options:
        for flag in _COMPLETION.keys() & {*option.opts}:
            option.help = f"{_COMPLETION[flag]} Name a shell after it, or it is detected: {', '.join(_SHELLS)}."
        if option.default is None and option.type_descriptor.annotation is bool:
            option.default = False  # for flags with the default None typer would import pydantic, which takes 0.1 s
    return root


def _imported(path: str) -> Any:
    """Return the function or class at ``path``, such as ``setup.fetch``."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(f".{module}", __package__), name)
