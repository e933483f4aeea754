"""The official files as data: where they are, how large, under which licence, and how to cite them.

``size`` and ``sha256`` are None where nobody published them; nothing is made up. The facts stand in ``sources.json``.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import resources

import orjson

from ..graph.errors import InputError


@dataclass(frozen=True, slots=True)
class Source:
    """One official download.

    Attributes:
        name: what ``tacit fetch`` calls it; title: what it is, in a line.
        url: where it is; file: its name on disk.
        size: bytes, None when unknown; sha256: hex digest, None when unknown; checksum_origin: who says so.
        rows: lines in it, None when unknown.
        members: files to take out of it, when it is a zip archive.
        licence, homepage, citation: as its authors give them.
    """

    name: str
    title: str
    url: str
    file: str
    size: int | None
    sha256: str | None
    checksum_origin: str | None
    rows: int | None
    members: tuple[str, ...]
    licence: str
    homepage: str
    citation: str


@functools.cache
def all_sources() -> dict[str, Source]:
    """Return every official file by name."""
    table = orjson.loads((resources.files(__package__) / "sources.json").read_bytes())
    return {name: Source(name=name, **(facts | {"members": tuple(facts["members"])})) for name, facts in table.items()}


def find_source(name: str) -> Source:
    """Return the official file called ``name``.

    Raises:
        InputError: there is none of that name.
    """
    if name not in all_sources():
        raise InputError(f"{name!r} is not one of the official files; choose {', '.join(all_sources())}")
    return all_sources()[name]
