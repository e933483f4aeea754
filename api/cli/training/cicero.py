"""The command ``train cicero``: models that answer CICERO's questions about a turn, or choose among answers."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....graph.errors import InputError
from ...opening import readable
from ...terminal.progress import Meter
from ..options import Json, Quiet, Strict
from .data import Device, Epochs, Output, RecipeFile, RecipeSeed, as_typed, check_distinct, say, sha256_of, tell_left_out

if TYPE_CHECKING:
    from ....graph.questions import Instance


class Task(Enum):
    """What the model learns."""

    GENERATE = "generate"
    CHOOSE = "choose"


def cicero(
    instances: Annotated[
        list[str],
        typer.Argument(metavar="INSTANCES...", show_default=False, help="CICERO's JSON lines or lists, plain or gzip."),
    ],
    task: Annotated[
        Task, typer.Option("--task", metavar="NAME", show_default=False, help="generate (write answers) or choose (among them).")
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model", metavar="ID|FOLDER|FILE.gguf", show_default=False,
            help="The initial model: sequence-to-sequence or causal; for choose also an encoder.",
        ),
    ],
    output: Output,
    recipe: RecipeFile = None,
    epochs: Epochs = None,
    seed: RecipeSeed = None,
    device: Device = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Fine-tune a model on CICERO: to answer questions about a turn, or to choose among answers; an interrupted run is continued.

    tacit infer --model FOLDER writes answers with it, tacit choose --model FOLDER judges by it. The recipe is that of the
    paper, for models of several hundred million weights; a small model needs a higher rate.
    """
    from ....reasoning.training.cicero import train_cicero
    from ....reasoning.training.loop import check_output
    from ....reasoning.training.recipe import open_recipe

    settings = open_recipe("cicero", recipe, epochs=epochs, seed=seed)
    check_output(output)
    rows, files = _read(instances, strict)
    words = [*instances, "--task", task.value, "--model", model, "--output", str(output)]
    with Meter("training", None, unit="steps", noun="steps", quiet=quiet) as meter:
        found = train_cicero(
            rows, model, output, settings, task=task.value, device=device,
            facts={"files": files, "command": as_typed("cicero", words, output)},
            progress=lambda step, total, _: meter.reach(step, total),
        )  # fmt: skip
    say(output, json, found)


def _read(files: list[str], strict: bool) -> tuple[list[Instance], list[dict[str, Any]]]:
    """Return the instances of the files, and the files for the card.

    Raises:
        InputError: a file is missing, given twice, or has no instance; with ``strict``, a record is not one.
    """
    from ....graph.questions import Instance
    from ....loaders import read_cicero

    found: list[Instance] = []
    told = []
    check_distinct(files)
    for file in files:
        rows = list(read_cicero(readable(file), strict=strict))
        own = [row for row in rows if isinstance(row, Instance)]
        tell_left_out(file, [f"record {row.line}: {row.reason}" for row in rows if not isinstance(row, Instance)])
        if not own:
            raise InputError(f"{file} has no instance of CICERO; its records need ID, Dialogue, Target, Question and Choices")
        found += own
        told.append({"file": file.rpartition("/")[2], "instances": len(own), "sha256": sha256_of(file)})
    return found, told
