"""Paragraphs of a Universal Dependencies treebank as dialogues: text in which one sentence follows from another.

In CoNLL-U, comments before a sentence give its text (``# text = …``) and say where a document (``# newdoc``) or a paragraph (``#
newpar``) begins. The annotation of the words is not read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple

from ..graph.errors import DamagedInput, InputError
from ..graph.item import ItemError
from .dialogues import Dialogue
from .io import ByteSource, decode, lines

SUFFIXES = (".conllu", ".conllu.gz")

_BEGINS = re.compile(r"#\s*new(?:doc|par)(?:\s|$)")
_TEXT = re.compile(r"#\s*text\s*=\s*(.*\S)")


class _Sentence(NamedTuple):
    """A sentence: its first line, its text, whether it begins a paragraph, its flaw, and whether the file ends early in it."""

    line: int
    text: str
    begins: bool
    flaw: str | None
    damage: bool


def is_treebank(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a treebank, by its name: ``.conllu`` or ``.conllu.gz``."""
    return os.fspath(path).lower().endswith(SUFFIXES)


def read_paragraphs(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Dialogue | ItemError]:
    """Yield the paragraphs of a CoNLL-U file, plain or gzip (``-`` for standard input), as dialogues with a turn per sentence.

    A paragraph with a broken sentence is an :class:`ItemError` with the number of that sentence's first line; others have the
    number of their own first line. The file is opened at once and read in constant memory.

    Raises:
        InputError: the file cannot be opened, or, while iterating, does not say where paragraphs begin; under ``strict`` also
            for the first broken sentence.
        DamagedInput: under ``strict``, the file ends early.
    """
    return _paragraphs(ByteSource(path), strict)


def _paragraphs(source: ByteSource, strict: bool) -> Iterator[Dialogue | ItemError]:
    turns: list[str] = []
    start = 0
    error: ItemError | None = None
    with closing(source):
        for sentence in _sentences(source):
            if not start and not sentence.begins and sentence.flaw is None:
                raise InputError(
                    f"{source.name}:{sentence.line}: a sentence comes before the first # newdoc or # newpar, so its paragraph is"
                    " not known; give a treebank that marks paragraphs or documents"
                )
            if sentence.begins and start:
                yield error or _dialogue(start, turns)
            if sentence.begins or not start:
                turns, start, error = [], sentence.line, None
            turns.append(sentence.text)
            if sentence.flaw is not None and error is None:
                error = ItemError(sentence.line, sentence.flaw, damage=sentence.damage)
                if strict and error.damage:
                    raise DamagedInput(f"{source.name} ends early, at line {error.line:,}: {error.reason}; get the whole file")
                if strict:
                    raise InputError(f"{source.name}:{error.line}: {error.reason}")
        if start:
            yield error or _dialogue(start, turns)


def _dialogue(line: int, turns: list[str]) -> Dialogue:
    return Dialogue(line, tuple(turns), {"turns": turns})


def _sentences(source: ByteSource) -> Iterator[_Sentence]:
    """Yield the sentences: runs of lines between blank ones."""
    sentence_lines: list[tuple[int, str, str | None]] = []
    for line in lines(source):
        text, flaw = decode(line)
        if flaw is not None or text.strip():
            sentence_lines.append((line.number, text, flaw))
        elif sentence_lines:
            yield _sentence(sentence_lines, damage=False)
            sentence_lines = []
        if flaw is not None and flaw == source.damage:
            break
    if sentence_lines:
        yield _sentence(sentence_lines, damage=source.damage is not None)


def _sentence(sentence_lines: list[tuple[int, str, str | None]], damage: bool) -> _Sentence:
    """Return the sentence in lines with their numbers and flaws."""
    comments = [text for _, text, _ in sentence_lines if text.startswith("#")]
    texts = [match[1] for comment in comments if (match := _TEXT.match(comment))]
    flaw = next((flaw for _, _, flaw in sentence_lines if flaw is not None), None)
    if flaw is None and not texts:
        flaw = "the sentence has no comment # text = …"
    if flaw is None and len(comments) == len(sentence_lines):
        flaw = "the sentence has no words"
    return _Sentence(sentence_lines[0][0], texts[-1] if texts else "", any(map(_BEGINS.match, comments)), flaw, damage)
