"""The command ``train coherence``: a checkpoint of the metric from dialogues alone, with its card, in minutes on a CPU."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from ...terminal.progress import Stages
from ..options import Dtype, Json, Quiet, Strict
from .data import DialogueFiles, Exclude, as_typed, read_corpora

_NOUNS = {"counting": "terms", "encoding": "turns", "weighing the parts": "responses"}


class Use(Enum):
    """Which talk a checkpoint is made for."""

    SAME = "same"
    OTHER = "other"


def coherence(
    dialogues: DialogueFiles,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", show_default=False, help="Where the checkpoint and its card go.")
    ],
    exclude: Exclude = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="ID|FOLDER", show_default="all-MiniLM-L6-v2", help="The sentence encoder."),
    ] = None,
    language_model: Annotated[
        str | None,
        typer.Option(
            "--language-model",
            metavar="ID|FOLDER|FILE.gguf",
            show_default=False,
            help="A causal language model; with it, what it expects is a part too.",
        ),
    ] = None,
    pairs: Annotated[int, typer.Option(metavar="N", min=1, help="Pairs of turns that the head learns from, at most.")] = 200_000,
    terms: Annotated[int, typer.Option(metavar="N", min=1, help="Most frequent words and pairs of words that count.")] = 30_000,
    edges: Annotated[int, typer.Option(metavar="N", min=1, help="Associations that are kept, at most.")] = 1_200_000,
    use: Annotated[
        Use,
        typer.Option(
            "--for", help="Talk like the data's, or of other kinds as well: how associations and parts are weighed, and the head."
        ),
    ] = Use.SAME,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of everything random; one seed, one checkpoint.")] = 0,
    device: Annotated[str | None, typer.Option(metavar="NAME", show_default="cuda, else cpu", help="Where to encode.")] = None,
    licence: Annotated[str | None, typer.Option(metavar="TEXT", show_default=False, help="Of the data, for the card.")] = None,
    strict: Strict = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the metric coherence on dialogues: what follows what, without anybody's ratings.

    Files whose names differ in a split alone (talk-train, talk-dev) are of one corpus; several corpora make it hold elsewhere.
    """
    from ....reasoning.metrics.coherence.checkpoint import HEADER
    from ....reasoning.models.modelfile import check_folder, new_folder

    check_folder(output, HEADER, "a coherence checkpoint")
    from ....reasoning.training.coherence import FOR_OTHER, FOR_SAME, train_coherence

    kept, left, files = read_corpora(dialogues, exclude or (), strict)
    from ....reasoning.metrics.coherence.checkpoint import open_checkpoint
    from ....reasoning.metrics.coherence.parts import open_language_model
    from ....reasoning.models.encoder import open_encoder
    from ....reasoning.training.card import coherence_card as card
    from ...terminal.screen import facts, print_json, show

    opened = open_encoder(encoder, device=device)
    asked = open_language_model(language_model, device=device) if language_model is not None else None
    told = {"data": files, "left out": left, "licence": licence, "command": as_typed("coherence", dialogues, output)}
    settings = replace(FOR_SAME if use is Use.SAME else FOR_OTHER, terms=terms, edges=edges, max_pairs=pairs)
    with new_folder(output) as fresh, Stages(_noun, quiet=quiet) as stages:
        train_coherence(
            kept,
            opened,
            fresh,
            encoder_id=_id(encoder),
            language_model=asked,
            language_model_id=_id(language_model),
            seed=seed,
            settings=settings,
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
    """What is counted in a step of the training."""
    return _NOUNS.get(step.partition(" without ")[0], "steps")


def _id(model: str | None) -> str | None:
    """Return what a model is opened by anywhere; None for the default one and for files of this machine."""
    return model if model is not None and not Path(model).expanduser().exists() else None


# The command ``train language-model``: a causal language model reads dialogues, for the metrics expectation and coherence.


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
    from ....reasoning.metrics.coherence.parts import DEFAULT_MODEL
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
