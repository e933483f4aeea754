"""The command ``train cross-encoder``: an encoder that predicts ratings of responses, or labels of event tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...terminal.progress import Meter
from ..options import Json, Quiet, Strict
from .accent import read_judged_files
from .data import Device, Model, Output, RecipeFile, RecipeSeed, as_typed, collect, say

if TYPE_CHECKING:
    from ....reasoning.training.cross_encoder import Example
    from ....reasoning.training.recipe import RatingRecipe


def cross_encoder(
    ratings: Annotated[
        list[str],
        typer.Argument(metavar="RATINGS...", show_default=False, help="Rated responses, as tacit evaluate reads them."),
    ],
    output: Output,
    model: Model,
    tuples: Annotated[
        bool,
        typer.Option("--tuples", help="RATINGS are event tuples: head, relation, tail and label (1, 0); for score-tuples."),
    ] = False,
    recipe: RecipeFile = None,
    seed: RecipeSeed = None,
    device: Device = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fine-tune an encoder to predict people's ratings of responses; an interrupted run is continued.

    The reported agreement is on conversations left out of the training. Use it with
    tacit score FILE --metrics cross-encoder -O cross-encoder.model=FOLDER.
    """
    from ....reasoning.training.cross_encoder import train_cross_encoder
    from ....reasoning.training.loop import check_output
    from ....reasoning.training.recipe import open_recipe

    settings = open_recipe("cross-encoder", recipe, seed=seed)
    check_output(output)
    examples, files = _tuples(ratings, strict) if tuples else _responses(ratings, settings, strict)
    words = [*ratings, "--model", model, "--output", str(output), *(["--tuples"] if tuples else [])]
    facts = {
        "files": files, "command": as_typed("cross-encoder", words, output),
        "use": "here of an event tuple: `tacit score-tuples FILE --scorer cross-encoder -O model=FOLDER`" if tuples else
        "here of a response after its history: `tacit score FILE --metrics cross-encoder -O cross-encoder.model=FOLDER`",
    }  # fmt: skip
    with Meter("training", None, unit="steps", noun="steps", quiet=quiet) as meter:
        found = train_cross_encoder(
            examples, model, output, settings, device=device, facts=facts,
            progress=lambda step, total, _: meter.reach(step, total),
        )  # fmt: skip
    say(output, json, found)


def _responses(files: list[str], settings: RatingRecipe, strict: bool) -> tuple[list[Example], list[dict[str, Any]]]:
    """Return the rated responses of the files as examples, and the files for the card."""
    from ....reasoning.evaluation.agreement import conversations
    from ....reasoning.metrics.baselines.cross_encoder import texts_of
    from ....reasoning.training.cross_encoder import Example

    rated, data = collect(files, False, settings.rating, settings.seed, strict)
    groups = conversations([(one.history, one.response) for one in rated])
    examples = [
        Example(*texts_of(one.history, one.response), one.rating, one.dataset, str(group))
        for one, group in zip(rated, groups, strict=True)
    ]
    return examples, [{"file": row["file"], "number": row["judgements"], "sha256": row["sha256"]} for row in data]


def _tuples(files: list[str], strict: bool) -> tuple[list[Example], list[dict[str, Any]]]:
    """Return the judged tuples of the files as examples, grouped by head, and the files for the card."""
    from ....reasoning.metrics.accent.scorers.kgbert import pair_of
    from ....reasoning.training.cross_encoder import Example

    rows, data = read_judged_files(files, strict)
    examples = [Example(*pair_of(row[:3]), float(row[3]), "tuples", row[0]) for row in rows]
    return examples, [{"file": row["file"], "number": row["tuples"], "sha256": row["sha256"]} for row in data]
