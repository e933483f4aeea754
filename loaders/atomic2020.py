"""ATOMIC-2020 tuples (head, relation, tail; tab-separated) as assertions between events.

Phrases are normalised by :func:`tacit.graph.names.event_uri`, so that different spellings of an event give one node. COMET's
evaluation files have lines ``head @@ relation<TAB>tail| tail| …``; each of these tails is a row. Lines with ``head @@ relation``
only are dropped.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..graph.errors import InputError
from ..graph.model import Assertion
from ..graph.names import URI_TOO_LONG, event_uri, is_too_long
from ..graph.relations import ATOMIC_RELATIONS
from .io import decode, lines
from .reader import HashSet, Reader, hash64

LICENSE = "cc:by/4.0"
NONE_TAIL = "none tail"
EMPTY_TAIL = "empty tail"
DUPLICATE = "duplicate"
HEADER = "header"
BLANK = "blank line"
QUERY = "query without a tail"

_RELATIONS = {name.lower(): name for name in ATOMIC_RELATIONS}
_HEADER_HEADS = {"head", "event", "head_event", "source"}


class AtomicReader(Reader[Assertion]):
    """Iterator of the tuples of an ATOMIC file, ATOMIC-2020 or v1, gzip or plain, with or without a header.

    Args:
        path: the file; its base name without ``.gz`` becomes the rows' dataset.
        keep_none: keep tuples whose tail is ``none``, for which annotators saw no such consequence.
        strict: end the load at the first invalid line.

    Raises:
        InputError: the file cannot be opened.
        LoadError: while iterating, under ``strict``.
    """

    loader = "atomic2020"
    version = 1

    def __init__(self, path: str | os.PathLike[str], *, keep_none: bool = False, strict: bool = False) -> None:
        options: dict[str, Any] = {"keep_none": True} if keep_none else {}
        super().__init__(path, strict=strict, options=options)
        self._keep_none = keep_none
        self._dataset = Path(self.path).name.removesuffix(".gz")

    def _rows(self) -> Iterator[Assertion]:
        seen = HashSet()
        report = self.report
        for line in lines(self.source):
            text, flaw = decode(line)
            if flaw is not None:
                self.reject(line.number, flaw, text)
                continue
            if not text or text.isspace():
                self.drop(BLANK)
                continue
            parsed = _split(text)
            if parsed is None:
                self.reject(line.number, "neither head, relation and tail nor 'head @@ relation'", text)
                continue
            head_text, relation_text, tails = parsed
            if line.number == 1 and _is_header(head_text, relation_text):
                self.drop(HEADER)
                continue
            relation = _RELATIONS.get(relation_text.lower())
            head = _uri(head_text)
            if relation is None or head is None:
                self.reject(line.number, "unknown relation" if relation is None else "empty head", text)
                continue
            if is_too_long(head):
                self.reject(line.number, URI_TOO_LONG, text)
                continue
            if not tails:
                self.drop(QUERY)
                continue
            for tail_text in tails:
                tail = _uri(tail_text)
                if tail is None:
                    self.drop(EMPTY_TAIL)
                elif is_too_long(tail):
                    self.reject(line.number, URI_TOO_LONG, text)
                elif tail == "/e/none" and not self._keep_none:
                    self.drop(NONE_TAIL)
                elif not seen.add(hash64(f"{head}\t{relation}\t{tail}")):
                    self.drop(DUPLICATE)
                else:
                    report.read += 1
                    report.kept += 1
                    yield Assertion(head, relation, tail, 1.0, self.loader, self._dataset, LICENSE)


read_atomic = AtomicReader


def _split(text: str) -> tuple[str, str, list[str]] | None:
    """Return head, relation and tails of a line; no tails for a query; None when the line has neither form."""
    columns = text.split("\t")
    if "@@" in columns[0]:
        parts = [part.strip() for part in columns[0].split("@@")]
        relation = parts[1].removesuffix("[GEN]").strip() if len(parts) > 1 else ""
        if len(parts) == 2 and len(columns) <= 2:
            tails = columns[1].split("|") if len(columns) == 2 and columns[1].strip() else []
            return parts[0], relation, tails
        if len(parts) == 3 and len(columns) == 1:
            return parts[0], relation, parts[2].split("|") if parts[2] else []
        return None
    if len(columns) == 3:
        return columns[0], columns[1].strip(), [columns[2]]
    return None


def _is_header(head: str, relation: str) -> bool:
    return head.strip().lower() in _HEADER_HEADS and relation.strip().lower() in {"relation", "rel", "edge"}


@functools.lru_cache(maxsize=1 << 14)
def _uri(text: str) -> str | None:
    """Return the URI of the event ``text``, None when it is empty after normalisation; cached, since many texts recur."""
    try:
        return event_uri(text)
    except InputError:
        return None
