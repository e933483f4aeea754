"""The command group ``tacit train``, and ``train recipe``, which prints the settings of a training."""

from __future__ import annotations

from typing import Annotated

import typer

from . import choices, metrics, models
from .run import train

__all__ = ["choices", "metrics", "models", "train"]


@train.command()
def recipe(
    training: Annotated[
        str | None, typer.Argument(metavar="[TRAINING]", show_default=False, help="A training, as in tacit train TRAINING.")
    ] = None,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", show_default="the default", help="One of its recipes.")] = None,
) -> None:
    """Print a recipe, the settings of a training with their ranges, as TOML; without arguments, list the recipes.

    tacit train grade ... --recipe FILE reads it; keys that the file leaves out have their defaults.
    """
    from ....reasoning.training.recipe import recipe_text, recipes
    from ...terminal.screen import show, table

    if training is None:
        show(table(("training", "recipes"), recipes()))
        return
    print(recipe_text(training, name), end="")
