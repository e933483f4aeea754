"""The command ``train responder``, which fine-tunes a causal language model to respond in dialogues."""

from __future__ import annotations

from typing import Annotated

import typer

from ...terminal.progress import Stages
from ..options import Json, Quiet, Strict
from .data import Device, DialogueFiles, Exclude, Output, RecipeFile, RecipeSeed, Steps, as_typed, read_corpora


def responder(
    dialogues: DialogueFiles,
    output: Output,
    model: Annotated[
        str, typer.Option("--model", metavar="ID|FOLDER|FILE.gguf", show_default=False, help="The initial causal language model.")
    ],
    exclude: Exclude = None,
    recipe: RecipeFile = None,
    steps: Steps = None,
    seed: RecipeSeed = None,
    device: Device = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fine-tune a causal language model to respond in dialogues; an interrupted run is continued.

    The losses are language modelling of true responses, and choosing them among turns of other dialogues (Wolf et al., 2019).
    tacit respond and tacit perplexity use the model.
    """
    from ....reasoning.training.loop import check_output
    from ....reasoning.training.recipe import open_recipe
    from ....reasoning.training.responder import train_responder
    from .data import say

    check_output(output, model)
    settings = open_recipe("responder", recipe, steps=steps, seed=seed)
    kept, left, files = read_corpora(dialogues, exclude or (), strict)
    told = {"command": as_typed("responder", dialogues, output)}
    with Stages(lambda stage: "steps" if stage == "training" else "turns", quiet=quiet) as stages:
        found = train_responder(kept, model, output, settings, device=device, facts=told, progress=stages.tell)
    say(output, json, {**found, **({"data": files, "left out": left} if json else {})})
