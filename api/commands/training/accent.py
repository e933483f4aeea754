"""The command ``train accent``: a model that extracts event tuples, fine-tuned on those that people wrote down."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...opening import readable
from ...terminal.options import Json, Quiet
from ...terminal.progress import Meter
from .data import check_distinct, sha256_of
from .typed import as_typed


def accent(
    files: Annotated[
        list[str],
        typer.Argument(metavar="DECO_JSON...", show_default=False, help="Responses with human event tuples, plain or gzip."),
    ],
    model: Annotated[
        str, typer.Option("--model", metavar="ID|FOLDER", show_default=False, help="What to fine-tune, e.g. t5-base.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", show_default=False, help="Where the model and its card go.")
    ],
    nones: Annotated[int, typer.Option(metavar="N", min=0, help="Examples of the answer None, a relation.")] = 5,
    epochs: Annotated[int, typer.Option(metavar="N", min=1, help="Passes over the examples.")] = 50,
    batch_size: Annotated[int, typer.Option(metavar="N", min=1, help="Examples a step.")] = 4,
    rate: Annotated[float, typer.Option(metavar="X", help="AdamW's learning rate, falling to 0.")] = 5e-5,
    max_length: Annotated[int, typer.Option(metavar="N", min=96, help="Tokens of a prompt that are read.")] = 512,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of examples, order and dropout; one seed, one model.")] = 42,
    device: Annotated[str | None, typer.Option(metavar="NAME", show_default="cuda, else cpu", help="Where to train.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the extractor of the metric accent: a sequence-to-sequence model learns human event tuples."""
    from ....loaders import read_event_tuples
    from ...terminal.screen import facts, print_json, show

    rows, data = [], []
    check_distinct(files)
    for file in files:
        found = read_event_tuples(readable(file))
        rows += found
        tuples = sum(len(row.tuples) for row in found)
        digest = sha256_of(file)
        digest = f", sha256 `{digest}`" if digest else ""
        data.append(f"`{Path(file).name}`, {len(found)} dialogues with {tuples} tuples{digest}")
    from ....reasoning.training.accent import train_extractor

    with Meter("training", None, unit="steps", noun="steps", quiet=quiet) as meter:
        trained = train_extractor(
            rows, model, output, nones=nones, epochs=epochs, batch_size=batch_size, learning_rate=rate, max_length=max_length,
            seed=seed, device=device, data=data,
            command=as_typed("accent", [*files, "--model", model, "-o", str(output)], output),
            progress=lambda done, total, _: meter.add(done - meter.number, total=total),
        )  # fmt: skip
    if json:
        print_json({"output": str(output), **trained.to_dict()})
        return
    rows_shown = [
        ("model", str(output)), ("card", str(output / "README.md")), ("fine-tuned from", trained.model),
        ("examples", f"{trained.tuples} tuples, {trained.nones} None"), ("loss, last pass", trained.loss),
        ("digest", trained.digest),
    ]  # fmt: skip
    show(facts(rows_shown))
