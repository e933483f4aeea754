"""The commands ``train coherence`` and ``train language-model``, which train on dialogues without ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...terminal.progress import Stages
from ..options import Json, Quiet, Strict
from .data import Device, DialogueFiles, Encoder, Exclude, Output, RecipeFile, RecipeSeed, Steps, as_typed, read_corpora

_NOUNS = {"counting": "terms", "encoding": "turns", "weighing the parts": "responses"}


def coherence(
    dialogues: DialogueFiles,
    output: Output,
    exclude: Exclude = None,
    encoder: Encoder = None,
    language_model: Annotated[
        str | None,
        typer.Option(
            "--language-model",
            metavar="ID|FOLDER|FILE.gguf",
            show_default=False,
            help="A causal language model; adds the part expectation.",
        ),
    ] = None,
    recipe: RecipeFile = None,
    seed: RecipeSeed = None,
    device: Device = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the metric coherence on dialogues, without ratings.

    Files whose names differ only in the split (talk-train, talk-dev) are one corpus; several corpora make it generalise better.
    --recipe other is for scoring other kinds of dialogues than those of the training.
    """
    from ....graph.atomic import check_folder, new_folder
    from ....reasoning.metrics.coherence.checkpoint import HEADER

    check_folder(output, HEADER, "a coherence checkpoint")
    from ....reasoning.training.recipe import open_recipe

    settings = open_recipe("coherence", recipe, seed=seed)
    from ....reasoning.training.coherence import train_coherence

    kept, left, files = read_corpora(dialogues, exclude or (), strict)
    from ....reasoning.metrics.coherence.checkpoint import open_checkpoint
    from ....reasoning.metrics.coherence.parts import open_language_model
    from ....reasoning.models.encoder import open_encoder
    from ....reasoning.training.card import coherence_card as card
    from ...terminal.screen import facts, print_json, show

    opened = open_encoder(encoder, device=device)
    asked = open_language_model(language_model, device=device) if language_model is not None else None
    told = {"data": files, "left out": left, "licence": settings.licence, "command": as_typed("coherence", dialogues, output)}
    with new_folder(output) as fresh, Stages(_noun, quiet=quiet) as stages:
        train_coherence(
            kept,
            opened,
            fresh,
            encoder_id=_id(encoder),
            language_model=asked,
            language_model_id=_id(language_model),
            recipe=settings,
            facts=told,
            progress=stages.tell,
        )
        checkpoint = open_checkpoint(fresh)
        (fresh / "README.md").write_text(card(checkpoint.header, checkpoint.digest, path=output.name), encoding="utf-8")
    said = checkpoint.header["facts"]
    if json:
        print_json({"output": str(output), "card": str(output / "README.md"), "digest": checkpoint.digest, **said})
        return
    areas = [(f"{part} tells true from false", f"{area:.3f} of 1") for part, area in said["areas"].items()]
    sizes = [(f"dialogues of {name}", f"{len(dialogues):,}") for name, dialogues in kept.items() if dialogues]
    show(facts([
        ("checkpoint", str(output)), ("card", str(output / "README.md")), ("digest", checkpoint.digest), *sizes,
        ("associations", f"{said['edges']:,}"), *areas,
    ]))  # fmt: skip


def _noun(step: str) -> str:
    """The unit of progress of a training stage."""
    return _NOUNS.get(step.partition(" without ")[0], "steps")


def _id(model: str | None) -> str | None:
    """Return the hub id of a model; None for the default one and for local files."""
    return model if model is not None and not Path(model).expanduser().exists() else None


# The command ``train language-model``, for the metrics expectation and coherence.


def language_model(
    dialogues: DialogueFiles,
    output: Output,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="ID|FOLDER|FILE.gguf", show_default="SmolLM2-135M-Instruct", help="The initial model."),
    ] = None,
    exclude: Exclude = None,
    recipe: RecipeFile = None,
    steps: Steps = None,
    seed: RecipeSeed = None,
    device: Device = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fine-tune a causal language model on dialogues, for the metrics expectation and coherence; an interrupted run is continued.

    With the same files in the same order, --exclude and --seed, the dialogues held out by train coherence are held out here too.
    """
    from ....reasoning.metrics.coherence.parts import DEFAULT_MODEL
    from ....reasoning.training.language_model import train_language_model
    from ....reasoning.training.loop import check_output
    from ....reasoning.training.recipe import open_recipe
    from ...terminal.screen import facts, print_json, show

    check_output(output)
    settings = open_recipe("language-model", recipe, steps=steps, seed=seed)
    kept, left, files = read_corpora(dialogues, exclude or (), strict)
    told = {"command": as_typed("language-model", dialogues, output)}
    with Stages(lambda stage: "steps" if stage == "training" else "turns", quiet=quiet) as stages:
        found = train_language_model(
            kept, model or DEFAULT_MODEL, output, settings, device=device, facts=told, progress=stages.tell
        )
    if json:
        print_json({"output": str(output), "card": str(output / "README.md"), "data": files, "left out": left, **found})
        return
    show(facts([
        ("model", str(output)), ("card", str(output / "README.md")), ("dialogues", f"{found['dialogues']:,}"),
        ("nats per token before", f"{found['nats_before']:.3f}"), ("nats per token after", f"{found['nats_after']:.3f}"),
    ]))  # fmt: skip
