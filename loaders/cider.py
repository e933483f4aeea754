"""CIDER files: dialogues in which people marked commonsense triplets; a JSON list or JSON lines, plain or gzip.

A record is ``{"id", "utterances": "A: …    B: …", "triplets": [{"head", "relation", "tail", "headpos": [start, end], "tailpos":
[start, end]}, …]}``. Positions are character offsets in ``utterances``. A triplet with ``"latent": true`` has a span that no turn
contains: people wrote it, and its positions are -1. Ghosal et al., "CIDER: Commonsense Inference for Dialogue Explanation and
Reasoning" (SIGDIAL 2021), https://github.com/declare-lab/CIDER.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..graph.errors import InputError
from ..graph.item import ItemError
from ..graph.names import check_relation
from .dialogues import BrokenRecord, json_object, parsed_rows
from .io import ByteSource
from .records import Columns

_NAMES = ("id", "utterances", "triplets")
_FIELDS = ", ".join(_NAMES)
_SPEAKER = re.compile(r"(?:\A|\s{2,})([AB]): ")
_NOWHERE = [-1, -1]


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a dialogue that was marked.

    Attributes:
        text: the marked text, or the text that people wrote where no turn contains it.
        turn: index of the turn with the text, from 0; None when no turn contains it.
        start, end: character offsets in that turn; 0 when no turn contains it.
    """

    text: str
    turn: int | None = None
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class MarkedTriplet:
    """Two spans of a dialogue and the relation that people see between them, under CIDER's name (``Causes``, ``Implies`` …)."""

    head: Span
    relation: str
    tail: Span


@dataclass(frozen=True, slots=True)
class MarkedDialogue:
    """A dialogue with the triplets that people marked.

    Attributes:
        id: as CIDER gives it.
        turns: oldest first, without the letters of their speakers; at least one.
        triplets: in the file's order.
    """

    id: str
    turns: tuple[str, ...]
    triplets: tuple[MarkedTriplet, ...]


def read_cider(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[MarkedDialogue | ItemError]:
    """Yield the dialogues of a file (gzip or plain; ``-`` reads standard input) in its order, in constant memory.

    A record that is not such a dialogue gives an :class:`ItemError` with its number from 1.

    Args:
        path: the file.
        strict: end at the first record that cannot be used.

    Raises:
        InputError: the file cannot be opened, or is a table; under ``strict`` also, while iterating, for the first record that
            cannot be used.
        DamagedInput: under ``strict``, the file ends early.
    """
    columns = Columns(lambda _: False, _FIELDS + " as JSON", "CIDER dialogues")
    return parsed_rows(ByteSource(path), columns, _dialogue, strict=strict)


def _dialogue(value: Any, _: int) -> MarkedDialogue:
    data = json_object(value, _FIELDS)
    missing = [name for name in _NAMES if data.get(name) is None]
    if missing:
        raise BrokenRecord(f"{missing[0]} is missing; expected {_FIELDS}")
    dialogue_id, text, triplets = (data[field] for field in _NAMES)
    if not isinstance(dialogue_id, str) or not dialogue_id.strip():
        raise BrokenRecord("the id is not a text")
    if not isinstance(text, str):
        raise BrokenRecord("the utterances are not one text")
    if not isinstance(triplets, list):
        raise BrokenRecord("the triplets are not a list")
    speakers = list(_SPEAKER.finditer(text))
    if not speakers or speakers[0].start() != 0:
        raise BrokenRecord("the utterances do not begin with a speaker, 'A: ' or 'B: '")
    ends = [*(match.start() for match in speakers[1:]), len(text)]
    bounds = [(match.end(), end) for match, end in zip(speakers, ends, strict=True)]
    marked = tuple(_triplet(triplet, f"triplet {number}", text, bounds) for number, triplet in enumerate(triplets, 1))
    return MarkedDialogue(dialogue_id, tuple(text[start:end].rstrip() for start, end in bounds), marked)


def _triplet(data: Any, what: str, text: str, bounds: list[tuple[int, int]]) -> MarkedTriplet:
    if not isinstance(data, dict):
        raise BrokenRecord(f"{what} is not a JSON object")
    relation = data.get("relation")
    if not isinstance(relation, str):
        raise BrokenRecord(f"{what} has the relation {relation!r}, which is not a text")
    try:
        check_relation(relation)
    except InputError as error:
        raise BrokenRecord(f"{what}: {error}") from None
    latent = data.get("latent") is True
    head, tail = (_span(data, end_name, latent, what, text, bounds) for end_name in ("head", "tail"))
    return MarkedTriplet(head, relation, tail)


def _span(data: dict[str, Any], end_name: str, latent: bool, what: str, text: str, bounds: list[tuple[int, int]]) -> Span:
    wording = data.get(end_name)
    position: Any = data.get(f"{end_name}pos")
    if not isinstance(wording, str) or not wording.strip():
        raise BrokenRecord(f"the {end_name} of {what} is not a text")
    if latent and position == _NOWHERE:
        return Span(wording)
    pair = isinstance(position, list) and len(position) == 2 and all(type(offset) is int for offset in position)
    if not (pair and 0 <= position[0] < position[1] <= len(text)):
        raise BrokenRecord(f"the position of the {end_name} of {what} is {position!r}, not two offsets in the utterances")
    start, end = position
    if text[start:end] != wording:
        raise BrokenRecord(f"the {end_name} of {what} is {wording!r}, but its position has {text[start:end]!r}")
    for turn, (turn_start, turn_end) in enumerate(bounds):
        if turn_start <= start and end <= turn_end:
            return Span(wording, turn, start - turn_start, end - turn_start)
    raise BrokenRecord(f"the {end_name} of {what} is not within one turn")
