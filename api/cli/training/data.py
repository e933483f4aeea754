"""Shared parts of the training commands: options, reading of training files, writing of models, the command line for cards."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ....graph.errors import InputError
from ...opening import readable
from ...terminal.output import check_output

if TYPE_CHECKING:
    from ....reasoning.metrics.commonsense.regressor import Regressor
    from ....reasoning.training.commonsense import Rated

_SHOWN_FAULTS = 10

# Options that several commands have.

Device = Annotated[
    str | None, typer.Option(metavar="NAME", show_default="cuda, else cpu", help="Where models run, as torch names it.")
]
Encoder = Annotated[
    str | None,
    typer.Option("--encoder", metavar="ID|FOLDER", show_default="all-MiniLM-L6-v2", help="The frozen sentence encoder."),
]
Licence = Annotated[str | None, typer.Option(metavar="TEXT", show_default=False, help="Licence of the data, for the card.")]
Model = Annotated[str, typer.Option("--model", metavar="ID|FOLDER", show_default=False, help="The initial model.")]
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", show_default=False, help="Folder for the model and its card.")
]
RecipeFile = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        metavar="FILE.toml|NAME",
        show_default=False,
        help="Settings of the training; tacit train recipe prints them. Other options replace theirs.",
    ),
]
RecipeSeed = Annotated[
    int | None, typer.Option("--seed", metavar="N", show_default="the recipe's", help="Random seed; one seed, one model.")
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Random seed; one seed, one model.")]
Epochs = Annotated[
    int | None, typer.Option("--epochs", metavar="N", show_default="the recipe's", help="Passes over the training data.")
]
Steps = Annotated[int | None, typer.Option("--steps", metavar="N", show_default="the recipe's", help="Number of batches.")]


def collect(
    files: Sequence[str], contrast: bool, rating: str, seed: int, strict: bool
) -> tuple[list[Rated], list[dict[str, Any]]]:
    """Read all files; faulty rows are reported on stderr.

    Returns:
        The rated responses, and for each file its name, digest and number of responses.

    Raises:
        InputError: a file is missing, given twice, or has nothing that can be used.
    """
    rated: list[Rated] = []
    data: list[dict[str, Any]] = []
    check_distinct(files)
    for file in files:
        faults: list[str] = []
        found = _dialogues(readable(file), seed, strict, faults) if contrast else _judged(readable(file), rating, strict, faults)
        tell_left_out(file, faults)
        if not found:
            what = "dialogue" if contrast else "judgement"
            raise InputError(f"{file} holds no {what} that can be used" + (f"; the first fault: {faults[0]}" if faults else ""))
        rated += found
        data.append({"file": Path(file).name, "judgements": len(found), "sha256": sha256_of(file)})
    return rated, data


def check_distinct(files: Sequence[str]) -> None:
    """Raise :class:`InputError` when a file is given twice."""
    for place, file in enumerate(files):
        if file != "-" and any(other != "-" and Path(other).resolve() == Path(file).resolve() for other in files[:place]):
            raise InputError(f"{file} is given twice; give each file once")


def tell_left_out(file: str, faults: Sequence[str]) -> None:
    """Report the faults of a file on stderr, the first few in full."""
    from ...terminal.screen import note

    for fault in faults[:_SHOWN_FAULTS]:
        note(f"left out: {file}, {fault}")
    if len(faults) > _SHOWN_FAULTS:
        note(f"left out: {len(faults) - _SHOWN_FAULTS:,} more of {file}")


def _judged(file: str, rating: str, strict: bool, faults: list[str]) -> list[Rated]:
    """Return the valid judgements of a file; faults of the others are appended to ``faults``."""
    from ....graph.item import Item
    from ....loaders import Judgement, read_judgements

    found: list[Rated] = []
    for row in read_judgements(file, strict=strict, rating=rating):
        if not isinstance(row, Judgement):
            faults.append(f"row {row.line}: {row.reason}")
            continue
        try:
            Item(row.history, row.response)
            found.append(row)
        except InputError as error:
            if strict:
                raise
            faults.append(f"judgement {row.id}: {error}")
    return found


def _dialogues(file: str, seed: int, strict: bool, faults: list[str]) -> list[Rated]:
    """Return the responses of a dialogue file, each with its own history and with another one's."""
    from ....graph.item import ItemError
    from ....loaders import read_items
    from ....loaders.judgements import dataset_name
    from ....reasoning.training.commonsense import contrast

    items = []
    for row in read_items(file, strict=strict):
        if isinstance(row, ItemError):
            faults.append(f"line {row.line}: {row.reason}")
            continue
        items.append((row.history, row.response))
    return list(contrast(items, seed, dataset_name(file))) if items else []


def sha256_of(file: str) -> str | None:
    """Return the sha256 of a file, None for standard input."""
    import hashlib

    if file == "-":
        return None
    with Path(file).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# Dialogue files.

DialogueFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="DIALOGUES...", show_default=False, help="JSON lines with turns, or treebanks (.conllu); plain or gzip."
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="FILE",
        show_default=False,
        help="Judgements or dialogues of an evaluation; dialogues that share turns with them are left out. Repeatable.",
    ),
]


