"""The command ``train language-model``: a causal language model reads dialogues, for the metrics expectation and coherence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...terminal.options import Dtype, Json, Quiet, Strict
from ...terminal.progress import Stages
from .dialogues import DialogueFiles, Exclude, read_corpora
from .typed import as_typed


def language_model(
    dialogues: DialogueFiles,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", show_default=False, help="Where the model and its card go.")
    ],
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="ID|FOLDER|FILE.gguf", show_default="SmolLM2-135M-Instruct", help="The model that reads them."
        ),
    ] = None,
    exclude: Exclude = None,
    steps: Annotated[int, typer.Option(metavar="N", min=1, help="Batches to learn from.")] = 200,
    tokens: Annotated[int, typer.Option(metavar="N", min=1, help="Tokens in a batch.")] = 2_048,
    layers: Annotated[
        int | None, typer.Option(metavar="N", min=1, show_default="two in five", help="Top layers that learn.")
    ] = None,
    rate: Annotated[float, typer.Option(metavar="X", help="The highest learning rate.")] = 2e-4,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of all that is drawn; one seed, one model.")] = 0,
    checkpoint_every: Annotated[int, typer.Option(metavar="N", min=0, help="Steps between checkpoints; 0 keeps none.")] = 50,
    device: Annotated[str | None, typer.Option(metavar="NAME", show_default="cuda, else cpu", help="Where to train.")] = None,
    dtype: Annotated[
        Dtype | None, typer.Option(show_default="bfloat16 on a GPU, else float32", help="Numbers to work with.")
    ] = None,
    licence: Annotated[str | None, typer.Option(metavar="TEXT", show_default=False, help="Of the model, for the card.")] = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Let a language model read dialogues, so that it expects what people answer one another; a run that died goes on.

    With the same files in the same order, --exclude and --seed, what train coherence holds out is held out here too.
    """
    from ....reasoning.coherence.expectation import DEFAULT_MODEL
    from ....reasoning.training.language_model import Reading, train_language_model
    from ....reasoning.training.loop import check_output
    from ...terminal.screen import facts, print_json, show

    check_output(output)
    kept, left, files = read_corpora(dialogues, exclude or (), strict)
    half = dtype is Dtype.BFLOAT16 if dtype else None
    reading = Reading(steps, tokens, layers, rate, seed, checkpoint_every, half)
    told = {"command": as_typed("language-model", dialogues, output), "licence": licence}
    with Stages(lambda stage: "steps" if stage == "training" else "turns", quiet=quiet) as stages:
        found = train_language_model(
            kept, model or DEFAULT_MODEL, output, reading, device=device, facts=told, progress=stages.tell
        )
    if json:
        print_json({"output": str(output), "card": str(output / "README.md"), "data": files, "left out": left, **found})
        return
    show(facts([
        ("model", str(output)), ("card", str(output / "README.md")), ("dialogues", f"{found['dialogues']:,}"),
        ("nats per token before", f"{found['nats_before']:.3f}"), ("nats per token after", f"{found['nats_after']:.3f}"),
    ]))  # fmt: skip
