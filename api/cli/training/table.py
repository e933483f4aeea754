"""The command group ``tacit train``, and ``train pipeline``, which trains the English spaCy pipeline."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ....graph.errors import InputError
from ...terminal.progress import Meter
from ..options import Group, Json, Quiet
from .accent import accent, comet, kg_bert, llm_probe, retriever
from .choice_head import choice_head
from .cicero import choice_probe, cicero
from .coherence import coherence, language_model
from .commonsense import commonsense
from .cross_encoder import cross_encoder
from .data import Output, Seed
from .grade import grade
from .judgement import judgement
from .reference import reference
from .responder import responder

train = typer.Typer(cls=Group, rich_markup_mode=None, help="Train the models of metrics.")


@train.callback()
def _several() -> None:
    """Train the models of metrics."""


@train.command()
def pipeline(
    treebank: Annotated[
        Path,
        typer.Argument(
            metavar="TREEBANK_DIR", show_default=False, help="Folder with *-train, *-dev and *-test.conllu, plain or gzip."
        ),
    ],
    output: Output,
    seed: Seed = 0,
    max_steps: Annotated[int, typer.Option(metavar="N", min=1, help="Number of batches.")] = 4000,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Train the small English spaCy pipeline (tags, lemmas, dependencies) on a UD treebank."""
    from ...terminal.screen import facts, print_json, show

    train_file, dev_file, test_file = (split(treebank, name) for name in ("train", "dev", "test"))
    from ....reasoning.training.pipeline import train_pipeline

    with Meter("training", max_steps, unit="steps", noun="steps", quiet=quiet) as meter:
        evaluation = train_pipeline(
            train_file, dev_file, test_file, output, seed=seed, max_steps=max_steps,
            progress=lambda step, steps, _: meter.reach(step, steps),
        )  # fmt: skip
    if json:
        print_json({"output": str(output), "test": asdict(evaluation)})
        return
    scores = [(f"{name} on the test split", value) for name, value in evaluation.summary().items()]
    show(facts([("pipeline", str(output)), ("card", str(output / "README.md")), *scores]))


train.command()(commonsense)
train.command()(grade)
train.command()(accent)
train.command()(coherence)
train.command()(cicero)
train.command("language-model")(language_model)
train.command()(responder)
train.command()(judgement)
train.command()(retriever)
train.command()(comet)
train.command("kg-bert")(kg_bert)
train.command("choice-head")(choice_head)
train.command("choice-probe")(choice_probe)
train.command("llm-probe")(llm_probe)
train.command("cross-encoder")(cross_encoder)
train.command()(reference)


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


def split(treebank: Path, name: str) -> Path:
    """Return the file of the split ``name`` in a treebank's folder.

    Raises:
        InputError: the folder does not exist, or does not have exactly one such file.
    """
    if not treebank.is_dir():
        raise InputError(f"there is no folder {treebank}")
    found = sorted(path for pattern in ("conllu", "conllu.gz") for path in treebank.glob(f"*-{name}.{pattern}"))
    if not found:
        raise InputError(f"{treebank} holds no *-{name}.conllu or *-{name}.conllu.gz; give a treebank's folder")
    if len(found) > 1:
        raise InputError(f"{treebank} holds {len(found)} files *-{name}.conllu; leave one treebank in it")
    return found[0]
