"""Where a trained model goes: a folder with its card, or a file with its card beside it, whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...terminal.output import check_output

if TYPE_CHECKING:
    from ....reasoning.commonsense.regressor import Regressor

_SUFFIX = ".safetensors"


def name_of(model: str) -> str:
    """Return a model's id, or its folder's or file's name without where it is."""
    return Path(model).name if Path(model).exists() else model


def say(output: Path, json: bool, found: dict[str, Any]) -> None:
    """Say what was made in the folder ``output``, and what is known of it."""
    from ...terminal.screen import facts, print_json, show

    if json:
        print_json({"output": str(output), **found})
        return
    words = {name.replace("_", " "): value for name, value in found.items()}
    told = [(name, ", ".join(map(str, value)) if isinstance(value, list) else value) for name, value in words.items()]
    show(facts([("model", str(output)), ("card", str(output / "README.md")), *told]))


def check_place(output: Path, inputs: Sequence[str]) -> None:
    """Raise :class:`InputError` when the model cannot be written to ``output`` without destroying something else."""
    from ....reasoning.commonsense.modelfile import FILE
    from ....reasoning.modelfile import check_folder

    if output.suffix == _SUFFIX and not output.is_dir():
        for file in inputs:
            check_output(output, file)
        return
    check_folder(output, FILE, "a commonsense regressor")


def write_model(output: Path, model: Regressor) -> tuple[Regressor, Path]:
    """Write the model and its card to ``output``; return the model with its digest, and the card's path."""
    from ....reasoning.commonsense.modelfile import FILE, from_bytes, to_bytes
    from ....reasoning.modelfile import new_folder, write_file
    from ....reasoning.training.card import commonsense_card as card

    data = to_bytes(model)
    model = replace(model, digest=from_bytes(data, str(output)).digest)
    text = card(model, path=output.name).encode()
    if output.suffix == _SUFFIX and not output.is_dir():
        beside = output.with_suffix(".md")
        write_file(beside, text)
        write_file(output, data)
        return model, beside
    with new_folder(output) as fresh:
        (fresh / FILE).write_bytes(data)
        (fresh / "README.md").write_bytes(text)
    return model, output / "README.md"
