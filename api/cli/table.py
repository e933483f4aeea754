"""The table of commands: which function answers which name, in the order and under the headings of ``tacit --help``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import asking, cypher, demo, evaluating, explaining, filtering, graphs, loading, metrics, scoring, serving, tuples
from . import graphs as exporting
from . import loading as fetching
from . import serving as keeping
from . import tuples as evaluating_tuples
from .options import Group, add_server_options
from .training import table as training

if TYPE_CHECKING:
    from collections.abc import Callable

_COMMANDS: dict[str, dict[str, Callable[..., Any] | typer.Typer]] = {
    "Build a graph": {
        "load": loading.load, "fetch": fetching.fetch, "sources": fetching.sources, "info": graphs.info, "index": graphs.index,
        "check": graphs.check, "export": exporting.export,
    },
    "Ask it": {
        "neighbours": asking.neighbours, "hops": asking.hops, "paths": asking.paths, "triples": asking.triples,
        "tails": asking.tails, "heads": asking.heads, "cypher": cypher.cypher,
    },
    "Score dialogues": {
        "metrics": metrics.metrics, "score": scoring.score, "explain": explaining.explain,
        "filter": filtering.filter_dialogues, "evaluate": evaluating.evaluate,
        "evaluate-tuples": evaluating_tuples.evaluate_tuples,
        "score-tuples": tuples.score_tuples, "merge-cache": tuples.merge_cache, "train": training.train,
    },
    "Serve": {"serve": serving.serve, "keys": keeping.keys},
    "See it work": {"demo": demo.demo},
}  # fmt: skip

_CLASSES = {"triples": asking.Lists}


class _Sections(Group):
    """A group that lists its commands under headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading, commands in _COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, self._summary(ctx, name)) for name in commands])

    def _summary(self, ctx: Any, name: str) -> str:
        command = self.get_command(ctx, name)
        return "" if command is None else command.get_short_help_str(limit=120)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"tacit {version('tacit-kg')}")
        raise typer.Exit


def _root(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    """Commonsense you can query, scores you can explain."""


@cache
def command() -> Any:
    """Return the whole command line as one callable command, made once (0.1 s)."""
    app = typer.Typer(cls=_Sections, rich_markup_mode=None, callback=_root, context_settings={"max_content_width": 110})
    for commands in _COMMANDS.values():
        for name, function in commands.items():
            if isinstance(function, typer.Typer):
                app.add_typer(function, name=name)
            else:
                app.command(name, cls=_CLASSES.get(name))(function)
    found = typer.main.get_command(app)
    add_server_options(found)
    options: list[Any] = found.params
    for option in options:
        if option.default is None and option.type_descriptor.annotation is bool:
            option.default = False  # the flags for completion: typer imports pydantic, 0.1 s, to see that None is no flag
    return found
