"""Where a trained model goes: a folder with its card, or a file with its card beside it, whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....graph.errors import InputError
from ...terminal.output import check_output, write_whole

if TYPE_CHECKING:
    from ....reasoning.commonsense.regressor import Regressor

_SUFFIX = ".safetensors"


def check_folder(output: Path, file: str, what: str) -> None:
    """Raise :class:`InputError` when ``output`` cannot be made, or holds something other than a ``what``, which has ``file``."""
    if output.exists() and not (output.is_dir() and (not any(output.iterdir()) or (output / file).is_file())):
        raise InputError(f"{output} holds something other than a {what}; give a new folder for --output")
    if not output.resolve().parent.is_dir():
        raise InputError(f"there is no folder {output.parent} to write {output.name} in; make it first")


@contextmanager
def whole_folder(output: Path) -> Iterator[Path]:
    """Give a fresh folder beside ``output`` that takes its place when the block has ended well."""
    fresh, old = (output.with_name(f".{output.name}.{os.getpid()}.{state}") for state in ("part", "old"))
    try:
        fresh.mkdir()
        yield fresh
        if output.exists():
            output.rename(old)
        fresh.rename(output)
    finally:
        for folder in (fresh, old):
            shutil.rmtree(folder, ignore_errors=True)


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

    if output.suffix == _SUFFIX and not output.is_dir():
        for file in inputs:
            check_output(output, file)
        return
    check_folder(output, FILE, "commonsense regressor")


def write_model(output: Path, model: Regressor) -> tuple[Regressor, Path]:
    """Write the model and its card to ``output``; return the model with its digest, and the card's path."""
    from ....reasoning.commonsense.modelfile import FILE, from_bytes, to_bytes
    from ....reasoning.training.commonsense_card import card

    data = to_bytes(model)
    model = replace(model, digest=from_bytes(data, str(output)).digest)
    text = card(model, path=output.name).encode()
    if output.suffix == _SUFFIX and not output.is_dir():
        beside = output.with_suffix(".md")
        write_whole(beside, text)
        write_whole(output, data)
        return model, beside
    with whole_folder(output) as fresh:
        write_whole(fresh / FILE, data)
        write_whole(fresh / "README.md", text)
    return model, output / "README.md"
