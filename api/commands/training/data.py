"""What models are trained on: judgement files and dialogue files as rated responses, and what the files are called in a card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....graph.errors import InputError
from ...opening import readable

if TYPE_CHECKING:
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
