"""Reading of training files: dialogues, judged responses, event tuples, CICERO's instances; with the facts of files for cards.

Records that cannot be used are reported on stderr; with ``strict`` the first one is an error.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .... import loaders
from ....graph.errors import InputError
from ....graph.item import Item, ItemError
from ....graph.questions import Instance
from ....graph.storage import file_sha256
from ...opening import check_distinct, readable
from ...terminal.faults import Records, read_all

if TYPE_CHECKING:
    from ....reasoning.training.commonsense import Rated
    from ....reasoning.training.judgement import Contrast

Row = TypeVar("Row")
Files = list[dict[str, Any]]
"""For each file its name, number of rows, and sha256."""
Turns = tuple[str, ...]


def read_files(
    files: Sequence[str], read: Callable[[str], Iterable[Row | ItemError]], noun: str, wanted: str
) -> tuple[list[Row], Files]:
    """Return the rows of all files, and the facts of the files.

    Args:
        read: yields the rows of a file, and errors for records without one.
        noun: what the rows are called in the facts; wanted: one of them, with its article, for messages.
    """
    all_rows: list[Row] = []
    facts: Files = []
    check_distinct(files)
    for file in files:
        rows = read_all(read(readable(file)), file, wanted)
        all_rows += rows
        facts.append({"file": Path(file).name, noun: len(rows), "sha256": None if file == "-" else file_sha256(Path(file))})
    return all_rows, facts


def read_corpora(
    files: Sequence[str], exclude: Sequence[str], strict: bool
) -> tuple[dict[str, list[Turns]], dict[str, int], Files]:
    """Return the distinct dialogues of each corpus, the numbers left out by reason, and the facts of the files."""
    from ....loaders.judgements import dataset_name
    from ....loaders.treebank import is_treebank, read_paragraphs
    from ....reasoning.training.corpora import check_corpora, corpus_of, distinct_dialogues

    def dialogues(file: str) -> Iterator[tuple[str, Turns] | ItemError]:
        reader = read_paragraphs if is_treebank(file) else loaders.read_dialogues
        corpus = corpus_of(dataset_name(file))
        return (row if isinstance(row, ItemError) else (corpus, row.turns) for row in reader(file, strict=strict))

    rows, facts = read_files(files, dialogues, "dialogues", "a dialogue")
    corpora: dict[str, list[Turns]] = {}
    for corpus, turns in rows:
        corpora.setdefault(corpus, []).append(turns)
    distinct, left_out = distinct_dialogues(corpora, itertools.chain.from_iterable(excluded_turns(exclude, strict)))
    check_corpora(distinct)
    return distinct, left_out, facts


def excluded_turns(files: Sequence[str], strict: bool) -> list[Turns]:
    """Return the turns of the records in evaluation files: all turns of dialogues, or the histories of judgements."""
    dialogues: list[Turns] = []
    for file in files:
        if file == "-":
            raise InputError("--exclude cannot read standard input; give a file")
        if _has_dialogues(readable(file)):
            dialogues += [row.turns for row in read_all(loaders.read_dialogues(file, strict=strict), file, "a dialogue")]
            continue
        judgements = Records(loaders.read_judgements(file, strict=strict), file, "a judgement")
        dialogues += [row.history for row in judgements]
        if not judgements.read:
            raise InputError(f"{file} contains neither judgements nor dialogues to exclude")
        judgements.report()
    return dialogues


def _has_dialogues(file: str) -> bool:
    try:
        return any(not isinstance(row, ItemError) for row in loaders.read_dialogues(file))
    except InputError:  # a table without turns may be one of judgements
        return False


def read_unjudged(files: Sequence[str], exclude: Sequence[str], strict: bool) -> tuple[list[Turns], Files]:
    """Return the dialogues of files of items, without judged ones; of items with growing histories, the longest one counts."""
    from ....reasoning.training.grade_data import without_judged

    judged = [
        (*row.history, row.response)
        for file in exclude
        for row in read_all(loaders.read_judgements(readable(file), strict=strict), file, "a judgement")
    ]
    dialogues, facts = read_files(files, lambda file: _longest(file, strict), "dialogues", "a dialogue")
    return without_judged(dialogues, judged), facts


def _longest(file: str, strict: bool) -> Iterator[Turns | ItemError]:
    last: Turns = ()
    for item in loaders.read_items(file, strict=strict):
        if isinstance(item, ItemError):
            yield item
            continue
        if last and item.history != last:
            yield last
        last = (*item.history, item.response)
    if last:
        yield last


def read_rated(files: Sequence[str], contrast: bool, rating: str, seed: int, strict: bool) -> tuple[list[Rated], Files]:
    """Return rated responses; with ``contrast``, responses of dialogues with their own history (1) and with another one (0)."""
    from ....loaders.judgements import dataset_name
    from ....reasoning.training.commonsense import contrast as contrasted

    def judged(file: str) -> Iterator[Rated | ItemError]:
        for number, row in enumerate(loaders.read_judgements(file, strict=strict, rating=rating), 1):
            try:
                if not isinstance(row, ItemError):
                    Item(row.history, row.response)
                yield row
            except InputError as error:
                if strict:
                    raise
                yield ItemError(number, f"judgement {row.id}: {error}")

    def dialogues(file: str) -> Iterator[Rated | ItemError]:
        items = []
        for row in loaders.read_items(file, strict=strict):
            if isinstance(row, ItemError):
                yield row
            else:
                items.append((row.history, row.response))
        if items:
            yield from contrasted(items, seed, dataset_name(file))

    what_is_read = "a dialogue that can be used" if contrast else "a judgement that can be used"
    return read_files(files, dialogues if contrast else judged, "judgements", what_is_read)


def read_judged_tuples(files: Sequence[str], strict: bool) -> tuple[list[loaders.JudgedTuple], Files]:
    """Return judged event tuples: head, relation, tail and label."""
    from ....reasoning.metrics.accent.verbalise import VERBALISED

    return read_files(files, lambda file: loaders.read_judged_tuples(file, VERBALISED, strict=strict), "tuples", "a judged tuple")


def read_instances(files: Sequence[str], strict: bool) -> tuple[list[Instance], Files]:
    """Return CICERO's instances."""
    return read_files(files, lambda file: loaders.read_cicero(file, strict=strict), "instances", "an instance of CICERO")


def read_choices(file: str) -> list[Contrast]:
    """Return the contrasts of a file of multiple-choice dialogues."""
    from ....loaders.dialogues import Dialogue, read_dialogues
    from ....loaders.judgements import dataset_name
    from ....reasoning.training.judgement import multiple_choice_contrasts

    contrasts = []
    for row in read_dialogues(readable(file), strict=True):
        if not isinstance(row, Dialogue):
            continue
        options: Any = row.record.get("options")
        answer: Any = row.record.get("answer")
        valid = isinstance(options, list) and len(options) > 1 and all(isinstance(text, str) and text.strip() for text in options)
        if not (valid and type(answer) is int and 0 <= answer < len(options)):
            raise InputError(
                f'{file}:{row.line}: has no options with a true one; give {{"turns": […], "options": […], "answer": 0}}'
            )
        contrasts.append((row.turns, options, answer))
    return multiple_choice_contrasts(dataset_name(file), contrasts)
