"""The commands ``train cicero`` and ``train choice-probe``: models that answer CICERO's questions about a turn, or choose."""

from __future__ import annotations

from dataclasses import asdict
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....graph.errors import InputError
from ...opening import readable
from ...terminal.progress import Meter, Stages, waiting
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
    rows, files = read_instances(instances, strict)
    words = [*instances, "--task", task.value, "--model", model, "--output", str(output)]
    with Meter("training", None, unit="steps", noun="steps", quiet=quiet) as meter:
        found = train_cicero(
            rows, model, output, settings, task=task.value, device=device,
            facts={"files": files, "command": as_typed("cicero", words, output)},
            progress=lambda step, total, _: meter.reach(step, total),
        )  # fmt: skip
    say(output, json, found)


_SHOWN = ("ordered", "interval", "yes_alone", "penalty", "instances", "dialogues", "pairs", "seed")
_NOUNS = {"reading": "instances", "fitting": "layers"}


def choice_probe(
    instances: Annotated[
        list[str],
        typer.Argument(
            metavar="INSTANCES...", show_default=False, help="CICERO's JSON lines or lists with right answers, plain or gzip."
        ),
    ],
    output: Output,
    model: Annotated[str, typer.Option("--model", metavar="ID|FOLDER|FILE.gguf", show_default=False, help="The language model.")],
    recipe: RecipeFile = None,
    seed: RecipeSeed = None,
    device: Device = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a probe of a language model that tells right from wrong answers to CICERO's questions; the model stays as it is.

    tacit choose --model MODEL --probe FOLDER judges by it. An interrupted run continues when the command is run again.
    """
    from ....graph.atomic import check_folder, new_folder
    from ....reasoning.inference.probing import PROBE

    check_folder(output, PROBE.file, "a probe for choices")
    from ....reasoning.training.recipe import open_recipe

    settings = open_recipe("choice-probe", recipe, seed=seed)
    rows, files = read_instances(instances, strict)
    from ....reasoning.models.causal_lm import open_causal
    from ....reasoning.training.card import choice_probe_card as card
    from ....reasoning.training.choice_probe import pairs_of, train_choice_probe
    from ....reasoning.training.probes import STATES, delete_states

    pairs_of(rows)  # too few are told before the model is opened
    with waiting("opening the model", quiet=quiet):
        causal = open_causal(model, device=device, dtype=settings.dtype)
    told = {
        "files": files, "licence": settings.licence, "recipe": asdict(settings),
        "command": as_typed("choice-probe", [*instances, "--model", model, "--output", str(output)], output),
    }  # fmt: skip
    states = output.resolve().with_name(f".{output.name}{STATES}")
    with Stages(lambda stage: _NOUNS[stage], quiet=quiet) as stages:
        probe = train_choice_probe(rows, causal, states, seed=settings.seed, facts=told, progress=stages.tell)
    with new_folder(output) as fresh:
        (fresh / PROBE.file).write_bytes(probe.to_bytes())
        (fresh / "README.md").write_bytes(card(probe, path=output.name).encode())
    delete_states(states)
    made = {"digest": probe.digest, "language_model": probe.model, "layer": probe.layer}
    say(output, json, made | (dict(probe.facts) if json else {name: probe.facts[name] for name in _SHOWN}))


def read_instances(files: list[str], strict: bool) -> tuple[list[Instance], list[dict[str, Any]]]:
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
