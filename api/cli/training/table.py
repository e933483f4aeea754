"""The command group ``tacit train``, and ``train recipe``, which prints the settings of a training."""

from __future__ import annotations

from typing import Annotated

import typer

from ...terminal.screen import show, table
from .. import options as opts
from ..options import argument
from . import cicero, metric_models, models

train = typer.Typer(cls=opts.Group, rich_markup_mode=None, help="Train the models that metrics use.")


@train.callback()
def _several() -> None:
    """Train the models that metrics use."""


for _name, _command in {
    "pipeline": models.pipeline, "commonsense": metric_models.commonsense, "grade": metric_models.grade, "accent": models.accent,
    "coherence": metric_models.coherence, "cicero": cicero.cicero,
    "responder": models.responder, "judgement": metric_models.judgement, "retriever": models.retriever, "comet": models.comet,
    "kg-bert": models.kg_bert, "choice-head": cicero.choice_head, "choice-probe": cicero.choice_probe,
    "llm-probe": models.llm_probe, "cross-encoder": models.cross_encoder, "reference": metric_models.reference,
}.items():  # fmt: skip
    train.command(_name)(_command)


@train.command()
def recipe(
    training: Annotated[str | None, argument("TRAINING", "A training, as in tacit train TRAINING.")] = None,
    name: Annotated[str | None, argument("NAME", "One of its recipes.", default="the default")] = None,
) -> None:
    """Print a recipe, the settings of a training with their ranges, as TOML; without arguments, list the recipes.

    tacit train grade ... --recipe FILE reads it; keys that the file leaves out have their defaults.
    """
    from ....reasoning.training.recipe import recipe_text, recipes

    if training is None:
        show(table(("training", "recipes"), recipes()))
        return
    print(recipe_text(training, name), end="")
