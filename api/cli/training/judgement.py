"""The command ``train judgement``, which trains a probe of a language model on dialogues without ratings."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....graph.errors import InputError
from ...opening import readable
from ...terminal.progress import Stages, waiting
from ..options import Json, Quiet, Strict
from .data import Device, DialogueFiles, Exclude, Output, RecipeFile, RecipeSeed, as_typed, read_corpora, say, sha256_of

if TYPE_CHECKING:
    from ....reasoning.training.judgement import Contrast

_SHOWN = ("ordered", "interval", "yes_alone", "penalty", "histories", "pairs", "seed")
_NOUNS = {"reading": "responses", "fitting": "layers"}


def judgement(
    dialogues: DialogueFiles,
    output: Output,
    model: Annotated[str, typer.Option("--model", metavar="ID|FOLDER|FILE.gguf", show_default=False, help="The language model.")],
    weigh: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="JSON lines with turns, options and answer, of another corpus: decides whether the model's own answer counts.",
        ),
    ] = None,
    exclude: Exclude = None,
    recipe: RecipeFile = None,
    seed: RecipeSeed = None,
    device: Device = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a probe of a language model for the metric judgement, on true and false responses of dialogues, without ratings.

    An interrupted run continues when the command is run again.
    """
    from ....graph.atomic import check_folder, new_folder
    from ....reasoning.metrics.judgement import PROBE

    check_folder(output, PROBE.file, "a probe of judgement")
    from ....reasoning.training.recipe import open_recipe

    settings = open_recipe("judgement", recipe, seed=seed)
    kept, left, files = read_corpora(dialogues, exclude or (), strict)
    others = _choices(weigh) if weigh is not None else []
    from ....reasoning.models.causal_lm import open_causal
    from ....reasoning.training.card import judgement_card as card
    from ....reasoning.training.judgement import make_contrasts, train_judgement
    from ....reasoning.training.probes import STATES, delete_states

    with waiting("opening the model", quiet=quiet):
        causal = open_causal(model, device=device, dtype=settings.dtype)
    contrasts = make_contrasts(kept, most=settings.histories, each=settings.false, seed=settings.seed)
    if weigh is not None:
        files.append({"file": Path(weigh).name, "dialogues": len(others), "sha256": sha256_of(weigh)})
    otherwise = [*dialogues, "--model", model, "--output", str(output)]
    told = {
        "files": files, "left_out": left, "licence": settings.licence, "recipe": asdict(settings),
        "command": as_typed("judgement", otherwise, output),
    }  # fmt: skip
    states = output.resolve().with_name(f".{output.name}{STATES}")
    with Stages(lambda stage: _NOUNS[stage], quiet=quiet) as stages:
        probe = train_judgement(contrasts, causal, states, weigh=others, seed=settings.seed, facts=told, progress=stages.tell)
    with new_folder(output) as fresh:
        (fresh / PROBE.file).write_bytes(probe.to_bytes())
        (fresh / "README.md").write_bytes(card(probe, path=output.name).encode())
    delete_states(states)
    made = {"digest": probe.digest, "language_model": probe.model, "layer": probe.layer, "yes": round(probe.yes, 4)}
    say(output, json, made | (dict(probe.facts) if json else {name: probe.facts[name] for name in _SHOWN}))


def _choices(file: str) -> list[Contrast]:
    """Return the contrasts of a file of multiple-choice dialogues.

    Raises:
        InputError: the file cannot be read, or a record has no options with the index of the true one.
    """
    from ....loaders.dialogues import Dialogue, read_dialogues
    from ....loaders.judgements import dataset_name
    from ....reasoning.training.judgement import given_contrasts

    found = []
    for row in read_dialogues(readable(file), strict=True):
        if not isinstance(row, Dialogue):
            continue
        options: Any = row.record.get("options")
        answer: Any = row.record.get("answer")
        texts = isinstance(options, list) and len(options) > 1 and all(isinstance(one, str) and one.strip() for one in options)
        if not (texts and type(answer) is int and 0 <= answer < len(options)):
            raise InputError(
                f'{file}:{row.line}: has no options with a true one; give {{"turns": […], "options": […], "answer": 0}}'
            )
        found.append((row.turns, options, answer))
    return given_contrasts(dataset_name(file), found)
