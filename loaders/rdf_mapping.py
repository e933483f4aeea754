"""Mappings from RDF predicates to relations, as a dictionary or as a small TOML or JSON file that a user keeps."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

import orjson

from ..graph.errors import InputError
from ..graph.names import check_relation


def read_mapping(mapping: Mapping[str, str | None] | str | os.PathLike[str] | None) -> dict[str, str]:
    """Return predicate IRI -> relation, an empty text where the predicate is to be left out; from a file where a path is given.

    The file's top level, or its table ``predicates``, holds the entries.

    Raises:
        InputError: the file cannot be read, or an entry is not IRI -> relation name.
    """
    if mapping is None:
        return {}
    where = "the mapping"
    entries: object = mapping
    if not isinstance(mapping, Mapping):
        where = os.fspath(mapping)
        entries = _read_file(Path(where))
    if isinstance(entries, Mapping) and isinstance(entries.get("predicates"), Mapping):
        entries = entries["predicates"]
    if not isinstance(entries, Mapping):
        raise InputError(f'{where} is not a table of predicate IRI = relation; give lines such as "http://…#broader" = "IsA"')
    checked: dict[str, str] = {}
    for iri, relation in entries.items():
        if not isinstance(iri, str) or not (relation is None or isinstance(relation, str)):
            raise InputError(f"{where} maps {iri!r} to {relation!r}; give an IRI and a relation name")
        if iri == "*" and relation:
            raise InputError(f'{where} maps * to {relation!r}; * stands for every other predicate and can only be left out ("")')
        checked[iri] = check_relation(relation) if relation else ""
    return checked


def _read_file(path: Path) -> object:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"the mapping {path} cannot be read: {error.strerror or error}") from None
    try:
        return orjson.loads(data) if path.suffix == ".json" else tomllib.loads(data.decode())
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"the mapping {path} is not {'JSON' if path.suffix == '.json' else 'TOML'}: {error}") from None
