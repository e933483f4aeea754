"""The dialogues that a model is trained on: files of them by corpus, without those that will be measured on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ....graph.errors import InputError
from ...opening import readable
from .data import check_distinct, sha256_of, tell_left_out

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
