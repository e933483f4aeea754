"""What models are trained on: judgement files and dialogue files as rated responses, and what the files are called in a card."""

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


def collect(
    files: Sequence[str], contrast: bool, rating: str, seed: int, strict: bool
) -> tuple[list[Rated], list[dict[str, Any]]]:
    """Read every file; what cannot be used is named on stderr.

    Returns:
        The rated responses, and for each file its name, its digest and how many of them it gave.

    Raises:
        InputError: there is no such file, one is named twice, or one holds nothing that can be used.
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
    """Raise :class:`InputError` when a file is named twice."""
    for place, file in enumerate(files):
        if file != "-" and any(other != "-" and Path(other).resolve() == Path(file).resolve() for other in files[:place]):
            raise InputError(f"{file} is named twice; what it holds would count twice")


def tell_left_out(file: str, faults: Sequence[str]) -> None:
    """Name what of a file cannot be used on stderr, the first few faults in full."""
    from ...terminal.screen import note

    for fault in faults[:_SHOWN_FAULTS]:
        note(f"left out: {file}, {fault}")
    if len(faults) > _SHOWN_FAULTS:
        note(f"left out: {len(faults) - _SHOWN_FAULTS:,} more of {file}")


def _judged(file: str, rating: str, strict: bool, faults: list[str]) -> list[Rated]:
    """Return the judgements of a file that can be scored; what is wrong with the others goes to ``faults``."""
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
    """Return the responses of a dialogue file, each in its own place and in another's."""
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
    """Return the digest of a file's bytes, None for standard input."""
    import hashlib

    if file == "-":
        return None
    with Path(file).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# The dialogues that a model is trained on: files of them by corpus, without those that will be measured on.

DialogueFiles = Annotated[
    list[str],
    typer.Argument(metavar="DIALOGUES...", show_default=False, help="JSON lines with turns, plain or gzip."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="FILE",
        show_default=False,
        help="Rated responses or dialogues that will be measured on; what they share is left out. Repeatable.",
    ),
]


def read_corpora(
    files: Sequence[str], exclude: Sequence[str], strict: bool
) -> tuple[dict[str, list[tuple[str, ...]]], dict[str, int], list[dict[str, Any]]]:
    """Return the distinct dialogues of each corpus, how many were left out and why, and what a card says of each file.

    Raises:
        InputError: a file cannot be read, is named twice, or holds no dialogue; or a corpus has too few.
    """
    read, described = _read(files, strict)
    barred = [turn for file in exclude for turn in _turns_of(file)]
    from ....reasoning.training.corpora import check_corpora, distinct_dialogues

    kept, left = distinct_dialogues(read, barred)
    check_corpora(kept)
    return kept, left, described


def _read(files: Sequence[str], strict: bool) -> tuple[dict[str, list[tuple[str, ...]]], list[dict[str, Any]]]:
    """Read the dialogues of each corpus, and what the card says of each file.

    Raises:
        InputError: a file cannot be read, is named twice, or holds no dialogue.
    """
    from ....loaders.dialogues import Dialogue, read_dialogues
    from ....loaders.judgements import dataset_name
    from ....reasoning.training.corpora import corpus_of

    corpora: dict[str, list[tuple[str, ...]]] = {}
    described = []
    check_distinct(files)
    for file in files:
        found: list[tuple[str, ...]] = []
        faults: list[str] = []
        for row in read_dialogues(readable(file), strict=strict):
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


def _turns_of(file: str) -> Iterator[str]:
    """The turns of a file that will be measured on: of judgements what was said before the rated response, else every turn.

    Raises:
        InputError: it holds neither judgements nor dialogues.
    """
    from ....loaders import Judgement, read_judgements
    from ....loaders.dialogues import Dialogue, read_dialogues

    if file == "-":
        raise InputError("--exclude reads no standard input; name a file")
    try:
        rows = [row for row in read_dialogues(readable(file)) if isinstance(row, Dialogue)]
    except InputError:  # a table without turns may be one of judgements
        rows = []
    histories = [row.turns for row in rows] or [row.history for row in read_judgements(file) if isinstance(row, Judgement)]
    if not histories:
        raise InputError(f"{file} holds neither judgements nor dialogues that could be left out")
    for turns in histories:
        yield from turns


# Where a trained model goes: a folder with its card, or a file with its card beside it, whole or not at all.

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
    from ....reasoning.metrics.commonsense.regressor import FILE
    from ....reasoning.models.modelfile import check_folder

    if output.suffix == _SUFFIX and not output.is_dir():
        for file in inputs:
            check_output(output, file)
        return
    check_folder(output, FILE, "a commonsense regressor")


def write_model(output: Path, model: Regressor) -> tuple[Regressor, Path]:
    """Write the model and its card to ``output``; return the model with its digest, and the card's path."""
    from ....reasoning.metrics.commonsense.regressor import FILE, from_bytes, to_bytes
    from ....reasoning.models.modelfile import new_folder, write_file
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


# The command line that made a model, as its card tells it: without the folders of one machine, since a card travels.


def as_typed(name: str, otherwise: Sequence[str], output: Path) -> str:
    """Return the command line ``tacit train NAME …`` with files and folders by their names alone.

    Args:
        otherwise: what stands after ``name`` where the command was called from Python, not typed.
        output: the folder that the model is written to, which may not be there yet.
    """
    words = sys.argv[3:] if sys.argv[1:3] == ["train", name] else list(otherwise)
    return shlex.join(["tacit", "train", name, *(_named(word, output) for word in words)])


def _named(word: str, output: Path) -> str:
    option, mark, value = word.partition("=") if word.startswith("--") else ("", "", word)
    is_path = os.sep in value and (Path(value).exists() or Path(value) == output)
    return f"{option}{mark}{Path(value).name}" if is_path else word
