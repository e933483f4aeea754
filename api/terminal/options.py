"""The arguments and options that several commands share, so that each means, and is called, the same everywhere."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..opening import Engine as Engine


class Group(TyperGroup):
    """A command that has commands."""

    def get_help_option(self, ctx: Any) -> Any:
        """The ``--help`` flag, with a default: without one typer imports pydantic, 0.1 s, to find out that no flag is no flag."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option


class Dtype(Enum):
    """The numbers that a model works with."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"


Graph = Annotated[
    str, typer.Argument(metavar="GRAPH", show_default=False, help="A path, or a URL: neo4j://, neo4j+s:// or bolt://.")
]
GraphNeeded = Annotated[
    str, typer.Option("--graph", metavar="GRAPH", show_default=False, help="A path, or a neo4j:// or bolt:// URL.")
]
Resamples = Annotated[int, typer.Option(metavar="N", min=1, help="Resamples that the 95% intervals come from.")]
ResampleSeed = Annotated[int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Of the resamples; one seed, one interval.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Strict = Annotated[bool, typer.Option("--strict", help="End at the first line that cannot be read.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
User = Annotated[str | None, typer.Option(metavar="NAME", show_default=False, help="Server: user [env NEO4J_USERNAME].")]
Password = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT", show_default=False, help="Server: password; better set NEO4J_PASSWORD, others may see commands."
    ),
]
Database = Annotated[str | None, typer.Option(metavar="NAME", show_default=False, help="Server: database [env NEO4J_DATABASE].")]
Language = Annotated[str, typer.Option(metavar="CODE", help="Language of the texts.")]
Relations = Annotated[
    list[str] | None, typer.Option("--relation", metavar="NAME", show_default=False, help="Only this relation; repeatable.")
]
Param = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", metavar="NAME=VALUE", show_default=False, help="A $parameter: JSON, else text; repeatable."),
]
EngineOption = Annotated[
    Engine,
    typer.Option(
        "--engine", help="index: compiled, built when missing; store: the database itself; auto: the index where it can be kept."
    ),
]