def read_corpora(
    files: Sequence[str], exclude: Sequence[str], strict: bool
) -> tuple[dict[str, list[tuple[str, ...]]], dict[str, int], list[dict[str, Any]]]:
    """Return the distinct dialogues of each corpus, the numbers left out by reason, and the facts of each file for the card.

    Raises:
        InputError: a file cannot be read, is given twice, or has no dialogue; or a corpus has too few.
    """
    read, described = _read(files, strict)
    barred = [turn for file in exclude for turn in turns_of(file)]
    from ....reasoning.training.corpora import check_corpora, distinct_dialogues

    kept, left = distinct_dialogues(read, barred)
    check_corpora(kept)
    return kept, left, described


def _read(files: Sequence[str], strict: bool) -> tuple[dict[str, list[tuple[str, ...]]], list[dict[str, Any]]]:
    """Read the dialogues of each corpus, the paragraphs of a treebank among them, and the facts of each file for the card.

    Raises:
        InputError: a file cannot be read, is given twice, or has no dialogue.
    """
    from ....loaders.dialogues import Dialogue, read_dialogues
    from ....loaders.judgements import dataset_name
    from ....loaders.treebank import is_treebank, read_paragraphs
    from ....reasoning.training.corpora import corpus_of

    corpora: dict[str, list[tuple[str, ...]]] = {}
    described = []
    check_distinct(files)
    for file in files:
        found: list[tuple[str, ...]] = []
        faults: list[str] = []
        read = read_paragraphs if is_treebank(file) else read_dialogues
        for row in read(readable(file), strict=strict):
            if isinstance(row, Dialogue):
                found.append(row.turns)
                continue
            faults.append(f"line {row.line}: {row.reason}")
        tell_left_out(file, faults)
        if not found:
            raise InputError(f'{file} holds no dialogue; give lines of {{"turns": […]}}')
        corpora.setdefault(corpus_of(dataset_name(file)), []).extend(found)
        described.append({"file": Path(file).name, "dialogues": len(found), "sha256": sha256_of(file)})
    return corpora, described


def turns_of(file: str) -> Iterator[str]:
    """The turns of an evaluation file: the histories of judgements, or all turns of dialogues.

    Raises:
        InputError: it has neither judgements nor dialogues.
    """
    from ....loaders import Judgement, read_judgements
    from ....loaders.dialogues import Dialogue, read_dialogues

    if file == "-":
        raise InputError("--exclude cannot read standard input; give a file")
    try:
        rows = [row for row in read_dialogues(readable(file)) if isinstance(row, Dialogue)]
    except InputError:  # a table without turns may be one of judgements
        rows = []
    histories = [row.turns for row in rows] or [row.history for row in read_judgements(file) if isinstance(row, Judgement)]
    if not histories:
        raise InputError(f"{file} holds neither judgements nor dialogues that could be left out")
    for turns in histories:
        yield from turns


# Writing of models, replaced atomically: a folder with the card, or a file with the card beside it.

_SUFFIX = ".safetensors"


def name_of(model: str) -> str:
    """Return a model's id, or the name of its file or folder without the path."""
    return Path(model).name if Path(model).exists() else model


def say(output: Path, json: bool, found: dict[str, Any]) -> None:
    """Show the folder ``output`` of a model and its facts."""
    from ...terminal.screen import facts, print_json, show

    if json:
        print_json({"output": str(output), **found})
        return
    words = {name.replace("_", " "): value for name, value in found.items()}
    told = [(name, ", ".join(map(str, value)) if isinstance(value, list) else value) for name, value in words.items()]
    show(facts([("model", str(output)), ("card", str(output / "README.md")), *told]))


def check_place(output: Path, inputs: Sequence[str]) -> None:
    """Raise :class:`InputError` when the model cannot be written to ``output`` without destroying something else."""
    from ....graph.atomic import check_folder
    from ....reasoning.metrics.commonsense.regressor import FILE

    if output.suffix == _SUFFIX and not output.is_dir():
        for file in inputs:
            check_output(output, file)
        return
    check_folder(output, FILE, "a commonsense regressor")


def write_model(output: Path, model: Regressor) -> tuple[Regressor, Path]:
    """Write the model and its card to ``output``; return the model with its digest, and the card's path."""
    from ....graph.atomic import new_folder, write_file
    from ....reasoning.metrics.commonsense.regressor import FILE, from_bytes, to_bytes
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


# The command line for cards, without local folders.


def as_typed(name: str, otherwise: Sequence[str], output: Path) -> str:
    """Return the command line ``tacit train NAME …`` with files and folders reduced to their names.

    Args:
        otherwise: the words after ``name``, when the command was called from Python.
        output: the folder of the model, which may not exist yet.
    """
    words = sys.argv[3:] if sys.argv[1:3] == ["train", name] else list(otherwise)
    return shlex.join(["tacit", "train", name, *(_named(word, output) for word in words)])


def _named(word: str, output: Path) -> str:
    option, mark, value = word.partition("=") if word.startswith("--") else ("", "", word)
    is_path = os.sep in value and (Path(value).exists() or Path(value) == output)
    return f"{option}{mark}{Path(value).name}" if is_path else word
