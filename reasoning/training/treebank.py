"""Reading a Universal Dependencies treebank (CoNLL-U, plain or gzip) into sentences, with no help from any library.

A sentence keeps the syntactic words ("do", "n't"), how they stood in the text, and the columns that the pipeline learns. Two
variants of it are made for training and measuring: as written, and as dialogue corpora write it (lower case, a space between
all words), since most of the text that tacit reads looks like the second.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, NamedTuple, cast

from ...graph.errors import LoadError

_COLUMNS = 10


class Word(NamedTuple):
    """One syntactic word: its form, lemma, universal tag, treebank tag, features, head (index in the sentence; its own for the
    root), relation to the head, and whether a space follows it."""

    form: str
    lemma: str
    pos: str
    tag: str
    features: str
    head: int
    relation: str
    space: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of one sentence in order, and whether a new document begins with it."""

    words: tuple[Word, ...]
    new_document: bool = False

    @property
    def text(self) -> str:
        """The sentence as it is written."""
        return "".join(word.form + " " * word.space for word in self.words).rstrip()

    def as_dialogue(self) -> Sentence:
        """Return the sentence in lower case with a space between all words."""
        return replace(self, words=tuple(word._replace(form=word.form.lower(), space=True) for word in self.words))


def read_treebank(path: Path | str) -> Iterator[Sentence]:
    """Yield the sentences of a CoNLL-U file (gzip when its name ends in ``.gz``), in order.

    Ranges (``2-3 don't``) tell only where spaces stand; empty nodes (``8.1``) are passed over.

    Raises:
        LoadError: the file cannot be opened, is not UTF-8 or a broken gzip, or a line of it is not CoNLL-U.
    """
    path = Path(path)
    try:
        with _open(path) as lines:
            yield from _sentences(lines, path)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise LoadError(f"{path} cannot be read as CoNLL-U text: {error}; give a Universal Dependencies file") from error


def _open(path: Path) -> IO[str]:
    """Open ``path`` as text, through gzip when its name says so."""
    if path.suffix == ".gz":
        return cast("IO[str]", gzip.open(path, "rt", encoding="utf-8"))
    return path.open(encoding="utf-8")


def _sentences(lines: IO[str], path: Path) -> Iterator[Sentence]:
    """Group the lines of an open file into sentences."""
    rows: list[list[str]] = []
    new_document = False
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\n")
        if line.startswith("#"):
            new_document = new_document or line.startswith("# newdoc")
        elif line:
            columns = line.split("\t")
            if len(columns) != _COLUMNS:
                raise LoadError(f"{path}:{number} has {len(columns)} columns where CoNLL-U has {_COLUMNS}; check the file")
            rows.append(columns)
        elif rows:
            yield _sentence(rows, new_document, path, number)
            rows, new_document = [], False
    if rows:
        yield _sentence(rows, new_document, path, number)


def _sentence(rows: list[list[str]], new_document: bool, path: Path, line: int) -> Sentence:
    """Build one sentence from its columns; ``line`` is where it ended, for the error message."""
    words: list[Word] = []
    range_end, range_space = 0, True
    try:
        for identity, form, lemma, pos, tag, features, head, relation, _, misc in rows:
            space = "SpaceAfter=No" not in misc
            if "-" in identity:
                range_end, range_space = int(identity.split("-")[1]), space
            elif "." not in identity:
                index = int(identity)
                if index <= range_end:
                    space = range_space and index == range_end
                parent = int(head) - 1 if head != "0" else index - 1
                lemma = form if lemma == "_" else lemma
                words.append(Word(form, lemma, pos, tag, "" if features == "_" else features, parent, relation, space))
    except ValueError as error:
        raise LoadError(f"{path}: the sentence that ends at line {line} is not CoNLL-U: {error}; check the file") from error
    if not all(0 <= word.head < len(words) for word in words):
        raise LoadError(f"{path}: the sentence that ends at line {line} names a head that it does not have; check the file")
    return Sentence(tuple(words), new_document)
