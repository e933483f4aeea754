"""CICERO files: questions about a turn of a dialogue with choices, versions 1 and 2; JSON lines or a JSON list, plain or gzip.

A record is ``{"ID", "Dialogue": ["A: …", …], "Target", "Question", "Choices", "Correct Answers": [i, …]}``; version 1 has five
choices and ``"Human Written Answer": [i]`` too, version 2 four to eight choices, of which two or more are right. Ghosal et al.,
ACL 2022, and its second version; both in https://github.com/declare-lab/CICERO.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ..graph.item import ItemError
from ..graph.questions import Instance
from .dialogues import BrokenRecord, json_object, parsed_rows
from .io import ByteSource
from .records import Columns

_NAMES = ("ID", "Dialogue", "Target", "Question", "Choices")
_WANTED = ", ".join(_NAMES)
_FIELDS = {"ID": "id", "Dialogue": "dialogue", "Target": "target", "Question": "question", "Choices": "choices"}
_OPTIONAL = {"Correct Answers": "correct", "Human Written Answer": "human"}


def read_cicero(path: str | os.PathLike[str], *, strict: bool = False) -> Iterator[Instance | ItemError]:
    """Yield the instances of a file (gzip or plain; ``-`` reads standard input) in its order, in constant memory.

    A record that is no instance gives an :class:`ItemError` with its number from 1. Records without ``Correct Answers`` have
    none that is known.

    Args:
        path: the file.
        strict: end at the first record that is no instance.

    Raises:
        InputError: the file cannot be opened, or is a table; under ``strict`` also, while iterating, for the first record that is
            no instance.
        DamagedInput: under ``strict``, the file ends early.
    """
    columns = Columns(lambda _: False, _WANTED + " as JSON", "CICERO instances")
    return parsed_rows(ByteSource(path), columns, _instance, strict=strict, id_field="ID")


def _instance(value: Any, _: int) -> Instance:
    """Return the instance in a record.

    Raises:
        BrokenRecord: it lacks a field.
        InputError: a field is invalid.
    """
    data = json_object(value, _WANTED)
    missing = [name for name in _NAMES if data.get(name) is None]
    if missing:
        raise BrokenRecord(f"{missing[0]} is missing; expected {_WANTED}")
    optional = {field: data[name] for name, field in _OPTIONAL.items() if data.get(name) is not None}
    return Instance(**{field: data[name] for name, field in _FIELDS.items()}, **optional)
